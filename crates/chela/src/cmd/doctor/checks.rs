//! The checks themselves. Each looks and reports; none changes anything.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use chela_agent::assemble::{Ask, assemble};
use chela_config::ConfigSource;
use chela_workspace::{Condition, History, HistoryError};

use super::fix::Remedy;
use chela_core::{AgentId, SessionKey, Severity};
use chela_sandbox::{SandboxAsk, Standing, standing};
use chela_skills::{Presence, Source, TrustState};

use super::{Finding, stores};
use crate::cmd::{Setup, context};

pub fn run(setup: &Setup, check: &str) -> Vec<Finding> {
    match check {
        "home" => home(setup),
        "disk" => stores::disk(setup),
        "stores" => stores::stores(setup),
        "config" => config(setup),
        "agents" => agents(setup),
        "workspace" => workspace(setup),
        "files" => files(setup),
        "skills" => skills(setup),
        "words" => words(setup),
        "history" => history(setup),
        _ => Vec::new(),
    }
}

/// The state folder: there, a folder, ours, writable.
fn home(setup: &Setup) -> Vec<Finding> {
    let dir = setup.host.state_dir();
    let shown = setup.host.compact(&dir);
    let meta = match std::fs::metadata(&dir) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let finding = Finding::new(
                "home",
                Severity::Note,
                format!("{shown} does not exist yet"),
            );
            return vec![finding.hint("run `chela`")];
        }
        Err(error) => {
            let finding = Finding::new(
                "home",
                Severity::Error,
                format!("{shown} cannot be read: {error}"),
            );
            return vec![finding.hint("check its owner and permissions, or set CHELA_HOME")];
        }
    };
    if !meta.is_dir() {
        let finding = Finding::new("home", Severity::Error, format!("{shown} is not a folder"));
        return vec![finding.hint("move it away, or set CHELA_HOME to another place")];
    }
    let mut findings = Vec::new();
    if rustix::fs::access(&dir, rustix::fs::Access::WRITE_OK).is_err() {
        findings.push(
            Finding::new(
                "home",
                Severity::Warning,
                format!("{shown} is not writable: nothing can be kept"),
            )
            .hint("check its owner and permissions, or set CHELA_HOME"),
        );
    }
    if meta.permissions().mode() & 0o022 != 0 {
        findings.push(
            Finding::new(
                "home",
                Severity::Warning,
                format!("others on this machine can write to {shown}"),
            )
            .hint(format!("chmod go-w {shown}"))
            .remedy(Remedy::Chmod {
                path: dir,
                mode: (meta.mode() & 0o777) & !0o022,
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
        findings.push(Finding::new("home", Severity::Note, told).remedy(Remedy::Sweep));
    }
    findings
}

/// What validation says, and what a start does about it.
fn config(setup: &Setup) -> Vec<Finding> {
    let host = &setup.host;
    let path = host.config_file();
    let mut findings: Vec<Finding> = chela_config::validate(host)
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
            let mut finding = Finding::new(
                "config",
                found.severity,
                format!("{}{key}{}", place.unwrap_or_default(), found.message),
            );
            finding.hint = found.hint;
            if chela_config::MIGRATIONS
                .iter()
                .any(|migration| migration.id == found.code)
            {
                finding = finding.remedy(Remedy::Migrate);
            }
            finding
        })
        .collect();
    if let ConfigSource::LastGood { .. } = setup.loaded.source {
        findings.push(
            Finding::new(
                "config",
                Severity::Warning,
                "the last good config is used until the file is mended",
            )
            .hint("chela config validate"),
        );
    }
    if let Ok(meta) = std::fs::metadata(&path)
        && meta.permissions().mode() & 0o077 != 0
        && has_secrets(&setup.loaded)
    {
        let shown = host.compact(&path);
        findings.push(
            Finding::new(
                "config",
                Severity::Warning,
                format!("{shown} holds secrets and others on this machine can read it"),
            )
            .hint(format!("chmod 600 {shown}"))
            .remedy(Remedy::Chmod { path, mode: 0o600 }),
        );
    }
    findings
}

/// Settings that hold, but not yet or not as one may think.
fn agents(setup: &Setup) -> Vec<Finding> {
    let mut findings = Vec::new();
    for knobs in setup.agents() {
        let id = &knobs.agent;
        if knobs.model.is_none() {
            findings.push(
                Finding::new("agents", Severity::Note, format!("agent {id} has no model"))
                    .hint("chela config set agents.defaults.model PROVIDER/MODEL"),
            );
        }
        findings.extend(sandbox(setup, id, knobs.sandbox_mode));
    }
    findings
}

