//! The o200k vocabulary, laid out by the build script and read where it lies.
//!
//! Nothing is parsed or allocated: the tables are part of the program's image, and only the pages
//! a text touches are ever loaded. What is looked up is a hash: the bucket gives 15 bits of it, the
//! mark beside the rank another 30. No two tokens share them; other bytes may be taken for a token
//! once in a hundred million look-ups, and a text then counts one token more or less. So the bytes
//! of the tokens themselves are no part of a program that only counts.

use std::sync::LazyLock;

use super::layout::{ENTRY_BYTES, pair, place, read_entry};

pub use super::layout::NONE;

/// The tokens in the order of their ranks, each one byte of length and its bytes.
static PACKED: &[u8] = include_bytes!("../../data/o200k.vocab");
/// Behind which entry each bucket ends.
static BUCKET_ENDS: &[[u8; 3]] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k.ends"))
    .as_chunks()
    .0;
static ENTRIES: &[[u8; ENTRY_BYTES]] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k.entries"))
    .as_chunks()
    .0;
static PAIR_AT: &[[u8; 3]] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k.pairs"))
    .as_chunks()
    .0;

/// No token is longer than this many bytes.
pub const LONGEST: usize = 128;

/// The rank of the token made of exactly these bytes. Also its id.
pub fn rank(bytes: &[u8]) -> Option<u32> {
    if bytes.len() > LONGEST {
        return None;
    }
    let (bucket, wanted) = place(bytes);
    let start = match bucket.checked_sub(1) {
        Some(before) => end_of(before)?,
        None => 0,
    };
    let entries = ENTRIES.get(start..end_of(bucket)?)?;
    entries.iter().find_map(|entry| {
        let (mark, rank) = read_entry(*entry);
        (mark == wanted).then_some(rank)
    })
}

fn end_of(bucket: usize) -> Option<usize> {
    let [a, b, c] = *BUCKET_ENDS.get(bucket)?;
    Some(usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16)
}

/// The rank of the token made of these two bytes; [`NONE`] when there is none.
pub fn pair_rank(first: u8, second: u8) -> u32 {
    PAIR_AT
        .get(pair(first, second))
        .map_or(NONE, |[a, b, c]| u32::from_le_bytes([*a, *b, *c, 0]))
}

/// The bytes of a token.
pub fn token(rank: u32) -> Option<&'static [u8]> {
    static TOKENS: LazyLock<Vec<&'static [u8]>> = LazyLock::new(unpack);
    TOKENS.get(usize::try_from(rank).ok()?).copied()
}

fn unpack() -> Vec<&'static [u8]> {
    let mut rest = PACKED;
    std::iter::from_fn(|| {
        let (length, after) = rest.split_first()?;
        let (token, next) = after.split_at_checked(usize::from(*length))?;
        rest = next;
        Some(token)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{LONGEST, NONE, PACKED, pair_rank, rank, token, unpack};

    #[test]
    fn every_token_is_found_under_its_own_bytes() {
        let count = 199_998;
        let mut longest = 0;
        for id in 0..count {
            let bytes = token(id).unwrap();
            assert_eq!(rank(bytes), Some(id));
            if let [first, second] = bytes {
                assert_eq!(pair_rank(*first, *second), id);
            }
            longest = longest.max(bytes.len());
        }
        assert_eq!(longest, LONGEST);
        assert_eq!(token(count), None);
        assert_eq!(rank(&PACKED[..=LONGEST]), None);
    }

    #[test]
    fn what_is_near_a_token_and_none_is_not_found() {
        let tokens: HashSet<&[u8]> = unpack().into_iter().collect();
        for token in &tokens {
            let last = token.len() - 1;
            let mut bytes = token.to_vec();
            bytes[last] ^= 0x20;
            assert_eq!(rank(&bytes).is_some(), tokens.contains(&bytes[..]));
            bytes[last] ^= 0x20;
            bytes.push(b'e');
            for near in [&bytes[..last], &bytes[1..], &bytes[..]] {
                assert_eq!(rank(near).is_some(), tokens.contains(near), "{near:?}");
            }
        }
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let is_token = tokens.contains(&[first, second][..]);
                assert_eq!(pair_rank(first, second) != NONE, is_token);
            }
        }
    }

    #[test]
    fn every_single_byte_is_a_token() {
        assert!((0..=u8::MAX).all(|byte| rank(&[byte]).is_some()));
    }
}
