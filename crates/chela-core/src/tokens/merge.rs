//! Byte-pair merging of one piece: the adjacent pair of lowest rank, leftmost first, becomes one
//! part, until no pair is a token.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::{NONE, pair_rank, rank};

/// Up to this length looking over all pairs is faster than keeping them in order.
const SHORT: usize = 96;

/// Pieces beyond this length are merged in parts of it, which bounds the working memory. Only an
/// unbroken run of letters or signs this long is concerned; its count may be off by one per part.
const LARGEST: usize = 1 << 28;

/// Working memory of merging, reused from piece to piece.
#[derive(Debug, Default)]
pub struct PieceMerger {
    parts: Vec<Part>,
    ends: Vec<usize>,
}

/// A part of a short piece.
#[derive(Debug, Clone, Copy)]
struct Part {
    start: u32,
    /// Rank of this part together with the next one, or [`NONE`].
    joined: u32,
}

impl PieceMerger {
    /// Where each token of the piece ends, in ascending order.
    pub fn ends(&mut self, piece: &[u8]) -> &[usize] {
        self.ends.clear();
        if piece.len() <= SHORT {
            self.merge_short(piece);
        } else {
            for (number, part) in piece.chunks(LARGEST).enumerate() {
                self.ends
                    .extend(merge_long(part).map(|end| number * LARGEST + end));
            }
        }
        &self.ends
    }

    fn merge_short(&mut self, piece: &[u8]) {
        let parts = &mut self.parts;
        let joined = |from: u32, to: usize| rank(&piece[index(from)..to]).unwrap_or(NONE);
        let start_of =
            |parts: &[Part], at: usize| parts.get(at).map_or(piece.len(), |part| index(part.start));
        let pairs = piece.windows(2).map(|pair| pair_rank(pair[0], pair[1]));
        parts.clear();
        parts.extend(
            (0..)
                .zip(pairs)
                .map(|(start, joined)| Part { start, joined }),
        );
        // The last byte has no next one.
        parts.extend((0..).take(piece.len()).last().map(|start| Part {
            start,
            joined: NONE,
        }));

        while let Some(at) = lowest(parts) {
            let end = start_of(parts, at + 2);
            if at > 0 {
                parts[at - 1].joined = joined(parts[at - 1].start, end);
            }
            let next_end = start_of(parts, at + 3);
            parts[at].joined = if end < piece.len() {
                joined(parts[at].start, next_end)
            } else {
                NONE
            };
            parts.remove(at + 1);
        }
        self.ends
            .extend(parts.iter().skip(1).map(|part| index(part.start)));
        self.ends.push(piece.len());
    }
}

/// The leftmost pair of lowest rank.
fn lowest(parts: &[Part]) -> Option<usize> {
    let lowest = parts
        .iter()
        .map(|part| part.joined)
        .min()
        .filter(|rank| *rank != NONE)?;
    parts.iter().position(|part| part.joined == lowest)
}

/// The same with the pairs in a heap: n log n however long the piece is.
fn merge_long(piece: &[u8]) -> impl Iterator<Item = usize> {
    let length = piece.len();
    // For each byte that starts a part: where the part ends and where the one before starts.
    // A byte inside a part has no end.
    let mut end_of: Vec<u32> = (1..).take(length).collect();
    let mut before: Vec<u32> = (0..)
        .take(length)
        .map(|at: u32| at.saturating_sub(1))
        .collect();
    let joined = |from: u32, to: u32| {
        Some(Reverse((
            rank(piece.get(index(from)..index(to))?)?,
            from,
            to,
        )))
    };
    let first = (0..)
        .zip(piece.windows(2))
        .map(|(at, pair)| (pair_rank(pair[0], pair[1]), at));
    let mut pairs: BinaryHeap<_> = first
        .filter(|(rank, _)| *rank != NONE)
        .map(|(rank, at)| Reverse((rank, at, at + 2)))
        .collect();

    while let Some(Reverse((_, start, end))) = pairs.pop() {
        let middle = end_of[index(start)];
        let is_current = middle != INSIDE
            && middle < end
            && end_of.get(index(middle)).is_some_and(|found| *found == end);
        if !is_current {
            continue;
        }
        end_of[index(start)] = end;
        end_of[index(middle)] = INSIDE;
        if let Some(next_end) = end_of.get(index(end)).copied() {
            before[index(end)] = start;
            pairs.extend(joined(start, next_end));
        }
        if start > 0 {
            pairs.extend(joined(before[index(start)], end));
        }
    }
    end_of.into_iter().filter(|end| *end != INSIDE).map(index)
}

const INSIDE: u32 = 0;

fn index(at: u32) -> usize {
    at as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{PieceMerger, merge_long};

    proptest! {
        #[test]
        fn both_ways_of_merging_agree(piece in "([a-e]{1,90}|\\PC{1,22}|[ \\n=]{1,90})") {
            let mut merger = PieceMerger::default();
            merger.merge_short(piece.as_bytes());
            prop_assert_eq!(merger.ends, merge_long(piece.as_bytes()).collect::<Vec<_>>());
        }
    }
}
