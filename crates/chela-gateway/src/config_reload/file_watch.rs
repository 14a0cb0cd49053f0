//! Noticing that a file has changed. Folders are watched, not files: an editor that saves by
//! renaming puts another file in its place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::{ContentHash, ok_or_debug};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

/// Files that are watched for as long as this is kept.
#[derive(Debug)]
pub(super) struct FileWatch {
    files: Vec<PathBuf>,
    changed: Arc<Notify>,
    /// Without one, whoever waits looks from time to time.
    _watcher: Option<RecommendedWatcher>,
}

impl FileWatch {
    pub fn over(files: Vec<PathBuf>) -> Self {
        let changed = Arc::new(Notify::new());
        let watcher = watcher_over(&files, &changed);
        Self {
            _watcher: ok_or_debug!(watcher, "the config is looked at from time to time instead"),
            files,
            changed,
        }
    }

    pub async fn until_changed(&self) {
        self.changed.notified().await;
    }

    /// What tells one state of the files from another.
    pub fn stamp(&self) -> ContentHash {
        let mut all = Vec::new();
        for file in &self.files {
            // What is not there, and what cannot be read, is a state, too.
            match std::fs::read(file) {
                Ok(bytes) => {
                    all.push(1);
                    all.extend_from_slice(ContentHash::of(bytes).as_bytes());
                }
                Err(_) => all.push(0),
            }
        }
        ContentHash::of(all)
    }
}

fn watcher_over(
    files: &[PathBuf],
    changed: &Arc<Notify>,
) -> Result<RecommendedWatcher, notify::Error> {
    let names: BTreeSet<PathBuf> = files.iter().cloned().collect();
    let changed = Arc::clone(changed);
    let handler = move |event: Result<notify::Event, notify::Error>| {
        let is_ours = match &event {
            Ok(event) if event.kind.is_access() => false,
            Ok(event) => event.paths.iter().any(|path| is_one_of(&names, path)),
            Err(_) => true,
        };
        if is_ours {
            changed.notify_one();
        }
    };
    let mut watcher = notify::recommended_watcher(handler)?;
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    for folder in folders {
        if folder.is_dir() {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
    }
    Ok(watcher)
}

/// By name: the folder may be known by another path here than there.
fn is_one_of(names: &BTreeSet<PathBuf>, path: &Path) -> bool {
    let name = path.file_name();
    names.iter().any(|file| file.file_name() == name)
}
