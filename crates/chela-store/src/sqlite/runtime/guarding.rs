//! Rows that were put into the queue past Chela: found and taken out before anybody acts on them.
//!
//! Looked for only where another connection has written since: SQLite says so with one number.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use chela_core::lock;
use rusqlite::{Connection, params};

use super::{jobs, outbox};
use crate::jobs::JobPlan;
use crate::row_origins::{RowKind, RowMark, RowOrigins};

/// Longer ids are not shown.
const LONGEST_ID: usize = 64;

/// A row that was not what Chela wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRow {
    pub kind: RowKind,
    pub id: String,
    pub what: RowRepair,
}

/// What was done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowRepair {
    Removed,
    /// It is as it was before.
    PutBack,
}

impl std::fmt::Display for RefusedRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.kind {
            RowKind::Message => "a message",
            RowKind::Delivery => "a delivery",
            RowKind::Job => "a job",
        };
        let done = match self.what {
            RowRepair::Removed => "was removed",
            RowRepair::PutBack => "was restored",
        };
        // Whoever wrote the row chose its id: it is no place for prose.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
        let id = match self.id.len() <= LONGEST_ID && self.id.chars().all(is_plain) {
            true => format!(" ({})", self.id),
            false => String::new(),
        };
        write!(
            f,
            "Something other than Chela wrote {what} into state/runtime.sqlite{id}, so it {done}"
        )
    }
}

/// What a handle of the file knows of its rows.
#[derive(Debug, Default)]
pub(super) struct RowGuard {
    origins: Arc<RowOrigins>,
    /// As SQLite counted when they were last looked at.
    seen: Mutex<Option<i64>>,
    refused: Mutex<Vec<RefusedRow>>,
}

impl RowGuard {
    pub(super) fn new(origins: Arc<RowOrigins>) -> Self {
        Self {
            origins,
            ..Self::default()
        }
    }

    pub(super) fn origins(&self) -> &RowOrigins {
        &self.origins
    }

    pub(super) fn shared_origins(&self) -> Arc<RowOrigins> {
        Arc::clone(&self.origins)
    }

    /// Takes out what was put in since, where anybody looks after the file.
    pub(super) fn look(&self, tx: &Connection) -> rusqlite::Result<()> {
        match self.origins.are_guarded() {
            true => self.look_closely(tx),
            false => Ok(()),
        }
    }

    fn look_closely(&self, tx: &Connection) -> rusqlite::Result<()> {
        let now: i64 = tx.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        if *lock(&self.seen) == Some(now) {
            return Ok(());
        }
        let refused = refuse_unknown(tx, &self.origins)?;
        // What others of Chela's own wrote is known from now on, with what it says.
        self.take_as_known(tx)?;
        for row in &refused {
            let (kind, what) = (row.kind, row.what);
            tracing::warn!(
                ?kind,
                id = row.id,
                ?what,
                "a row of the queue that Chela did not write"
            );
        }
        // What is taken out here is there again should this fail to be kept: it is looked for anew.
        *lock(&self.seen) = refused.is_empty().then_some(now);
        let mut told = lock(&self.refused);
        let is_new = |row: &RefusedRow| !told.contains(row);
        let new: Vec<RefusedRow> = refused.into_iter().filter(is_new).collect();
        told.extend(new);
        Ok(())
    }

    /// What was found since this was last asked.
    pub(super) fn take_refused(&self) -> Vec<RefusedRow> {
        std::mem::take(&mut *lock(&self.refused))
    }

    /// What was over is to be delivered once more.
    pub(super) fn note_delivery_again(&self, tx: &Connection, id: &str) -> rusqlite::Result<()> {
        if let Some(record) = outbox::by_id(tx, id)? {
            self.origins
                .note(RowMark::delivery(&record.id, &record.body));
        }
        Ok(())
    }

    /// Nobody acts on these any more.
    pub(super) fn forget_what_is_over(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut over = HashSet::new();
        let mut take = |kind, select| {
            let mut rows = connection.prepare_cached(select)?;
            for id in rows.query_map([], |row| row.get::<_, String>(0))? {
                over.insert((kind, id?));
            }
            Ok::<_, rusqlite::Error>(())
        };
        let messages = "SELECT id FROM inbox WHERE finished IS NOT NULL";
        take(RowKind::Message, messages)?;
        take(
            RowKind::Delivery,
            "SELECT id FROM outbox WHERE ended IS NOT NULL",
        )?;
        self.origins.forget(&over);
        Ok(())
    }

    /// From now on what is there counts as Chela's.
    pub(super) fn take_as_known(&self, tx: &Connection) -> rusqlite::Result<()> {
        let (marks, jobs) = (marks(tx)?, job_plans(tx)?);
        self.origins.take_as_known(marks, jobs);
        Ok(())
    }
}

/// Rows that somebody will act on.
fn marks(tx: &Connection) -> rusqlite::Result<Vec<RowMark>> {
    let mut messages =
        tx.prepare_cached("SELECT id, lane, body FROM inbox WHERE finished IS NULL")?;
    let messages = messages.query_map([], |row| {
        let (id, lane, body): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(RowMark::message(&id, &lane, &body))
    })?;
    let mut deliveries = tx.prepare_cached("SELECT id, body FROM outbox WHERE ended IS NULL")?;
    let deliveries = deliveries.query_map([], |row| {
        let (id, body): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(RowMark::delivery(&id, &body))
    })?;
    let mut jobs = tx.prepare_cached("SELECT id, spec FROM jobs")?;
    let jobs = jobs.query_map([], |row| {
        let (id, spec): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(RowMark::job(&id, &spec))
    })?;
    messages.chain(deliveries).chain(jobs).collect()
}

fn job_plans(tx: &Connection) -> rusqlite::Result<Vec<JobPlan>> {
    let jobs = jobs::list(tx)?;
    Ok(jobs.into_iter().map(|job| job.plan).collect())
}

fn refuse_unknown(tx: &Connection, origins: &RowOrigins) -> rusqlite::Result<Vec<RefusedRow>> {
    let mut refused = Vec::new();
    for mark in marks(tx)? {
        if origins.knows(&mark) {
            continue;
        }
        let (kind, id) = (mark.kind(), mark.id().to_owned());
        let what = match kind {
            RowKind::Message => {
                tx.execute("DELETE FROM inbox WHERE id = ?1", [&id])?;
                RowRepair::Removed
            }
            RowKind::Delivery => {
                tx.execute("DELETE FROM outbox WHERE id = ?1", [&id])?;
                RowRepair::Removed
            }
            RowKind::Job => put_job_back(tx, &id, origins.known_job(&id))?,
        };
        refused.push(RefusedRow { kind, id, what });
    }
    Ok(refused)
}

fn put_job_back(tx: &Connection, id: &str, known: Option<JobPlan>) -> rusqlite::Result<RowRepair> {
    match known {
        Some(job) => {
            tx.execute(
                "UPDATE jobs SET spec = ?2, revision = revision + 1 WHERE id = ?1",
                params![id, job.spec],
            )?;
            Ok(RowRepair::PutBack)
        }
        None => {
            tx.execute(
                "DELETE FROM occurrences WHERE job = ?1 AND ended IS NULL",
                [id],
            )?;
            tx.execute("DELETE FROM jobs WHERE id = ?1", [id])?;
            Ok(RowRepair::Removed)
        }
    }
}
