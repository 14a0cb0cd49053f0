//! Entries of audit chains. The first chain has a table of its own, from when it was the only one.

use chela_core::ContentHash;
use rusqlite::{Connection, OptionalExtension as _, Row, Statement, params};

use super::limit_of;
use crate::engine::JobError;
use crate::ledger::{AuditEntry, ChainEnd, ChainHead, ChainId, EntryQuery, NotedHead};

/// The entries of a chain. `?1` is its name, which the first one has no need of.
fn table_of(chain: &ChainId) -> &'static str {
    match chain.is_default() {
        true => "audit WHERE ?1 NOT NULL",
        false => "chains WHERE chain = ?1",
    }
}

pub(super) fn add(tx: &Connection, chain: &ChainId, entry: &AuditEntry) -> rusqlite::Result<()> {
    let (prev, hash) = (entry.prev.as_bytes(), entry.hash.as_bytes());
    let proof = entry.proof.as_ref().map(ContentHash::as_bytes);
    if chain.is_default() {
        tx.prepare_cached(
            "INSERT INTO audit (seq, at, kind, body, prev, hash, proof) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            entry.seq, entry.at, entry.kind, entry.body, prev, hash, proof
        ])?;
        return Ok(());
    }
    tx.prepare_cached(
        "INSERT INTO chains (chain, seq, at, kind, body, prev, hash, proof) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        chain.as_str(),
        entry.seq,
        entry.at,
        entry.kind,
        entry.body,
        prev,
        hash,
        proof
    ])?;
    Ok(())
}

pub(super) fn find(tx: &Connection, query: &EntryQuery) -> Result<Vec<AuditEntry>, JobError> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT seq, at, kind, body, prev, hash, proof FROM {} \
         AND (?2 IS NULL OR kind = ?2) AND seq >= ?3 \
         AND (?4 IS NULL OR instr(body, ?4)) ORDER BY seq DESC LIMIT ?5",
        table_of(&query.chain)
    ))?;
    let rows = statement.query_map(
        params![
            query.chain.as_str(),
            query.kind,
            query.since.unwrap_or(0),
            query.about,
            limit_of(query.limit)
        ],
        entry_of,
    )?;
    let mut entries = rows
        .map(|row| row?.map_err(JobError::Damaged))
        .collect::<Result<Vec<_>, _>>()?;
    entries.reverse();
    Ok(entries)
}

/// Every entry of a chain in order, for one who reads them row by row.
pub(super) fn statement_of<'a>(
    tx: &'a Connection,
    chain: &ChainId,
) -> rusqlite::Result<Statement<'a>> {
    tx.prepare(&format!(
        "SELECT seq, at, kind, body, prev, hash, proof FROM {} ORDER BY seq",
        table_of(chain)
    ))
}

/// Every chain that has entries or something noted of it.
pub(super) fn all_chains(
    tx: &Connection,
    noted: Vec<(ChainId, NotedHead)>,
) -> Result<Vec<(ChainId, NotedHead)>, JobError> {
    let mut chains = noted;
    let with_entries = tx
        .prepare_cached("SELECT DISTINCT chain FROM chains")?
        .query_map([], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let named = with_entries.iter().map(|name| {
        ChainId::named(name)
            .filter(|chain| !chain.is_default())
            .ok_or_else(|| super::damaged(format!("no chain can be called {name:?}")))
    });
    let named = named.collect::<Result<Vec<_>, _>>()?;
    for chain in std::iter::once(ChainId::default()).chain(named) {
        if !chains.iter().any(|(known, _)| *known == chain) {
            chains.push((chain, NotedHead::Missing));
        }
    }
    // The home's own comes first.
    chains.sort_by_key(|(chain, _)| (!chain.is_default(), chain.clone()));
    Ok(chains)
}

pub(super) fn end_of(
    tx: &Connection,
    chain: &ChainId,
    noted: NotedHead,
) -> Result<ChainEnd, JobError> {
    let newest = tx
        .prepare_cached(&format!(
            "SELECT seq, hash FROM {} ORDER BY seq DESC LIMIT 1",
            table_of(chain)
        ))?
        .query_row([chain.as_str()], head_of)
        .optional()?;
    let oldest = tx
        .prepare_cached(&format!(
            "SELECT seq FROM {} ORDER BY seq LIMIT 1",
            table_of(chain)
        ))?
        .query_row([chain.as_str()], |row| row.get(0))
        .optional()?;
    let at_noted = match (noted, newest) {
        (NotedHead::Head(head), Some(newest)) if head.seq == newest.seq => Some(newest),
        (NotedHead::Head(head), _) => tx
            .prepare_cached(&format!(
                "SELECT seq, hash FROM {} AND seq = ?2",
                table_of(chain)
            ))?
            .query_row(params![chain.as_str(), head.seq], head_of)
            .optional()?,
        (NotedHead::Missing | NotedHead::Unreadable, _) => None,
    };
    Ok(ChainEnd {
        chain: chain.clone(),
        noted,
        oldest,
        newest,
        at_noted,
    })
}

fn head_of(row: &Row<'_>) -> rusqlite::Result<ChainHead> {
    Ok(ChainHead {
        seq: row.get(0)?,
        // A hash that is none fits nothing, which is what is to be found out.
        hash: ContentHash::from_bytes(row.get(1).unwrap_or_default()),
    })
}

/// A row as an entry; or what cannot be read of it.
pub(super) fn entry_of(row: &Row<'_>) -> rusqlite::Result<Result<AuditEntry, String>> {
    let seq: u64 = row.get(0)?;
    let read = || -> rusqlite::Result<AuditEntry> {
        Ok(AuditEntry {
            seq,
            at: row.get(1)?,
            kind: row.get(2)?,
            body: row.get(3)?,
            prev: ContentHash::from_bytes(row.get(4)?),
            hash: ContentHash::from_bytes(row.get(5)?),
            proof: row.get::<_, Option<_>>(6)?.map(ContentHash::from_bytes),
        })
    };
    Ok(read().map_err(|error| {
        tracing::debug!(seq, %error, "an audit entry cannot be read");
        format!("audit entry {seq} cannot be read")
    }))
}
