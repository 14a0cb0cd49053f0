//! The folder one stands in, as a second place to work: asked about once, and remembered.

use std::path::{Path, PathBuf};

use chela_agent::agent::Agents;
use chela_agent::folder_approval::{ApprovalRecords, LookedAtFolder};
use chela_agent::work_folders::{FolderAnswer, FolderGrants, rule_files};
use chela_core::{AgentId, Host, Trust};
use chela_files::{DiffLabels, unified_diff};
use chela_guard::approval::shown_block;
use chela_sandbox::{FolderAccess, WorkFolder, check_work_folder};
use chela_workspace::trust::VersionCopies;

use super::{ChatMode, somebody_is_there};
use crate::chat::line_questions::{ask_fresh_line, ask_yes_unless_silent, show_to_end};
use crate::chat::{clean_line, print_note, print_warning};
use crate::cli::ChatArgs;
use crate::cmd::folders::{keep, real_folder};
use crate::fail::CommandError;
use crate::screen::{Screen, count_noun};

/// Unchanged lines around each change of a file that is shown as a diff.
const CONTEXT_LINES: usize = 3;

/// Where a conversation may work besides the workspace.
pub struct FolderChoice<'a> {
    pub host: &'a Host,
    pub workspace: &'a Path,
    pub args: &'a ChatArgs,
    /// The folder `/cd` named.
    pub chosen: Option<&'a Path>,
}

impl FolderChoice<'_> {
    pub fn choose(&self, screen: &Screen, way: &ChatMode) -> Result<Vec<WorkFolder>, CommandError> {
        let host = self.host;
        let mut folders = Vec::new();
        let named = self.chosen.or(self.args.cd.as_deref());
        let standing = match named {
            Some(named) => Some(real_folder(host, named)?),
            None => host.cwd.canonicalize().ok(),
        };
        let added = self
            .args
            .add_dir
            .iter()
            .map(|folder| real_folder(host, folder));
        let added = added.collect::<Result<Vec<PathBuf>, _>>()?;
        for folder in added.iter().chain(named.and(standing.as_ref())) {
            if !self.is_own(folder) {
                check_work_folder(host, folder).map_err(CommandError::usage)?;
            }
        }
        if let Some(standing) = standing
            && self.is_elsewhere(&standing)
            && !added.iter().any(|folder| standing.starts_with(folder))
            && let Some(access) = self.answer(&standing, screen, way)?.access()
        {
            folders.push((standing, access));
        }
        let added = added.into_iter().filter(|path| !self.is_own(path));
        folders.extend(added.map(|path| (path, FolderAccess::Write)));
        let grants = FolderGrants::load(host)?;
        // A no holds inside a folder that is open, unless that very folder was named.
        let named: Vec<PathBuf> = folders.iter().map(|(path, _)| path.clone()).collect();
        let closed = |path: &Path| {
            let refused = grants.refused_below(path).into_iter();
            refused.filter(|no| !named.contains(no)).collect()
        };
        let folders = folders.into_iter();
        Ok(folders
            .map(|(path, access)| WorkFolder {
                closed: closed(&path),
                path,
                access,
            })
            .collect())
    }

    /// Whether a folder is neither the agent's anyway, nor one that nobody works in.
    fn is_elsewhere(&self, folder: &Path) -> bool {
        !self.is_own(folder) && check_work_folder(self.host, folder).is_ok()
    }

    fn is_own(&self, folder: &Path) -> bool {
        let workspace = self.workspace.canonicalize();
        folder.starts_with(workspace.as_deref().unwrap_or(self.workspace))
    }

    fn answer(
        &self,
        folder: &Path,
        screen: &Screen,
        way: &ChatMode,
    ) -> Result<FolderAnswer, CommandError> {
        if let Some(known) = FolderGrants::load(self.host)?.answer_for(folder) {
            return Ok(known);
        }
        let shown = clean_line(&self.host.compact(folder));
        if matches!(way, ChatMode::Once(_)) || !somebody_is_there() {
            print_note(
                screen.paint,
                &format!(
                    "the agent may not work in {shown}: allow it this time with --add-dir \
                     {shown}, or always with `chela folders allow {shown}`"
                ),
            );
            return Ok(FolderAnswer::No);
        }
        let answer = ask_about(&shown, screen);
        if let Some(answer) = answer {
            keep(self.host, folder, answer)?;
            print_note(
                screen.paint,
                &format!("remembered; `chela folders rm {shown}` forgets it"),
            );
        }
        Ok(answer.unwrap_or(FolderAnswer::No))
    }
}

