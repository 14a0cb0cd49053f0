//! `chela folders`: where agents may work besides their workspace.

use std::path::{Path, PathBuf};

use chela_agent::work_folders::{FolderAnswer, FolderError, FolderGrants};
use chela_core::Host;
use serde_json::json;

use super::CommandOutcome;
use crate::chat::clean_line;
use crate::cli::FoldersCommand;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: FoldersCommand) -> CommandOutcome {
    match command {
        FoldersCommand::List(args) => list(host, screen, args.json),
        FoldersCommand::Allow { folder, read } => {
            let folder = real_folder(host, &folder)?;
            chela_sandbox::check_work_folder(host, &folder).map_err(CommandError::new)?;
            let answer = match read {
                true => FolderAnswer::Read,
                false => FolderAnswer::Write,
            };
            keep(host, &folder, answer)?;
            let shown = clean_line(&host.compact(&folder));
            screen.line(format!(
                "Agents may work in {shown} ({}).",
                answer.in_words()
            ))?;
            Ok(CommandExit::Fine)
        }
        FoldersCommand::Rm { folder } => {
            // One that is gone can be forgotten, too.
            let folder = real_folder(host, &folder).unwrap_or(host.cwd.join(folder));
            let was = FolderGrants::change(host, |grants| grants.folders.remove(&folder))?;
            let shown = clean_line(&host.compact(&folder));
            match was {
                Some(_) => {
                    screen.line(format!("Forgot {shown}. You will be asked again there."))?
                }
                None => {
                    return Err(CommandError::new(format!(
                        "there is no answer on record for {shown}"
                    ))
                    .hint("`chela folders list` shows the folders"));
                }
            }
            Ok(CommandExit::Fine)
        }
    }
}

fn list(host: &Host, screen: &mut Screen, json: bool) -> CommandOutcome {
    let grants = FolderGrants::load(host)?;
    if json {
        let rows = grants.folders.iter().map(|(path, answer)| {
            json!({ "path": path.display().to_string(), "access": answer.in_words() })
        });
        screen.json(&json!({ "folders": rows.collect::<Vec<_>>() }))?;
        return Ok(CommandExit::Fine);
    }
    if grants.folders.is_empty() {
        screen
            .line("Agents work in their workspaces only. `chela chat` asks in any other folder.")?;
        return Ok(CommandExit::Fine);
    }
    let rows: Vec<Vec<String>> = grants
        .folders
        .iter()
        .map(|(path, answer)| {
            vec![
                clean_line(&host.compact(path)),
                answer.in_words().to_owned(),
            ]
        })
        .collect();
    screen.table("", &rows)?;
    Ok(CommandExit::Fine)
}

/// Keeps what the owner says about a folder.
pub fn keep(host: &Host, folder: &Path, answer: FolderAnswer) -> Result<(), CommandError> {
    FolderGrants::change(host, |grants| {
        grants.folders.insert(folder.to_owned(), answer);
    })?;
    Ok(())
}

/// A folder that is there, by its real path.
pub fn real_folder(host: &Host, typed: &Path) -> Result<PathBuf, CommandError> {
    let path = host.expand_from(&typed.to_string_lossy(), &host.cwd);
    let shown = clean_line(&host.compact(&path));
    let (told, hint) = match path.canonicalize() {
        Ok(real) if real.is_dir() => return Ok(real),
        Ok(_) => (
            format!("{shown} is a file, not a folder"),
            "give its folder",
        ),
        Err(_) => (
            format!("there is no folder {shown}"),
            "check the name; a relative path starts in the current folder",
        ),
    };
    Err(CommandError::usage(told).hint(hint))
}

impl From<FolderError> for CommandError {
    fn from(error: FolderError) -> Self {
        CommandError::new(error)
    }
}
