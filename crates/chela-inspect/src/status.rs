//! What is set up, and where.

use chela_config::model::ModelChoice;
use chela_config::{AgentView, ConfigDiagnostic, ConfigSource, LoadedConfig, Severity};
use chela_core::{AgentId, Host};
use chela_workspace::{CoreFile, CoreSpelling, WorkspaceCondition};
use serde::Serialize;

use crate::mcp_report::server_rows;

/// How things stand.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    pub version: &'static str,
    pub profile: Option<String>,
    pub home: String,
    pub config: ConfigStatus,
    /// Where the gateway listens, while it runs. Whoever can reach it knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Since when every agent is stopped, and why. Whoever runs the agents knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Tool servers; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpStatus>,
    pub agents: Vec<AgentStatus>,
}

/// The tool servers, counted.
#[derive(Debug, Serialize)]
pub struct McpStatus {
    /// Those in use.
    pub servers: usize,
    /// Tools that can be called.
    pub tools: usize,
    /// Tools that wait for the owner.
    pub held: usize,
    /// Servers that something is wrong with.
    pub troubled: usize,
}

#[derive(Debug, Serialize)]
pub struct ConfigStatus {
    pub path: String,
    /// `file`, `last-good` or `defaults`.
    pub source: &'static str,
    pub errors: usize,
    pub warnings: usize,
    pub notes: usize,
    /// Parts that are set and that nothing runs.
    pub idle: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    pub id: AgentId,
    pub name: Option<String>,
    pub emoji: Option<String>,
    pub default: bool,
    pub model: Option<String>,
    pub workspace: String,
    #[serde(flatten)]
    pub condition: WorkspaceCondition,
    /// Core files that exist.
    pub files: Vec<String>,
    pub heartbeat: String,
}

impl StatusReport {
    /// Reads, never writes.
    pub fn of(host: &Host, loaded: &LoadedConfig) -> Self {
        let count = |severity, found: &[ConfigDiagnostic]| {
            let of_severity = |found: &&ConfigDiagnostic| found.severity == severity;
            found.iter().filter(of_severity).count()
        };
        let problems = config_problems(host, loaded);
        let agents = loaded.agents();
        let views = agents.iter().filter_map(|id| loaded.agent(id));
        Self {
            version: env!("CARGO_PKG_VERSION"),
            profile: host.profile().map(str::to_owned),
            home: host.compact(&host.state_dir()),
            config: ConfigStatus {
                path: host.compact(&host.config_file()),
                source: match loaded.source {
                    ConfigSource::File => "file",
                    ConfigSource::LastGood { .. } => "last-good",
                    ConfigSource::Defaults(_) => "defaults",
                },
                errors: count(Severity::Error, &problems),
                warnings: count(Severity::Warning, &problems),
                notes: count(Severity::Note, &loaded.diagnostics),
                idle: loaded
                    .idle_parts()
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
            },
            gateway: None,
            stopped: None,
            mcp: McpStatus::of(host, loaded),
            agents: views
                .map(|view| AgentStatus::of(host, loaded, &view))
                .collect(),
        }
    }
}

impl McpStatus {
    fn of(host: &Host, loaded: &LoadedConfig) -> Option<Self> {
        let mut rows = server_rows(host, loaded);
        rows.retain(|row| row.is_enabled);
        (!rows.is_empty()).then(|| Self {
            servers: rows.len(),
            tools: rows.iter().map(|row| row.tools).sum(),
            held: rows.iter().map(|row| row.held).sum(),
            troubled: rows.iter().filter(|row| !row.notes.is_empty()).count(),
        })
    }
}

/// What is wrong with the config file, as `chela config validate` lists it: what is used in its
/// place is no problem of its own.
pub fn config_problems(host: &Host, loaded: &LoadedConfig) -> Vec<ConfigDiagnostic> {
    let is_problem = |found: &ConfigDiagnostic| found.severity >= Severity::Warning;
    if !loaded.diagnostics.iter().any(is_problem) {
        return Vec::new();
    }
    let mut problems = chela_config::validate(host);
    problems.retain(is_problem);
    problems
}

impl AgentStatus {
    fn of(host: &Host, loaded: &LoadedConfig, view: &AgentView) -> Self {
        let folder = &view.workspace.value;
        let spelling = CoreSpelling::of(folder);
        let heartbeat = match view.heartbeat.value.every_in_words() {
            None => "off".to_owned(),
            Some(every) => format!("every {every} while the gateway runs"),
        };
        let model = view.model.value.as_ref().and_then(ModelChoice::primary);
        let (name, identity) = (&view.name.value, &view.identity.value);
        Self {
            id: view.id.clone(),
            name: name.clone().or_else(|| identity.name.clone()),
            emoji: identity.emoji.clone(),
            default: view.id == loaded.default_agent(),
            model: model.map(str::to_owned),
            workspace: host.compact(folder),
            condition: WorkspaceCondition::of(host, folder),
            files: CoreFile::ALL
                .iter()
                .map(|file| spelling.name(*file).to_owned())
                .filter(|name| folder.join(name).is_file())
                .collect(),
            heartbeat,
        }
    }
}
