//! `chela trust restore`: a version on record, put back.

use chela_core::{ContentHash, Trust, ok_or_warn};
use chela_workspace::custody::WatchedKind;
use chela_workspace::trust::{
    FileEntry, FileVersion, TrustStanding, VersionCopies, VersionWriter, WrittenVersion,
};
use chela_workspace::{CommitAuthor, WorkspaceHistory};
use serde_json::json;

use super::AgentFiles;
use crate::cmd::CommandOutcome;
use crate::cmd::time::utc;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// Which version of which file.
pub(super) struct RestoreRequest<'a> {
    pub file: &'a str,
    pub to: Option<&'a str>,
}

pub(super) fn run(
    agent_files: &AgentFiles<'_>,
    screen: &mut Screen,
    wanted: &RestoreRequest<'_>,
    json: bool,
) -> CommandOutcome {
    agent_files.mend()?;
    let file = agent_files.watched(wanted.file)?;
    if file.kind == WatchedKind::Setting {
        return Err(
            CommandError::new(format!("{} is part of the config", file.shown))
                .hint("chela config set agents.defaults.heartbeat.prompt TEXT"),
        );
    }
    let entry = file.entry.clone().unwrap_or_default();
    let version = chosen(&entry, &file.shown, wanted.to)?;
    let bytes = VersionCopies::of(agent_files.host())
        .bytes(version.hash)
        .ok_or_else(|| {
            CommandError::new(format!(
                "the text of version {} of {} was not kept",
                version.hash.short(),
                file.shown
            ))
            .hint(format!("chela workspace history {}", file.shown))
        })?;
    if !json
        && wanted.to.is_none()
        && file.judged.as_ref().is_some_and(|judged| {
            judged.judgement.state == TrustStanding::Trusted && judged.hash == version.hash
        })
    {
        return as_it_is(screen, &entry, &file.shown);
    }
    let path = agent_files.custody.resolved(&file.path);
    let before = agent_files
        .custody
        .look(&file.path)
        .map(|(judged, _)| judged.hash);
    // Whatever is replaced can be had back, where the workspace has a history.
    if let Ok(past) = WorkspaceHistory::open(agent_files.host(), agent_files.custody.root()) {
        let why = format!("Keep {} before restoring it", file.shown);
        let kept = past.snapshot(&CommitAuthor::Runtime, &why);
        ok_or_warn!(kept, "a change is not in the workspace history");
    }
    chela_workspace::replace_file(&path, &bytes).map_err(CommandError::new)?;
    let how = format!("chela trust restore, as of {}", utc(version.at));
    agent_files
        .custody
        .record(&[WrittenVersion {
            path: &path,
            bytes: &bytes,
            writer: &VersionWriter::Owner,
            how: &how,
            trust: version.trust,
        }])
        .map_err(CommandError::new)?;
    if version.trust >= Trust::Agent {
        agent_files.vouch(&path)?;
    }
    agent_files.note(
        "restore",
        &[&path],
        json!({ "hash": version.hash, "before": before }),
    );
    if json {
        screen.json(&json!({ "restored": file.shown, "hash": version.hash, "before": before }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!(
        "Restored {} as of {} ({}).",
        file.shown,
        utc(version.at),
        version.hash.short()
    ))?;
    Ok(CommandExit::Fine)
}

/// There is nothing to put back; what came before can be had by its hash.
fn as_it_is(screen: &mut Screen, entry: &FileEntry, shown: &str) -> CommandOutcome {
    screen.line(format!("{shown} matches the recorded version."))?;
    for version in entry.earlier.iter().take(5) {
        screen.line(format!(
            "  chela trust restore {shown} --to {}  as of {} ({})",
            version.hash.short(),
            utc(version.at),
            version.writer.as_str()
        ))?;
    }
    Ok(CommandExit::Fine)
}

fn chosen<'e>(
    entry: &'e FileEntry,
    shown: &str,
    to: Option<&str>,
) -> Result<&'e FileVersion, CommandError> {
    let Some(typed) = to else {
        let newest = entry.restorable().next();
        return newest.ok_or_else(|| {
            CommandError::new(format!("no version of {shown} is recorded"))
                .hint(format!("chela workspace history {shown}"))
        });
    };
    let typed = typed.trim().to_ascii_lowercase();
    let is_hex = typed.len() >= 4 && typed.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_it = |hash: ContentHash| hash.to_string().starts_with(&typed);
    let mut fitting = entry
        .restorable()
        .filter(|version| is_hex && is_it(version.hash));
    match (fitting.next(), fitting.next()) {
        (Some(version), None) => Ok(version),
        (Some(_), Some(_)) => Err(CommandError::usage(format!(
            "several versions start with {typed}"
        ))
        .hint("write more of the hash")),
        (None, _) => {
            let known: Vec<String> = entry
                .restorable()
                .map(|version| format!("{} ({})", version.hash.short(), utc(version.at)))
                .collect();
            let hint = match known.is_empty() {
                true => "no version is recorded".to_owned(),
                false => format!("there is {}", known.join(", ")),
            };
            Err(CommandError::new(format!("no version {typed} of {shown} is recorded")).hint(hint))
        }
    }
}
