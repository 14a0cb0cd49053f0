//! Watching the files, so that a change is searchable soon after it is saved.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher};

use crate::source::MemoryPlaces;

/// However busy a folder is, a change is looked at after so many quiet times at the latest.
const MOST_WAITS: u32 = 10;

#[derive(Debug, thiserror::Error)]
#[error("{} cannot be watched; changes are picked up by the next search instead", path.display())]
pub struct WatchError {
    pub path: PathBuf,
    pub source: notify::Error,
}

/// Watches until it is dropped.
pub struct NoteWatch {
    _watching: WatchHandle,
    changes: Receiver<()>,
    quiet: Duration,
}

/// The file system is watched as long as this lives.
pub struct WatchHandle {
    _watcher: notify::RecommendedWatcher,
}

impl std::fmt::Debug for WatchHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watching").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for NoteWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("quiet", &self.quiet)
            .finish_non_exhaustive()
    }
}

impl NoteWatch {
    /// Watches the workspace and the extra folders.
    pub fn start(
        places: &MemoryPlaces,
        extra: &[PathBuf],
        quiet: Duration,
    ) -> Result<Self, WatchError> {
        let (sender, changes) = sync_channel(1);
        let watching = Self::tell(places, extra, move || note(&sender))?;
        Ok(Self {
            _watching: watching,
            changes,
            quiet,
        })
    }

    /// Calls `changed` for every change, from another thread. A folder that is not there yet is
    /// passed over: the workspace around it is watched.
    pub fn tell(
        places: &MemoryPlaces,
        extra: &[PathBuf],
        changed: impl Fn() + Send + 'static,
    ) -> Result<WatchHandle, WatchError> {
        let root = places.workspace.clone();
        let fail = |path: &PathBuf, source| WatchError {
            path: path.clone(),
            source,
        };
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                if event.is_ok_and(|event| !event.kind.is_access()) {
                    changed();
                }
            })
            .map_err(|source| fail(&root, source))?;
        let notes = root.join("memory");
        watcher
            .watch(&root, RecursiveMode::NonRecursive)
            .map_err(|source| fail(&root, source))?;
        for folder in std::iter::once(&notes).chain(extra).chain(&places.sessions) {
            if folder.exists() {
                watcher
                    .watch(folder, RecursiveMode::Recursive)
                    .map_err(|source| fail(folder, source))?;
            }
        }
        Ok(WatchHandle { _watcher: watcher })
    }

    /// Waits for changes and until they pause. `false` when nothing changed within `longest`.
    pub fn wait(&self, longest: Duration) -> bool {
        settle(&self.changes, longest, self.quiet)
    }
}

/// One waiting signal is enough: ten thousand events are one change.
fn note(sender: &SyncSender<()>) {
    if let Err(TrySendError::Full(()) | TrySendError::Disconnected(())) = sender.try_send(()) {}
}

fn settle(changes: &Receiver<()>, longest: Duration, quiet: Duration) -> bool {
    if changes.recv_timeout(longest).is_err() {
        return false;
    }
    let start = Instant::now();
    while start.elapsed() < quiet * MOST_WAITS {
        match changes.recv_timeout(quiet) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{NoteWatch, note, settle};
    use crate::source::MemoryPlaces;
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    const QUIET: Duration = Duration::from_millis(20);

    #[test]
    fn a_burst_of_events_is_one_change() {
        let (sender, changes) = sync_channel(1);
        for _ in 0..10_000 {
            note(&sender);
        }
        assert!(settle(&changes, QUIET, QUIET));
        assert!(!settle(&changes, QUIET, QUIET));
    }

    #[test]
    fn saving_by_rename_is_seen() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("memory")).unwrap();
        let places = MemoryPlaces {
            workspace: home.path().to_owned(),
            sessions: None,
            ..Default::default()
        };
        let watch = NoteWatch::start(&places, &[], QUIET).unwrap();
        let (draft, note) = (
            home.path().join("memory/.x.tmp"),
            home.path().join("memory/x.md"),
        );
        std::fs::write(&draft, "hello").unwrap();
        std::fs::rename(&draft, &note).unwrap();
        assert!(watch.wait(Duration::from_secs(5)));
    }
}
