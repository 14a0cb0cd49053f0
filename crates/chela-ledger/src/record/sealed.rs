//! The seals of a record: hashes over its row, which the audit chain repeats.

use chela_core::ContentHash;
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::manifest;
use crate::seal::Seal;

/// What the seals are read from. `records.id` comes first.
pub const SEALED_COLUMNS: &str = "records.id, sessions.id, sessions.key, sessions.agent, at, turn, \
     step, model, url, length, sent, stored, manifest, redactions, records.sections, tools, tokens, \
     reused, reread, bytes, reused_bytes, broken, cause, ended, outcome, input, output, cache_read, cache_write, \
     reasoning, estimated, cost, error";
const BEGUN: std::ops::Range<usize> = 0..23;
const ENDED: std::ops::Range<usize> = 23..33;
const MANIFEST: usize = 12;
const SECTIONS: usize = 14;
const TOOLS: usize = 15;
const OUTCOME: usize = 24;

/// The seal over what was known when the request was sent.
pub fn seal_of_row(row: &Row<'_>) -> rusqlite::Result<ContentHash> {
    Ok(add(Seal::new("request"), row, BEGUN)?.hash())
}

/// The seal over what came of it; `None` while nothing did.
pub fn outcome_seal_of_row(row: &Row<'_>) -> rusqlite::Result<Option<ContentHash>> {
    let mut nothing = true;
    for column in ENDED {
        nothing &= matches!(row.get_ref(column)?, ValueRef::Null);
    }
    if nothing {
        return Ok(None);
    }
    let seal = Seal::new("outcome").number(row.get(0)?);
    Ok(Some(add(seal, row, ENDED)?.hash()))
}

/// The contents a record is made of.
pub fn blobs_of_row(row: &Row<'_>) -> rusqlite::Result<Vec<i64>> {
    let bytes: Vec<u8> = row.get(MANIFEST)?;
    let mut blobs = manifest::decode(&bytes).unwrap_or_default();
    for column in [SECTIONS, TOOLS, OUTCOME] {
        blobs.extend(row.get::<_, Option<i64>>(column)?);
    }
    Ok(blobs)
}

fn add(mut seal: Seal, row: &Row<'_>, columns: std::ops::Range<usize>) -> rusqlite::Result<Seal> {
    for column in columns {
        seal = match row.get_ref(column)? {
            ValueRef::Null => seal.number(0),
            ValueRef::Integer(number) => seal.number(1).bytes(&number.to_be_bytes()),
            ValueRef::Real(number) => seal.number(2).bytes(&number.to_be_bytes()),
            ValueRef::Text(text) => seal.number(3).bytes(text),
            ValueRef::Blob(bytes) => seal.number(4).bytes(bytes),
        };
    }
    Ok(seal)
}
