//! The real machine as a [`Host`]: the one place that reads environment, clock and system files.
//!
//! Nothing else in the libraries does. Whoever runs agents builds a `Host` once, here or by hand,
//! and hands it on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use chela_core::{Clock, Entropy, Host, HostEnv, MachineFacts, vars};

/// The machine this process runs on. A profile that is named here wins over the environment's.
pub fn this_machine(profile: Option<&str>) -> Host {
    let mut env: HostEnv = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    if let Some(profile) = profile {
        env.insert(vars::PROFILE.to_owned(), profile.to_owned());
    }
    let user_home = std::env::home_dir().filter(|home| home.is_absolute());
    let user_home = user_home.unwrap_or_else(|| PathBuf::from("/"));
    let cwd = std::env::current_dir().unwrap_or_else(|_| user_home.clone());
    let facts = facts(&env);
    Host {
        user_home,
        cwd,
        env,
        program: std::env::current_exe().ok(),
        facts,
        clock: Arc::new(WallClock),
        entropy: Arc::new(SystemEntropy),
    }
}

#[derive(Debug)]
struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

#[derive(Debug)]
struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(
        clippy::panic,
        reason = "without randomness no secret can be made; going on would be worse"
    )]
    fn fill(&self, bytes: &mut [u8]) {
        if let Err(error) = getrandom::fill(bytes) {
            panic!("the system gives no random bytes: {error}");
        }
    }
}

fn facts(env: &HostEnv) -> MachineFacts {
    let system = SystemNames::ask();
    MachineFacts {
        hostname: system.hostname,
        os: system.os,
        arch: system.arch,
        shell: env
            .get("SHELL")
            .and_then(|shell| Path::new(shell).file_name()?.to_str().map(str::to_owned)),
        time_zone: time_zone(env),
    }
}

/// What the machine and its system call themselves.
struct SystemNames {
    hostname: Option<String>,
    os: Option<String>,
    arch: Option<String>,
}

impl SystemNames {
    #[cfg(unix)]
    fn ask() -> Self {
        let uname = rustix::system::uname();
        let text = |value: &std::ffi::CStr| {
            value
                .to_str()
                .ok()
                .map(str::to_owned)
                .filter(|text| !text.is_empty())
        };
        Self {
            hostname: text(uname.nodename()),
            os: text(uname.sysname()).map(|system| match text(uname.release()) {
                Some(release) => format!("{system} {release}"),
                None => system,
            }),
            arch: text(uname.machine()),
        }
    }

    #[cfg(not(unix))]
    fn ask() -> Self {
        Self {
            hostname: std::env::var("COMPUTERNAME").ok(),
            os: Some(std::env::consts::OS.to_owned()),
            arch: Some(std::env::consts::ARCH.to_owned()),
        }
    }
}

/// The IANA name of the local zone: `TZ`, else what `/etc/localtime` points to, else
/// `/etc/timezone`.
fn time_zone(env: &HostEnv) -> Option<String> {
    let typed = env
        .get("TZ")
        .map(|zone| zone.trim_start_matches(':').to_owned());
    typed
        .filter(|zone| looks_like_zone(zone))
        .or_else(|| {
            let target = std::fs::canonicalize("/etc/localtime").ok()?;
            let (_, zone) = target.to_str()?.split_once("/zoneinfo/")?;
            Some(zone.to_owned())
        })
        .or_else(|| {
            Some(
                std::fs::read_to_string("/etc/timezone")
                    .ok()?
                    .trim()
                    .to_owned(),
            )
        })
        .filter(|zone| looks_like_zone(zone))
}

fn looks_like_zone(zone: &str) -> bool {
    !zone.is_empty()
        && zone.len() < 64
        && zone.starts_with(|c: char| c.is_ascii_alphabetic())
        && zone
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/_+-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::looks_like_zone;

    #[test]
    fn zones_are_names_and_nothing_else() {
        assert!(looks_like_zone("Europe/Berlin"));
        assert!(looks_like_zone("Etc/GMT+3"));
        assert!(!looks_like_zone(""));
        assert!(!looks_like_zone("/etc/passwd"));
        assert!(!looks_like_zone("Europe/Berlin\n## Safety"));
    }
}
