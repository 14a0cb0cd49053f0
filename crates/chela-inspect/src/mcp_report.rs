//! Which tool servers are set up, what they may do, and what of them waits for the owner.

use chela_config::LoadedConfig;
use chela_core::Host;
use chela_mcp::{
    KeptLogin, LoginStanding, McpRecord, McpServerSpec, ServerReach, ServerRecord, ServerWalls,
    prefix_of, specs_of,
};
use chela_sandbox::FolderAccess;
use serde::Serialize;

/// One server, as it is set up and as it is on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerRow {
    pub name: String,
    /// What its tools' names begin with.
    pub prefix: String,
    pub is_enabled: bool,
    /// Why it is not used, where it cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Whether anything is on record of it.
    pub is_known: bool,
    /// Whether its owner approved its tools.
    pub is_approved: bool,
    /// Tools that can be called.
    pub tools: usize,
    /// Of these, those whose effect its owner declared.
    pub declared: usize,
    /// Tools that wait for the owner.
    pub held: usize,
    /// As it calls itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The version of the protocol it speaks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// How it is reached, without secrets.
    pub reach: String,
    /// What it can reach itself.
    pub walls: String,
    /// Whether it may do all that its owner may.
    pub is_unwalled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// What the owner should know.
    pub notes: Vec<String>,
}

/// The servers of a config, in the order of their names. None is started.
pub fn server_rows(host: &Host, loaded: &LoadedConfig) -> Vec<ServerRow> {
    let servers = &loaded.config.mcp.servers;
    if servers.is_empty() {
        return Vec::new();
    }
    let (specs, faults) = specs_of(host, loaded);
    let (record, damage) = match McpRecord::load(host) {
        Ok(record) => (record, None),
        Err(error) => (McpRecord::default(), Some(error.to_string())),
    };
    let rows = servers.iter().map(|(name, server)| {
        let prefix = prefix_of(name);
        let known = record.servers.get(&prefix);
        let spec = specs.iter().find(|spec| spec.name == *name);
        let own_fault = format!("mcp.servers.{name}");
        let fault = faults.iter().map(ToString::to_string);
        let fault = fault.into_iter().find(|fault| {
            fault
                .strip_prefix(&own_fault)
                .is_some_and(|rest| rest.starts_with([' ', '.', ':']))
        });
        let mut row = ServerRow {
            name: name.clone(),
            is_enabled: server.enabled != Some(false),
            fault: fault.filter(|_| spec.is_none()),
            reach: String::new(),
            walls: String::new(),
            login: None,
            notes: damage.iter().cloned().collect(),
            ..row_of_record(prefix, known)
        };
        if let Some(fault) = &row.fault {
            row.notes.push(fault.clone());
        }
        if let Some(spec) = spec {
            row.describe(host, spec, known);
        }
        row
    });
    rows.collect()
}

fn row_of_record(prefix: String, known: Option<&ServerRecord>) -> ServerRow {
    ServerRow {
        name: String::new(),
        prefix,
        is_enabled: true,
        fault: None,
        is_known: known.is_some(),
        is_approved: known.is_some_and(|known| known.is_approved),
        tools: known.map_or(0, |known| known.usable().count()),
        declared: 0,
        held: known.map_or(0, |known| known.held().count()),
        about: known.map(|known| known.about.clone()).unwrap_or_default(),
        version: known.map(|known| known.version.clone()).unwrap_or_default(),
        reach: String::new(),
        walls: String::new(),
        is_unwalled: false,
        login: None,
        notes: Vec::new(),
    }
}

