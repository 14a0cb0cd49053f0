//! The gateway as a service of the user: started with the session, and again when it ends.

use std::path::{Path, PathBuf};

use chela_core::{Host, vars};

/// Who starts services here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceManager {
    Systemd,
    Launchd,
}

/// A service, as its manager reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceUnit {
    pub manager: ServiceManager,
    /// What its manager calls it.
    pub name: String,
    pub file: PathBuf,
    pub text: String,
}

impl ServiceUnit {
    /// The unit that starts `program` for the home of `host`.
    pub fn of(host: &Host, manager: ServiceManager, program: &Path) -> Self {
        let profile = host.profile();
        let suffix = profile
            .map(|profile| format!("-{profile}"))
            .unwrap_or_default();
        match manager {
            ServiceManager::Systemd => {
                let name = format!("chela-gateway{suffix}.service");
                let folder = match host.var("XDG_CONFIG_HOME") {
                    Some(folder) => PathBuf::from(folder),
                    None => host.user_home.join(".config"),
                };
                Self {
                    manager,
                    file: folder.join("systemd").join("user").join(&name),
                    text: systemd_text(host, program),
                    name,
                }
            }
            ServiceManager::Launchd => {
                let name = format!("ai.chela.gateway{suffix}");
                let folder = host.user_home.join("Library").join("LaunchAgents");
                Self {
                    manager,
                    file: folder.join(format!("{name}.plist")),
                    text: launchd_text(host, program, &name),
                    name,
                }
            }
        }
    }
}

/// What of the environment decides which home it is.
fn places(host: &Host) -> Vec<(&'static str, String)> {
    [vars::HOME, vars::PROFILE, vars::CONFIG, vars::WORKSPACE]
        .into_iter()
        .filter_map(|name| Some((name, host.var(name)?.to_owned())))
        .collect()
}

fn systemd_text(host: &Host, program: &Path) -> String {
    let environment: String = places(host)
        .iter()
        .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
        .collect();
    format!(
        "\
[Unit]
Description=Chela gateway
After=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
ExecStart={} gateway run
{environment}ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=2
# A config that cannot be used, and a second gateway, do not get better by trying again.
RestartPreventExitStatus=75 78
KillSignal=SIGTERM
# Turns that run may come to their end; what is left the next process goes on with.
TimeoutStopSec=45
KillMode=mixed
UMask=0077

[Install]
WantedBy=default.target
",
        quoted(&program.display().to_string())
    )
}

/// A word as systemd reads one back: quotes, backslashes and its own placeholders are kept apart.
fn quoted(word: &str) -> String {
    let escaped = word
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%")
        .replace('$', "$$")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}

fn launchd_text(host: &Host, program: &Path, name: &str) -> String {
    let log = host.state_dir().join("logs").join("gateway.out");
    let environment: String = places(host)
        .iter()
        .map(|(name, value)| format!("    <key>{name}</key><string>{}</string>\n", in_xml(value)))
        .collect();
    let log = in_xml(&log.display().to_string());
    format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>Label</key><string>{}</string>
  <key>ProgramArguments</key>
  <array><string>{}</string><string>gateway</string><string>run</string></array>
  <key>EnvironmentVariables</key>
  <dict>
{environment}  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>5</integer>
  <key>ExitTimeOut</key><integer>45</integer>
  <key>Umask</key><integer>63</integer>
  <key>StandardOutPath</key><string>{log}</string>
  <key>StandardErrorPath</key><string>{log}</string>
</dict>
</plist>
",
        in_xml(name),
        in_xml(&program.display().to_string())
    )
}

fn in_xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use chela_core::{Host, vars};

    use super::{ServiceManager, ServiceUnit};

    #[test]
    fn what_is_special_to_a_manager_does_not_get_out_of_a_value() {
        let mut host = Host::fixed("/home/me");
        host.env
            .insert(vars::HOME.into(), "/data/50% \"<x>\"".into());
        let program = Path::new("/opt/my tools/chela");
        let unit = ServiceUnit::of(&host, ServiceManager::Systemd, program);
        assert!(
            unit.text
                .contains("ExecStart=\"/opt/my tools/chela\" gateway run\n")
        );
        assert!(
            unit.text
                .contains("Environment=\"CHELA_HOME=/data/50%% \\\"<x>\\\"\"\n")
        );
        assert_eq!(
            unit.file,
            Path::new("/home/me/.config/systemd/user/chela-gateway.service")
        );
        let plist = ServiceUnit::of(&host, ServiceManager::Launchd, program).text;
        assert!(plist.contains("<string>/data/50% \"&lt;x&gt;\"</string>"));
    }
}
