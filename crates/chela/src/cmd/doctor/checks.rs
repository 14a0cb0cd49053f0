//! The checks themselves. Each looks and reports; none changes anything.

use std::path::Path;

use chela_config::ConfigSource;
use chela_files::{DiskBar, FileFacts as _, disk_bar, may_write};
use chela_model::Models;
use chela_workspace::{HistoryError, WorkspaceCondition, WorkspaceHistory};

use super::fix::DoctorFix;
use chela_core::{AgentId, SessionKey, Severity};
use chela_sandbox::{SandboxAsk, SandboxStanding, standing};

use super::prompts::AgentPrompts;
use super::{DoctorFinding, gateway, mcp, models, skills, stores};
use crate::cmd::owner::is_agent;
use crate::cmd::{CommandSetup, stop};

pub fn run(setup: &CommandSetup, prompts: &AgentPrompts<'_>, check: &str) -> Vec<DoctorFinding> {
    match check {
        "home" => home(setup),
        "disk" => stores::disk_findings(setup),
        "stores" => stores::store_findings(setup),
        "config" => config(setup),
        "agents" => agents(setup),
        "workspace" => workspace(setup),
        "files" => prompts.file_findings(),
        "skills" => skills::check(setup),
        "mcp" => mcp::mcp_findings(setup),
        "words" => prompts.word_findings(),
        "history" => history(setup),
        "gateway" => gateway::gateway_findings(setup),
        _ => Vec::new(),
    }
}

/// The state folder: there, a folder, ours, writable.
fn home(setup: &CommandSetup) -> Vec<DoctorFinding> {
    let dir = setup.host.state_dir();
    let shown = setup.host.compact(&dir);
    let meta = match std::fs::metadata(&dir) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return vec![absent_home(setup, &dir)];
        }
        Err(error) => {
            let finding = DoctorFinding::new(
                "home",
                Severity::Error,
                format!("{shown} cannot be read: {error}"),
            );
            return vec![finding.hint(other_home(&dir))];
        }
    };
    if !meta.is_dir() {
        let finding =
            DoctorFinding::new("home", Severity::Error, format!("{shown} is not a folder"));
        return vec![finding.hint("move it away, or set CHELA_HOME to another place")];
    }
    let mut findings: Vec<DoctorFinding> = unwritable_folder(setup, &dir).into_iter().collect();
    if meta.permission_bits() & 0o022 != 0 {
        findings.push(
            DoctorFinding::new(
                "home",
                Severity::Warning,
                format!("others on this machine can write to {shown}"),
            )
            .hint(format!("chmod go-w {shown}"))
            .remedy(DoctorFix::Chmod {
                path: dir,
                mode: (meta.permission_bits() & 0o777) & !0o022,
            }),
        );
    }
    let left = chela_agent::leftovers::leftovers(&setup.host, &setup.loaded);
    if let Some(first) = left.first() {
        let more = match left.len() {
            1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        let told = format!(
            "an interrupted write left {}{more} behind",
            setup.host.compact(first)
        );
        findings.push(DoctorFinding::new("home", Severity::Note, told).remedy(DoctorFix::Sweep));
    }
    findings
}

/// What to do about a folder that cannot be written.
fn other_home(folder: &Path) -> &'static str {
    match disk_bar(folder) {
        Some(DiskBar::MountedReadOnly) => {
            "its disk is mounted read-only: remount it, or set CHELA_HOME to another place"
        }
        _ => "check its owner and permissions, or set CHELA_HOME to another place",
    }
}

fn absent_home(setup: &CommandSetup, dir: &Path) -> DoctorFinding {
    let shown = setup.host.compact(dir);
    let above = dir.ancestors().find(|above| above.is_dir());
    match above.filter(|above| !is_writable(above)) {
        Some(above) => DoctorFinding::new(
            "home",
            Severity::Error,
            format!(
                "{shown} does not exist and cannot be created: {} is not writable",
                setup.host.compact(above)
            ),
        )
        .hint(other_home(above)),
        None => DoctorFinding::new(
            "home",
            Severity::Note,
            format!("{shown} does not exist yet"),
        )
        .hint("run `chela`"),
    }
}

