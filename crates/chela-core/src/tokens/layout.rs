//! Where a token lies in the look-up table. Shared with the build script, which fills the table.

#![allow(dead_code, reason = "the build script writes what the program reads")]

/// Number of slots: two in five stay empty, so that a search ends soon.
pub const SLOTS: usize = 5 << 16;
pub const EMPTY: u32 = u32::MAX;

/// Of so many tokens in a row one has its place written down; the others are reached from it,
/// each by the length that stands before its bytes.
pub const STRIDE: usize = 8;

/// Tokens of two bytes have a table of their own: merging begins with them.
pub const PAIRS: usize = 1 << 16;

/// 262,144 ranks fit; the vocabulary has fewer than 200,000, so no slot in use looks empty.
const RANK_BITS: u32 = 18;
const RANK_MASK: u32 = (1 << RANK_BITS) - 1;

pub fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

/// A slot holds a rank and, in the bits left over, a mark that tells most other tokens apart
/// without looking at their bytes.
pub fn slot(mark: u32, rank: u32) -> u32 {
    (mark << RANK_BITS) | (rank & RANK_MASK)
}

/// The mark and the rank in a slot.
pub fn read_slot(slot: u32) -> (u32, u32) {
    (slot >> RANK_BITS, slot & RANK_MASK)
}

/// The slot where the search for these bytes begins, and their mark.
#[expect(
    clippy::cast_possible_truncation,
    reason = "taking bits of a hash is the purpose"
)]
pub fn place(bytes: &[u8]) -> (usize, u32) {
    let hash = hash(bytes);
    let at = (u128::from(hash) * SLOTS as u128) >> u64::BITS;
    (at as usize, hash as u32 >> RANK_BITS)
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
