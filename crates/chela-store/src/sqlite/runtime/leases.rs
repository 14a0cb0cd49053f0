//! Leases by name.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::schema::{NumberOf, end_of, moment, next_number};
use crate::claims::LeaseTime;
use crate::leases::{LeaseAcquired, LeaseAsk, LeaseKey, LeaseRecord};

const COLUMNS: &str = "name, fence, holder, until";

pub(super) fn acquire(tx: &Connection, ask: &LeaseAsk) -> rusqlite::Result<LeaseAcquired> {
    if let Some(held) = current(tx, &ask.name, ask.time.now)?
        && held.holder != ask.holder
    {
        return Ok(LeaseAcquired::Taken(held));
    }
    let fence = next_number(tx, NumberOf::Fence)?;
    tx.prepare_cached(&format!(
        "INSERT OR REPLACE INTO leases ({COLUMNS}) VALUES (?1, ?2, ?3, ?4) RETURNING {COLUMNS}"
    ))?
    .query_row(
        params![ask.name, fence, ask.holder, end_of(ask.time)],
        lease_of,
    )
    .map(LeaseAcquired::Acquired)
}

pub(super) fn renew(
    tx: &Connection,
    lease: &LeaseKey,
    time: LeaseTime,
) -> rusqlite::Result<Option<LeaseRecord>> {
    tx.prepare_cached(&format!(
        "UPDATE leases SET until = ?3 WHERE name = ?1 AND fence = ?2 RETURNING {COLUMNS}"
    ))?
    .query_row(params![lease.name, lease.fence, end_of(time)], lease_of)
    .optional()
}

pub(super) fn release(tx: &Connection, lease: &LeaseKey) -> rusqlite::Result<bool> {
    let gone = tx
        .prepare_cached("DELETE FROM leases WHERE name = ?1 AND fence = ?2")?
        .execute(params![lease.name, lease.fence])?;
    Ok(gone > 0)
}

pub(super) fn current(
    connection: &Connection,
    name: &str,
    now: u64,
) -> rusqlite::Result<Option<LeaseRecord>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM leases WHERE name = ?1 AND until > ?2"
        ))?
        .query_row(params![name, moment(now)], lease_of)
        .optional()
}

pub(super) fn list(connection: &Connection, now: u64) -> rusqlite::Result<Vec<LeaseRecord>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM leases WHERE until > ?1 ORDER BY name"
        ))?
        .query_map([moment(now)], lease_of)?
        .collect()
}

fn lease_of(row: &Row<'_>) -> rusqlite::Result<LeaseRecord> {
    Ok(LeaseRecord {
        key: LeaseKey {
            name: row.get(0)?,
            fence: row.get(1)?,
        },
        holder: row.get(2)?,
        until: row.get(3)?,
    })
}
