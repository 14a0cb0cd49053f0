//! How long requests stay on record.

use std::collections::HashSet;

use chela_store::{Durability, StoreError};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::audit::{AuditKind, Chain};
use crate::manifest::{self, StoredList};
use crate::store::{Ledger, LedgerError, Trouble};

/// What limits by the month look back on, in milliseconds; calls are kept at least as long.
const LONGEST_LIMIT: u64 = 32 * DAY;
const DAY: u64 = 86_400_000;
/// Requests deleted at once.
const PART: i64 = 256;
/// A clock that moved further since the last look may be wrong: nothing goes before it has gone on
/// for another day.
const PLAUSIBLE: u64 = 31 * DAY;
/// Of all requests, at most this share goes by age in one day.
const SHARE_PER_DAY: i64 = 4;

/// How much is kept. The audit chain itself is never shortened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Requests older than this go, in milliseconds.
    pub age: Option<u64>,
    /// Bytes of stored contents; the oldest requests go first.
    pub bytes: Option<u64>,
}

/// What a wrong clock may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Haste {
    /// Somebody wants it done now.
    AtOnce,
    /// By itself: never much of what is there.
    ByAndBy,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub requests: usize,
    pub contents: usize,
    /// Bytes of the contents, as they were stored.
    pub bytes: u64,
}

impl Ledger {
    /// Deletes the requests of a session and what only they used.
    pub async fn forget_session(&self, session: &str) -> Result<Forgotten, LedgerError> {
        let session = session.to_owned();
        let forgotten = self
            .chained(Durability::Disk, move |tx, chain| {
                let ids = ids(
                    tx,
                    "SELECT records.id FROM records \
                     JOIN sessions ON sessions.row = records.session \
                     WHERE sessions.id = ?1 ORDER BY records.id",
                    params![session],
                )?;
                let forgotten = forget(tx, chain, &ids, "session deleted")?;
                tx.execute("DELETE FROM sessions WHERE id = ?1", [session])?;
                Ok(forgotten)
            })
            .await?;
        self.tidy().await;
        Ok(forgotten)
    }

    /// Deletes what is older or more than wanted, a part at a time: nobody who wants to put a
    /// request on record has to wait long.
    pub async fn retain(&self, retention: Retention) -> Result<Forgotten, LedgerError> {
        self.retain_with(retention, Haste::AtOnce).await
    }

    async fn retain_with(
        &self,
        retention: Retention,
        haste: Haste,
    ) -> Result<Forgotten, LedgerError> {
        let now = self.host.unix_millis();
        let most = match haste {
            Haste::AtOnce => usize::MAX,
            Haste::ByAndBy => self.read(daily_share).await?,
        };
        let mut sum = Forgotten::default();
        while sum.requests < most {
            let part = self
                .chained(Durability::Disk, move |tx, chain| {
                    retention.apply_part(tx, chain, now)
                })
                .await?;
            if part.requests == 0 {
                break;
            }
            sum.add(part);
        }
        if sum.requests > 0 {
            self.tidy().await;
        }
        Ok(sum)
    }

    /// What [`Ledger::retain`] would delete now. Changes nothing.
    pub async fn would_retain(&self, retention: Retention) -> Result<Forgotten, LedgerError> {
        let now = self.host.unix_millis();
        self.tried(move |tx, chain| {
            let mut sum = Forgotten::default();
            loop {
                let part = retention.apply_part(tx, chain, now)?;
                if part.requests == 0 {
                    return Ok(sum);
                }
                sum.add(part);
            }
        })
        .await
    }

    /// The same as [`Ledger::retain`], unless it was done within a day; `None` then. A clock that
    /// is far ahead of the last time deletes nothing, and none deletes much in a day.
    pub async fn retain_daily(
        &self,
        retention: Retention,
    ) -> Result<Option<Forgotten>, LedgerError> {
        let note = self.path().with_extension("kept");
        let now = self.host.unix_millis();
        let last = std::fs::read_to_string(&note)
            .ok()
            .and_then(|text| text.trim().parse::<u64>().ok());
        // A note from the future is from another clock.
        if last.is_some_and(|last| (last..last.saturating_add(DAY)).contains(&now)) {
            return Ok(None);
        }
        let forgotten = match last {
            Some(last) if now > last.saturating_add(PLAUSIBLE) => Forgotten::default(),
            _ => self.retain_with(retention, Haste::ByAndBy).await?,
        };
        std::fs::write(&note, format!("{now}\n"))
            .map_err(|source| StoreError::File { path: note, source })?;
        Ok(Some(forgotten))
    }

    /// Bytes of all stored contents.
    pub async fn stored_bytes(&self) -> Result<u64, LedgerError> {
        self.scan(size).await
    }
}

