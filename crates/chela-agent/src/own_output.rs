//! Whether somebody answers for what a command prints: its words say which files that is text of.

use std::path::Path;

use chela_core::{Trust, ok_or_warn};
use chela_tools::approvals::{ProgramError, ProgramFile, is_plain_repository};

use crate::command_reach::{CommandReach, CommandWords, ReadTarget};
use crate::scope::ConversationScope;

/// Whether the words of a command say all it can print, and somebody answers for that.
pub(crate) fn prints_only_own(scope: &ConversationScope, line: &str, folder: &Path) -> bool {
    let words = CommandWords::of_line(line, folder);
    match &words.reach {
        CommandReach::Named(targets) => {
            runs_only_known(scope, &words, folder)
                && targets.iter().all(|target| is_own(scope, target))
        }
        CommandReach::Anything => false,
    }
}

/// Whether the programs of a command are the system's, and git finds nothing that tells it more.
pub(crate) fn runs_only_known(
    scope: &ConversationScope,
    words: &CommandWords,
    folder: &Path,
) -> bool {
    let path = scope.agents.host.var("PATH").unwrap_or_default();
    let is_known = |name: &String| {
        // The shell has its own where the system has none.
        ProgramFile::find(name, folder, path).map_or_else(
            |error| matches!(error, ProgramError::NotOnPath(_)),
            |program| program.is_of_the_system(),
        )
    };
    let root = scope.workspace_root();
    words.programs.iter().all(is_known)
        && words
            .repositories
            .iter()
            .all(|folder| is_plain_repository(folder, &root))
}

/// Whether somebody answers for what is printed of a target. What is not there cannot be printed;
/// of a link, wherever it leads, its own text can be.
pub(crate) fn is_own(scope: &ConversationScope, target: &ReadTarget) -> bool {
    let (ReadTarget::Text(path) | ReadTarget::Names(path)) = target;
    if is_foreign_link(scope, path) {
        return false;
    }
    match target {
        ReadTarget::Text(path) => match path.canonicalize() {
            Ok(real) => !real.is_dir() && is_own_file(scope, &real),
            Err(_) => leads_nowhere(path),
        },
        ReadTarget::Names(path) => match path.canonicalize() {
            Ok(real) if real.is_dir() => {
                let entries = std::fs::read_dir(&real);
                entries.is_ok_and(|mut entries| {
                    entries.all(|entry| entry.is_ok_and(|entry| is_own_file(scope, &entry.path())))
                })
            }
            Ok(real) => is_own_file(scope, &real),
            Err(_) => leads_nowhere(path),
        },
    }
}

/// Whether a path is a link that nobody answers for.
fn is_foreign_link(scope: &ConversationScope, path: &Path) -> bool {
    let is_link = path
        .symlink_metadata()
        .is_ok_and(|found| found.is_symlink());
    let itself = || {
        let folder = path.parent()?.canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    is_link && !itself().is_some_and(|link| is_own_file(scope, &link))
}

/// Whether a path that is not there stays so: with a step up it may lead elsewhere as soon as the
/// command has made a folder.
fn leads_nowhere(path: &Path) -> bool {
    let is_up = |part: std::path::Component<'_>| part == std::path::Component::ParentDir;
    !path.components().any(is_up)
}

/// The lock of the skills answers for theirs, the records for the rest.
pub(crate) fn is_own_file(scope: &ConversationScope, path: &Path) -> bool {
    let by_record = || scope.agents.file_trust().trust_of_file(path);
    trust_as_skill(scope, path).unwrap_or_else(by_record) >= Trust::Agent
}

/// How far a path is trusted that lies in the folder of a skill; `None` for any other.
pub(crate) fn trust_as_skill(scope: &ConversationScope, path: &Path) -> Option<Trust> {
    let skills = scope.agents.assembler.skills(&scope.view.id);
    let Some(skills) = ok_or_warn!(
        skills,
        "the skills cannot be read, so what a command printed counts as foreign"
    ) else {
        return Some(Trust::External);
    };
    let mut listed = skills.listed_with_trust();
    let (_, words) = listed.find(|(skill, _)| {
        let folder = skill.folder.canonicalize();
        folder.is_ok_and(|folder| path.starts_with(folder))
    })?;
    Some(words.join(scope.agents.file_trust().ceiling(path)))
}
