//! `chela trust diff`: what the owner is asked to believe.

use chela_workspace::trust::{Held, Versions, Watched};
use serde_json::json;

use super::Desk;
use crate::cmd::Outcome;
use crate::cmd::compared::compared;
use crate::fail::Exit;
use crate::screen::{Paint, Screen};

pub(super) fn run(desk: &Desk<'_>, screen: &mut Screen, file: Option<&str>, json: bool) -> Outcome {
    let files = match file {
        Some(typed) => vec![desk.watched(typed)?],
        None => waiting(desk),
    };
    if json {
        let rows: Vec<_> = files
            .iter()
            .map(|file| {
                let (old, new) = texts(desk, file);
                json!({
                    "file": file.shown,
                    "proposed": file.proposed(),
                    "before": old,
                    "now": new,
                    "diff": compared(&old.clone().unwrap_or_default(), &new.clone().unwrap_or_default(), Paint::Plain),
                })
            })
            .collect();
        screen.json(&rows)?;
        return Ok(Exit::Fine);
    }
    if files.is_empty() {
        screen.line("Nothing waits for you.")?;
    }
    let mut differs = false;
    for file in &files {
        differs |= show(desk, screen, file)?;
    }
    Ok(match differs {
        true => Exit::Findings,
        false => Exit::Fine,
    })
}

/// The files that wait for the owner.
pub(super) fn waiting(desk: &Desk<'_>) -> Vec<Watched> {
    desk.survey().into_iter().filter(Watched::waits).collect()
}

/// Shows a file beside the version on record; says whether they differ.
pub(super) fn show(
    desk: &Desk<'_>,
    screen: &mut Screen,
    file: &Watched,
) -> Result<bool, std::io::Error> {
    let paint = screen.paint;
    let (old, new) = texts(desk, file);
    let version = file.entry.as_ref().and_then(|entry| entry.trusted.as_ref());
    if new.is_some() && new == old && file.proposed().is_none() {
        screen.line(format!("{} is as it is on record.", file.shown))?;
        return Ok(false);
    }
    let since = match (version, &old) {
        _ if file.proposed().is_some() => "as it is, and as it would be".to_owned(),
        (Some(version), Some(_)) => format!(
            "since {} ({}, {})",
            crate::cmd::time::utc(version.at),
            version.writer.as_str(),
            version.hash.short()
        ),
        (Some(_), None) => "the version on record was too large to keep".to_owned(),
        (None, _) => "no version is on record".to_owned(),
    };
    screen.line(format!("{}  {}", paint.bold(&file.shown), paint.dim(since)))?;
    if let Some(proposed) = file.proposed() {
        screen.line(paint.warn(proposed_in_words(proposed)))?;
    }
    if new.is_none() {
        screen.line(paint.bad(match file.proposed() {
            Some(proposed) if proposed.hash.is_some() => "  its text was too large to keep",
            Some(_) => "  it would be deleted",
            None => "  it is not there",
        }))?;
        return Ok(true);
    }
    let text = compared(&old.unwrap_or_default(), &new.unwrap_or_default(), paint);
    match text.is_empty() {
        true => screen.line(paint.dim("  only line ends or blanks differ"))?,
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
pub(super) fn proposed_in_words(proposed: &Held) -> String {
    let question = match &proposed.question {
        Some(question) => format!("; question {question} had no answer"),
        None => String::new(),
    };
    format!(
        "  proposed by the agent with {}, {} (turn {}{question}); the file is as it was",
        proposed.how,
        crate::cmd::time::utc(proposed.at),
        proposed.turn,
    )
}

/// The version on record, and what the owner is asked about: what the agent proposes, or the file
/// as it is. Secrets are left out.
fn texts(desk: &Desk<'_>, file: &Watched) -> (Option<String>, Option<String>) {
    let shown = |bytes: Vec<u8>| desk.redacted(String::from_utf8_lossy(&bytes).into_owned());
    let version = file.entry.as_ref().and_then(|entry| entry.trusted.as_ref());
    let old = match file.proposed() {
        // It would go into the file as it is.
        Some(_) => desk.bytes(file),
        None => version.and_then(|version| Versions::of(desk.host()).bytes(version.hash)),
    };
    (old.map(shown), desk.asked(file).map(shown))
}
