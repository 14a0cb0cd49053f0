//! The o200k vocabulary, laid out by the build script and read where it lies.
//!
//! Nothing is parsed or allocated: the tables are part of the program's image, and only the pages
//! a text touches are ever loaded.

use super::layout::{EMPTY, SLOTS, STRIDE, pair, place, read_slot};

/// The tokens in the order of their ranks, each one byte of length and its bytes.
static PACKED: &[u8] = include_bytes!("../../data/o200k.vocab");
static START_OF: &[[u8; 4]] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k.starts"))
    .as_chunks()
    .0;
static SLOT_AT: &[[u8; 4]] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k.slots"))
    .as_chunks()
    .0;
static PAIR_AT: &[[u8; 4]] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k.pairs"))
    .as_chunks()
    .0;

/// No token is longer than this many bytes.
pub const LONGEST: usize = 128;

/// The rank of the token made of exactly these bytes. Also its id.
pub fn rank(bytes: &[u8]) -> Option<u32> {
    if bytes.len() > LONGEST {
        return None;
    }
    let (mut at, wanted) = place(bytes);
    loop {
        let slot = u32::from_le_bytes(*SLOT_AT.get(at)?);
        if slot == EMPTY {
            return None;
        }
        let (mark, rank) = read_slot(slot);
        if mark == wanted && token(rank) == Some(bytes) {
            return Some(rank);
        }
        at = (at + 1) % SLOTS;
    }
}

/// The rank of the token made of these two bytes; [`NONE`] when there is none.
pub fn pair_rank(first: u8, second: u8) -> u32 {
    PAIR_AT
        .get(pair(first, second))
        .map_or(NONE, |rank| u32::from_le_bytes(*rank))
}

/// No rank; greater than any.
pub const NONE: u32 = EMPTY;

/// The bytes of a token.
pub fn token(rank: u32) -> Option<&'static [u8]> {
    let rank = usize::try_from(rank).ok()?;
    let start = u32::from_le_bytes(*START_OF.get(rank / STRIDE)?);
    let mut rest = PACKED.get(usize::try_from(start).ok()?..)?;
    for _ in 0..rank % STRIDE {
        let (length, after) = rest.split_first()?;
        rest = after.get(usize::from(*length)..)?;
    }
    let (length, after) = rest.split_first()?;
    after.get(..usize::from(*length))
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, PACKED, pair_rank, rank, token};

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
    fn every_single_byte_is_a_token() {
        assert!((0..=u8::MAX).all(|byte| rank(&[byte]).is_some()));
    }
}
