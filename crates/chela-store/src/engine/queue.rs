//! What waits to be done on a file, and who does it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use chela_core::lock;
use chela_files::FileIdentity;
use rusqlite::Connection;

use super::job::{JobError, StoreJob};
use super::watch::GroupWatch;
use super::{reader, writer};
use crate::error::{EngineFault, StoreError};
use crate::file::{FileFormat, FileState, OpenedFile};

/// Threads that only read, at most.
const MOST_READERS: usize = 2;
/// Enough for SQLite and for packing contents; a home has several files with threads.
const STACK: usize = 1 << 20;

/// How long a look at the file may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadSpan {
    /// The writer may do it when it has nothing else to do: short-lived commands then get by
    /// with one connection.
    Short,
    /// Only readers do it.
    Long,
}

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServedBy {
    /// The first connection is the only one that sees the records.
    OneConnection,
    SeveralConnections,
}

pub(super) struct EngineFile {
    pub path: PathBuf,
    pub format: &'static FileFormat,
    pub found: FileState,
    pub may_write: bool,
    pub served_by: ServedBy,
    /// `None` where that cannot be known.
    pub identity: Option<FileIdentity>,
}

impl EngineFile {
    pub fn new(path: &Path, format: &'static FileFormat, opened: &OpenedFile) -> Self {
        Self {
            path: path.to_owned(),
            format,
            found: opened.state,
            may_write: opened.may_write,
            served_by: match opened.may_write {
                true => ServedBy::SeveralConnections,
                false => ServedBy::OneConnection,
            },
            identity: FileIdentity::at(path).ok(),
        }
    }

    /// A file that was deleted under us takes everything and keeps nothing.
    pub fn check_identity(&self) -> Result<(), JobError> {
        match self.identity {
            Some(known) if FileIdentity::at(&self.path).ok() != Some(known) => {
                Err(JobError::Replaced)
            }
            _ => Ok(()),
        }
    }

    pub fn naming(&self) -> FileNaming {
        FileNaming {
            path: self.path.clone(),
            format: self.format,
        }
    }
}

/// What an error message needs to know of a file.
pub(crate) struct FileNaming {
    path: PathBuf,
    format: &'static FileFormat,
}

impl FileNaming {
    pub fn explain(&self, error: JobError) -> StoreError {
        let (name, path) = (self.format.name, self.path.clone());
        let fault = match &error {
            JobError::Damaged(what) => return self.format.damaged(&path, what.clone()),
            JobError::Replaced => return StoreError::Replaced { name, path },
            JobError::File { path, source } => {
                return StoreError::File {
                    path: path.clone(),
                    source: std::io::Error::new(source.kind(), source.to_string()),
                };
            }
            JobError::Engine(source) => EngineFault::of_file(source, &path),
            JobError::ReadOnly => EngineFault::ReadOnly,
            JobError::Locked { .. } => EngineFault::Busy,
            JobError::TakenBack
            | JobError::Panicked(_)
            | JobError::ThreadEnded
            | JobError::NoThread(_) => EngineFault::Other,
        };
        self.format.explain_fault(&path, fault, Box::new(error))
    }
}

#[derive(Default)]
pub(super) struct EngineCounts {
    pub writes: AtomicU64,
    pub commits: AtomicU64,
    pub synced: AtomicU64,
    pub reads: AtomicU64,
    pub readers: AtomicU64,
}

/// What the threads and the handles of a file share.
pub(super) struct EngineShared {
    pub file: EngineFile,
    pub counts: EngineCounts,
    queue: Mutex<EngineQueue>,
    pub writer_wakes: Condvar,
    pub reader_wakes: Condvar,
}

pub(super) struct EngineQueue {
    /// The first connection, until the writer's thread takes it.
    pub connection: Option<Connection>,
    writer_started: bool,
    pub watch: Option<Box<dyn GroupWatch>>,
    pub writes: VecDeque<Box<dyn StoreJob>>,
    pub reads: VecDeque<Box<dyn StoreJob>>,
    pub scans: VecDeque<Box<dyn StoreJob>>,
    pub writer_is_idle: bool,
    pub readers: usize,
    pub idle_readers: usize,
    pub readers_close: bool,
    pub writer_closes: bool,
    reading: Vec<JoinHandle<()>>,
    writing: Option<JoinHandle<()>>,
}

impl EngineShared {
    pub fn new(file: EngineFile, connection: Connection) -> Self {
        Self {
            file,
            counts: EngineCounts::default(),
            queue: Mutex::new(EngineQueue {
                connection: Some(connection),
                writer_started: false,
                watch: None,
                writes: VecDeque::new(),
                reads: VecDeque::new(),
                scans: VecDeque::new(),
                writer_is_idle: true,
                readers: 0,
                idle_readers: 0,
                readers_close: false,
                writer_closes: false,
                reading: Vec::new(),
                writing: None,
            }),
            writer_wakes: Condvar::new(),
            reader_wakes: Condvar::new(),
        }
    }

