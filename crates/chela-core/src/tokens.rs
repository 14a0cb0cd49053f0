//! What a text costs: tokens of the o200k vocabulary, counted exactly.
//!
//! Special tokens have no meaning here: `<|endoftext|>` in a text is text.

mod layout;
mod merge;
mod pieces;
mod vocabulary;

use merge::PieceMerger;
use pieces::TextPieces;
use vocabulary::{LONGEST, rank};

/// The number of tokens in `text`.
pub fn count(text: &str) -> usize {
    let mut merger = PieceMerger::default();
    TextPieces::new(text)
        .map(|piece| piece_count(&mut merger, piece))
        .sum()
}

/// The number of tokens in `text`, or `None` when there are more than `limit`. Reads no further
/// than it must to know.
pub fn count_at_most(text: &str, limit: usize) -> Option<usize> {
    if text.len().div_ceil(LONGEST) > limit {
        return None;
    }
    let mut merger = PieceMerger::default();
    let mut count = 0;
    for piece in TextPieces::new(text) {
        // No token is longer than `LONGEST`: a piece may be too much before it is merged.
        if count + piece.len().div_ceil(LONGEST) > limit {
            return None;
        }
        count += piece_count(&mut merger, piece);
    }
    (count <= limit).then_some(count)
}

/// Length in bytes of a prefix of `text` with at most `limit` tokens, ending between characters:
/// the longest one, or little less than it where words of many kilobytes are involved.
pub fn prefix_within(text: &str, limit: usize) -> usize {
    /// How far into a long word to look for each token that may still come.
    const BYTES_PER_TOKEN: usize = 16;
    const LEAST_BYTES: usize = 16 << 10;
    let mut merger = PieceMerger::default();
    let mut left = limit;
    let mut end = 0;
    let text = &text[..text.floor_char_boundary(limit.saturating_mul(LONGEST))];
    for piece in TextPieces::new(text) {
        let reach = left.saturating_mul(BYTES_PER_TOKEN).max(LEAST_BYTES);
        let reach = piece.floor_char_boundary(reach);
        if reach == piece.len()
            && let Some(rest) = left.checked_sub(piece_count(&mut merger, piece))
        {
            left = rest;
            end += piece.len();
            continue;
        }
        let ends = merger.ends(&piece.as_bytes()[..reach]);
        if let Some(last) = left.checked_sub(1) {
            end += piece.floor_char_boundary(ends.get(last).copied().unwrap_or(reach));
        }
        break;
    }
    // The words at the seam may fall apart differently without what followed them.
    while count_at_most(&text[..end], limit).is_none() {
        end = text.floor_char_boundary(end - 1 - end / 64);
    }
    end
}

/// The tokens of `text`.
pub fn encode(text: &str) -> Vec<u32> {
    let mut merger = PieceMerger::default();
    let mut tokens = Vec::with_capacity(text.len() / 4);
    for piece in TextPieces::new(text) {
        let bytes = piece.as_bytes();
        if let Some(token) = rank(bytes) {
            tokens.push(token);
            continue;
        }
        let mut start = 0;
        for end in merger.ends(bytes) {
            tokens.extend(rank(&bytes[start..*end]));
            start = *end;
        }
    }
    tokens
}

/// The bytes that tokens stand for; `None` when one of them is not in the vocabulary. Tokens may
/// end inside a character, so the bytes need not be UTF-8.
pub fn decode(tokens: &[u32]) -> Option<Vec<u8>> {
    let parts: Option<Vec<&[u8]>> = tokens
        .iter()
        .map(|token| vocabulary::token(*token))
        .collect();
    parts.map(|parts| parts.concat())
}

fn piece_count(merger: &mut PieceMerger, piece: &str) -> usize {
    match rank(piece.as_bytes()) {
        Some(_) => 1,
        None => merger.ends(piece.as_bytes()).len(),
    }
}

#[cfg(test)]
mod tests;