impl ServerRow {
    fn describe(&mut self, host: &Host, spec: &McpServerSpec, known: Option<&ServerRecord>) {
        self.reach = spec.describe();
        self.walls = walls_of(host, spec);
        self.is_unwalled = matches!(spec.reach, ServerReach::Program { .. })
            && spec.grants.walls == ServerWalls::Off;
        self.login = login_of(host, spec, &mut self.notes);
        let Some(known) = known else {
            return;
        };
        let usable = known.usable().map(|(tool, _)| tool.name.as_str());
        let (used, left_out): (Vec<&str>, Vec<&str>) =
            usable.partition(|tool| spec.filter.takes(tool));
        self.tools = used.len();
        let declared = used.iter();
        let declared = declared.filter(|tool| spec.grants.effects.of_tool(tool).is_some());
        self.declared = declared.count();
        if !left_out.is_empty() {
            let many = left_out.len();
            self.notes
                .push(format!("toolFilter leaves out {many} of its tools"));
        }
        let held: Vec<&str> = known.held().map(|(name, _)| name).collect();
        if !held.is_empty() {
            let (first, more) = (held.iter().take(5), held.len().saturating_sub(5));
            let mut names: Vec<&str> = first.copied().collect();
            let rest = format!("{more} more");
            if more > 0 {
                names.push(&rest);
            }
            self.notes.push(format!(
                "waiting for you: {} (`chela mcp diff {}`, then `chela mcp trust {}`)",
                names.join(", "),
                self.name,
                self.name
            ));
        }
        if !known.unusable.is_empty() {
            let unusable = known.unusable.iter().take(3);
            let told: Vec<String> = unusable
                .map(|tool| format!("{} ({})", tool.name, tool.why))
                .collect();
            self.notes
                .push(format!("tools that cannot be used: {}", told.join(", ")));
        }
        if known.launch != spec.launch_hash() {
            self.notes.push(
                "it is set up differently since it was last started; its tools are compared then"
                    .to_owned(),
            );
        }
        if let Some(failed) = &known.failed {
            self.notes
                .push(format!("did not start the last time: {}", failed.why));
        }
    }
}

/// What a server can reach, in words.
fn walls_of(host: &Host, spec: &McpServerSpec) -> String {
    let ServerReach::Program { .. } = spec.reach else {
        return "runs elsewhere".to_owned();
    };
    if spec.grants.walls == ServerWalls::Off {
        return "no sandbox: it may do what you may".to_owned();
    }
    let mut parts = vec!["sandbox".to_owned()];
    match spec.grants.hosts.is_empty() {
        true => parts.push("no network".to_owned()),
        false => parts.push(format!("hosts {}", spec.grants.hosts.join(" "))),
    }
    for (word, access) in [
        ("reads", FolderAccess::Read),
        ("writes", FolderAccess::Write),
    ] {
        let folders: Vec<String> = spec
            .grants
            .folders
            .iter()
            .filter(|folder| folder.access == access)
            .map(|folder| host.compact(&folder.path))
            .collect();
        if !folders.is_empty() {
            parts.push(format!("{word} {}", folders.join(" ")));
        }
    }
    if !spec.grants.pass_env.is_empty() {
        parts.push(format!("your {}", spec.grants.pass_env.join(" ")));
    }
    parts.join(", ")
}

fn login_of(host: &Host, spec: &McpServerSpec, notes: &mut Vec<String>) -> Option<String> {
    let ServerReach::Http { .. } = spec.reach else {
        return None;
    };
    match KeptLogin::load(host, &spec.prefix) {
        Ok(None) => None,
        Err(error) => {
            notes.push(error.to_string());
            None
        }
        Ok(Some(login)) => Some(match login.standing(host) {
            LoginStanding::Lasts(None) => "logged in".to_owned(),
            LoginStanding::Lasts(Some(seconds)) => {
                format!("logged in for {} min", seconds.div_ceil(60))
            }
            LoginStanding::Renewable => "login expired; renewed when it is needed".to_owned(),
            LoginStanding::Expired => {
                notes.push(format!(
                    "its login has expired: `chela mcp login {}`",
                    spec.name
                ));
                "login expired".to_owned()
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use chela_core::Host;

    use super::server_rows;

    #[test]
    fn servers_are_described_without_starting_them() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        let loaded = chela_config::load_text(
            &host,
            r#"{ mcp: { servers: {
                away: { url: "https://a.example/mcp?key=hush" },
                broken: {},
                near: { command: "x", args: ["--token", "hush"], hosts: ["b.example"], env: { KEY: "hush" } },
                off: { command: "y", enabled: false },
                open: { command: "z", sandbox: "off" },
            } } }"#,
        );
        let rows = server_rows(&host, &loaded);
        let told = serde_json::to_string(&rows).unwrap();
        assert!(!told.contains("hush"), "{told}");
        let walls: Vec<&str> = rows.iter().map(|row| row.walls.as_str()).collect();
        assert_eq!(
            walls,
            [
                "runs elsewhere",
                "",
                "sandbox, hosts b.example",
                "",
                "no sandbox: it may do what you may"
            ]
        );
        assert!(rows[1].fault.as_ref().unwrap().contains("neither"));
        assert!(!rows[3].is_enabled);
        assert!(rows.iter().all(|row| !row.is_known));
    }
}