    pub fn locked(&self) -> MutexGuard<'_, EngineQueue> {
        // Nothing is done under this lock that could leave it half changed.
        lock(&self.queue)
    }

    pub fn set_watch(&self, watch: Box<dyn GroupWatch>) {
        self.locked().watch = Some(watch);
    }

    pub fn queue_write(self: &Arc<Self>, job: Box<dyn StoreJob>) -> Result<(), JobError> {
        if !self.file.may_write {
            return Err(JobError::ReadOnly);
        }
        let mut queue = self.locked();
        self.start_writer(&mut queue)?;
        self.counts.writes.fetch_add(1, Ordering::Relaxed);
        queue.writes.push_back(job);
        self.writer_wakes.notify_one();
        Ok(())
    }

    pub fn queue_read(
        self: &Arc<Self>,
        span: ReadSpan,
        job: Box<dyn StoreJob>,
    ) -> Result<(), JobError> {
        let mut queue = self.locked();
        let writer_is_free =
            queue.writer_is_idle && queue.writes.is_empty() && queue.reads.is_empty();
        let by_writer = self.file.served_by == ServedBy::OneConnection
            || (span == ReadSpan::Short && writer_is_free);
        if by_writer {
            self.start_writer(&mut queue)?;
        } else {
            self.start_reader(&mut queue)?;
        }
        self.counts.reads.fetch_add(1, Ordering::Relaxed);
        if by_writer || span == ReadSpan::Short {
            queue.reads.push_back(job);
        } else {
            queue.scans.push_back(job);
        }
        match by_writer {
            true => self.writer_wakes.notify_one(),
            false => self.reader_wakes.notify_one(),
        }
        Ok(())
    }

    fn start_writer(self: &Arc<Self>, queue: &mut EngineQueue) -> Result<(), JobError> {
        if queue.writer_started {
            return Ok(());
        }
        // The thread takes the connection itself, once it gets the lock: should it not start,
        // nothing is lost.
        let shared = Arc::clone(self);
        let thread = thread::Builder::new()
            .name("chela-writer".to_owned())
            .stack_size(STACK)
            .spawn(move || writer::run(&shared))
            .map_err(|error| JobError::NoThread(Arc::new(error)))?;
        queue.writing = Some(thread);
        queue.writer_started = true;
        Ok(())
    }

    fn start_reader(self: &Arc<Self>, queue: &mut EngineQueue) -> Result<(), JobError> {
        if queue.idle_readers > 0 || queue.readers >= MOST_READERS {
            return Ok(());
        }
        let shared = Arc::clone(self);
        let started = thread::Builder::new()
            .name("chela-reader".to_owned())
            .stack_size(STACK)
            .spawn(move || reader::run(&shared));
        match started {
            Ok(thread) => {
                queue.reading.push(thread);
                queue.readers += 1;
                self.counts.readers.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            // Another one is there to do it, only later.
            Err(error) if queue.readers > 0 => {
                tracing::debug!(%error, "no further thread for reading can be started");
                Ok(())
            }
            Err(error) => Err(JobError::NoThread(Arc::new(error))),
        }
    }
}

impl std::fmt::Debug for EngineShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineShared")
            .field("path", &self.file.path)
            .finish_non_exhaustive()
    }
}

/// The handles' side: when the last one goes, the threads finish what is queued and end.
#[derive(Debug)]
pub(super) struct EngineOwner {
    shared: Arc<EngineShared>,
}

impl EngineOwner {
    pub fn new(shared: EngineShared) -> Self {
        Self {
            shared: Arc::new(shared),
        }
    }

    pub fn shared(&self) -> &Arc<EngineShared> {
        &self.shared
    }
}

impl Drop for EngineOwner {
    /// Readers first: the connection that is closed last brings the file up to date and takes
    /// its side files away, and of two at once neither would.
    fn drop(&mut self) {
        let reading = {
            let mut queue = self.shared.locked();
            queue.readers_close = true;
            std::mem::take(&mut queue.reading)
        };
        self.shared.reader_wakes.notify_all();
        reading.into_iter().for_each(wait_for);
        let writing = {
            let mut queue = self.shared.locked();
            queue.writer_closes = true;
            queue.writing.take()
        };
        self.shared.writer_wakes.notify_all();
        writing.into_iter().for_each(wait_for);
    }
}

/// A piece of work that held the last handle cannot wait for itself.
fn wait_for(thread: JoinHandle<()>) {
    if thread.thread().id() != thread::current().id() && thread.join().is_err() {
        tracing::error!("a thread of a file of records ended because of a bug");
    }
}
