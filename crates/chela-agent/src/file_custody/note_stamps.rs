//! Which notes changed: there are too many to read them all for every command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chela_files::FileStamp;

const MOST: usize = 5_000;

/// What the file system says about the notes.
#[derive(Debug, Default)]
pub(super) struct NoteStamps(BTreeMap<PathBuf, FileStamp>);

impl NoteStamps {
    pub(super) fn below(folder: &Path) -> Self {
        let mut stamps = BTreeMap::new();
        gather(folder, 2, &mut stamps);
        Self(stamps)
    }

    /// Notes that are new, other than they were, or gone.
    pub(super) fn changed(&self, now: &Self) -> Vec<PathBuf> {
        let other = now
            .0
            .iter()
            .filter(|(path, stamp)| self.0.get(*path) != Some(stamp))
            .map(|(path, _)| path);
        let gone = self.0.keys().filter(|path| !now.0.contains_key(*path));
        other.chain(gone).cloned().collect()
    }
}

fn gather(folder: &Path, depth: u32, stamps: &mut BTreeMap<PathBuf, FileStamp>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(facts) = entry.metadata() else {
            continue;
        };
        if stamps.len() >= MOST {
            return;
        }
        if facts.is_file() {
            stamps.insert(entry.path(), FileStamp::of(&facts));
        } else if facts.is_dir() && depth > 0 {
            gather(&entry.path(), depth - 1, stamps);
        }
    }
}
