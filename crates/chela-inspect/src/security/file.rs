//! Files and folders that others can read or change, and links that lead elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use chela_files::FileFacts as _;
use chela_workspace::{CoreFile, CoreSpelling};

use super::{AuditInput, AuditedAgent, RiskFinding, RiskSeverity, SecurityRemedy};
use RiskSeverity::{Critical, Warning};

/// What others must not do.
#[derive(Clone, Copy)]
enum Others {
    Write,
    /// Neither read nor write.
    Read,
}

/// One file or folder, and why it matters.
struct Guarded {
    id: &'static str,
    severity: RiskSeverity,
    path: PathBuf,
    others: Others,
    what: &'static str,
}

pub(super) fn permissions(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    let mut findings: Vec<RiskFinding> = guarded(ground)
        .into_iter()
        .filter_map(|file| judged(ground, &file))
        .collect();
    findings.extend(links(ground));
    findings.extend(git_hooks(ground));
    findings
}

fn guarded(ground: &AuditInput<'_>) -> Vec<Guarded> {
    let host = ground.host;
    let home = host.state_dir();
    let state = home.join("state");
    let config = ground.loaded.file();
    let mut all = Vec::new();
    let mut guard = |id, severity, path, others, what| {
        all.push(Guarded {
            id,
            severity,
            path,
            others,
            what,
        });
    };
    guard(
        "files.home-writable",
        Critical,
        home.clone(),
        Others::Write,
        "Chela's home folder",
    );
    guard(
        "files.config-writable",
        Critical,
        config.clone(),
        Others::Write,
        "the config",
    );
    if has_secrets(ground) {
        guard(
            "files.config-readable",
            Warning,
            config,
            Others::Read,
            "the config, which contains secrets,",
        );
    }
    guard(
        "files.env-readable",
        Critical,
        home.join(".env"),
        Others::Read,
        "the environment file",
    );
    guard(
        "files.approvals-writable",
        Critical,
        home.join("exec-approvals.json"),
        Others::Write,
        "the list of pre-approved commands",
    );
    guard(
        "files.trust-writable",
        Critical,
        state.join("trust.json"),
        Others::Write,
        "the record of what is trusted",
    );
    guard(
        "files.ledger-readable",
        Warning,
        state.join("ledger.sqlite"),
        Others::Read,
        "the record of every request",
    );
    guard(
        "files.owner-secret-readable",
        Warning,
        state.join("owner-secret"),
        Others::Read,
        "the secret behind hashed owner ids",
    );
    guard(
        "files.skills-writable",
        Critical,
        home.join("skills"),
        Others::Write,
        "the skills folder",
    );
    guard(
        "files.hooks-writable",
        Critical,
        home.join("hooks"),
        Others::Write,
        "the hooks folder",
    );
    for AuditedAgent { id: agent, .. } in &ground.agents {
        let own = home.join("agents").join(agent.as_str());
        guard(
            "files.sessions-readable",
            Warning,
            own.join("sessions.sqlite"),
            Others::Read,
            "the conversations",
        );
        let memory = state.join("memory").join(format!("{agent}.sqlite"));
        guard(
            "files.memory-readable",
            Warning,
            memory,
            Others::Read,
            "the memory index",
        );
        let workspace = ground.loaded.workspace_dir(agent).value;
        let spelling = CoreSpelling::of(&workspace);
        for file in CoreFile::ALL {
            guard(
                "files.persona-writable",
                Critical,
                workspace.join(spelling.name(file)),
                Others::Write,
                "a core file",
            );
        }
        guard(
            "files.notes-writable",
            Warning,
            workspace.join("memory"),
            Others::Write,
            "the memory folder",
        );
        guard(
            "files.workspace-env-readable",
            Warning,
            workspace.join(".env"),
            Others::Read,
            "an environment file in the workspace",
        );
        guard(
            "files.workspace-writable",
            Critical,
            workspace,
            Others::Write,
            "the workspace",
        );
    }
    for (name, provider) in &ground.loaded.config.secrets.providers {
        let path = provider.other.get("path").and_then(|path| path.as_str());
        if let Some(path) = path {
            let path = host.expand_from(path, &home);
            let what = match name.is_empty() {
                true => "a file",
                false => "a secrets file",
            };
            guard("files.vault-readable", Critical, path, Others::Read, what);
        }
    }
    all
}

fn judged(ground: &AuditInput<'_>, file: &Guarded) -> Option<RiskFinding> {
    // A link's own permissions say nothing; where it leads is another question.
    let meta = fs::metadata(&file.path).ok()?;
    let mode = meta.permission_bits() & 0o777;
    let (mask, verb) = match file.others {
        Others::Write => (0o022, "change"),
        Others::Read => (0o077, "read"),
    };
    if mode & mask == 0 {
        return None;
    }
    let shown = ground.host.compact(&file.path);
    let finding = RiskFinding::new(
        file.id,
        file.severity,
        format!("others on this machine can {verb} {} {shown}", file.what),
    );
    let better = mode & !mask;
    Some(
        finding
            .in_file(&file.path, None)
            .fix(format!("chmod {better:o} {shown}"))
            .remedy(SecurityRemedy::Chmod {
                path: file.path.clone(),
                mode: better,
            }),
    )
}

/// Whether somebody else may put something into a folder.
pub(super) fn others_may_write(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|meta| meta.permission_bits() & 0o022 != 0)
}

fn has_secrets(ground: &AuditInput<'_>) -> bool {
    chela_config::secrets_in(&ground.loaded.tree)
        .iter()
        .any(|(path, value)| {
            let node = ground.loaded.get(path);
            let named = node.is_some_and(|node| !node.vars.is_empty());
            !value.is_object() && !named
        })
}

/// Persona files that are links out of the workspace: whoever owns the target owns the agent.
fn links(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    let mut findings = Vec::new();
    for AuditedAgent { id: agent, .. } in &ground.agents {
        let workspace = ground.loaded.workspace_dir(agent).value;
        let Ok(real) = workspace.canonicalize() else {
            continue;
        };
        let spelling = CoreSpelling::of(&workspace);
        for file in CoreFile::ALL {
            let path = workspace.join(spelling.name(file));
            let is_link = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
            let outside = path
                .canonicalize()
                .is_ok_and(|target| !target.starts_with(&real));
            if is_link && outside {
                let message = format!(
                    "{} of agent {agent} is a link to outside its workspace",
                    file.name()
                );
                findings.push(
                    RiskFinding::new("files.persona-link", Warning, message)
                        .in_file(&path, None)
                        .fix("replace it with a regular file"),
                );
            }
        }
    }
    findings
}

/// Programs that git would run by itself in a workspace.
fn git_hooks(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    let mut findings = Vec::new();
    for AuditedAgent { id: agent, .. } in &ground.agents {
        let folder = ground.loaded.workspace_dir(agent).value.join(".git/hooks");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let runs = fs::metadata(&path)
                .is_ok_and(|meta| meta.is_file() && meta.permission_bits() & 0o111 != 0);
            if runs && path.extension().is_none_or(|end| end != "sample") {
                let message =
                    format!("git runs a program automatically in the workspace of agent {agent}");
                findings.push(
                    RiskFinding::new("files.git-hook", Warning, message)
                        .in_file(&path, None)
                        .fix("read it; remove it if it is not yours"),
                );
            }
        }
    }
    findings
}