fn ask_about(shown: &str, screen: &Screen) -> Option<FolderAnswer> {
    let question = format!("Let the agent work in {shown}?  r read · w read and write · n no: ");
    loop {
        let answer = ask_fresh_line(&question)?.to_ascii_lowercase();
        match answer.as_str() {
            "r" | "read" => return Some(FolderAnswer::Read),
            // To work there is to read and to write.
            "w" | "rw" | "write" | "read and write" | "y" | "yes" => {
                return Some(FolderAnswer::Write);
            }
            "n" | "no" => return Some(FolderAnswer::No),
            _ => print_note(screen.paint, "type r, w or n, then Enter"),
        }
    }
}

/// Asks whether the rules of a folder are the owner's own words, where nobody has said so yet.
pub fn ask_about_rules(
    agents: &Agents,
    agent: &AgentId,
    folders: &[WorkFolder],
    screen: &Screen,
    way: &ChatMode,
) -> Result<(), CommandError> {
    let asks = !matches!(way, ChatMode::Once(_)) && somebody_is_there();
    let Some(folder) = folders.first().filter(|_| asks) else {
        return Ok(());
    };
    for file in rule_files(&folder.path) {
        if agents.file_trust().trust_at(&file) >= Trust::Agent {
            continue;
        }
        if let Err(why) = ask_about_file(agents, agent, &file, screen) {
            print_warning(screen.paint, &why);
        }
    }
    Ok(())
}

/// Shows such a file to its end and asks; a yes is for exactly what was shown.
fn ask_about_file(
    agents: &Agents,
    agent: &AgentId,
    file: &Path,
    screen: &Screen,
) -> Result<(), String> {
    let in_words = |error: &dyn std::fmt::Display| error.to_string();
    let host = agents.host();
    let custody = agents.custody(agent).map_err(|error| in_words(&error))?;
    let real = file.canonicalize().map_err(|error| in_words(&error))?;
    let records = ApprovalRecords {
        host,
        custody: &custody,
        known: &agents.file_trust(),
        journal: &agents.journal(agent),
    };
    let looked = LookedAtFolder::at(records, &real).map_err(|error| in_words(&error))?;
    let shown = clean_line(&host.compact(file));
    let Some(text) = looked.text_of_file() else {
        return Err(format!(
            "{shown} instructs agents and cannot be shown as a whole, so it is not followed"
        ));
    };
    let trusted = custody.records().entry(&real).and_then(|entry| {
        let version = entry.trusted.as_ref()?;
        VersionCopies::of(host).bytes(version.hash)
    });
    let (name, body) = match &trusted {
        Some(before) => {
            let labels = DiffLabels {
                old: "as you answered for it",
                new: "as it is now",
            };
            let before = String::from_utf8_lossy(before);
            ("diff", unified_diff(labels, &before, &text, CONTEXT_LINES))
        }
        None => ("text", text.clone()),
    };
    let lines = count_noun(text.lines().count(), "line");
    print_note(
        screen.paint,
        &match trusted {
            Some(_) => format!("{shown} has changed since you answered for it ({lines}):"),
            None => format!("{shown} instructs agents ({lines}):"),
        },
    );
    let is_read = show_to_end(name, &shown_block(&body), screen.paint);
    for what in looked.found_in_file() {
        print_warning(screen.paint, &format!("suspicious: {}", clean_line(what)));
    }
    let question = format!("Follow {shown} as your own words?");
    match is_read && ask_yes_unless_silent(&question) {
        true => looked
            .approve(records, "chela chat")
            .map_err(|error| in_words(&error)),
        false => Ok(()),
    }
}
