//! Noticing changes to skills while a program runs.
//!
//! The first change starts a short wait, so that a folder being copied is seen once and whole;
//! when the wait is over the caller is told, and looks again with `SkillLibrary::refresh`.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use chela_core::ok_or_warn;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

/// Ends the watching when dropped.
#[derive(Debug)]
pub struct SkillsWatch {
    /// Dropping the watcher closes the channel, which ends the thread.
    watcher: Option<RecommendedWatcher>,
    stop: mpsc::Sender<Note>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot watch {} for changes: {source}; skills are still read at every new session", path.display())]
pub struct WatchError {
    path: PathBuf,
    source: notify::Error,
}

enum Note {
    Changed,
    Stop,
}

/// Watches folders, also ones that do not exist yet, and calls `on_change` on a thread of its own,
/// `debounce` after the first of a burst of changes.
pub fn watch(
    folders: &[PathBuf],
    debounce: Duration,
    on_change: impl FnMut() + Send + 'static,
) -> Result<SkillsWatch, WatchError> {
    let (notes, inbox) = mpsc::channel();
    let of_interest = folders.to_vec();
    let sender = notes.clone();
    let handler = move |event: Result<Event, notify::Error>| {
        let concerns = match &event {
            // When events were lost, only looking tells.
            Err(error) => {
                tracing::debug!(%error, "changes to skills were missed: all are looked at");
                true
            }
            Ok(event) => {
                !event.kind.is_access()
                    && event.paths.iter().any(|path| concerns(path, &of_interest))
            }
        };
        if concerns {
            // Nobody listens any more when this fails.
            let _ = sender.send(Note::Changed);
        }
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| WatchError { path, source }
    };
    let first = folders.first().cloned().unwrap_or_default();
    let mut watcher = notify::recommended_watcher(handler).map_err(failed(&first))?;
    for folder in folders {
        arm(&mut watcher, folder).map_err(failed(folder))?;
    }
    let thread = std::thread::spawn(move || tell(&inbox, debounce, on_change));
    Ok(SkillsWatch {
        watcher: Some(watcher),
        stop: notes,
        thread: Some(thread),
    })
}

/// Watches a folder with all below it, or the nearest one above that exists, to see it made.
fn arm(watcher: &mut RecommendedWatcher, folder: &Path) -> Result<(), notify::Error> {
    if folder.is_dir() {
        return watcher.watch(folder, RecursiveMode::Recursive);
    }
    match folder.ancestors().skip(1).find(|above| above.is_dir()) {
        Some(above) => watcher.watch(above, RecursiveMode::NonRecursive),
        None => Ok(()),
    }
}

/// Below one of the folders, or a step on the way to one.
fn concerns(path: &Path, folders: &[PathBuf]) -> bool {
    folders
        .iter()
        .any(|folder| path.starts_with(folder) || folder.starts_with(path))
}

fn tell(inbox: &mpsc::Receiver<Note>, debounce: Duration, mut on_change: impl FnMut()) {
    while let Ok(Note::Changed) = inbox.recv() {
        let until = Instant::now() + debounce;
        loop {
            match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Note::Changed) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Ok(Note::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        on_change();
    }
}

impl SkillsWatch {
    /// Watches folders that have come into being since; call it after a change.
    pub fn rearm(&mut self, folders: &[PathBuf]) {
        if let Some(watcher) = &mut self.watcher {
            for folder in folders {
                ok_or_warn!(arm(watcher, folder), "a folder is not watched", folder = %folder.display());
            }
        }
    }
}

impl Drop for SkillsWatch {
    fn drop(&mut self) {
        self.watcher = None;
        // A thread that has ended needs no word, and a panic in it has been told.
        let _ = self.stop.send(Note::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
