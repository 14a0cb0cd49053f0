//! Everything below a folder, as the file system tells it: names and stamps, nothing is read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use chela_core::ok_or_debug;

use chela_files::{FileFacts as _, FileStamp};

/// What lies below a folder.
#[derive(Debug, Default)]
pub struct LookedAtTree {
    pub entries: Vec<TreeEntry>,
    /// Checkouts below the folder, by the folder that holds `.git`.
    pub checkouts: Vec<PathBuf>,
    /// There was more than was looked at.
    pub cut: bool,
}

#[derive(Debug, Clone)]
pub struct TreeEntry {
    pub path: PathBuf,
    pub stamp: FileStamp,
    pub is_executable: bool,
    pub kind: TreeEntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeEntryKind {
    File,
    Folder,
    /// A link, a pipe, a socket: known by its name alone.
    Other,
}

/// Looks at everything below a folder, at most so many entries. No link is followed; what git
/// keeps for itself is left out.
pub fn look_at_tree(root: &Path, most: usize) -> LookedAtTree {
    let mut tree = LookedAtTree::default();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let read = std::fs::read_dir(&folder);
        let Some(entries) =
            ok_or_debug!(read, "a folder cannot be looked into", folder = %folder.display())
        else {
            // What cannot be looked into may hold anything.
            tree.cut = true;
            continue;
        };
        for entry in entries {
            let Some(entry) = ok_or_debug!(entry, "an entry of a folder cannot be looked at")
            else {
                tree.cut = true;
                continue;
            };
            if entry.file_name() == OsStr::new(".git") {
                tree.checkouts.push(folder.clone());
                continue;
            }
            if tree.entries.len() >= most {
                tree.cut = true;
                return tree;
            }
            // Gone meanwhile: nothing is there to answer for.
            let Ok(facts) = entry.metadata() else {
                continue;
            };
            let path = entry.path();
            let kind = match facts.file_type() {
                kind if kind.is_file() => TreeEntryKind::File,
                kind if kind.is_dir() => TreeEntryKind::Folder,
                _ => TreeEntryKind::Other,
            };
            if kind == TreeEntryKind::Folder {
                folders.push(path.clone());
            }
            tree.entries.push(TreeEntry {
                stamp: FileStamp::of(&facts),
                is_executable: kind == TreeEntryKind::File && facts.is_executable(),
                path,
                kind,
            });
        }
    }
    tree
}
