//! `chela trust approve` and `revoke`: the owner's word, given after looking.

use std::io::IsTerminal;
use std::path::Path;

use chela_core::{Trust, ok_or_warn};
use chela_session::journal::{AnsweredBy, FileWriter};
use chela_workspace::custody::{WatchedFile, WatchedKind};
use chela_workspace::trust::{VersionWriter, WrittenVersion};
use chela_workspace::{CommitAuthor, WorkspaceHistory};
use serde_json::json;

use super::approve_tree;
use super::{AgentFiles, diff};
use crate::chat::line_questions;
use crate::cli::trust::ApproveArgs;
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

pub(super) fn run(
    agent_files: &AgentFiles<'_>,
    screen: &mut Screen,
    args: &ApproveArgs,
) -> CommandOutcome {
    if let [typed] = args.files.as_slice()
        && let Some(folder) = agent_files.folder(typed)
    {
        return approve_tree::run(agent_files, screen, &folder, args);
    }
    agent_files.mend()?;
    let files = match args.all || args.folder {
        true => diff::waiting_files(agent_files),
        false => args
            .files
            .iter()
            .map(|typed| agent_files.watched(typed))
            .collect::<Result<Vec<_>, _>>()?,
    };
    if files.is_empty() && !args.folder {
        screen.line("Nothing is waiting for you.")?;
        return Ok(CommandExit::Fine);
    }
    // What is approved is what was shown: the bytes are read once.
    let looked: Vec<Looked> = files
        .into_iter()
        .map(|file| Looked::at(agent_files, file))
        .collect::<Result<_, _>>()?;
    if !args.json {
        for looked in &looked {
            diff::print_diff(agent_files, screen, &looked.file)?;
            screen.blank()?;
        }
    }
    let tree = match args.folder {
        true => Some(approve_tree::look(agent_files, agent_files.custody.root())?),
        false => None,
    };
    if let Some(tree) = tree.as_ref().filter(|_| !args.json) {
        approve_tree::print(tree, screen)?;
    }
    let question = match args.folder {
        true => format!(
            "Treat {} as your own, with {}?",
            agent_files.host().compact(agent_files.custody.root()),
            count_noun(tree.as_ref().map_or(0, |tree| tree.count()), "file")
        ),
        false => format!("Trust {} as shown?", names(&looked)),
    };
    if !args.yes && !agreed(screen, &question)? {
        return Err(CommandError::new("nothing was changed").hint("answer y, or add --yes"));
    }
    approve(agent_files, &looked)?;
    if let Some(tree) = &tree {
        approve_tree::approve(agent_files, tree, agent_files.custody.root())?;
    }
    if args.json {
        let approved: Vec<_> = looked.iter().map(|looked| &looked.file.shown).collect();
        screen.json(&json!({ "approved": approved, "folder": args.folder }))?;
        return Ok(CommandExit::Fine);
    }
    if args.folder {
        screen.line(format!(
            "{} is now treated as your own; you are warned when others change it.",
            agent_files.host().compact(agent_files.custody.root())
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
            "Approved: {} stays deleted; `chela trust restore` restores it.",
            names(&gone)
        ))?;
    }
    Ok(CommandExit::Fine)
}

/// A file as the owner was shown it.
struct Looked {
    file: WatchedFile,
    /// `None`: that it is gone.
    bytes: Option<Vec<u8>>,
}

impl Looked {
    fn at(agent_files: &AgentFiles<'_>, file: WatchedFile) -> Result<Self, CommandError> {
        let bytes = agent_files.asked(&file);
        let lost = file.proposed().is_some_and(|held| held.hash.is_some());
        let is_gone = match file.proposed() {
            Some(proposed) => proposed.hash.is_none(),
            None => file.absent.is_some(),
        };
        match bytes {
            None if lost => Err(CommandError::new(format!(
                "the proposed text of {} was too large to keep",
                file.shown
            ))
            .hint(format!("chela trust refuse {}", file.shown))),
            None if !is_gone => Err(CommandError::new(format!("{} does not exist", file.shown))
                .hint("`chela trust status` lists the files")),
            bytes => Ok(Self { file, bytes }),
        }
    }
}

