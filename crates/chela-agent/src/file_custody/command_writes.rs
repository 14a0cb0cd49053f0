//! Which of the files that changed while a command ran are the agent's own doing.

use std::path::{Path, PathBuf};

/// What is known of the files a command changes. It follows from what the command could run and
/// read, never from what it printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum CommandWrites {
    /// It can have run or read what nobody answers for, or nobody looked.
    #[default]
    Unknown,
    /// Its words say which: these, and what lies below them.
    Named(Vec<PathBuf>),
    /// It could reach nothing that nobody answers for. Whatever else wrote files meanwhile - the
    /// owner's browser, a program that syncs folders - cannot be told from it, so it answers for no
    /// file that shapes the agent.
    Enclosed,
}

impl CommandWrites {
    /// Whether a file that changed is the command's doing, and so the agent's.
    pub(crate) fn answer_for(&self, path: &Path) -> bool {
        match self {
            Self::Unknown | Self::Enclosed => false,
            Self::Named(named) => {
                let path = real(path);
                named.iter().any(|named| path.starts_with(real(named)))
            }
        }
    }

    /// Whether something in a folder is the command's doing.
    pub(crate) fn answer_within(&self, folder: &Path) -> bool {
        match self {
            Self::Unknown | Self::Enclosed => false,
            Self::Named(named) => {
                let folder = real(folder);
                let mut named = named.iter().map(|named| real(named));
                named.any(|named| named.starts_with(&folder) || folder.starts_with(&named))
            }
        }
    }

    /// Of two commands at once nobody can tell which it was; only names still tell.
    pub(super) fn narrow_to(&mut self, other: &Self) {
        *self = match (std::mem::take(self), other) {
            (Self::Named(mut names), Self::Named(more)) => {
                names.extend(more.iter().cloned());
                Self::Named(names)
            }
            (Self::Enclosed, Self::Enclosed) => Self::Enclosed,
            _ => Self::Unknown,
        };
    }
}

/// A path with its links resolved, of a file that may be gone.
fn real(path: &Path) -> PathBuf {
    let whole = path.canonicalize();
    whole.unwrap_or_else(|_| {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        match (folder, path.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => path.to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_answered_for() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("notes")).unwrap();
        let named = CommandWrites::Named(vec![root.join("./notes/../a.md"), root.join("notes")]);
        assert!(named.answer_for(&root.join("a.md")));
        assert!(named.answer_for(&root.join("notes/b.md")));
        assert!(!named.answer_for(&root.join("c.md")));
        assert!(named.answer_within(&root.join("notes/deep")));
        assert!(!CommandWrites::Enclosed.answer_for(&root.join("a.md")));
        let mut two = CommandWrites::Enclosed;
        two.narrow_to(&named);
        assert_eq!(two, CommandWrites::Unknown);
    }
}
