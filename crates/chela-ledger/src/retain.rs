//! How long requests stay on record.

use std::path::Path;

use chela_core::ok_or_warn;
use chela_files::{FileMode, read_if_there, write_file};
use chela_store::{LedgerTransaction, StoreError, WriteDurability};
use serde_json::{Value, json};

use crate::audit::{AuditKind, EntryWriter};
use crate::ledger::{Ledger, LedgerError};

/// What limits by the month look back on, in milliseconds; calls are kept at least as long.
const LONGEST_LIMIT: u64 = 32 * DAY;
const DAY: u64 = 86_400_000;
/// Requests deleted at once.
const PART: u64 = 256;
/// A clock that moved further since the last look may be wrong: nothing goes before it has gone on
/// for another day.
const PLAUSIBLE: u64 = 31 * DAY;
/// Of all requests and of all calls, at most one in so many goes in a day: a clock that stays wrong
/// is noticed before the record is gone.
const SHARE_PER_DAY: u64 = 4;

/// How much is kept. The audit chain itself is never shortened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerRetention {
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
pub struct RetentionReport {
    pub requests: usize,
    pub contents: usize,
    /// Bytes of the contents, as they were stored.
    pub bytes: u64,
    /// What calls cost, which only limits look back on.
    pub calls: usize,
    /// The clock had jumped ahead the last time, so that it may be wrong.
    pub after_jump: bool,
}

/// When the last look was, as a file beside the ledger says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LastLook {
    at: u64,
    /// The clock was too far ahead of the look before.
    jumped: bool,
}

impl Ledger {
    /// Deletes the requests of a session and what only they used.
    pub async fn forget_session(&self, session: &str) -> Result<RetentionReport, LedgerError> {
        let session = session.to_owned();
        let forgotten = self
            .chained(WriteDurability::Disk, move |tx, entries| {
                let ids = tx.session_requests(&session)?;
                let forgotten = forget(tx, entries, &ids, "session deleted")?;
                tx.forget_session(&session)?;
                Ok(forgotten)
            })
            .await?;
        self.store.give_room_back().await?;
        Ok(forgotten)
    }

    /// Deletes what is older or more than wanted, a part at a time: nobody who wants to put a
    /// request on record has to wait long.
    pub async fn retain(&self, retention: LedgerRetention) -> Result<RetentionReport, LedgerError> {
        self.retain_with(retention, Haste::AtOnce).await
    }

    async fn retain_with(
        &self,
        retention: LedgerRetention,
        haste: Haste,
    ) -> Result<RetentionReport, LedgerError> {
        let now = self.host.unix_millis();
        let most = haste.share_of(self.store.count_requests().await?);
        let calls = self
            .chained(WriteDurability::Disk, move |tx, _| {
                retention.forget_calls(tx, now, haste)
            })
            .await?;
        let mut sum = RetentionReport {
            calls,
            ..RetentionReport::default()
        };
        loop {
            let left = most.saturating_sub(sum.requests as u64);
            let part = self
                .chained(WriteDurability::Disk, move |tx, entries| {
                    retention.apply_part(tx, entries, now, left.min(PART))
                })
                .await?;
            if part.requests == 0 {
                break;
            }
            sum.add(part);
        }
        if sum.requests > 0 {
            self.store.give_room_back().await?;
        }
        Ok(sum)
    }

    /// What [`Ledger::retain`] would delete now. Changes nothing.
    pub async fn would_retain(
        &self,
        retention: LedgerRetention,
    ) -> Result<RetentionReport, LedgerError> {
        let now = self.host.unix_millis();
        let entries = self.entry_writer();
        let tried = self.store.try_out(move |tx| {
            let mut sum = RetentionReport {
                calls: retention.forget_calls(tx, now, Haste::AtOnce)?,
                ..RetentionReport::default()
            };
            loop {
                let part = retention.apply_part(tx, &entries, now, PART)?;
                if part.requests == 0 {
                    return Ok(sum);
                }
                sum.add(part);
            }
        });
        tried.await
    }

    /// The same as [`Ledger::retain`], unless it was done within a day; `None` then. A clock that
    /// is far ahead of the last time, or that nothing can be compared with, deletes nothing, and
    /// none deletes much in a day.
    pub async fn retain_daily(
        &self,
        retention: LedgerRetention,
    ) -> Result<Option<RetentionReport>, LedgerError> {
        let note = self.path().with_extension("kept");
        let now = self.host.unix_millis();
        let last = LastLook::read(&note);
        // A note from the future is from another clock.
        if last.is_some_and(|last| (last.at..last.at.saturating_add(DAY)).contains(&now)) {
            return Ok(None);
        }
        let jumped = last.is_some_and(|last| now > last.at.saturating_add(PLAUSIBLE));
        let forgotten = match last {
            None => {
                tracing::info!(
                    now,
                    "nothing says what the clock was: no request is deleted today"
                );
                RetentionReport::default()
            }
            Some(last) if jumped => {
                tracing::warn!(
                    last = last.at,
                    now,
                    "the clock is far ahead: no request is deleted today"
                );
                RetentionReport::default()
            }
            Some(last) => RetentionReport {
                after_jump: last.jumped,
                ..self.retain_with(retention, Haste::ByAndBy).await?
            },
        };
        if forgotten.after_jump && !forgotten.is_empty() {
            tracing::warn!(
                requests = forgotten.requests,
                calls = forgotten.calls,
                "old records are deleted by a clock that had jumped ahead"
            );
        }
        let look = LastLook { at: now, jumped };
        write_file(&note, look.to_text().as_bytes(), FileMode::Private).map_err(|error| {
            StoreError::File {
                path: note,
                source: error.into(),
            }
        })?;
        Ok(Some(forgotten))
    }

