//! `chela trust approve` and `revoke`: the owner's word, given after looking.

use std::io::IsTerminal;
use std::path::Path;

use chela_core::{Trust, ok_or_warn};
use chela_workspace::trust::{Watched, Writer, Wrote};
use chela_workspace::{Author, History};
use serde_json::json;

use super::{Desk, diff};
use crate::chat::asking;
use crate::cli::trust::ApproveArgs;
use crate::cmd::Outcome;
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted};

pub(super) fn run(desk: &Desk<'_>, screen: &mut Screen, args: &ApproveArgs) -> Outcome {
    desk.mend()?;
    let files = match args.all || args.folder {
        true => diff::waiting(desk),
        false => args
            .files
            .iter()
            .map(|typed| desk.watched(typed))
            .collect::<Result<Vec<_>, _>>()?,
    };
    if files.is_empty() && !args.folder {
        screen.line("Nothing waits for you.")?;
        return Ok(Exit::Fine);
    }
    // What is approved is what was shown: the bytes are read once.
    let looked: Vec<Looked> = files
        .into_iter()
        .map(|file| Looked::at(desk, file))
        .collect::<Result<_, _>>()?;
    if !args.json {
        for looked in &looked {
            diff::show(desk, screen, &looked.file)?;
            screen.blank()?;
        }
    }
    let question = match args.folder {
        true => format!(
            "Take {} for your own, with {}?",
            desk.host().compact(desk.custody.root()),
            counted(looked.len(), "file")
        ),
        false => format!("Trust {} as shown?", names(&looked)),
    };
    if !args.yes && !agreed(screen, &question)? {
        return Err(Fail::new("nothing was changed").hint("answer y, or add --yes"));
    }
    approve(desk, &looked)?;
    if args.folder {
        desk.custody
            .take_for_own(desk.custody.root())
            .map_err(Fail::new)?;
        desk.note("approve-folder", &[desk.custody.root()], json!({}));
    }
    if args.json {
        let approved: Vec<_> = looked.iter().map(|looked| &looked.file.shown).collect();
        screen.json(&json!({ "approved": approved, "folder": args.folder }))?;
        return Ok(Exit::Fine);
    }
    if args.folder {
        screen.line(format!(
            "{} is your own now; what others change in it is told.",
            desk.host().compact(desk.custody.root())
        ))?;
    }
    let (there, gone): (Vec<Looked>, Vec<Looked>) = looked
        .into_iter()
        .partition(|looked| looked.bytes.is_some());
    if !there.is_empty() {
        screen.line(format!("Trusted: {}.", names(&there)))?;
    }
    if !gone.is_empty() {
        screen.line(format!(
            "Settled: {} stays gone; chela trust restore brings it back.",
            names(&gone)
        ))?;
    }
    Ok(Exit::Fine)
}

/// A file as the owner was shown it.
struct Looked {
    file: Watched,
    /// `None`: that it is gone.
    bytes: Option<Vec<u8>>,
}

impl Looked {
    fn at(desk: &Desk<'_>, file: Watched) -> Result<Self, Fail> {
        let bytes = desk.asked(&file);
        let lost = file.proposed().is_some_and(|held| held.hash.is_some());
        let is_gone = match file.proposed() {
            Some(proposed) => proposed.hash.is_none(),
            None => file.absent.is_some(),
        };
        match bytes {
            None if lost => Err(Fail::new(format!(
                "what was to be written into {} was too large to keep",
                file.shown
            ))
            .hint(format!("chela trust refuse {}", file.shown))),
            None if !is_gone => Err(Fail::new(format!("{} is not there", file.shown))
                .hint("chela trust status lists the files")),
            bytes => Ok(Self { file, bytes }),
        }
    }
}

