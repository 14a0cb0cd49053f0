//! Requests on record.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use chela_core::{ContentHash, Usage};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::manifest::{self, StoredList};
use super::sealed::{SEALED_COLUMNS, outcome_seal_of_row, reseal_session, seal_of_row};
use super::{contents, damaged, limit_of};
use crate::engine::JobError;
use crate::ledger::{
    AddedRequest, NewRequest, PriorRequest, RequestBody, RequestEnd, RequestLine, RequestParts,
    RequestQuery, ReuseFacts, SentRequest, StoredRequest,
};

pub(super) fn add(tx: &Connection, request: &NewRequest<'_>) -> Result<AddedRequest, JobError> {
    let session = session_row(tx, request)?;
    let list = request.contents.list().iter();
    let list: Vec<i64> = list.map(|content| content.number).collect();
    let reuse = request.reuse;
    tx.prepare_cached(
        "INSERT INTO records (session, at, turn, step, model, url, length, sent, stored, \
         manifest, redactions, sections, tools, tokens, reused, reread, bytes, reused_bytes, \
         broken, cause) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         ?15, ?16, ?17, ?18, ?19, ?20)",
    )?
    .execute(params![
        session,
        request.at,
        request.turn,
        request.step,
        request.model,
        request.url,
        request.length,
        request.sent.as_bytes(),
        request.stored.map(|hash| *hash.as_bytes()),
        manifest::store(tx, &list)?,
        request.redactions,
        contents::put(tx, request.sections.as_bytes())?,
        contents::put(tx, request.tools.as_bytes())?,
        reuse.tokens,
        reuse.reused_tokens,
        reuse.reread_tokens,
        reuse.bytes,
        reuse.reused_bytes,
        reuse.broken,
        reuse.cause,
    ])?;
    let number = tx.last_insert_rowid();
    let seal = sealed(tx, number, seal_of_row)?;
    Ok(AddedRequest { number, seal })
}

fn session_row(tx: &Connection, request: &NewRequest<'_>) -> rusqlite::Result<i64> {
    let known = tx
        .prepare_cached("SELECT row FROM sessions WHERE id = ?1")?
        .query_row([request.session], |row| row.get(0))
        .optional()?;
    if let Some(row) = known {
        return Ok(row);
    }
    tx.prepare_cached("INSERT INTO sessions (id, key, agent) VALUES (?1, ?2, ?3)")?
        .execute([request.session, request.session_key, request.agent])?;
    let row = tx.last_insert_rowid();
    reseal_session(tx, row)?;
    Ok(row)
}

pub(super) fn end(
    tx: &Connection,
    number: i64,
    end: &RequestEnd<'_>,
) -> Result<Option<ContentHash>, JobError> {
    let usage = end.usage;
    let changed = tx
        .prepare_cached(
            "UPDATE records SET ended = ?2, outcome = ?3, input = ?4, output = ?5, \
             cache_read = ?6, cache_write = ?7, reasoning = ?8, estimated = ?9, \
             cost = ?10, error = ?11 WHERE id = ?1",
        )?
        .execute(params![
            number,
            end.at,
            contents::put(tx, end.outcome.as_bytes())?,
            usage.map(|usage| usage.input),
            usage.map(|usage| usage.output),
            usage.map(|usage| usage.cache_read),
            usage.map(|usage| usage.cache_write),
            usage.map(|usage| usage.reasoning),
            usage.map(|usage| usage.estimated),
            end.cost,
            end.error,
        ])?;
    match changed {
        0 => Ok(None),
        _ => Ok(sealed(tx, number, outcome_seal_of_row)?),
    }
}

fn sealed<T>(
    tx: &Connection,
    number: i64,
    seal: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    tx.prepare_cached(&format!(
        "SELECT {SEALED_COLUMNS} FROM records JOIN sessions ON sessions.row = records.session \
         WHERE records.id = ?1"
    ))?
    .query_row([number], seal)
}

/// The newest request of a session, or else of the one that had its key before.
pub(super) fn before(
    tx: &Connection,
    session: &str,
    key: &str,
) -> rusqlite::Result<Option<PriorRequest>> {
    let newest = |column: &str, value: &str| {
        tx.prepare_cached(&format!(
            "SELECT max(records.id) FROM sessions \
             JOIN records ON records.session = sessions.row WHERE sessions.{column} = ?1"
        ))?
        .query_row([value], |row| row.get::<_, Option<i64>>(0))
    };
    if let Some(number) = newest("id", session)? {
        return Ok(Some(PriorRequest {
            number,
            another_session: false,
        }));
    }
    Ok(newest("key", key)?.map(|number| PriorRequest {
        number,
        another_session: true,
    }))
}

pub(super) fn sent(tx: &Connection, number: i64) -> Result<SentRequest, JobError> {
    let (model, url, manifest, sections): (String, String, Vec<u8>, i64) = tx
        .prepare_cached("SELECT model, url, manifest, sections FROM records WHERE id = ?1")?
        .query_row([number], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    Ok(SentRequest {
        body: body_of(tx, &manifest)?,
        model,
        url,
        sections: contents::get(tx, sections)?,
    })
}

/// What [`line_of`] reads.
const COLUMNS: &str = "records.id, records.at, sessions.agent, sessions.id, sessions.key, turn, \
     step, model, length, tokens, reused, cause, ended, input, output, cache_read, cache_write, \
     reasoning, estimated, cost, error, bytes, reused_bytes, reread, broken";
/// Where the next column is.
const NEXT: usize = 25;

pub(super) fn find(tx: &Connection, query: &RequestQuery) -> rusqlite::Result<Vec<RequestLine>> {
    each(tx, query, "", line_of)
}

/// Every request that is asked for, in order.
fn each<T>(
    tx: &Connection,
    query: &RequestQuery,
    more_columns: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS}{more_columns} \
         FROM records JOIN sessions ON sessions.row = records.session \
         WHERE (?1 IS NULL OR sessions.agent = ?1) AND (?2 IS NULL OR sessions.id = ?2) \
         AND (?3 IS NULL OR sessions.key = ?3) AND (?4 IS NULL OR records.at >= ?4) \
         AND (?5 IS NULL OR records.at <= ?5) ORDER BY records.id DESC LIMIT ?6"
    ))?;
    let rows = statement.query_map(
        params![
            query.agent,
            query.session,
            query.key,
            query.since,
            query.until,
            limit_of(query.limit)
        ],
        read,
    )?;
    let mut found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    found.reverse();
    Ok(found)
}