    /// Bytes of all stored contents.
    pub async fn stored_bytes(&self) -> Result<u64, LedgerError> {
        Ok(self.store.content_bytes().await?)
    }
}

impl LedgerRetention {
    /// Deletes what calls cost, once no limit looks back on it.
    fn forget_calls(
        &self,
        tx: &mut dyn LedgerTransaction,
        now: u64,
        haste: Haste,
    ) -> Result<usize, LedgerError> {
        let Some(age) = self.age else {
            return Ok(0);
        };
        let most = haste.share_of(tx.count_calls()?);
        let before = now.saturating_sub(age.max(LONGEST_LIMIT));
        Ok(tx.forget_calls(before, most)?)
    }

    /// Deletes some of what is to go, at most so many requests; nothing when nothing is.
    fn apply_part(
        &self,
        tx: &mut dyn LedgerTransaction,
        entries: &EntryWriter,
        now: u64,
        most_requests: u64,
    ) -> Result<RetentionReport, LedgerError> {
        if most_requests == 0 {
            return Ok(RetentionReport::default());
        }
        if let Some(age) = self.age {
            let old = tx.oldest_requests(Some(now.saturating_sub(age)), most_requests)?;
            if !old.is_empty() {
                return forget(tx, entries, &old, "age");
            }
        }
        let Some(most) = self.bytes else {
            return Ok(RetentionReport::default());
        };
        if tx.content_bytes()? <= most {
            return Ok(RetentionReport::default());
        }
        // Contents are shared, so how much a request frees shows only afterwards.
        let part = (tx.count_requests()? / 8).clamp(1, most_requests);
        let oldest = tx.oldest_requests(None, part)?;
        forget(tx, entries, &oldest, "size")
    }
}

impl RetentionReport {
    /// Whether nothing was deleted.
    pub fn is_empty(&self) -> bool {
        self.requests == 0 && self.calls == 0
    }

    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.contents += other.contents;
        self.bytes += other.bytes;
    }
}

impl Haste {
    /// How many of all may go.
    fn share_of(self, all: u64) -> u64 {
        match self {
            Self::AtOnce => all,
            Self::ByAndBy => (all / SHARE_PER_DAY).max(1),
        }
    }
}

impl LastLook {
    const JUMPED: &str = "jumped";

    /// `None` where there is no note or none that can be read.
    fn read(note: &Path) -> Option<Self> {
        let text = ok_or_warn!(
            read_if_there(note),
            "the note of the last look at old records is lost"
        )??;
        let mut words = text.split_whitespace();
        let at = words.next().unwrap_or_default().parse::<u64>();
        Some(Self {
            at: ok_or_warn!(at, "the note of the last look at old records is damaged")?,
            jumped: words.next() == Some(Self::JUMPED),
        })
    }

    fn to_text(self) -> String {
        match self.jumped {
            true => format!("{} {}\n", self.at, Self::JUMPED),
            false => format!("{}\n", self.at),
        }
    }
}

/// Deletes requests and what no other uses, and says so in the chain.
fn forget(
    tx: &mut dyn LedgerTransaction,
    entries: &EntryWriter,
    ids: &[i64],
    why: &str,
) -> Result<RetentionReport, LedgerError> {
    if ids.is_empty() {
        return Ok(RetentionReport::default());
    }
    let deleted = tx.delete_requests(ids)?;
    let body = json!({ "why": why, "records": spans(ids) });
    entries.add(tx, AuditKind::Forgotten, &body)?;
    tracing::info!(
        requests = ids.len(),
        why,
        "requests are deleted from the ledger"
    );
    Ok(RetentionReport {
        requests: ids.len(),
        contents: deleted.contents,
        bytes: deleted.bytes,
        ..RetentionReport::default()
    })
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
    let spans = serde_json::from_value::<Vec<[i64; 2]>>(body["records"].clone());
    let spans = ok_or_warn!(spans, "an entry about deleted requests cannot be read");
    // The chain may be damaged: a span from here to eternity must not be walked.
    spans
        .into_iter()
        .flatten()
        .flat_map(|[first, last]| (first..=last).take(1 << 20))
        .collect()
}
