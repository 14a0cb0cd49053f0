//! `chela trust approve` and `revoke`: the owner's word, given after looking.

use std::io::IsTerminal;
use std::path::Path;

use chela_core::Trust;
use chela_workspace::trust::{Watched, Writer, Wrote};
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
    let looked: Vec<(Watched, Vec<u8>)> = files
        .into_iter()
        .map(|file| match desk.bytes(&file) {
            Some(bytes) => Ok((file, bytes)),
            None => Err(Fail::new(format!("{} is not there", file.shown))
                .hint(format!("chela trust restore {}", file.shown))),
        })
        .collect::<Result<_, _>>()?;
    if !args.json {
        for (file, _) in &looked {
            diff::show(desk, screen, file)?;
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
        let approved: Vec<_> = looked.iter().map(|(file, _)| &file.shown).collect();
        screen.json(&json!({ "approved": approved, "folder": args.folder }))?;
        return Ok(Exit::Fine);
    }
    if args.folder {
        screen.line(format!(
            "{} is your own now; what others change in it is told.",
            desk.host().compact(desk.custody.root())
        ))?;
    }
    if !looked.is_empty() {
        screen.line(format!("Trusted: {}.", names(&looked)))?;
    }
    Ok(Exit::Fine)
}

fn approve(desk: &Desk<'_>, looked: &[(Watched, Vec<u8>)]) -> Result<(), Fail> {
    let paths: Vec<_> = looked
        .iter()
        .map(|(file, _)| desk.custody.resolved(&file.path))
        .collect();
    let wrote: Vec<Wrote<'_>> = looked
        .iter()
        .zip(&paths)
        .map(|((_, bytes), path)| Wrote {
            path,
            bytes,
            writer: &Writer::Owner,
            how: "chela trust approve",
            trust: Trust::Owner,
        })
        .collect();
    desk.custody.record(&wrote).map_err(Fail::new)?;
    // What the owner stands for is no longer what a page left behind.
    let known = desk.setup.file_trust();
    for path in &paths {
        known.vouch(path)?;
    }
    let paths: Vec<&Path> = paths.iter().map(|path| path.as_path()).collect();
    let hashes: Vec<_> = looked
        .iter()
        .map(|(_, bytes)| chela_core::ContentHash::of(bytes))
        .collect();
    if !paths.is_empty() {
        desk.note("approve", &paths, json!({ "hashes": hashes }));
    }
    Ok(())
}

fn names(looked: &[(Watched, Vec<u8>)]) -> String {
    let names: Vec<&str> = looked.iter().map(|(file, _)| file.shown.as_str()).collect();
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
