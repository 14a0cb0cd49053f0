//! `chela trust approve DIR`: one yes for everything in a folder, given after seeing what it holds.

use std::path::Path;

use chela_agent::folder_approval::LookedAtFolder;
use serde_json::json;

use super::AgentFiles;
use crate::cli::trust::ApproveArgs;
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

pub(super) fn run(
    agent_files: &AgentFiles<'_>,
    screen: &mut Screen,
    folder: &Path,
    args: &ApproveArgs,
) -> CommandOutcome {
    agent_files.mend()?;
    let looked = look(agent_files, folder)?;
    if !args.json {
        print(&looked, screen)?;
    }
    let question = format!(
        "Approve everything in {} as it is now ({})?",
        looked.shown,
        count_noun(looked.count(), "file")
    );
    if !args.yes && !super::approve::agreed(screen, &question)? {
        return Err(CommandError::new("nothing was changed").hint("answer y, or add --yes"));
    }
    approve(agent_files, &looked, folder)?;
    match args.json {
        true => screen.json(&json!({ "approved": [looked.shown], "tree": looked.in_json() }))?,
        false => screen.line(format!(
            "Approved {} in {}.",
            count_noun(looked.count(), "file"),
            looked.shown
        ))?,
    }
    Ok(CommandExit::Fine)
}

pub(super) fn look(
    agent_files: &AgentFiles<'_>,
    folder: &Path,
) -> Result<LookedAtFolder, CommandError> {
    agent_files
        .with_records(|records| LookedAtFolder::at(records, folder))
        .map_err(CommandError::new)
}

pub(super) fn print(looked: &LookedAtFolder, screen: &mut Screen) -> std::io::Result<()> {
    for line in looked.in_words() {
        screen.paragraph("", &line)?;
    }
    screen.blank()
}

/// Puts the owner's yes on record.
pub(super) fn approve(
    agent_files: &AgentFiles<'_>,
    looked: &LookedAtFolder,
    folder: &Path,
) -> Result<(), CommandError> {
    agent_files
        .with_records(|records| looked.approve(records, "chela trust approve"))
        .map_err(CommandError::new)?;
    let more = json!({ "files": looked.count() });
    agent_files.note("approve-folder", &[folder], more);
    Ok(())
}
