//! `/undo`, `/diff`, `/export`: what a conversation has done.

use super::{CommandAnswer, SurfaceAction};
use crate::slash::command_context::{CommandContext, CommandTrouble, UndoOutcome};

pub(super) async fn undo(
    talk: &impl CommandContext,
    args: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    match args.to_ascii_lowercase().as_str() {
        "" => {}
        "files" => {
            let lines = talk.undo_files().await?;
            let listed: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
            return Ok(CommandAnswer::text(format!(
                "Undone in files:\n\n{}",
                listed.join("\n")
            )));
        }
        other => {
            return Err(format!(
                "`{other}` cannot be undone: use `/undo` or `/undo files`"
            ));
        }
    }
    let Some(undone) = talk.undo().await? else {
        return Ok(CommandAnswer::text("Nothing to undo."));
    };
    Ok(match undone {
        UndoOutcome::Message { message, entries } => CommandAnswer {
            then: SurfaceAction::Edit(message),
            ..CommandAnswer::text(format!(
                "Undone: your last message and what followed ({entries} entries). File \
                 changes are kept; `/undo files` undoes them."
            ))
        },
        UndoOutcome::Compaction { tokens } => CommandAnswer::text(format!(
            "Undone: the compaction. The full conversation is back ({} tokens).",
            chela_core::grouped(usize::try_from(tokens).unwrap_or(usize::MAX))
        )),
    })
}

pub(super) async fn diff(talk: &impl CommandContext) -> Result<CommandAnswer, CommandTrouble> {
    let files = talk.changed_files().await?;
    let mut text = String::new();
    for (path, diff) in &files {
        match diff.is_empty() {
            true => text.push_str(&format!("`{path}`: unchanged\n\n")),
            // A fence longer than any in the file.
            false => text.push_str(&format!("`{path}`\n\n``````diff\n{diff}\n``````\n\n")),
        }
    }
    Ok(CommandAnswer::text(text.trim_end()))
}

pub(super) async fn export(
    talk: &impl CommandContext,
    path: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    let written = talk.export((!path.is_empty()).then_some(path)).await?;
    Ok(CommandAnswer::text(format!(
        "Written to `{}`.",
        written.display()
    )))
}