impl Retention {
    /// Deletes some of what is to go; nothing when nothing is.
    fn apply_part(
        &self,
        tx: &Connection,
        chain: &mut Chain,
        now: u64,
    ) -> Result<Forgotten, Trouble> {
        if let Some(age) = self.age {
            tx.execute(
                "DELETE FROM calls WHERE at < ?1",
                [now.saturating_sub(age.max(LONGEST_LIMIT))],
            )?;
            let old = ids(
                tx,
                "SELECT id FROM records WHERE at < ?1 ORDER BY id LIMIT ?2",
                params![now.saturating_sub(age), PART],
            )?;
            if !old.is_empty() {
                return forget(tx, chain, &old, "age");
            }
        }
        let Some(most) = self.bytes else {
            return Ok(Forgotten::default());
        };
        if size(tx)? <= most {
            return Ok(Forgotten::default());
        }
        // Contents are shared, so how much a request frees shows only afterwards.
        let all: i64 = tx.query_row("SELECT count(*) FROM records", [], |row| row.get(0))?;
        let oldest = ids(
            tx,
            "SELECT id FROM records ORDER BY id LIMIT ?1",
            params![(all / 8).clamp(1, PART)],
        )?;
        forget(tx, chain, &oldest, "size")
    }
}

impl Forgotten {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.contents += other.contents;
        self.bytes += other.bytes;
    }
}

/// How many requests may go by themselves in a day.
fn daily_share(tx: &Connection) -> Result<usize, Trouble> {
    let all: i64 = tx.query_row("SELECT count(*) FROM records", [], |row| row.get(0))?;
    Ok(usize::try_from(PART.max(all / SHARE_PER_DAY)).unwrap_or(usize::MAX))
}

fn size(tx: &Connection) -> Result<u64, Trouble> {
    Ok(tx.query_row(
        "SELECT coalesce(sum(length(data)), 0) FROM blobs",
        [],
        |row| row.get(0),
    )?)
}

fn ids(tx: &Connection, query: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<i64>, Trouble> {
    let mut statement = tx.prepare(query)?;
    let rows = statement.query_map(values, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Deletes requests and what no other uses, and says so in the chain.
fn forget(
    tx: &Connection,
    chain: &mut Chain,
    ids: &[i64],
    why: &str,
) -> Result<Forgotten, Trouble> {
    if ids.is_empty() {
        return Ok(Forgotten::default());
    }
    let mut candidates = HashSet::new();
    for id in ids {
        used(tx, "WHERE id = ?1", &[id], |blob| {
            candidates.insert(blob);
        })?;
        tx.prepare_cached("DELETE FROM records WHERE id = ?1")?
            .execute([id])?;
    }
    used(tx, "", &[], |blob| {
        candidates.remove(&blob);
    })?;
    let mut forgotten = Forgotten {
        requests: ids.len(),
        contents: candidates.len(),
        bytes: 0,
    };
    for blob in candidates {
        forgotten.bytes += tx
            .prepare_cached("DELETE FROM blobs WHERE id = ?1 RETURNING length(data)")?
            .query_row([blob], |row| row.get::<_, u64>(0))
            .or_else(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => Ok(0),
                error => Err(error),
            })?;
    }
    tx.execute(
        "DELETE FROM sessions WHERE row NOT IN (SELECT session FROM records)",
        [],
    )?;
    let body = json!({ "why": why, "records": spans(ids) });
    chain.add(tx, AuditKind::Forgotten, &body)?;
    Ok(forgotten)
}

/// Every content that some requests are made of.
fn used(
    tx: &Connection,
    which: &str,
    values: &[&dyn rusqlite::ToSql],
    mut take: impl FnMut(i64),
) -> Result<(), Trouble> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT manifest, sections, tools, outcome FROM records {which}"
    ))?;
    let mut rows = statement.query(values)?;
    let mut runs = HashSet::new();
    let unreadable = |_: Trouble| {
        Trouble::Damaged("a list of contents cannot be read, so nothing was deleted".to_owned())
    };
    while let Some(row) = rows.next()? {
        let bytes: Vec<u8> = row.get(0)?;
        let list = StoredList::of(&bytes).map_err(unreadable)?;
        for run in list.runs {
            take(run);
            if runs.insert(run) {
                let ids = manifest::run_of(tx, run).map_err(unreadable)?;
                ids.into_iter().for_each(&mut take);
            }
        }
        list.rest.into_iter().for_each(&mut take);
        for column in 1..4 {
            row.get::<_, Option<i64>>(column)?
                .into_iter()
                .for_each(&mut take);
        }
    }
    Ok(())
}

/// Ids in order as first and last of each run.
fn spans(ids: &[i64]) -> Vec<[i64; 2]> {
    let mut spans: Vec<[i64; 2]> = Vec::new();
    for id in ids {
        match spans.last_mut() {
            Some(span) if span[1] + 1 == *id => span[1] = *id,
            _ => spans.push([*id, *id]),
        }
    }
    spans
}

/// The requests an entry says are deleted.
pub(crate) fn forgotten_ids(body: &Value) -> Vec<i64> {
    let spans: Vec<[i64; 2]> = serde_json::from_value(body["records"].clone()).unwrap_or_default();
    // The chain may be damaged: a span from here to eternity must not be walked.
    spans
        .into_iter()
        .flat_map(|[first, last]| (first..=last).take(1 << 20))
        .collect()
}
