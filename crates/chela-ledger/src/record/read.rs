//! Reading requests on record.

use chela_core::{ContentHash, Usage};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;

use super::{Record, RecordFilter, RecordId, Replayed, Summary};
use crate::blob;
use crate::cache::Reuse;
use crate::manifest::StoredList;
use crate::redact::{Redaction, restore};
use crate::store::{Ledger, LedgerError, Trouble};

/// What [`summary_of`] reads.
const COLUMNS: &str = "records.id, records.at, sessions.agent, sessions.id, sessions.key, turn, \
     step, model, length, tokens, reused, cause, ended, input, output, cache_read, cache_write, \
     reasoning, estimated, cost, error";

impl Ledger {
    /// Requests in the order they were made.
    pub async fn list(&self, filter: &RecordFilter) -> Result<Vec<Summary>, LedgerError> {
        let filter = filter.clone();
        self.read(move |tx| {
            let limit = filter
                .limit
                .and_then(|limit| i64::try_from(limit).ok())
                .unwrap_or(-1);
            let mut statement = tx.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM records JOIN sessions ON sessions.row = records.session \
                 WHERE (?1 IS NULL OR sessions.agent = ?1) AND (?2 IS NULL OR sessions.id = ?2) \
                 AND (?3 IS NULL OR sessions.key = ?3) AND (?4 IS NULL OR records.at >= ?4) \
                 AND (?5 IS NULL OR records.at <= ?5) ORDER BY records.id DESC LIMIT ?6"
            ))?;
            let rows = statement.query_map(
                params![
                    filter.agent,
                    filter.session,
                    filter.key,
                    filter.since,
                    filter.until,
                    limit
                ],
                summary_of,
            )?;
            let mut list = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            list.reverse();
            Ok(list)
        })
        .await
    }

    /// Everything about a request but its bytes.
    pub async fn show(&self, id: RecordId) -> Result<Record, LedgerError> {
        self.read(move |tx| {
            let row = tx
                .prepare_cached(&format!(
                    "SELECT {COLUMNS}, {REUSE}, url, sent, records.sections, tools, redactions, \
                     outcome FROM records JOIN sessions ON sessions.row = records.session \
                     WHERE records.id = ?1"
                ))?
                .query_row([id.0], |row| {
                    Ok((
                        summary_of(row)?,
                        reuse_of(row)?,
                        row.get::<_, String>(25)?,
                        row.get::<_, [u8; 32]>(26)?,
                        row.get::<_, i64>(27)?,
                        row.get::<_, i64>(28)?,
                        row.get::<_, Option<String>>(29)?,
                        row.get::<_, Option<i64>>(30)?,
                    ))
                })
                .optional()?;
            let (summary, reuse, url, sent, sections, tools, redactions, outcome) =
                row.ok_or(Trouble::Absent(id.0))?;
            Ok(Record {
                summary,
                url,
                sent: stored_hash(&sent)?,
                sections: marks_of(tx, sections)?,
                tools: marks_of(tx, tools)?,
                redactions: redactions_of(redactions.as_deref())?,
                reuse,
                outcome: match outcome {
                    Some(blob) => Some(serde_json::from_slice(&blob::get(tx, blob)?)?),
                    None => None,
                },
            })
        })
        .await
    }

    /// The bytes of a request as they are stored: names stand for secrets.
    pub async fn raw(&self, id: RecordId) -> Result<Vec<u8>, LedgerError> {
        self.read(move |tx| Ok(Bytes::of(tx, id)?.stored)).await
    }

    /// The request as it was sent, made again; `resolve` gives the values of secrets by name.
    pub async fn replay(
        &self,
        id: RecordId,
        resolve: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Replayed, LedgerError> {
        let found = self.read(move |tx| Bytes::of(tx, id)).await?;
        let (bytes, unknown_secrets) = restore(&found.stored, &found.redactions, resolve);
        Ok(Replayed {
            hash: ContentHash::of(&bytes),
            sent: found.sent,
            bytes,
            unknown_secrets,
        })
    }

    /// The requests of a session with what each reused.
    pub(crate) async fn session_reuse(
        &self,
        session: &str,
    ) -> Result<Vec<(Summary, Reuse)>, LedgerError> {
        let session = session.to_owned();
        self.read(move |tx| {
            let mut statement = tx.prepare_cached(&format!(
                "SELECT {COLUMNS}, {REUSE} FROM sessions \
                 JOIN records ON records.session = sessions.row \
                 WHERE sessions.id = ?1 ORDER BY records.id"
            ))?;
            let rows =
                statement.query_map([session], |row| Ok((summary_of(row)?, reuse_of(row)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    /// The id of the session a person means: by its id or the start of one, by its key or the end
    /// of one; of several the one recorded last. `None` for the last of all.
    pub async fn find_session(&self, given: Option<&str>) -> Result<Option<String>, LedgerError> {
        let given = given.map(str::to_owned);
        self.read(move |tx| {
            Ok(tx
                .prepare_cached(
                    "SELECT sessions.id FROM records \
                     JOIN sessions ON sessions.row = records.session \
                     WHERE ?1 IS NULL OR sessions.id = ?1 OR sessions.key = ?1 \
                     OR (length(?1) >= 4 AND substr(sessions.id, 1, length(?1)) = ?1) \
                     OR substr(sessions.key, -length(?1) - 1) = ':' || ?1 \
                     ORDER BY (sessions.id = ?1) DESC, records.id DESC LIMIT 1",
                )?
                .query_row([given], |row| row.get(0))
                .optional()?)
        })
        .await
    }
}

struct Bytes {
    stored: Vec<u8>,
    redactions: Vec<Redaction>,
    sent: ContentHash,
}

impl Bytes {
    fn of(tx: &Connection, id: RecordId) -> Result<Self, Trouble> {
        let (manifest, redactions, sent): (Vec<u8>, Option<String>, [u8; 32]) = tx
            .prepare_cached("SELECT manifest, redactions, sent FROM records WHERE id = ?1")?
            .query_row([id.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?
            .ok_or(Trouble::Absent(id.0))?;
        Ok(Self {
            stored: body_of(tx, &manifest)?,
            redactions: redactions_of(redactions.as_deref())?,
            sent: stored_hash(&sent)?,
        })
    }
}

fn summary_of(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let input: Option<u64> = row.get(13)?;
    let usage = match input {
        Some(input) => Some(Usage {
            input,
            output: row.get(14)?,
            cache_read: row.get(15)?,
            cache_write: row.get(16)?,
            reasoning: row.get(17)?,
            estimated: row.get(18)?,
        }),
        None => None,
    };
    Ok(Summary {
        id: RecordId(row.get(0)?),
        at: row.get(1)?,
        agent: row.get(2)?,
        session: row.get(3)?,
        session_key: row.get(4)?,
        turn: row.get(5)?,
        step: row.get(6)?,
        model: row.get(7)?,
        length: row.get(8)?,
        tokens: row.get(9)?,
        reused_tokens: row.get(10)?,
        cause: row.get(11)?,
        ended: row.get(12)?,
        usage,
        cost: row.get(19)?,
        error: row.get(20)?,
    })
}

/// What [`reuse_of`] reads, behind [`COLUMNS`].
const REUSE: &str = "bytes, reused_bytes, reread, broken";

fn reuse_of(row: &Row<'_>) -> rusqlite::Result<Reuse> {
    let broken: Option<String> = row.get(24)?;
    Ok(Reuse {
        total_tokens: row.get(9)?,
        tokens: row.get(10)?,
        total_bytes: row.get(21)?,
        bytes: row.get(22)?,
        reread_tokens: row.get(23)?,
        broken: broken.and_then(|text| serde_json::from_str(&text).ok()),
    })
}

/// The bytes a manifest stands for.
pub(super) fn body_of(tx: &Connection, manifest: &[u8]) -> Result<Vec<u8>, Trouble> {
    let mut body = Vec::new();
    for id in StoredList::of(manifest)?.all(tx)? {
        body.extend(blob::get(tx, id)?);
    }
    Ok(body)
}

/// A list of marks kept as one content.
pub(super) fn marks_of<T: DeserializeOwned>(tx: &Connection, blob: i64) -> Result<Vec<T>, Trouble> {
    Ok(serde_json::from_slice(&blob::get(tx, blob)?)?)
}

fn redactions_of(text: Option<&str>) -> Result<Vec<Redaction>, Trouble> {
    Ok(text
        .map(serde_json::from_str)
        .transpose()?
        .unwrap_or_default())
}

fn stored_hash(bytes: &[u8]) -> Result<ContentHash, Trouble> {
    crate::audit::hash_of(bytes)
        .ok_or_else(|| Trouble::Damaged("the hash of a request cannot be read".to_owned()))
}
