//! Jobs by id.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::schema::moment;
use super::{inbox, occurrences};
use crate::inbox::MessageOutcome;
use crate::jobs::{JobAdvance, JobChanged, JobPlan, JobRecord, KnownRevision};

const COLUMNS: &str = "id, spec, next, enabled, state, revision";

pub(super) fn put(
    tx: &Connection,
    job: &JobPlan,
    known: KnownRevision,
) -> rusqlite::Result<JobChanged> {
    let values = params![
        job.id,
        job.spec,
        job.next.map(moment),
        job.enabled,
        job.state
    ];
    let changed = match known {
        KnownRevision::New => tx
            .prepare_cached(
                "INSERT OR IGNORE INTO jobs (id, spec, next, enabled, state) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(values)?,
        KnownRevision::At(revision) => tx
            .prepare_cached(
                "UPDATE jobs SET spec = ?2, next = ?3, enabled = ?4, state = ?5, \
                 revision = revision + 1 WHERE id = ?1 AND revision = ?6",
            )?
            .execute(params![
                job.id,
                job.spec,
                job.next.map(moment),
                job.enabled,
                job.state,
                revision
            ])?,
    };
    Ok(changed_by(changed))
}

pub(super) fn remove(
    tx: &Connection,
    id: &str,
    withdrawn: &MessageOutcome,
) -> rusqlite::Result<bool> {
    for message in occurrences::waiting_messages(tx, id)? {
        inbox::withdraw(tx, &message, withdrawn)?;
    }
    occurrences::end_all(tx, id, withdrawn)?;
    let gone = tx.execute("DELETE FROM jobs WHERE id = ?1", [id])?;
    Ok(gone > 0)
}

pub(super) fn by_id(connection: &Connection, id: &str) -> rusqlite::Result<Option<JobRecord>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM jobs WHERE id = ?1"))?
        .query_row([id], job_of)
        .optional()
}

pub(super) fn list(connection: &Connection) -> rusqlite::Result<Vec<JobRecord>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM jobs ORDER BY id"))?
        .query_map([], job_of)?
        .collect()
}

pub(super) fn due(connection: &Connection, now: u64) -> rusqlite::Result<Vec<JobRecord>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM jobs WHERE enabled = 1 AND next <= ?1 ORDER BY next, id"
        ))?
        .query_map([moment(now)], job_of)?
        .collect()
}

pub(super) fn next_due(connection: &Connection) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached(
            "SELECT min(at) FROM (SELECT min(next) AS at FROM jobs WHERE enabled = 1 \
             UNION ALL SELECT min(due) FROM occurrences WHERE ended IS NULL)",
        )?
        .query_row([], |row| row.get(0))
}

pub(super) fn advance(tx: &Connection, advance: &JobAdvance) -> rusqlite::Result<JobChanged> {
    let changed = tx
        .prepare_cached(
            "UPDATE jobs SET next = ?3, enabled = ?4, state = ?5, revision = revision + 1 \
             WHERE id = ?1 AND revision = ?2",
        )?
        .execute(params![
            advance.id,
            advance.revision,
            advance.next.map(moment),
            advance.enabled,
            advance.state
        ])?;
    if changed == 0 {
        return Ok(JobChanged::Outdated);
    }
    for step in &advance.steps {
        occurrences::take_step(tx, &advance.id, step)?;
    }
    Ok(JobChanged::Changed)
}

fn changed_by(rows: usize) -> JobChanged {
    match rows {
        0 => JobChanged::Outdated,
        _ => JobChanged::Changed,
    }
}

fn job_of(row: &Row<'_>) -> rusqlite::Result<JobRecord> {
    Ok(JobRecord {
        plan: JobPlan {
            id: row.get(0)?,
            spec: row.get(1)?,
            next: row.get(2)?,
            enabled: row.get(3)?,
            state: row.get(4)?,
        },
        revision: row.get(5)?,
    })
}
