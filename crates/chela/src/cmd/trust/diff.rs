//! `chela trust diff`: what the owner is asked to believe.

use chela_workspace::custody::WatchedFile;
use chela_workspace::trust::{HeldVersion, VersionCopies};
use serde_json::json;

use super::AgentFiles;
use crate::cmd::CommandOutcome;
use crate::cmd::text_diff::render_diff;
use crate::fail::CommandExit;
use crate::screen::{ColourMode, Screen};

pub(super) fn run(
    agent_files: &AgentFiles<'_>,
    screen: &mut Screen,
    file: Option<&str>,
    json: bool,
) -> CommandOutcome {
    let files = match file {
        Some(typed) => vec![agent_files.watched(typed)?],
        None => waiting_files(agent_files),
    };
    if json {
        let rows: Vec<_> = files
            .iter()
            .map(|file| {
                let (old, new) = texts(agent_files, file);
                json!({
                    "file": file.shown,
                    "proposed": file.proposed(),
                    "before": old,
                    "now": new,
                    "diff": render_diff(&old.clone().unwrap_or_default(), &new.clone().unwrap_or_default(), ColourMode::Plain),
                })
            })
            .collect();
        screen.json(&rows)?;
        return Ok(CommandExit::Fine);
    }
    if files.is_empty() {
        screen.line("Nothing is waiting for you.")?;
    }
    let mut differs = false;
    for file in &files {
        differs |= print_diff(agent_files, screen, file)?;
    }
    Ok(match differs {
        true => CommandExit::Findings,
        false => CommandExit::Fine,
    })
}

/// The files that wait for the owner.
pub(super) fn waiting_files(agent_files: &AgentFiles<'_>) -> Vec<WatchedFile> {
    agent_files
        .survey()
        .into_iter()
        .filter(WatchedFile::waits)
        .collect()
}

/// Shows a file beside the version on record; says whether they differ.
pub(super) fn print_diff(
    agent_files: &AgentFiles<'_>,
    screen: &mut Screen,
    file: &WatchedFile,
) -> Result<bool, std::io::Error> {
    let paint = screen.paint;
    let (old, new) = texts(agent_files, file);
    let version = file.entry.as_ref().and_then(|entry| entry.trusted.as_ref());
    if new.is_some() && new == old && file.proposed().is_none() {
        screen.line(format!("{} matches the recorded version.", file.shown))?;
        return Ok(false);
    }
    let since = match (version, &old) {
        _ if file.proposed().is_some() => "current and proposed text".to_owned(),
        (Some(version), Some(_)) => format!(
            "since {} ({}, {})",
            crate::cmd::time::utc(version.at),
            version.writer.as_str(),
            version.hash.short()
        ),
        (Some(_), None) => "the recorded version was too large to keep".to_owned(),
        (None, _) => "no version is recorded".to_owned(),
    };
    screen.line(format!("{}  {}", paint.bold(&file.shown), paint.dim(since)))?;
    if let Some(proposed) = file.proposed() {
        screen.line(paint.warn(proposed_in_words(proposed)))?;
    }
    if new.is_none() {
        screen.line(paint.bad(match file.proposed() {
            Some(proposed) if proposed.hash.is_some() => "  its text was too large to keep",
            Some(_) => "  it would be deleted",
            None => "  it does not exist",
        }))?;
        return Ok(true);
    }
    let text = render_diff(&old.unwrap_or_default(), &new.unwrap_or_default(), paint);
    match text.is_empty() {
        true => screen.line(paint.dim("  only line endings or spaces differ"))?,
        false => screen.raw(&text)?,
    }
    let found = file
        .judged
        .as_ref()
        .and_then(|judged| judged.found.as_ref());
    if let Some(found) = found {
        let told = format!("{} suspicion: {}", found.severity.as_str(), found.what);
        screen.paragraph("  ", &paint.warn(told))?;
    }
    Ok(true)
}

/// Who wanted what, and when.
pub(super) fn proposed_in_words(proposed: &HeldVersion) -> String {
    let question = match &proposed.question {
        Some(question) => format!("; question {question} had no answer"),
        None => String::new(),
    };
    format!(
        "  proposed by the agent with {}, {} (turn {}{question}); the file is unchanged",
        proposed.how,
        crate::cmd::time::utc(proposed.at),
        proposed.turn,
    )
}

/// The version on record, and what the owner is asked about: what the agent proposes, or the file
/// as it is. Secrets are left out.
fn texts(agent_files: &AgentFiles<'_>, file: &WatchedFile) -> (Option<String>, Option<String>) {
    let shown = |bytes: Vec<u8>| agent_files.redacted(String::from_utf8_lossy(&bytes).into_owned());
    let version = file.entry.as_ref().and_then(|entry| entry.trusted.as_ref());
    let old = match file.proposed() {
        // It would go into the file as it is.
        Some(_) => agent_files.bytes(file),
        None => {
            version.and_then(|version| VersionCopies::of(agent_files.host()).bytes(version.hash))
        }
    };
    (old.map(shown), agent_files.asked(file).map(shown))
}
