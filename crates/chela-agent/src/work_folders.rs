//! Folders besides the workspace that the owner lets agents work in: asked once, kept, taken back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::sanitize::literal;
use chela_core::{Host, Origin, Trust, ok_or_debug};
use chela_files::{FileMode, LockFile, announce_write, read_version_at, write_file};
use chela_sandbox::{FolderAccess, WorkFolder};
use serde::{Deserialize, Serialize};

use crate::runtime_blocks::{BlockKind, RuntimeBlock};
use crate::scope::ConversationScope;

/// What the model is told about them.
const INTRODUCTION: &str = include_str!("../text/work-folders.md");
/// The rules of a project, as other agents read them too.
const RULES: &str = "AGENTS.md";
/// More of such a file than this is cut: it stands in every conversation of the folder.
const MOST_RULE_CHARS: usize = 12_000;
/// Larger ones are known by their beginning and by what the file system says of them.
const MOST_RULE_BYTES: u64 = 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);

/// The owner's answers, one for each folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderGrants {
    #[serde(default)]
    pub folders: BTreeMap<PathBuf, FolderAnswer>,
}

/// What the owner said about a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FolderAnswer {
    Read,
    Write,
    No,
}

impl FolderAnswer {
    pub fn access(self) -> Option<FolderAccess> {
        match self {
            Self::Read => Some(FolderAccess::Read),
            Self::Write => Some(FolderAccess::Write),
            Self::No => None,
        }
    }

    pub fn in_words(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "read and write",
            Self::No => "no",
        }
    }
}

/// Why the answers cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{} cannot be written: {source}", path.display())]
    Unwritable {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl FolderGrants {
    pub(crate) fn path(host: &Host) -> PathBuf {
        host.state_dir().join("folders.json")
    }

    pub fn load(host: &Host) -> Result<Self, FolderError> {
        let path = Self::path(host);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            read => read.map_err(|error| FolderError::Unreadable {
                path: path.clone(),
                why: error.to_string(),
            })?,
        };
        serde_json::from_str(&text).map_err(|error| FolderError::Unreadable {
            path,
            why: error.to_string(),
        })
    }

    /// Changes the answers, one process at a time.
    pub fn change<T>(host: &Host, change: impl FnOnce(&mut Self) -> T) -> Result<T, FolderError> {
        let path = Self::path(host);
        let fail = |source: std::io::Error| FolderError::Unwritable {
            path: path.clone(),
            source,
        };
        let lock = LockFile::take(&path.with_extension("lock"), PATIENCE);
        let _held = lock.map_err(|error| fail(error.into()))?;
        let mut grants = Self::load(host)?;
        let changed = change(&mut grants);
        let text = serde_json::to_string_pretty(&grants).map_err(|error| fail(error.into()))?;
        let text = format!("{text}\n");
        let announced = announce_write(&host.state_dir(), &path);
        write_file(&path, text.as_bytes(), FileMode::Private)
            .map_err(|error| fail(error.into()))?;
        announced.finish(text.as_bytes());
        Ok(changed)
    }

    /// What was said about a folder, or about one it lies in: the nearest answer counts.
    pub fn answer_for(&self, folder: &Path) -> Option<FolderAnswer> {
        folder
            .ancestors()
            .find_map(|above| self.folders.get(above).copied())
    }
}

impl FolderGrants {
    /// The folders inside of one that the owner said no to, and that are there.
    pub fn refused_below(&self, folder: &Path) -> Vec<PathBuf> {
        let inside = self.folders.iter().filter(|(path, answer)| {
            **answer == FolderAnswer::No && *path != folder && path.starts_with(folder)
        });
        let inside = inside.filter(|(path, _)| path.is_dir());
        inside.map(|(path, _)| path.clone()).collect()
    }
}

/// The AGENTS.md files that speak of a folder: from the top of its repository down to it.
pub fn rule_files(folder: &Path) -> Vec<PathBuf> {
    let mut places = rule_places(folder);
    places.retain(|file| file.is_file());
    places
}