/// The home, or the folder in it, that keeps something from being kept.
fn unwritable_folder(setup: &CommandSetup, home: &Path) -> Option<DoctorFinding> {
    let agents = home.join("agents");
    let of_agents = setup.loaded.agents();
    let inner = of_agents.iter().map(|agent| agents.join(agent.as_str()));
    let folder = [home.to_owned(), home.join("state"), agents.clone()]
        .into_iter()
        .chain(inner)
        .find(|folder| folder.is_dir() && !is_writable(folder))?;
    if is_agent(&setup.host) {
        // Nothing is wrong: that is how it is to look from there.
        let shown = setup.host.compact(&folder);
        let told = format!("{shown} cannot be changed by a command of an agent");
        return Some(DoctorFinding::new("home", Severity::Note, told));
    }
    let lost = match folder == home {
        true => "nothing can be saved",
        false => "nothing can be saved there, and without a record agents can only read",
    };
    let told = format!("{} is not writable: {lost}", setup.host.compact(&folder));
    Some(DoctorFinding::new("home", Severity::Error, told).hint(other_home(&folder)))
}

pub fn is_writable(folder: &Path) -> bool {
    may_write(folder)
}

/// What validation says, and what a start does about it.
fn config(setup: &CommandSetup) -> Vec<DoctorFinding> {
    let host = &setup.host;
    let path = host.config_file();
    let mut findings: Vec<DoctorFinding> = chela_config::validate(host)
        .into_iter()
        .map(|found| {
            let place = found
                .place
                .as_ref()
                .map(|place| format!("{}:{}: ", host.compact(&place.file), place.line));
            let key = if found.path.is_root() {
                String::new()
            } else {
                format!("{}: ", found.path)
            };
            let mut finding = DoctorFinding::new(
                "config",
                found.severity,
                format!("{}{key}{}", place.unwrap_or_default(), found.message),
            );
            finding.hint = found.hint;
            if chela_config::MIGRATIONS
                .iter()
                .any(|migration| migration.id == found.code)
            {
                finding = finding.remedy(DoctorFix::Migrate);
            }
            finding
        })
        .collect();
    if let ConfigSource::LastGood { .. } = setup.loaded.source {
        findings.push(
            DoctorFinding::new(
                "config",
                Severity::Warning,
                "the last good config is used until the file is fixed",
            )
            .hint("chela config validate"),
        );
    }
    if let Ok(meta) = std::fs::metadata(&path)
        && meta.permission_bits() & 0o077 != 0
        && has_secrets(&setup.loaded)
    {
        let shown = host.compact(&path);
        findings.push(
            DoctorFinding::new(
                "config",
                Severity::Warning,
                format!("{shown} holds secrets and others on this machine can read it"),
            )
            .hint(format!("chmod 600 {shown}"))
            .remedy(DoctorFix::Chmod { path, mode: 0o600 }),
        );
    }
    findings
}

/// Settings that hold, but not yet or not as one may think.
fn agents(setup: &CommandSetup) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    if let Some(stopped) = stop::stopped_since(&setup.host) {
        findings.push(
            DoctorFinding::new(
                "agents",
                Severity::Warning,
                format!("every agent is {stopped}"),
            )
            .hint("`chela stop --lift` lets them work again"),
        );
    }
    if let Some(closed) = chela_tools::tools_closed(&setup.loaded) {
        findings.push(
            DoctorFinding::new("agents", Severity::Error, closed).hint("chela config validate"),
        );
    }
    let models = Models::of(&setup.host, &setup.loaded);
    for knobs in setup.agents() {
        let id = &knobs.agent;
        if knobs.model.is_none() {
            findings.push(
                DoctorFinding::new("agents", Severity::Note, format!("agent {id} has no model"))
                    .hint("`chela setup` finds one, or stores a key for one"),
            );
        } else {
            findings.extend(models::model_findings(setup, &models, id));
        }
        findings.extend(sandbox(setup, id, knobs.sandbox_mode));
    }
    findings
}

