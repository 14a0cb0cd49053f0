//! Contents kept once: by their hash, packed where that helps.

use chela_core::{ContentHash, tokens};
use rusqlite::{Connection, OptionalExtension, params};

use super::damaged;
use super::seal::SealBuilder;
use crate::engine::JobError;
use crate::ledger::{KnownContents, StoredContent, StoredContents};

/// Shorter contents do not get smaller.
const WORTH_PACKING: usize = 96;
const LEVEL: i32 = 3;
/// Longer texts are weighed by their beginning: pictures in base64, above all.
const LONGEST_COUNTED: usize = 256 << 10;
const SAMPLE: usize = 32 << 10;

const PLAIN: u8 = 0;
const PACKED: u8 = 1;

/// Stores contents, or finds them stored already.
pub(super) fn put_all(
    tx: &Connection,
    contents: &[&[u8]],
    known: KnownContents<'_>,
) -> Result<StoredContents, JobError> {
    let end = contents.len().saturating_sub(known.last.len());
    let mut list = Vec::with_capacity(contents.len());
    list.extend_from_slice(known.first);
    for content in contents.get(known.first.len()..end).unwrap_or_default() {
        list.push(put_with(tx, ContentHash::of(content), content, weigh)?);
    }
    list.extend_from_slice(known.last);
    match list.len() == contents.len() {
        true => Ok(StoredContents { list }),
        false => Err(damaged("more contents are known than there are")),
    }
}

/// Stores one content; gives its number.
pub(super) fn put(tx: &Connection, content: &[u8]) -> Result<i64, JobError> {
    Ok(put_with(tx, ContentHash::of(content), content, weigh)?.number)
}

/// The same for one that no model reads: it costs no tokens.
pub(super) fn put_unweighed(tx: &Connection, content: &[u8]) -> Result<i64, JobError> {
    Ok(put_with(tx, ContentHash::of(content), content, |_| 0)?.number)
}

fn put_with(
    tx: &Connection,
    hash: ContentHash,
    content: &[u8],
    weigh: impl FnOnce(&[u8]) -> u64,
) -> Result<StoredContent, JobError> {
    let known = tx
        .prepare_cached("SELECT id, tokens FROM blobs WHERE hash = ?1")?
        .query_row([hash.as_bytes()], |row| {
            Ok(StoredContent {
                number: row.get(0)?,
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
    Ok(StoredContent { number: id, tokens })
}

/// The content of a blob, unpacked.
pub(super) fn get(tx: &Connection, id: i64) -> Result<Vec<u8>, JobError> {
    let found: Option<(Vec<u8>, usize)> = tx
        .prepare_cached("SELECT data, length FROM blobs WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    found
        .and_then(|(data, length)| unpack(&data, length))
        .ok_or_else(|| damaged(format!("content {id} cannot be read")))
}

/// A content as it lies in the store.
pub(super) struct ContentRow {
    pub id: i64,
    pub hash: Vec<u8>,
    pub length: u64,
    pub tokens: u64,
    pub data: Vec<u8>,
    pub seal: i64,
}

/// What is wrong with a stored content.
pub(super) fn wrong_with(stored: &ContentRow) -> Option<&'static str> {
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
    SealBuilder::new("blob")
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
    (tokens::count(text.get(..sample).unwrap_or_default()) * (text.len() / sample)) as u64
}
