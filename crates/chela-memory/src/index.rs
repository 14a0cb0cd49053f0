//! Bringing the index up to date with the files.
//!
//! Files are taken in batches; each batch is one transaction, after which its files are searched
//! in their new form. Whatever stops the work - a kill, a full disk - leaves the batches before it
//! in place and the files after it in their old form; the next sync goes on from there.

mod batch;
mod merge;
mod turn;
mod work;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use chela_core::Host;
use rusqlite::params;

use crate::embed::{EmbedText, Embedder};
use crate::settings::MemorySettings;
use crate::source::{self, Places};
use crate::store::{Store, StoreError, touch};
use crate::transcript::{self, TranscriptSource};
use crate::vectors;
use turn::Turn;
pub(crate) use work::Known;
use work::Work;

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
    /// Conversations kept elsewhere than in files.
    pub transcripts: Option<&'a dyn TranscriptSource>,
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
    /// Chunks whose vectors are too many, or cost too much, to be made unasked.
    pub unmade: usize,
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
    transcript::add_sessions(request.transcripts, request.settings, &mut found);
    let known = work::known_files(store)?;
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
    if report.outcome == SyncOutcome::Complete {
        vectors::keep_up(store, request, &mut report)?;
    }
    Ok(report)
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
    let Some(unit) = units.get(at) else {
        return EmbedText {
            text: "",
            context: "",
        };
    };
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
