//! The list of contents a request is made of, in few bytes.
//!
//! A request grows at its end, so most of its list is the list of the request before. Whole runs
//! of [`RUN`] contents from the start are contents themselves, stored once however many requests
//! begin with them; only what is left over is written out. Lists of the first formats, which wrote
//! out everything, are read as before.

use rusqlite::Connection;

use super::{contents, damaged};
use crate::engine::JobError;

/// Contents in a run.
const RUN: usize = 64;
/// How a list with runs begins. No list that is written out does: contents count from 1.
const WITH_RUNS: u8 = 0;

/// Packs a list of blob ids, storing its runs.
pub(super) fn store(tx: &Connection, ids: &[i64]) -> Result<Vec<u8>, JobError> {
    let (whole, rest) = ids.as_chunks::<RUN>();
    if whole.is_empty() {
        return Ok(encode(rest));
    }
    let mut runs = Vec::with_capacity(whole.len() + 1);
    runs.push(i64::try_from(whole.len()).unwrap_or(i64::MAX));
    for run in whole {
        runs.push(contents::put_unweighed(tx, &encode(run))?);
    }
    let mut bytes = vec![WITH_RUNS];
    bytes.extend(encode(&[runs.as_slice(), rest].concat()));
    Ok(bytes)
}

/// A list as it is stored.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StoredList {
    /// Contents that hold runs of it.
    pub runs: Vec<i64>,
    /// What comes after them.
    pub rest: Vec<i64>,
}

impl StoredList {
    pub(super) fn of(bytes: &[u8]) -> Result<Self, JobError> {
        Self::unpacked(bytes).ok_or_else(unreadable)
    }

    fn unpacked(bytes: &[u8]) -> Option<Self> {
        let Some((&WITH_RUNS, packed)) = bytes.split_first() else {
            return Some(Self {
                runs: Vec::new(),
                rest: decode(bytes)?,
            });
        };
        let all = decode(packed)?;
        let (count, all) = all.split_first()?;
        let (runs, rest) = all.split_at_checked(usize::try_from(*count).ok()?)?;
        Some(Self {
            runs: runs.to_vec(),
            rest: rest.to_vec(),
        })
    }

    /// Everything it lists, in order.
    pub(super) fn all(self, tx: &Connection) -> Result<Vec<i64>, JobError> {
        let mut ids = Vec::with_capacity(self.runs.len() * RUN + self.rest.len());
        for run in self.runs {
            ids.extend(run_of(tx, run)?);
        }
        ids.extend(self.rest);
        Ok(ids)
    }
}

/// The contents of one run.
pub(super) fn run_of(tx: &Connection, run: i64) -> Result<Vec<i64>, JobError> {
    decode(&contents::get(tx, run)?).ok_or_else(unreadable)
}

fn unreadable() -> JobError {
    damaged("a list of contents cannot be read")
}

/// Every other content is a comma or something like it, so each is noted by how far it is from
/// the one before the last: two neighbours among the messages, or the same comma again.
fn encode(ids: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ids.len() * 2);
    let mut before = [0_i64; 2];
    for id in ids {
        let step = id.wrapping_sub(before[0]);
        let mut zigzag = ((step << 1) ^ (step >> 63)) as u64;
        while zigzag >= 0x80 {
            bytes.push(zigzag as u8 | 0x80);
            zigzag >>= 7;
        }
        bytes.push(zigzag as u8);
        before = [before[1], *id];
    }
    bytes
}

/// `None` when the bytes are no such list.
fn decode(bytes: &[u8]) -> Option<Vec<i64>> {
    let mut ids = Vec::with_capacity(bytes.len() / 2);
    let mut before = [0_i64; 2];
    let mut zigzag = 0_u64;
    let mut shift = 0;
    for byte in bytes {
        if shift > 63 {
            return None;
        }
        zigzag |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            let step = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
            let id = before[0].wrapping_add(step);
            before = [before[1], id];
            ids.push(id);
            (zigzag, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(ids)
}

#[cfg(test)]
mod tests {
    use super::{StoredList, decode, encode, store};
    use crate::sqlite::ledger::schema::FORMAT;
    use proptest::prelude::*;

    #[test]
    fn what_requests_begin_with_is_listed_once() {
        let tx = crate::open_in_memory(&FORMAT).unwrap();
        let read = |bytes: &[u8]| StoredList::of(bytes)?.all(&tx);
        let ids: Vec<i64> = (1..=5_000).collect();
        let mut bytes = 0;
        for request in 0..100 {
            let list = &ids[..4_000 + 4 * request];
            let packed = store(&tx, list).unwrap();
            assert_eq!(read(&packed).unwrap(), list);
            bytes += packed.len();
        }
        assert!(bytes < 100 * 300, "{bytes} bytes for 100 lists");
        // As it was written before there were runs.
        assert_eq!(read(&encode(&ids)).unwrap(), ids);
        assert!(read(&[0]).is_err());
        assert!(read(&[0, 0x7e, 2]).is_err());
    }

    #[test]
    fn neighbours_are_short() {
        assert_eq!(encode(&[500, 12, 501, 12, 503, 12]).len(), 2 + 1 + 4);
        assert_eq!(decode(&[0x80]), None);
        assert_eq!(decode(&[0xff; 12]), None);
    }

    proptest! {
        #[test]
        fn a_list_reads_back(ids in prop::collection::vec(any::<i64>(), 0..50)) {
            prop_assert_eq!(decode(&encode(&ids)), Some(ids));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            let _ = decode(&bytes);
        }
    }
}