fn approve(agent_files: &AgentFiles<'_>, looked: &[Looked]) -> Result<(), CommandError> {
    let how = "chela trust approve";
    let paths: Vec<_> = looked
        .iter()
        .map(|looked| agent_files.custody.resolved(&looked.file.path))
        .collect();
    for (looked, path) in looked.iter().zip(&paths) {
        if looked.file.proposed().is_some() {
            put_in(agent_files, looked, path)?;
        }
    }
    // Files that shape nothing are in the journal; the record is of those that do.
    let shapes = |file: &WatchedFile, path: &Path| {
        file.kind == WatchedKind::Setting
            || agent_files.custody.kind(path).is_some()
            || agent_files.custody.records().entry(path).is_some()
    };
    let (shaping, others): (Vec<_>, Vec<_>) = looked
        .iter()
        .zip(&paths)
        .partition(|(looked, path)| shapes(&looked.file, path));
    let by = AnsweredBy {
        writer: FileWriter::Owner,
        how,
        turn: "",
    };
    let journal = agent_files.setup.journal(&agent_files.agent);
    journal
        .note_own_files(others.iter().map(|(_, path)| path.to_path_buf()), &by)
        .map_err(CommandError::new)?;
    let wrote: Vec<WrittenVersion<'_>> = shaping
        .into_iter()
        .filter_map(|(looked, path)| {
            Some(WrittenVersion {
                path,
                bytes: looked.bytes.as_ref()?,
                writer: &VersionWriter::Owner,
                how,
                trust: Trust::Owner,
            })
        })
        .collect();
    agent_files
        .custody
        .record(&wrote)
        .map_err(CommandError::new)?;
    // What the owner stands for is no longer what a page left behind.
    let known = agent_files.setup.file_trust();
    for (looked, path) in looked.iter().zip(&paths) {
        if looked.bytes.is_none() {
            agent_files
                .custody
                .record_gone(path, &VersionWriter::Owner, how)
                .map_err(CommandError::new)?;
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
        agent_files.note("approve", &paths, more);
    }
    Ok(())
}

/// What the agent proposed goes into the file.
fn put_in(agent_files: &AgentFiles<'_>, looked: &Looked, path: &Path) -> Result<(), CommandError> {
    // Whatever is replaced can be had back, where the workspace has a history.
    if let Ok(past) = WorkspaceHistory::open(agent_files.host(), agent_files.custody.root()) {
        let why = format!("Keep {} before approving a change", looked.file.shown);
        let kept = past.snapshot(&CommitAuthor::Runtime, &why);
        ok_or_warn!(kept, "a change is not in the workspace history");
    }
    match &looked.bytes {
        Some(bytes) => chela_workspace::replace_file(path, bytes).map_err(CommandError::new),
        None => match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(CommandError::new(
                format!("cannot delete {}: {error}", path.display()),
            )),
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
pub(super) fn agreed(screen: &mut Screen, question: &str) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    screen.flush()?;
    line_questions::drop_pending_input();
    let answer = line_questions::ask_line(&format!("{question} [y/N] ")).unwrap_or_default();
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

pub(super) fn revoke(
    agent_files: &AgentFiles<'_>,
    screen: &mut Screen,
    file: Option<&str>,
    json: bool,
) -> CommandOutcome {
    agent_files.mend()?;
    let folder = match file {
        Some(typed) => agent_files.folder(typed),
        None => Some(agent_files.custody.root().to_owned()),
    };
    if let Some(root) = folder {
        let root = root.as_path();
        agent_files
            .custody
            .give_up(root)
            .map_err(CommandError::new)?;
        agent_files.disown(root)?;
        agent_files.note("revoke-folder", &[root], json!({}));
        let shown = agent_files.host().compact(root);
        match json {
            true => screen.json(&json!({ "revoked": shown, "folder": true }))?,
            false => screen.line(format!("{shown} is no longer approved."))?,
        }
        return Ok(CommandExit::Fine);
    }
    let file = agent_files.watched(file.unwrap_or_default())?;
    agent_files.disown(&file.path)?;
    agent_files
        .custody
        .revoke(&file.path)
        .map_err(CommandError::new)?;
    agent_files.note("revoke", &[&file.path], json!({}));
    if json {
        screen.json(&json!({ "revoked": file.shown, "folder": false }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!(
        "{} is no longer trusted: it is in no prompt until you approve or restore it.",
        file.shown
    ))?;
    Ok(CommandExit::Fine)
}