/// Where such files would be read from, whether they are there or not.
pub(crate) fn rule_places(folder: &Path) -> Vec<PathBuf> {
    let top = folder
        .ancestors()
        .find(|above| above.join(".git").exists())
        .unwrap_or(folder);
    let chain = folder
        .ancestors()
        .take_while(|above| above.starts_with(top));
    let mut chain: Vec<PathBuf> = chain.map(|above| above.join(RULES)).collect();
    chain.reverse();
    chain
}

/// What a message tells of them; nothing where there are none.
pub(crate) fn folders_block(scope: &ConversationScope) -> Option<RuntimeBlock> {
    let folders = &scope.ask.folders;
    if folders.is_empty() || scope.key.is_subagent() {
        return None;
    }
    let mut text = INTRODUCTION.trim().to_owned();
    text.push('\n');
    for folder in folders {
        let access = match folder.access {
            FolderAccess::Read => "read only",
            FolderAccess::Write => "read and write",
        };
        let path = literal(&folder.path.display().to_string()).into_owned();
        text.push_str(&format!("- {path} ({access})\n"));
    }
    let (rules, trust) = rules_text(scope, folders);
    text.push_str(&rules);
    Some(RuntimeBlock {
        kind: BlockKind::Folders,
        origin: Origin::Runtime,
        text,
        trust,
    })
}

/// The rules somebody answers for, under their names. What nobody answers for is only named: shown
/// unasked, it would taint every conversation that begins there.
fn rules_text(scope: &ConversationScope, folders: &[WorkFolder]) -> (String, Trust) {
    let known = scope.agents.file_trust();
    let mut text = String::new();
    // A project's rules are not the operator's, whoever answers for them.
    let mut trust = Trust::Agent;
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| rule_files(&folder.path))
        .collect();
    files.dedup();
    for file in files {
        let read = read_version_at(&file, MOST_RULE_BYTES);
        let Some((rules, version)) = ok_or_debug!(read, "rules are left out") else {
            continue;
        };
        let own = known.trust_at_version(&file, Some(&version));
        let shown = literal(&scope.agents.host.compact(&file)).into_owned();
        if own < Trust::Agent {
            text.push_str(&format!(
                "\n{shown} is there and not shown: nobody answers for what it says. The user can: \
                 `chela trust approve {shown}`.\n"
            ));
            continue;
        }
        let rules = String::from_utf8_lossy(&rules);
        trust = trust.join(own);
        let cut: String = rules.trim().chars().take(MOST_RULE_CHARS).collect();
        let note = match cut.len() < rules.trim().len() {
            true => "\n[cut here; read the file for the rest]",
            false => "",
        };
        text.push_str(&format!(
            "\n<project-rules file=\"{shown}\">\n{cut}{note}\n</project-rules>\n"
        ));
    }
    (text, trust)
}

#[cfg(test)]
mod tests {
    use super::{FolderAnswer, FolderGrants, rule_files};

    #[test]
    fn the_nearest_answer_counts() {
        let mut grants = FolderGrants::default();
        grants.folders.insert("/p".into(), FolderAnswer::Write);
        grants.folders.insert("/p/secret".into(), FolderAnswer::No);
        assert_eq!(
            grants.answer_for("/p/a/b".as_ref()),
            Some(FolderAnswer::Write)
        );
        assert_eq!(
            grants.answer_for("/p/secret/x".as_ref()),
            Some(FolderAnswer::No)
        );
        assert_eq!(grants.answer_for("/pp".as_ref()), None);
    }

    #[test]
    fn rules_come_from_the_top_of_the_repository_down() {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().join("repo");
        let deep = top.join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir(top.join(".git")).unwrap();
        for folder in [home.path(), &top, &deep] {
            std::fs::write(folder.join("AGENTS.md"), "x").unwrap();
        }
        assert_eq!(
            rule_files(&deep),
            [top.join("AGENTS.md"), deep.join("AGENTS.md")]
        );
        let plain = home.path().join("plain");
        std::fs::create_dir(&plain).unwrap();
        assert!(
            rule_files(&plain).is_empty(),
            "those above a folder without a repository are not its"
        );
    }
}
