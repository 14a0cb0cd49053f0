//! `chela status`: what is set up, and where. Reads, never writes.

use chela_agent::knobs::Knobs;
use chela_config::{ConfigSource, Severity};
use chela_core::AgentId;
use chela_workspace::{Condition, CoreFile, HeartbeatTasks, Workspace};
use serde::Serialize;

use super::{Outcome, Setup};
use crate::fail::Exit;
use crate::screen::{Screen, counted};

/// How things stand.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    version: &'static str,
    profile: Option<String>,
    home: String,
    config: ConfigStatus,
    agents: Vec<AgentStatus>,
}

#[derive(Debug, Serialize)]
struct ConfigStatus {
    path: String,
    /// `file`, `last-good` or `defaults`.
    source: &'static str,
    errors: usize,
    warnings: usize,
    notes: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentStatus {
    id: AgentId,
    name: Option<String>,
    default: bool,
    model: Option<String>,
    workspace: String,
    #[serde(flatten)]
    condition: Condition,
    /// Core files that exist.
    files: Vec<&'static str>,
    heartbeat: String,
}

pub fn run(host: &chela_core::Host, screen: &mut Screen, json: bool) -> Outcome {
    let setup = Setup::look(host);
    let status = Status::of(&setup);
    if json {
        screen.json(&status)?;
    } else {
        setup.warn_on_stderr(screen.paint);
        print(screen, &status)?;
    }
    Ok(Exit::Fine)
}

impl Status {
    pub fn of(setup: &Setup) -> Self {
        let host = &setup.host;
        let count = |severity| {
            setup
                .loaded
                .diagnostics
                .iter()
                .filter(|found| found.severity == severity)
                .count()
        };
        let agents = setup.agents();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            profile: host.profile().map(str::to_owned),
            home: host.compact(&host.state_dir()),
            config: ConfigStatus {
                path: host.compact(&host.config_file()),
                source: match setup.loaded.source {
                    ConfigSource::File => "file",
                    ConfigSource::LastGood { .. } => "last-good",
                    ConfigSource::Defaults(_) => "defaults",
                },
                errors: count(Severity::Error),
                warnings: count(Severity::Warning),
                notes: count(Severity::Note),
            },
            agents: agents
                .iter()
                .map(|knobs| AgentStatus::of(setup, knobs))
                .collect(),
        }
    }
}

impl AgentStatus {
    fn of(setup: &Setup, knobs: &Knobs) -> Self {
        let id = &knobs.agent;
        let workspace = Workspace::open(&setup.host, &knobs.workspace).ok();
        let tasks = workspace
            .as_ref()
            .map_or(HeartbeatTasks::NoFile, Workspace::heartbeat_tasks);
        let heartbeat = match (&knobs.heartbeat_every, tasks) {
            (None, _) => "off".to_owned(),
            (Some(every), HeartbeatTasks::None) => {
                format!("every {every}, nothing to check: no model is called")
            }
            (Some(every), _) => format!("every {every}"),
        };
        Self {
            id: id.clone(),
            name: knobs.name.clone(),
            default: *id == setup.loaded.default_agent(),
            model: knobs.model.clone(),
            condition: Condition::of(&setup.host, &knobs.workspace),
            files: CoreFile::ALL
                .iter()
                .map(|file| file.name())
                .filter(|name| knobs.workspace.join(name).is_file())
                .collect(),
            workspace: setup.host.compact(&knobs.workspace),
            heartbeat,
        }
    }
}

pub fn print(screen: &mut Screen, status: &Status) -> std::io::Result<()> {
    let paint = screen.paint;
    let profile = status
        .profile
        .as_ref()
        .map(|profile| format!(" (profile {profile})"))
        .unwrap_or_default();
    screen.line(format!(
        "{}{profile}",
        paint.bold(format!("Chela {}", status.version))
    ))?;
    let config = match (
        status.config.source,
        status.config.errors + status.config.warnings,
    ) {
        ("file", 0) => format!("{}  {}", status.config.path, paint.good("ok")),
        ("defaults", 0) => format!(
            "{}  {}",
            status.config.path,
            paint.dim("not there yet; the defaults count")
        ),
        (source, problems) => {
            let told = format!(
                "{}, using {}",
                counted(problems, "problem"),
                source.replace('-', " ")
            );
            format!("{}  {}", status.config.path, paint.warn(told))
        }
    };
    screen.table(
        "  ",
        &[
            vec!["home".into(), status.home.clone()],
            vec!["config".into(), config],
        ],
    )?;
    for agent in &status.agents {
        screen.blank()?;
        print_agent(screen, agent)?;
    }
    Ok(())
}

fn print_agent(screen: &mut Screen, agent: &AgentStatus) -> std::io::Result<()> {
    let paint = screen.paint;
    let name = agent
        .name
        .as_ref()
        .map(|name| format!(" “{name}”"))
        .unwrap_or_default();
    let default = if agent.default {
        paint.dim(" (default)")
    } else {
        String::new()
    };
    screen.line(format!(
        "{}{name}{default}",
        paint.bold(format!("Agent {}", agent.id))
    ))?;
    let condition = match agent.condition {
        Condition::New => paint.warn("not set up yet: chela init"),
        Condition::Unfinished => paint.warn("setting up was interrupted: chela init"),
        Condition::FirstRun => paint.good("ready for the first conversation"),
        Condition::Settled => paint.good("settled in"),
        Condition::Adopted => paint.good("your own files"),
        Condition::Lost { .. } => {
            paint.bad("its files are gone; restore them, or chela init --reseed")
        }
    };
    let model = agent
        .model
        .clone()
        .unwrap_or_else(|| paint.dim("none chosen (agents.defaults.model)"));
    let files = if agent.files.is_empty() {
        paint.dim("none")
    } else {
        agent.files.join(" ")
    };
    screen.table(
        "  ",
        &[
            vec![
                "workspace".into(),
                format!("{}  {condition}", agent.workspace),
            ],
            vec!["files".into(), files],
            vec!["model".into(), model],
            vec!["heartbeat".into(), agent.heartbeat.clone()],
        ],
    )
}
