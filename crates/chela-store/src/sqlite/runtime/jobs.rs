//! Jobs by name.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::schema::{NumberOf, end_of, holder_of, moment, next_number};
use crate::claims::{ClaimAsk, ClaimState, LeaseTime, WorkClaim};
use crate::jobs::{ClaimedJob, JobFinished, JobNext, JobPlan, JobRecord};

const COLUMNS: &str = "name, schedule, next, enabled, state, worker, until";

pub(super) fn upsert(tx: &Connection, job: &JobPlan) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO jobs (name, schedule, next, enabled, state) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (name) DO UPDATE SET schedule = ?2, next = ?3, enabled = ?4, state = ?5, \
         replaced = 1",
    )?
    .execute(params![
        job.name,
        job.schedule,
        job.next.map(moment),
        job.enabled,
        job.state
    ])
    .map(drop)
}

pub(super) fn remove(tx: &Connection, name: &str) -> rusqlite::Result<bool> {
    let gone = tx.execute("DELETE FROM jobs WHERE name = ?1", [name])?;
    Ok(gone > 0)
}

pub(super) fn by_name(connection: &Connection, name: &str) -> rusqlite::Result<Option<JobRecord>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM jobs WHERE name = ?1"))?
        .query_row([name], job_of)
        .optional()
}

pub(super) fn list(connection: &Connection) -> rusqlite::Result<Vec<JobRecord>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM jobs ORDER BY name"))?
        .query_map([], job_of)?
        .collect()
}

pub(super) fn claim_due(tx: &Connection, ask: &ClaimAsk) -> rusqlite::Result<Option<ClaimedJob>> {
    let due: Option<String> = tx
        .prepare_cached(
            "SELECT name FROM jobs WHERE enabled = 1 AND next <= ?1 \
             AND (until IS NULL OR until <= ?1) ORDER BY next, name LIMIT 1",
        )?
        .query_row([moment(ask.time.now)], |row| row.get(0))
        .optional()?;
    let Some(name) = due else {
        return Ok(None);
    };
    let number = next_number(tx, NumberOf::Claim)?;
    let job = tx
        .prepare_cached(&format!(
            "UPDATE jobs SET claim = ?2, worker = ?3, until = ?4, replaced = 0 \
             WHERE name = ?1 RETURNING {COLUMNS}"
        ))?
        .query_row(params![name, number, ask.worker, end_of(ask.time)], job_of)?;
    Ok(Some(ClaimedJob {
        claim: WorkClaim { name, number },
        plan: job.plan,
    }))
}

pub(super) fn renew(
    tx: &Connection,
    claim: &WorkClaim,
    time: LeaseTime,
) -> rusqlite::Result<ClaimState> {
    if replaced_since(tx, claim)?.is_none() {
        return Ok(ClaimState::Lost);
    }
    tx.prepare_cached("UPDATE jobs SET until = ?2 WHERE name = ?1")?
        .execute(params![claim.name, end_of(time)])?;
    Ok(ClaimState::Held)
}

pub(super) fn give_back(tx: &Connection, claim: &WorkClaim) -> rusqlite::Result<ClaimState> {
    if replaced_since(tx, claim)?.is_none() {
        return Ok(ClaimState::Lost);
    }
    end_claim(tx, claim)?;
    Ok(ClaimState::Held)
}

pub(super) fn finish(
    tx: &Connection,
    claim: &WorkClaim,
    next: &JobNext,
) -> rusqlite::Result<JobFinished> {
    let Some(replaced) = replaced_since(tx, claim)? else {
        return Ok(JobFinished::Lost);
    };
    end_claim(tx, claim)?;
    if replaced {
        return Ok(JobFinished::Replaced);
    }
    tx.prepare_cached("UPDATE jobs SET next = ?2, state = ?3 WHERE name = ?1")?
        .execute(params![claim.name, next.next.map(moment), next.state])?;
    Ok(JobFinished::Finished)
}

/// Whether a job was replaced since it was claimed; `None` when the claim no longer holds.
fn replaced_since(tx: &Connection, claim: &WorkClaim) -> rusqlite::Result<Option<bool>> {
    tx.prepare_cached("SELECT replaced FROM jobs WHERE name = ?1 AND claim = ?2")?
        .query_row(params![claim.name, claim.number], |row| row.get(0))
        .optional()
}

fn end_claim(tx: &Connection, claim: &WorkClaim) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE jobs SET claim = 0, worker = NULL, until = NULL WHERE name = ?1")?
        .execute([&claim.name])
        .map(drop)
}

fn job_of(row: &Row<'_>) -> rusqlite::Result<JobRecord> {
    Ok(JobRecord {
        plan: JobPlan {
            name: row.get(0)?,
            schedule: row.get(1)?,
            next: row.get(2)?,
            enabled: row.get(3)?,
            state: row.get(4)?,
        },
        holder: holder_of(row, 5, 6)?,
    })
}