/// An agent that must be sandboxed and cannot be runs no commands.
fn sandbox(setup: &CommandSetup, id: &AgentId, mode: &str) -> Option<DoctorFinding> {
    if mode == "off" {
        return None;
    }
    let view = setup.loaded.agent(id)?;
    // Any session but the main one is sandboxed in every other mode.
    let session = SessionKey::parse(&format!("agent:{id}:cron:doctor")).ok()?;
    let standing = standing(&SandboxAsk {
        host: &setup.host,
        loaded: &setup.loaded,
        view: &view,
        session: &session,
        channel: None,
        readable: &[],
        folders: &[],
    });
    match standing {
        SandboxStanding::Refused { why, .. } => Some(
            DoctorFinding::new(
                "agents",
                Severity::Error,
                format!("agent {id} must be sandboxed (mode {mode}) and cannot be: {why}; its commands are refused"),
            )
            .hint("install bubblewrap, or see `chela sandbox explain`"),
        ),
        _ => None,
    }
}

/// Each agent's folder.
fn workspace(setup: &CommandSetup) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    for id in setup.loaded.agents() {
        let dir = setup.workspace_dir(&id);
        let shown = setup.host.compact(&dir);
        let seed = DoctorFix::Seed { agent: id.clone() };
        if dir.exists() && !dir.is_dir() {
            findings.push(
                DoctorFinding::new(
                    "workspace",
                    Severity::Error,
                    format!("{shown} (agent {id}) is not a folder"),
                )
                .hint("move it away or set another `workspace`"),
            );
            continue;
        }
        match WorkspaceCondition::of(&setup.host, &dir) {
            WorkspaceCondition::New => findings.push(
                DoctorFinding::new(
                    "workspace",
                    Severity::Note,
                    format!("agent {id} has no workspace yet at {shown}"),
                )
                .hint(format!("chela init --agent {id}"))
                .remedy(seed),
            ),
            WorkspaceCondition::Unfinished => findings.push(
                DoctorFinding::new(
                    "workspace",
                    Severity::Warning,
                    format!("setting up {shown} (agent {id}) was interrupted"),
                )
                .hint(format!("chela init --agent {id}"))
                .remedy(seed),
            ),
            WorkspaceCondition::Lost { .. } => findings.push(
                DoctorFinding::new(
                    "workspace",
                    Severity::Error,
                    format!("{shown} (agent {id}) was set up before and its files are gone"),
                )
                .hint(format!(
                    "mount or restore it; to start over: chela init --agent {id} --reseed"
                )),
            ),
            WorkspaceCondition::FirstRun
            | WorkspaceCondition::Settled
            | WorkspaceCondition::Adopted => {
                let empty = chela_workspace::unfilled_files(&setup.host, &dir);
                if let Some(file) = empty.first() {
                    let told = format!(
                        "{shown}/{} (agent {id}) is empty: setting it up was interrupted",
                        file.name()
                    );
                    findings.push(
                        DoctorFinding::new("workspace", Severity::Warning, told)
                            .hint(format!("chela init --agent {id}"))
                            .remedy(seed),
                    );
                }
            }
        }
    }
    findings
}

/// Whether a bad edit can be undone.
fn history(setup: &CommandSetup) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    for id in setup.loaded.agents() {
        let dir = setup.workspace_dir(&id);
        if !dir.is_dir() {
            continue;
        }
        match WorkspaceHistory::open(&setup.host, &dir) {
            Ok(_) => {}
            Err(HistoryError::NoGit) => {
                findings.push(
                    DoctorFinding::new(
                        "history",
                        Severity::Note,
                        "git was not found: changes to core files cannot be undone",
                    )
                    .hint("install git"),
                );
                break;
            }
            Err(error @ HistoryError::NoRepository { .. }) => findings.push(
                DoctorFinding::new("history", Severity::Note, format!("agent {id}: {error}"))
                    .remedy(DoctorFix::Seed { agent: id.clone() }),
            ),
            Err(error) => findings.push(DoctorFinding::new(
                "history",
                Severity::Note,
                format!("agent {id}: {error}"),
            )),
        }
    }
    findings
}

/// Whether a secret is written out in the config.
fn has_secrets(loaded: &chela_config::LoadedConfig) -> bool {
    let root = chela_config::KeyPath::root();
    chela_config::redacted(&loaded.tree, &root) != loaded.tree.to_json()
}