/// An agent that must be sandboxed and cannot be runs no commands.
fn sandbox(setup: &Setup, id: &AgentId, mode: &str) -> Option<Finding> {
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
    });
    match standing {
        Standing::Refused { why, .. } => Some(
            Finding::new(
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
fn workspace(setup: &Setup) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in setup.loaded.agents() {
        let dir = setup.workspace_dir(&id);
        let shown = setup.host.compact(&dir);
        let seed = Remedy::Seed { agent: id.clone() };
        if dir.exists() && !dir.is_dir() {
            findings.push(
                Finding::new(
                    "workspace",
                    Severity::Error,
                    format!("{shown} (agent {id}) is not a folder"),
                )
                .hint("move it away or set another `workspace`"),
            );
            continue;
        }
        match Condition::of(&setup.host, &dir) {
            Condition::New => findings.push(
                Finding::new(
                    "workspace",
                    Severity::Note,
                    format!("agent {id} has no workspace yet at {shown}"),
                )
                .hint(format!("chela init --agent {id}"))
                .remedy(seed),
            ),
            Condition::Unfinished => findings.push(
                Finding::new(
                    "workspace",
                    Severity::Warning,
                    format!("setting up {shown} (agent {id}) was interrupted"),
                )
                .hint(format!("chela init --agent {id}"))
                .remedy(seed),
            ),
            Condition::Lost { .. } => findings.push(
                Finding::new(
                    "workspace",
                    Severity::Error,
                    format!("{shown} (agent {id}) was set up before and its files are gone"),
                )
                .hint(format!(
                    "mount or restore it; to start afresh: chela init --agent {id} --reseed"
                )),
            ),
            Condition::FirstRun | Condition::Settled | Condition::Adopted => {
                let empty = chela_workspace::unfilled_files(&setup.host, &dir);
                if let Some(file) = empty.first() {
                    let told = format!(
                        "{shown}/{} (agent {id}) is empty: setting it up was interrupted",
                        file.name()
                    );
                    findings.push(
                        Finding::new("workspace", Severity::Warning, told)
                            .hint(format!("chela init --agent {id}"))
                            .remedy(seed),
                    );
                }
            }
        }
    }
    findings
}

/// What the model will not see, though one might think it does.
fn files(setup: &Setup) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in setup.loaded.agents() {
        let ask = Ask {
            agent: Some(id.clone()),
            ..Ask::default()
        };
        let assembled = match assemble(&setup.host, &setup.loaded, &ask) {
            Ok(assembled) => assembled,
            Err(error) => {
                findings.push(Finding::new(
                    "files",
                    Severity::Error,
                    format!("agent {id}: no prompt can be made: {error}"),
                ));
                continue;
            }
        };
        findings.extend(assembled.notices.iter().map(|notice| {
            let told = format!("agent {id}: {}", notice.text);
            Finding::new("files", Severity::Warning, told)
        }));
        for file in assembled.files.iter().filter(|file| file.wants_attention()) {
            let place = setup.host.compact(&file.path);
            let missing = matches!(file.status, chela_workspace::FileStatus::Missing { .. });
            if file.status != chela_workspace::FileStatus::Injected {
                let mut finding = Finding::new(
                    "files",
                    Severity::Warning,
                    format!("agent {id}: {place} {}", file.status),
                )
                .hint(format!(
                    "chela context why {} --agent {id}",
                    file.shown_path
                ));
                if missing {
                    finding = finding.remedy(Remedy::Seed { agent: id.clone() });
                }
                findings.push(finding);
            }
            findings.extend(file.remarks.iter().map(|remark| {
                Finding::new(
                    "files",
                    Severity::Warning,
                    format!("agent {id}: {place} {remark}"),
                )
            }));
        }
    }
    findings
}

/// Skills the agent does not have though someone put them there, and skills that changed.
fn skills(setup: &Setup) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in setup.loaded.agents() {
        let Some(view) = setup.loaded.agent(&id) else {
            continue;
        };
        let skills = chela_agent::skills::skills_of(&setup.host, &setup.loaded, &view);
        for skill in skills.skills() {
            let name = &skill.skill().name;
            let told = |message: String| {
                Finding::new("skills", Severity::Note, format!("agent {id}: {message}"))
                    .hint(format!("chela skills why {name} --agent {id}"))
            };
            match skill.presence() {
                Presence::Quarantined => findings.push(told(format!(
                    "skill `{name}` is quarantined: nobody has trusted it yet"
                ))),
                Presence::Hidden if skill.skill().source != Source::Bundled => {
                    let why = skill
                        .hidden
                        .first()
                        .map(ToString::to_string)
                        .unwrap_or_default();
                    findings.push(told(format!("skill `{name}` is hidden: {why}")));
                }
                _ if skill.entry.trust.state == TrustState::Changed => {
                    let mut changed = told(format!(
                        "skill `{name}` is not what was trusted: its files changed"
                    ));
                    changed.severity = Severity::Warning;
                    findings.push(changed.hint(format!(
                        "chela skills diff {name}, then chela skills trust {name}"
                    )));
                }
                _ => {}
            }
        }
    }
    findings
}

/// The lint, in short.
fn words(setup: &Setup) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in setup.loaded.agents() {
        let Ok(found) = context::lint_findings(setup, &id) else {
            continue;
        };
        // Cut and unseen text, and invisible characters, are told by `files`.
        let own = found
            .iter()
            .filter(|finding| !matches!(finding.code, "cut" | "unseen" | "invisible"));
        findings.extend(own.map(|finding| {
            Finding::new(
                "words",
                finding.severity,
                format!(
                    "agent {id}: {}:{}: {}",
                    finding.file, finding.line, finding.message
                ),
            )
            .hint(finding.suggestion.clone())
        }));
    }
    findings
}

/// Whether a bad edit can be undone.
fn history(setup: &Setup) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in setup.loaded.agents() {
        let dir = setup.workspace_dir(&id);
        if !dir.is_dir() {
            continue;
        }
        match History::open(&setup.host, &dir) {
            Ok(_) => {}
            Err(HistoryError::NoGit) => {
                findings.push(
                    Finding::new(
                        "history",
                        Severity::Note,
                        "git was not found: changes of core files cannot be undone",
                    )
                    .hint("install git"),
                );
                break;
            }
            Err(error @ HistoryError::NoRepository { .. }) => findings.push(
                Finding::new("history", Severity::Note, format!("agent {id}: {error}"))
                    .remedy(Remedy::Seed { agent: id.clone() }),
            ),
            Err(error) => findings.push(Finding::new(
                "history",
                Severity::Note,
                format!("agent {id}: {error}"),
            )),
        }
    }
    findings
}

/// Whether a secret is written out in the config.
fn has_secrets(loaded: &chela_config::Loaded) -> bool {
    let root = chela_config::KeyPath::root();
    chela_config::redacted(&loaded.tree, &root) != loaded.tree.to_json()
}
