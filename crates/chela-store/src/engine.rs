//! The threads behind a file: one that writes, a few that read.
//!
//! Whatever waits to be written is written together: each piece of work in a savepoint of its
//! own, all of them in one transaction, one commit, one wait for the disk. A piece that fails
//! takes back only itself. Threads start when they are first needed and end when the last handle
//! is dropped, after everything queued was done.

mod job;
mod queue;
mod reader;
mod watch;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::Connection;

use crate::StoreFuture;
use crate::error::StoreError;
use crate::file::{self, FileFormat, FileSoundness, FileState, OpenedFile};

pub use job::JobError;
pub use watch::GroupWatch;

pub(crate) use queue::FileNaming;
use queue::{EngineFile, EngineOwner, EngineShared, ReadSpan, ServedBy};

/// What a write is safe from once it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteDurability {
    /// The death of this process: the system has it. The next write to the same file that asks
    /// for the disk takes it along, for both lie in one log.
    Process,
    /// A power cut: the disk has it.
    Disk,
}

/// What the engine of a file has done since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Pieces of work that were asked for.
    pub writes: u64,
    /// Transactions they were done in.
    pub commits: u64,
    /// Of these, the ones that waited for the disk.
    pub synced: u64,
    pub reads: u64,
    /// Connections besides the first.
    pub readers: u64,
}

/// What stands for the path where there is no file.
const IN_MEMORY: &str = ":memory:";

/// A SQLite file with its threads. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SqliteEngine {
    owner: Arc<EngineOwner>,
}

impl SqliteEngine {
    /// Opens a file, making it if there is none.
    pub fn open(path: &Path, format: &'static FileFormat) -> Result<Self, StoreError> {
        Ok(Self::over(file::open_file(path, format)?, path, format))
    }

    /// Opens a file that is there, for reading only where nothing can be written; `None` when
    /// there is none.
    pub fn open_existing(
        path: &Path,
        format: &'static FileFormat,
    ) -> Result<Option<Self>, StoreError> {
        let opened = file::open_existing(path, format)?;
        Ok(opened.map(|opened| Self::over(opened, path, format)))
    }

    /// One that leaves no trace.
    pub fn open_in_memory(format: &'static FileFormat) -> Result<Self, StoreError> {
        let opened = file::open_memory(format)?;
        let mut file = EngineFile::new(Path::new(IN_MEMORY), format, &opened);
        file.served_by = ServedBy::OneConnection;
        file.identity = None;
        Ok(Self::with(file, opened.connection))
    }

    fn over(opened: OpenedFile, path: &Path, format: &'static FileFormat) -> Self {
        let file = EngineFile::new(path, format, &opened);
        Self::with(file, opened.connection)
    }

    fn with(file: EngineFile, connection: Connection) -> Self {
        Self {
            owner: Arc::new(EngineOwner::new(EngineShared::new(file, connection))),
        }
    }

    /// Has something done at the beginning and end of every group. Before the first write.
    pub fn watch(&self, watch: Box<dyn GroupWatch>) {
        self.shared().set_watch(watch);
    }

    /// Does a piece of work in a transaction that nobody else writes beside. Queued when this
    /// returns, whatever becomes of the future.
    pub fn write<T, F>(&self, durability: WriteDurability, work: F) -> StoreFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, JobError> + Send + 'static,
    {
        let (job, answer) = job::group_job(durability, work);
        let queued = self.shared().queue_write(job);
        self.awaited(queued, answer)
    }

    /// A consistent look at the file that does not take long.
    pub fn read<T, F>(&self, work: F) -> StoreFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, JobError> + Send + 'static,
    {
        self.look(ReadSpan::Short, work)
    }

    /// The same for one that reads much: no write waits for it.
    pub fn scan<T, F>(&self, work: F) -> StoreFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, JobError> + Send + 'static,
    {
        self.look(ReadSpan::Long, work)
    }

    /// Work on the writer's connection outside of any transaction, such as giving room back.
    pub fn maintain<T, F>(&self, work: F) -> StoreFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, JobError> + Send + 'static,
    {
        let (job, answer) = job::bare_job(work);
        let queued = self.shared().queue_write(job);
        self.awaited(queued, answer)
    }

    /// Gives pages back that are no longer needed, in a file made for that.
    pub fn give_room_back(&self) -> StoreFuture<'static, ()> {
        self.maintain(|connection| {
            let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            Ok(())
        })
    }

    /// Checks how the file hangs together.
    pub fn check(&self) -> StoreFuture<'static, FileSoundness> {
        self.scan(|connection| Ok(file::check_quickly(connection)?))
    }

    /// [`Self::give_room_back`] after something was forgotten, if anything was.
    pub fn after_forgetting(
        &self,
        forgotten: StoreFuture<'static, usize>,
    ) -> StoreFuture<'static, usize> {
        let engine = self.clone();
        Box::pin(async move {
            let gone = forgotten.await?;
            if gone > 0 {
                tracing::debug!(gone, file = %engine.path().display(), "old records are deleted");
                // Somebody may be reading: then the room is given back another time.
                if let Err(error) = engine.give_room_back().await {
                    tracing::debug!(%error, "the room of old records is not given back yet");
                }
            }
            Ok(gone)
        })
    }

    pub fn is_in_memory(&self) -> bool {
        self.path() == Path::new(IN_MEMORY)
    }

    pub fn path(&self) -> &Path {
        &self.shared().file.path
    }

    /// What was there when it was opened.
    pub fn found(&self) -> FileState {
        self.shared().file.found
    }

    pub fn may_write(&self) -> bool {
        self.shared().file.may_write
    }

    pub fn counts(&self) -> StoreCounts {
        let counts = &self.shared().counts;
        StoreCounts {
            writes: counts.writes.load(Ordering::Relaxed),
            commits: counts.commits.load(Ordering::Relaxed),
            synced: counts.synced.load(Ordering::Relaxed),
            reads: counts.reads.load(Ordering::Relaxed),
            readers: counts.readers.load(Ordering::Relaxed),
        }
    }

    /// Names the file to what goes wrong in a piece of work.
    pub fn naming(&self) -> FileNaming {
        self.shared().file.naming()
    }

    fn look<T, F>(&self, span: ReadSpan, work: F) -> StoreFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, JobError> + Send + 'static,
    {
        let (job, answer) = job::bare_job(work);
        let queued = self.shared().queue_read(span, job);
        self.awaited(queued, answer)
    }

    fn awaited<T: Send + 'static>(
        &self,
        queued: Result<(), JobError>,
        answer: job::JobAnswer<T>,
    ) -> StoreFuture<'static, T> {
        let file = self.naming();
        Box::pin(async move {
            let outcome = match queued {
                Ok(()) => answer.await.unwrap_or(Err(JobError::ThreadEnded)),
                Err(refused) => Err(refused),
            };
            outcome.map_err(|error| file.explain(error))
        })
    }

    fn shared(&self) -> &Arc<EngineShared> {
        self.owner.shared()
    }
}

#[cfg(test)]
mod tests;
