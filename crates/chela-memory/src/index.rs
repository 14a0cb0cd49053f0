//! Bringing the index up to date with the files.
//!
//! Files are taken in batches; each batch is one transaction, after which its files are searched
//! in their new form. Whatever stops the work - a kill, a full disk - leaves the batches before it
//! in place and the files after it in their old form; the next sync goes on from there.

mod batch;
mod merge;

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, TryLockError};
use std::ops::ControlFlow;
use std::path::PathBuf;

use chela_core::{ContentHash, Host};
use rusqlite::params;

use crate::embed::{EmbedText, Embedder};
use crate::settings::MemorySettings;
use crate::source::{self, FileSource, Found, FoundFile, Places};
use crate::store::{Store, StoreError, touch};
use crate::{forget, transcript, vectors};

pub use batch::{Prepared, write as write_prepared};

/// How closely files are compared with the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// By size and time of change.
    Quick,
    /// By content, for file systems that lie about times.
    Verify,
    /// Everything is made again, file by file; the old form answers until then.
    Rebuild,
}

/// What a sync needs to know.
#[derive(Clone, Copy)]
pub struct SyncRequest<'a> {
    pub host: &'a Host,
    pub places: &'a Places,
    pub settings: &'a MemorySettings,
    /// `None` keeps to keywords.
    pub embedder: Option<&'a dyn Embedder>,
    pub depth: Depth,
}

impl std::fmt::Debug for SyncRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SyncRequest")
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// How far a sync is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    pub files_done: usize,
    pub files_total: usize,
    pub bytes_done: u64,
    pub bytes_total: u64,
    pub chunks: usize,
}

/// What a sync did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncReport {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
    pub unchanged: usize,
    /// Chunks written.
    pub chunks: usize,
    pub bytes: u64,
    /// What could not be read or was left out, and why.
    pub problems: Vec<String>,
    pub outcome: SyncOutcome,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SyncOutcome {
    #[default]
    Complete,
    /// The caller asked to stop; the rest is done next time.
    Stopped,
    /// Another process is at it.
    Busy,
    /// The index cannot be written.
    ReadOnly,
}

/// A batch ends after this many chunks or bytes of text, so memory stays bounded.
const BATCH_CHUNKS: usize = 4096;
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// A file changed so shortly before it was read may have changed again within the same tick.
const RACY_NANOS: i64 = 2_000_000_000;

/// Brings the index up to date. `progress` may stop the work between files.
pub fn sync(
    store: &mut Store,
    request: &SyncRequest<'_>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<SyncReport, StoreError> {
    if store.access() == crate::store::Access::Read {
        return Ok(SyncReport {
            outcome: SyncOutcome::ReadOnly,
            ..SyncReport::default()
        });
    }
    let Some(_turn) = Turn::take(store) else {
        return Ok(SyncReport {
            outcome: SyncOutcome::Busy,
            ..SyncReport::default()
        });
    };
    let mut found = source::find(request.host, request.places, request.settings);
    if !request.places.workspace.is_dir() {
        // An unmounted drive is no reason to forget what is on it.
        found.unreadable.push(String::new());
        found.problems.push(format!(
            "{} is not there; what was indexed of it stays searchable",
            request.places.workspace.display()
        ));
    }
    let known = known_files(store)?;
    let problems = std::mem::take(&mut found.problems);
    let mut work = Work::plan(&found, &known, request);
    let mut report = SyncReport {
        unchanged: work.unchanged,
        problems,
        ..SyncReport::default()
    };
    remove(store, &work.gone)?;
    report.removed = work.gone.len();
    work.run(store, request, &known, progress, &mut report)?;
    merge::tidy(store)?;
    if let Some(embedder) = request.embedder
        && report.outcome == SyncOutcome::Complete
        && let Err(problem) = vectors::fill(store, embedder, request)?
    {
        report.problems.push(problem.to_string());
    }
    Ok(report)
}

/// The right to write, held by one process at a time. Correctness does not hang on it: it only
/// keeps two processes from doing the same work.
struct Turn(Option<File>);

impl Turn {
    fn take(store: &Store) -> Option<Self> {
        let mut name = store.path().as_os_str().to_owned();
        if name == ":memory:" {
            return Some(Self(None));
        }
        name.push(".lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(PathBuf::from(name))
            .ok();
        match file.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => None,
            // Where locks do not exist, the database's own lock has to do.
            _ => Some(Self(file)),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            // Closing unlocks as well; a failure here changes nothing.
            let _ = file.unlock();
        }
    }
}

/// What the index knows of a file.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub id: i64,
    pub size: u64,
    pub modified: i64,
    pub hash: Vec<u8>,
    pub cut: String,
    pub indexed_at: i64,
}

fn known_files(store: &Store) -> Result<HashMap<String, Known>, StoreError> {
    let read = || {
        let mut statement = store
            .connection()
            .prepare("SELECT label, id, size, modified, hash, cut, indexed_at FROM files")?;
        let rows = statement.query_map([], |row| {
            Ok((
                row.get(0)?,
                Known {
                    id: row.get(1)?,
                    size: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(u64::MAX),
                    modified: row.get(3)?,
                    hash: row.get(4)?,
                    cut: row.get(5)?,
                    indexed_at: row.get(6)?,
                },
            ))
        })?;
        rows.collect::<rusqlite::Result<_>>()
    };
    read().map_err(|error| store.explain(error))
}

