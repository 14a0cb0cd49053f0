//! Whose text `git diff` prints: the lines that lie in the index and no longer in the files.
//!
//! Who wrote the files of a workspace is on record by what they hold, also for what they held
//! before. So each staged text that differs from its file is looked up there, by its hash; one that
//! no record speaks of is somebody else's.

use std::path::Path;
use std::process::{Command, Stdio};

use chela_core::{Trust, ok_or_warn};
use chela_files::ReadVersion;
use chela_tools::approvals::quiet_git;
use serde_json::{Map, Value};

use super::package_text::{git_words, line_of};
use crate::scope::ConversationScope;

/// So many staged texts are looked up for one command.
const MOST_TEXTS: usize = 64;

/// Options with which `git diff` prints no lines.
const NAMES_ALONE: &[&str] = &[
    "--stat",
    "--name-only",
    "--name-status",
    "--numstat",
    "--shortstat",
    "--summary",
    "--quiet",
];

/// Whether a call may print staged lines.
pub(super) fn may_print_staged(arguments: &Map<String, Value>) -> bool {
    let Some(line) = line_of(arguments) else {
        return true;
    };
    git_words(&line).into_iter().any(|(told, after)| {
        let prints_names = || after.iter().any(|word| NAMES_ALONE.contains(word));
        let prints_lines = || {
            let mut options = after.iter();
            options.any(|word| {
                word.starts_with("-p") || word.starts_with("-u") || word.starts_with("--patch")
            })
        };
        told == "diff" && (!prints_names() || prints_lines())
    })
}

/// Whether somebody answers for every staged text that its file no longer holds.
pub(super) fn staged_is_own(scope: &ConversationScope, repository: &Path) -> bool {
    if repository.join(".git").symlink_metadata().is_err() {
        return true;
    }
    let listed = git(
        repository,
        &["diff-files", "-z", "--no-renames", "--no-abbrev"],
    );
    let Some(listed) = listed.and_then(|listed| String::from_utf8(listed).ok()) else {
        return false;
    };
    let known = scope.agents.file_trust();
    let mut words = listed.split('\0').filter(|word| !word.is_empty());
    for at in 0.. {
        let Some(facts) = words.next() else {
            return true;
        };
        // `:100644 100644 STAGED 0000 M`, then the path.
        let staged = facts.split(' ').nth(2);
        let (Some(staged), Some(path)) = (staged, words.next()) else {
            return false;
        };
        let text = git(repository, &["cat-file", "blob", staged]);
        let Some(text) = text.filter(|_| at < MOST_TEXTS) else {
            return false;
        };
        let version = ReadVersion::of_bytes(&text);
        let path = repository.join(path);
        if known.trust_of_version(&path, Some(&version)) < Trust::Agent {
            return false;
        }
    }
    true
}

/// What git prints, which runs nothing that a repository names.
fn git(repository: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let ran = Command::new("git")
        .args(["-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
        .args(arguments)
        .current_dir(repository)
        .envs(quiet_git())
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let ran = ok_or_warn!(ran, "what is staged cannot be looked at")?;
    ran.status.success().then_some(ran.stdout)
}
