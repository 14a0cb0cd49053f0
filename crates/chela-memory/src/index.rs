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

use crate::embed::{EmbedCost, EmbedText, Embedder};
use crate::settings::MemorySettings;
use crate::source::{self, MemoryPlaces};
use crate::store::{IndexStore, StoreError, touch};
use crate::transcript::TranscriptSource;
use crate::vectors::{FillLimit, FillOutcome, FillRules, fill};
use turn::WriteTurn;
use work::SyncWork;

pub use batch::{PreparedFile, write as write_prepared};

/// How closely files are compared with the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncDepth {
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
    pub places: &'a MemoryPlaces,
    pub settings: &'a MemorySettings,
    /// `None` keeps to keywords.
    pub embedder: Option<&'a dyn Embedder>,
    /// Conversations kept elsewhere than in files.
    pub transcripts: Option<&'a dyn TranscriptSource>,
    pub depth: SyncDepth,
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
pub struct SyncProgress {
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
    store: &mut IndexStore,
    request: &SyncRequest<'_>,
    progress: &mut dyn FnMut(SyncProgress) -> ControlFlow<()>,
) -> Result<SyncReport, StoreError> {
    if store.access() == crate::store::IndexAccess::Read {
        return Ok(SyncReport {
            outcome: SyncOutcome::ReadOnly,
            ..SyncReport::default()
        });
    }
    let Some(_turn) = WriteTurn::take(store) else {
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
            "{} does not exist; what was indexed stays searchable",
            request.places.workspace.display()
        ));
    }
    found.add_sessions(request.transcripts, request.settings);
    let known = work::known_files(store)?;
    let problems = std::mem::take(&mut found.problems);
    let mut work = SyncWork::plan(&found, &known, request);
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
        keep_up(store, request, &mut report)?;
    }
    for problem in &report.problems {
        tracing::warn!(problem, "a part of memory is not up to date");
    }
    tracing::debug!(?report, "memory was brought up to date");
    Ok(report)
}

/// After the words are indexed: makes the few vectors that are missing, and says why others are.
/// Who stands in for a provider gets its vectors too, where that costs nothing or the provider
/// fails.
fn keep_up(
    store: &mut IndexStore,
    request: &SyncRequest<'_>,
    report: &mut SyncReport,
) -> Result<(), StoreError> {
    let Some(embedder) = request.embedder else {
        return Ok(());
    };
    let rules = FillRules {
        cache: &request.settings.cache,
        now: request.host.unix_time(),
        spend: FillLimit::Little,
    };
    let mut make = |embedder| {
        fill(
            store,
            embedder,
            rules,
            &mut |_, _| ControlFlow::Continue(()),
        )
    };
    let other = embedder.stand_in();
    let at_once = other.filter(|other| other.cost() == EmbedCost::Instant);
    if let Some(other) = at_once {
        make(other)?;
    }
    match make(embedder)? {
        FillOutcome::Complete | FillOutcome::Stopped => {}
        FillOutcome::Waiting { chunks } => {
            tracing::info!(
                chunks,
                "vectors are not made without asking: too many are missing"
            );
            report.unmade = chunks;
        }
        FillOutcome::Failed { problem } => {
            tracing::warn!(%problem, "no vectors were made");
            report.problems.push(problem.to_string());
            if let (Some(other), None) = (other, at_once) {
                make(other)?;
            }
        }
    }
    Ok(())
}

fn remove(store: &mut IndexStore, gone: &[i64]) -> Result<(), StoreError> {
    if gone.is_empty() {
        return Ok(());
    }
    let run = |store: &mut IndexStore| {
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
pub(crate) fn embed_text<'a>(units: &'a [crate::chunk::NoteChunk], at: usize) -> EmbedText<'a> {
    let Some(unit) = units.get(at) else {
        return EmbedText::plain("");
    };
    let context = at
        .checked_sub(1)
        .and_then(|before| units.get(before))
        .filter(|before| before.section == unit.section)
        .map_or("", |before| before.body());
    EmbedText {
        text: unit.body(),
        context,
        language: unit.language,
    }
}

/// The labels of all files in the index with their number of chunks, for reports.
pub fn indexed_files(store: &IndexStore) -> Result<BTreeMap<String, usize>, StoreError> {
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