pub(super) fn with_parts(tx: &Connection, query: &RequestQuery) -> Result<RequestParts, JobError> {
    let found = each(tx, query, ", records.sections, tools", |row| {
        let lists: [i64; 2] = [row.get(NEXT)?, row.get(NEXT + 1)?];
        Ok((line_of(row)?, lists))
    })?;
    let mut parts = RequestParts::default();
    let mut places = HashMap::new();
    for (line, lists) in found {
        let mut at = [0; 2];
        for (at, content) in at.iter_mut().zip(lists) {
            *at = match places.entry(content) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(place) => {
                    parts.lists.push(contents::get(tx, content)?);
                    *place.insert(parts.lists.len() - 1)
                }
            };
        }
        let [sections, tools] = at;
        parts.requests.push((line, sections, tools));
    }
    Ok(parts)
}

pub(super) fn by_number(tx: &Connection, number: i64) -> Result<Option<StoredRequest>, JobError> {
    let row = tx
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, url, sent, records.sections, tools, redactions, outcome \
             FROM records JOIN sessions ON sessions.row = records.session WHERE records.id = ?1"
        ))?
        .query_row([number], |row| {
            Ok((
                line_of(row)?,
                row.get::<_, String>(NEXT)?,
                row.get::<_, Vec<u8>>(NEXT + 1)?,
                row.get::<_, i64>(NEXT + 2)?,
                row.get::<_, i64>(NEXT + 3)?,
                row.get::<_, Option<String>>(NEXT + 4)?,
                row.get::<_, Option<i64>>(NEXT + 5)?,
            ))
        })
        .optional()?;
    let Some((line, url, sent, sections, tools, redactions, outcome)) = row else {
        return Ok(None);
    };
    Ok(Some(StoredRequest {
        line,
        url,
        sent: hash_of(sent)?,
        sections: contents::get(tx, sections)?,
        tools: contents::get(tx, tools)?,
        redactions,
        outcome: outcome
            .map(|content| contents::get(tx, content))
            .transpose()?,
    }))
}

pub(super) fn body_by_number(
    tx: &Connection,
    number: i64,
) -> Result<Option<RequestBody>, JobError> {
    let row: Option<(Vec<u8>, Option<String>, Vec<u8>)> = tx
        .prepare_cached("SELECT manifest, redactions, sent FROM records WHERE id = ?1")?
        .query_row([number], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((manifest, redactions, sent)) = row else {
        return Ok(None);
    };
    Ok(Some(RequestBody {
        stored: body_of(tx, &manifest)?,
        redactions,
        sent: hash_of(sent)?,
    }))
}

pub(super) fn find_session(
    tx: &Connection,
    given: Option<&str>,
) -> rusqlite::Result<Option<String>> {
    tx.prepare_cached(
        "SELECT sessions.id FROM records JOIN sessions ON sessions.row = records.session \
         WHERE ?1 IS NULL OR sessions.id = ?1 OR sessions.key = ?1 \
         OR (length(?1) >= 4 AND substr(sessions.id, 1, length(?1)) = ?1) \
         OR substr(sessions.key, -length(?1) - 1) = ':' || ?1 \
         ORDER BY (sessions.id = ?1) DESC, records.id DESC LIMIT 1",
    )?
    .query_row([given], |row| row.get(0))
    .optional()
}

fn line_of(row: &Row<'_>) -> rusqlite::Result<RequestLine> {
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
    Ok(RequestLine {
        number: row.get(0)?,
        at: row.get(1)?,
        agent: row.get(2)?,
        session: row.get(3)?,
        session_key: row.get(4)?,
        turn: row.get(5)?,
        step: row.get(6)?,
        model: row.get(7)?,
        length: row.get(8)?,
        reuse: ReuseFacts {
            tokens: row.get(9)?,
            reused_tokens: row.get(10)?,
            cause: row.get(11)?,
            bytes: row.get(21)?,
            reused_bytes: row.get(22)?,
            reread_tokens: row.get(23)?,
            broken: row.get(24)?,
        },
        ended: row.get(12)?,
        usage,
        cost: row.get(19)?,
        error: row.get(20)?,
    })
}

/// The bytes a list of contents stands for.
fn body_of(tx: &Connection, manifest: &[u8]) -> Result<Vec<u8>, JobError> {
    let mut body = Vec::new();
    for content in StoredList::of(manifest)?.all(tx)? {
        body.extend(contents::get(tx, content)?);
    }
    Ok(body)
}

fn hash_of(bytes: Vec<u8>) -> Result<ContentHash, JobError> {
    <[u8; 32]>::try_from(bytes)
        .map(ContentHash::from_bytes)
        .map_err(|_| damaged("the hash of a request cannot be read"))
}
