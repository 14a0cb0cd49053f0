//! What is to be delivered.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::inbox;
use super::schema::moment;
use crate::claims::{ClaimState, WorkClaim};
use crate::inbox::MessageOutcome;
use crate::outbox::{
    DeliveryEnd, DeliveryQuery, DeliveryRecord, DeliveryState, FinishedWork, NewDelivery,
};

const COLUMNS: &str = "id, body, made, due, expires, tries, state, why, ended";

pub(super) fn finish_and_send(
    tx: &Connection,
    claim: &WorkClaim,
    outcome: &MessageOutcome,
    deliveries: &[NewDelivery],
) -> rusqlite::Result<FinishedWork> {
    let state = inbox::finish(tx, claim, outcome)?;
    if state == ClaimState::Held {
        for delivery in deliveries {
            send(tx, delivery)?;
        }
    }
    Ok(FinishedWork {
        claim: state,
        more: inbox::has_waiting(tx)?,
    })
}

pub(super) fn send(tx: &Connection, delivery: &NewDelivery) -> rusqlite::Result<bool> {
    let sent = tx
        .prepare_cached(
            "INSERT OR IGNORE INTO outbox (id, body, made, due, expires) \
             VALUES (?1, ?2, ?3, ?3, ?4)",
        )?
        .execute(params![
            delivery.id,
            delivery.body,
            moment(delivery.at),
            moment(delivery.expires)
        ])?;
    Ok(sent > 0)
}

pub(super) fn due(
    connection: &Connection,
    now: u64,
    most: usize,
) -> rusqlite::Result<Vec<DeliveryRecord>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM outbox WHERE ended IS NULL AND due <= ?1 \
             ORDER BY number LIMIT ?2"
        ))?
        .query_map(params![moment(now), limit_of(most)], record_of)?
        .collect()
}

pub(super) fn next(connection: &Connection) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached("SELECT min(due) FROM outbox WHERE ended IS NULL")?
        .query_row([], |row| row.get(0))
}

pub(super) fn note_try(tx: &Connection, id: &str, why: &str, due: u64) -> rusqlite::Result<bool> {
    let changed = tx
        .prepare_cached(
            "UPDATE outbox SET tries = tries + 1, why = ?2, due = ?3 \
             WHERE id = ?1 AND ended IS NULL",
        )?
        .execute(params![id, why, moment(due)])?;
    Ok(changed > 0)
}

pub(super) fn end(tx: &Connection, id: &str, end: &DeliveryEnd) -> rusqlite::Result<bool> {
    let changed = tx
        .prepare_cached(
            "UPDATE outbox SET state = ?2, why = ?3, ended = ?4, \
             tries = tries + (?2 IN ('delivered', 'failed')) WHERE id = ?1 AND ended IS NULL",
        )?
        .execute(params![id, end.state.as_str(), end.why, moment(end.at)])?;
    Ok(changed > 0)
}

pub(super) fn retry(tx: &Connection, id: &str, now: u64, expires: u64) -> rusqlite::Result<bool> {
    let changed = tx
        .prepare_cached(
            "UPDATE outbox SET state = 'waiting', ended = NULL, due = ?2, tries = 0, \
             expires = max(expires, ?3) WHERE id = ?1 AND state <> 'delivered'",
        )?
        .execute(params![id, moment(now), moment(expires)])?;
    Ok(changed > 0)
}

pub(super) fn by_id(connection: &Connection, id: &str) -> rusqlite::Result<Option<DeliveryRecord>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM outbox WHERE id = ?1"))?
        .query_row([id], record_of)
        .optional()
}

pub(super) fn newest(
    connection: &Connection,
    query: DeliveryQuery,
) -> rusqlite::Result<Vec<DeliveryRecord>> {
    let state = query.state.map(DeliveryState::as_str);
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM outbox WHERE ?1 IS NULL OR state = ?1 \
             ORDER BY number DESC LIMIT ?2"
        ))?
        .query_map(params![state, limit_of(query.limit)], record_of)?
        .collect()
}

pub(super) fn forget(tx: &Connection, before: u64) -> rusqlite::Result<usize> {
    tx.execute("DELETE FROM outbox WHERE ended < ?1", [moment(before)])
}

fn limit_of(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

fn record_of(row: &Row<'_>) -> rusqlite::Result<DeliveryRecord> {
    let state: String = row.get(6)?;
    Ok(DeliveryRecord {
        id: row.get(0)?,
        body: row.get(1)?,
        made: row.get(2)?,
        due: row.get(3)?,
        expires: row.get(4)?,
        tries: row.get(5)?,
        state: DeliveryState::read(&state),
        why: row.get(7)?,
        ended: row.get(8)?,
    })
}
