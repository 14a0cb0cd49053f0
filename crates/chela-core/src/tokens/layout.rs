//! Where a token lies in the look-up table. Shared with the build script, which fills the table.

#![allow(dead_code, reason = "the build script writes what the program reads")]

/// The tokens lie in buckets by their hash, half a dozen in each, one bucket behind the other.
pub const BUCKETS: usize = 1 << 15;

/// No rank; greater than any.
pub const NONE: u32 = 0xFF_FFFF;

/// Tokens of two bytes have a table of their own: merging begins with them.
pub const PAIRS: usize = 1 << 16;

/// 262,144 ranks fit; the vocabulary has fewer than 200,000.
const RANK_BITS: u32 = 18;
const RANK_MASK: u64 = (1 << RANK_BITS) - 1;

/// A token takes six bytes in its bucket: its rank and, in the bits left over, a mark.
pub const ENTRY_BYTES: usize = 6;
const MARK_BITS: u32 = 8 * ENTRY_BYTES as u32 - RANK_BITS;
const MARK_MASK: u64 = (1 << MARK_BITS) - 1;

pub fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

/// What stands in a bucket for a token, little endian.
pub fn entry(mark: u64, rank: u32) -> [u8; ENTRY_BYTES] {
    let [bytes @ .., _, _] = (mark << RANK_BITS | u64::from(rank)).to_le_bytes();
    bytes
}

/// The mark and the rank in an entry.
pub fn read_entry(bytes: [u8; ENTRY_BYTES]) -> (u64, u32) {
    let [a, b, c, d, e, f] = bytes;
    let entry = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
    (entry >> RANK_BITS, (entry & RANK_MASK) as u32)
}

/// The bucket where these bytes would be, and their mark.
#[expect(
    clippy::cast_possible_truncation,
    reason = "taking bits of a hash is the purpose"
)]
pub fn place(bytes: &[u8]) -> (usize, u64) {
    let hash = hash(bytes);
    let at = (u128::from(hash) * BUCKETS as u128) >> u64::BITS;
    (at as usize, hash & MARK_MASK)
}

fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let start = (bytes.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let state = words
        .iter()
        .fold(start, |state, word| mix(state ^ u64::from_le_bytes(*word)));
    let (halves, rest) = rest.as_chunks::<4>();
    let half = halves
        .first()
        .map_or(0, |half| u64::from(u32::from_le_bytes(*half)));
    let last = rest
        .iter()
        .fold(0, |last, byte| (last << 8) | u64::from(*byte));
    mix(state ^ (half << 32 | last))
}

fn mix(value: u64) -> u64 {
    let wide = u128::from(value) * 0xE703_7ED1_A0B4_28DB;
    (wide >> 64) as u64 ^ wide as u64
}