struct Work<'a> {
    todo: Vec<&'a FoundFile>,
    gone: Vec<i64>,
    unchanged: usize,
}

impl<'a> Work<'a> {
    fn plan(found: &'a Found, known: &HashMap<String, Known>, request: &SyncRequest<'_>) -> Self {
        let cut = request.settings.cut.identity();
        let mut todo = Vec::new();
        let mut unchanged = 0;
        for file in found.files.values() {
            let same = known.get(&file.label).is_some_and(|known| {
                let racy = known.modified.saturating_add(RACY_NANOS)
                    >= known.indexed_at.saturating_mul(1_000_000_000);
                request.depth == Depth::Quick
                    && !racy
                    && known.size == file.size
                    && known.modified == file.modified
                    && (known.cut == cut || file.source == FileSource::Sessions)
            }) || transcript::too_little_new(file, known.get(&file.label), request);
            if same {
                unchanged += 1;
            } else {
                todo.push(file);
            }
        }
        let away = |label: &str| {
            found.unreadable.iter().any(|folder| {
                folder.is_empty()
                    || label
                        .strip_prefix(folder.as_str())
                        .is_some_and(|rest| rest.starts_with('/'))
            })
        };
        let gone = known
            .iter()
            .filter(|(label, _)| !found.files.contains_key(*label) && !away(label))
            .map(|(_, known)| known.id)
            .collect();
        Self {
            todo,
            gone,
            unchanged,
        }
    }

    fn run(
        &mut self,
        store: &mut Store,
        request: &SyncRequest<'_>,
        known: &HashMap<String, Known>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        report: &mut SyncReport,
    ) -> Result<(), StoreError> {
        let now = i64::try_from(request.host.unix_time()).unwrap_or(0);
        let mut state = Progress {
            files_total: self.todo.len(),
            bytes_total: self.todo.iter().map(|file| file.size).sum(),
            ..Progress::default()
        };
        let forgotten = forget::list(store.path());
        let mut batch: Vec<Prepared<'_>> = Vec::new();
        let (mut chunks, mut bytes, mut batches) = (0, 0, 0);
        for file in &self.todo {
            if progress(state).is_break() {
                report.outcome = SyncOutcome::Stopped;
                break;
            }
            state.files_done += 1;
            state.bytes_done += file.size;
            let content = match std::fs::read(&file.path) {
                Ok(content) => content,
                Err(error) => {
                    // Gone between listing and reading, or not ours to read.
                    report
                        .problems
                        .push(format!("{} cannot be read: {error}", file.label));
                    continue;
                }
            };
            let hash = ContentHash::of(&content);
            let known = known.get(&file.label);
            let cut = request.settings.cut.identity();
            let same = known.is_some_and(|known| known.hash == hash.as_bytes() && known.cut == cut);
            if same && request.depth != Depth::Rebuild {
                batch.push(Prepared::Seen { file, now });
                report.unchanged += 1;
                continue;
            }
            let text = String::from_utf8_lossy(&content);
            let mut units = match file.source {
                FileSource::Sessions => transcript::cut(&text),
                _ => request.settings.cut.markdown(&file.label, &text),
            };
            if !forgotten.is_empty() {
                units.retain(|unit| !forgotten.contains(&ContentHash::of(&unit.text)));
            }
            match known {
                Some(_) => report.changed += 1,
                None => report.added += 1,
            }
            chunks += units.len();
            bytes += content.len();
            state.chunks += units.len();
            report.chunks += units.len();
            report.bytes += content.len() as u64;
            batch.push(Prepared::Content {
                file,
                hash,
                cut,
                units,
                audience: source::audience_of(file, &text),
                now,
            });
            if chunks >= BATCH_CHUNKS || bytes >= BATCH_BYTES {
                batch::write(store, request, &batch)?;
                batch.clear();
                (chunks, bytes) = (0, 0);
                batches += 1;
                if batches % 8 == 0 {
                    merge::tidy(store)?;
                }
            }
        }
        batch::write(store, request, &batch)?;
        let _ = progress(state);
        Ok(())
    }
}

fn remove(store: &mut Store, gone: &[i64]) -> Result<(), StoreError> {
    if gone.is_empty() {
        return Ok(());
    }
    let run = |store: &mut Store| {
        let transaction = store
            .connection_mut()
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for id in gone {
            batch::drop_chunks(&transaction, *id)?;
            transaction.execute("DELETE FROM files WHERE id = ?1", params![id])?;
        }
        touch(&transaction)?;
        transaction.commit()
    };
    run(store).map_err(|error| store.explain(error))
}

/// The context a unit is embedded with: the unit before it, under the same heading.
pub(crate) fn embed_text<'a>(units: &'a [crate::chunk::Chunk], at: usize) -> EmbedText<'a> {
    let unit = &units[at];
    let context = at
        .checked_sub(1)
        .and_then(|before| units.get(before))
        .filter(|before| before.section == unit.section)
        .map_or("", |before| before.body());
    EmbedText {
        text: unit.body(),
        context,
    }
}

/// The labels of all files in the index with their number of chunks, for reports.
pub fn indexed_files(store: &Store) -> Result<BTreeMap<String, usize>, StoreError> {
    let read = || {
        let mut statement = store
            .connection()
            .prepare("SELECT label, chunks FROM files")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<rusqlite::Result<_>>()
    };
    read().map_err(|error| store.explain(error))
}

#[cfg(test)]
mod tests;
