//! A memory that keeps itself up to date, for programs that run on.
//!
//! A thread brings the index up to date - at the start, when a question is asked, when files
//! change, every so often; each as `sync.*` says. Questions are answered from what is indexed and
//! never wait for it. Vectors of a model that is slow and free are made after that, batch by batch;
//! until they are complete, who stands in for it answers. The thread stops when the keeper is
//! dropped.

mod wake;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::{AgentMemory, MemoryParts};
use crate::embed::{EmbedCost, EmbedPrice};
use crate::index::{SyncDepth, SyncOutcome, SyncReport};
use crate::memory::WarmMemory;
use crate::settings::MemorySwitch;
use crate::watch::{NoteWatch, WatchHandle};
use wake::{KeeperWake, WakeReason};

/// Keeps a memory up to date until it is dropped.
#[derive(Debug)]
pub struct MemoryKeeper {
    memory: Arc<AgentMemory>,
    wake: Arc<KeeperWake>,
    thread: Option<JoinHandle<()>>,
}

/// Where the keeping stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeeperState {
    /// Times the index was brought up to date.
    pub syncs: u64,
    pub at_work: bool,
    /// What the last one did.
    pub last: Option<SyncReport>,
    pub vectors: VectorWork,
    /// What stands in the way, for the owner.
    pub problems: Vec<String>,
}

/// Where the vectors of a slow model stand that costs nothing. Those of a paid one are made when
/// the operator agrees to the price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VectorWork {
    /// There is none, or it has not begun.
    #[default]
    None,
    Making {
        done: usize,
        of: usize,
    },
    Complete,
    /// It goes on with the next sync; the problem says why.
    Failed,
}

impl MemoryKeeper {
    /// Starts keeping. [`AgentMemory::keep_current`] is the way to have one for everybody.
    pub(crate) fn start(memory: Arc<AgentMemory>) -> Self {
        let wake = Arc::new(KeeperWake::default());
        let thread = {
            let (memory, wake) = (Arc::clone(&memory), Arc::clone(&wake));
            std::thread::Builder::new()
                .name("memory".into())
                .spawn(move || work(memory.parts(), &wake))
        };
        let thread = match thread {
            Ok(thread) => Some(thread),
            Err(error) => {
                wake.note_problem(format!("memory is not kept up to date: {error}"));
                None
            }
        };
        let this = Self {
            memory,
            wake,
            thread,
        };
        this.session_started();
        this
    }

    /// A session starts: look for changes, as the settings say.
    pub(crate) fn session_started(&self) {
        if self.memory.parts().settings.sync.on_session_start == MemorySwitch::On {
            self.wake.call(WakeReason::Asked);
        }
    }

    pub fn state(&self) -> KeeperState {
        self.wake.state()
    }

    /// Waits until the state is as wanted. `false` when that takes longer.
    pub fn wait_until(&self, longest: Duration, is: impl Fn(&KeeperState) -> bool) -> bool {
        self.wake.wait_until(longest, is)
    }

    /// Waits until the index was brought up to date so many times and nothing is left to do.
    /// `false` when that takes longer.
    pub fn wait_for(&self, syncs: u64, longest: Duration) -> bool {
        self.wake.wait_for(syncs, longest)
    }
}

impl Drop for MemoryKeeper {
    fn drop(&mut self) {
        self.wake.stop();
        if let Some(thread) = self.thread.take() {
            // A panic in it has been told by the runtime; there is nothing to add here.
            let _ = thread.join();
        }
    }
}

/// The thread: waits for a reason, brings the index up to date, and so on.
fn work(keep: &MemoryParts, wake: &Arc<KeeperWake>) {
    let sync = &keep.settings.sync;
    let quiet = Duration::from_millis(sync.watch_debounce_ms);
    let interval = match sync.interval_minutes {
        0 => None,
        minutes => Some(Duration::from_secs(minutes.saturating_mul(60))),
    };
    let mut watched = Watched::default();
    watched.renew(keep, wake);
    let mut warm: Option<WarmMemory> = None;
    while wake.wait(quiet, interval) == ControlFlow::Continue(()) {
        // Before files are read: what changes from here on is told.
        watched.renew(keep, wake);
        let result = keep.open(warm.take()).and_then(|mut memory| {
            let mut report = memory.sync(SyncDepth::Quick, &mut |_| wake.go_on())?;
            if makes_vectors(keep) {
                // They are next.
                report.unmade = 0;
            }
            warm = Some(memory.pause());
            Ok(report)
        });
        let current = matches!(&result, Ok(report) if report.outcome == SyncOutcome::Complete);
        wake.done(result);
        if current && makes_vectors(keep) {
            let made = keep.open(warm.take()).and_then(|mut memory| {
                // What is new goes first: this is begun again after it, and goes on where it was.
                let filled = memory.make_vectors(&mut |done, of| wake.making(done, of))?;
                warm = Some(memory.pause());
                Ok(filled)
            });
            wake.made(made);
        }
    }
}

/// Whether vectors are made unasked, however many.
fn makes_vectors(keep: &MemoryParts) -> bool {
    matches!(
        keep.embedder.as_ref().map(|embedder| embedder.cost()),
        Some(EmbedCost::PerBatch {
            price: EmbedPrice::Free,
            ..
        })
    )
}

/// The folders that are watched. One that comes or goes means watching anew.
#[derive(Default)]
struct Watched {
    folders: Vec<PathBuf>,
    watching: Option<WatchHandle>,
}

impl Watched {
    fn renew(&mut self, keep: &MemoryParts, wake: &Arc<KeeperWake>) {
        if keep.settings.sync.watch == MemorySwitch::Off {
            return;
        }
        let mut folders = vec![keep.places.workspace.clone()];
        folders.push(keep.places.workspace.join("memory"));
        let extra = keep.settings.extra_paths.iter();
        folders
            .extend(extra.map(|extra| keep.host.expand_from(&extra.path, &keep.places.workspace)));
        folders.extend(keep.places.sessions.clone());
        folders.retain(|folder| folder.exists());
        if folders == self.folders {
            return;
        }
        let told = Arc::clone(wake);
        let extra = folders.get(1..).unwrap_or_default();
        match NoteWatch::tell(&keep.places, extra, move || told.call(WakeReason::Changed)) {
            Ok(watching) => (self.folders, self.watching) = (folders, Some(watching)),
            Err(error) => wake.note_problem(error.to_string()),
        }
    }
}

/// What the owner should know of a sync, besides its figures.
fn problems(report: &SyncReport) -> Vec<String> {
    let mut problems = report.problems.clone();
    if report.unmade > 0 {
        problems.push(format!(
            "{} chunks have no vector yet; `chela memory index` shows what they cost",
            report.unmade
        ));
    }
    match report.outcome {
        SyncOutcome::ReadOnly => problems.push("the memory index cannot be written".to_owned()),
        SyncOutcome::Complete | SyncOutcome::Stopped | SyncOutcome::Busy => {}
    }
    problems
}

#[cfg(test)]
mod tests;