fn approve(desk: &Desk<'_>, looked: &[Looked]) -> Result<(), Fail> {
    let how = "chela trust approve";
    let paths: Vec<_> = looked
        .iter()
        .map(|looked| desk.custody.resolved(&looked.file.path))
        .collect();
    for (looked, path) in looked.iter().zip(&paths) {
        if looked.file.proposed().is_some() {
            put_in(desk, looked, path)?;
        }
    }
    let wrote: Vec<Wrote<'_>> = looked
        .iter()
        .zip(&paths)
        .filter_map(|(looked, path)| {
            Some(Wrote {
                path,
                bytes: looked.bytes.as_ref()?,
                writer: &Writer::Owner,
                how,
                trust: Trust::Owner,
            })
        })
        .collect();
    desk.custody.record(&wrote).map_err(Fail::new)?;
    // What the owner stands for is no longer what a page left behind.
    let known = desk.setup.file_trust();
    for (looked, path) in looked.iter().zip(&paths) {
        if looked.bytes.is_none() {
            desk.custody
                .record_gone(path, &Writer::Owner, how)
                .map_err(Fail::new)?;
        }
        known.vouch(path)?;
    }
    let paths: Vec<&Path> = paths.iter().map(|path| path.as_path()).collect();
    let hashes: Vec<_> = looked
        .iter()
        .map(|looked| looked.bytes.as_ref().map(chela_core::ContentHash::of))
        .collect();
    let questions: Vec<_> = looked
        .iter()
        .map(|looked| {
            let entry = looked.file.entry.as_ref()?;
            let held = entry.proposed.as_ref().or(entry.held.as_ref())?;
            held.question.as_deref()
        })
        .collect();
    if !paths.is_empty() {
        let more = json!({ "hashes": hashes, "questions": questions });
        desk.note("approve", &paths, more);
    }
    Ok(())
}

/// What the agent proposed goes into the file.
fn put_in(desk: &Desk<'_>, looked: &Looked, path: &Path) -> Result<(), Fail> {
    // Whatever is replaced can be had back, where the workspace has a history.
    if let Ok(past) = History::open(desk.host(), desk.custody.root()) {
        let why = format!("Keep {} before approving a change", looked.file.shown);
        let kept = past.snapshot(&Author::Runtime, &why);
        ok_or_warn!(kept, "a change is not in the history of the workspace");
    }
    match &looked.bytes {
        Some(bytes) => chela_workspace::replace_file(path, bytes).map_err(Fail::new),
        None => match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Fail::new(format!(
                "cannot delete {}: {error}",
                path.display()
            ))),
            _ => Ok(()),
        },
    }
}

fn names(looked: &[Looked]) -> String {
    let names: Vec<&str> = looked
        .iter()
        .map(|looked| looked.file.shown.as_str())
        .collect();
    names.join(", ")
}

/// Asks on a terminal; without one nobody agreed.
fn agreed(screen: &mut Screen, question: &str) -> Result<bool, Fail> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    screen.flush()?;
    let answer = asking::line(&format!("{question} [y/N] ")).unwrap_or_default();
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

pub(super) fn revoke(
    desk: &Desk<'_>,
    screen: &mut Screen,
    file: Option<&str>,
    json: bool,
) -> Outcome {
    desk.mend()?;
    let Some(typed) = file else {
        let root = desk.custody.root();
        desk.custody.give_up(root).map_err(Fail::new)?;
        desk.note("revoke-folder", &[root], json!({}));
        let shown = desk.host().compact(root);
        match json {
            true => screen.json(&json!({ "revoked": shown, "folder": true }))?,
            false => screen.line(format!("You no longer vouch for {shown}."))?,
        }
        return Ok(Exit::Fine);
    };
    let file = desk.watched(typed)?;
    desk.custody.revoke(&file.path).map_err(Fail::new)?;
    desk.note("revoke", &[&file.path], json!({}));
    if json {
        screen.json(&json!({ "revoked": file.shown, "folder": false }))?;
        return Ok(Exit::Fine);
    }
    screen.line(format!(
        "{} is set aside: no prompt holds it until you approve or restore it.",
        file.shown
    ))?;
    Ok(Exit::Fine)
}
