//! Contents kept once: by their hash, packed where that helps.

use std::collections::HashMap;

use chela_core::{ContentHash, tokens};
use rusqlite::{Connection, OptionalExtension, params};

use crate::seal::Seal;
use crate::store::Trouble;

/// Shorter contents do not get smaller.
const WORTH_PACKING: usize = 96;
const LEVEL: i32 = 3;
/// Longer texts are weighed by their beginning: pictures in base64, above all.
const LONGEST_COUNTED: usize = 256 << 10;
const SAMPLE: usize = 32 << 10;

const PLAIN: u8 = 0;
const PACKED: u8 = 1;

/// A content in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blob {
    pub id: i64,
    pub tokens: u64,
}

/// Contents that are surely stored, by their hash.
pub type Known = HashMap<ContentHash, Blob>;

/// Stores a content, or finds it stored already.
pub fn put(tx: &Connection, content: &[u8]) -> Result<Blob, Trouble> {
    put_as(tx, ContentHash::of(content), content)
}

/// The same for one that no model reads: it costs no tokens.
pub fn put_unweighed(tx: &Connection, content: &[u8]) -> Result<i64, Trouble> {
    Ok(put_with(tx, ContentHash::of(content), content, |_| 0)?.id)
}

/// The same for one whose hash is known.
pub fn put_as(tx: &Connection, hash: ContentHash, content: &[u8]) -> Result<Blob, Trouble> {
    put_with(tx, hash, content, weigh)
}

fn put_with(
    tx: &Connection,
    hash: ContentHash,
    content: &[u8],
    weigh: impl FnOnce(&[u8]) -> u64,
) -> Result<Blob, Trouble> {
    let known = tx
        .prepare_cached("SELECT id, tokens FROM blobs WHERE hash = ?1")?
        .query_row([hash.as_bytes()], |row| {
            Ok(Blob {
                id: row.get(0)?,
                tokens: row.get(1)?,
            })
        })
        .optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    let tokens = weigh(content);
    let data = pack(content);
    let id: i64 = tx
        .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM blobs")?
        .query_row([], |row| row.get(0))?;
    tx.prepare_cached(
        "INSERT INTO blobs (id, hash, length, tokens, data, seal) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        id,
        hash.as_bytes(),
        content.len(),
        tokens,
        data,
        seal(id, tokens, &data)
    ])?;
    Ok(Blob { id, tokens })
}

/// The content of a blob, unpacked.
pub fn get(tx: &Connection, id: i64) -> Result<Vec<u8>, Trouble> {
    let found: Option<(Vec<u8>, usize)> = tx
        .prepare_cached("SELECT data, length FROM blobs WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    found
        .and_then(|(data, length)| unpack(&data, length))
        .ok_or_else(|| Trouble::Damaged(format!("content {id} cannot be read")))
}

/// A content as it lies in the store.
pub struct Stored {
    pub id: i64,
    pub hash: Vec<u8>,
    pub length: u64,
    pub tokens: u64,
    pub data: Vec<u8>,
    pub seal: i64,
}

/// What is wrong with a stored content.
pub fn wrong_with(stored: &Stored) -> Option<&'static str> {
    let Some(content) = usize::try_from(stored.length)
        .ok()
        .and_then(|length| unpack(&stored.data, length))
    else {
        return Some("it cannot be unpacked");
    };
    if ContentHash::of(&content).as_bytes()[..] != stored.hash {
        return Some("it does not have its hash any more");
    }
    (seal(stored.id, stored.tokens, &stored.data) != stored.seal).then_some("its row was changed")
}

fn seal(id: i64, tokens: u64, data: &[u8]) -> i64 {
    Seal::new("blob")
        .bytes(&id.to_be_bytes())
        .number(tokens)
        .bytes(data)
        .short()
}

fn pack(content: &[u8]) -> Vec<u8> {
    let packed = (content.len() >= WORTH_PACKING)
        .then(|| zstd::bulk::compress(content, LEVEL).ok())
        .flatten()
        .filter(|packed| packed.len() < content.len());
    let (mark, bytes) = match &packed {
        Some(packed) => (PACKED, packed.as_slice()),
        None => (PLAIN, content),
    };
    let mut data = Vec::with_capacity(bytes.len() + 1);
    data.push(mark);
    data.extend(bytes);
    data
}

fn unpack(data: &[u8], length: usize) -> Option<Vec<u8>> {
    let (mark, bytes) = data.split_first()?;
    let content = match *mark {
        PLAIN => bytes.to_vec(),
        // A damaged length must not ask for all the memory there is.
        PACKED => zstd::bulk::decompress(bytes, length.min(1 << 30)).ok()?,
        _ => return None,
    };
    (content.len() == length).then_some(content)
}

/// What a content costs in tokens: of a JSON string, its text.
fn weigh(content: &[u8]) -> u64 {
    let text = match content {
        [b'"', ..] => serde_json::from_slice(content).ok(),
        _ => None,
    };
    let text = text.unwrap_or_else(|| String::from_utf8_lossy(content).into_owned());
    if text.len() <= LONGEST_COUNTED {
        return tokens::count(&text) as u64;
    }
    let sample = text.floor_char_boundary(SAMPLE);
    (tokens::count(&text[..sample]) * (text.len() / sample)) as u64
}
