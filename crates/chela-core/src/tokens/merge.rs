//! Byte-pair merging of one piece: the adjacent pair of lowest rank, leftmost first, becomes one
//! part, until no pair is a token.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::rank;

/// Up to this length looking over all pairs is faster than keeping them in order.
const SHORT: usize = 96;

/// Pieces beyond this length are merged in parts of it, which bounds the working memory. Only an
/// unbroken run of letters or signs this long is concerned; its count may be off by one per part.
const LARGEST: usize = 1 << 28;

/// Working memory of merging, reused from piece to piece.
#[derive(Debug, Default)]
pub struct Merger {
    parts: Vec<Part>,
    ends: Vec<usize>,
}

/// A part of a piece during the merge of a short one.
#[derive(Debug, Clone, Copy)]
struct Part {
    start: usize,
    /// Rank of this part together with the next one.
    joined: Option<u32>,
}

impl Merger {
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
        parts.clear();
        let joined = |from: usize, to: usize| piece.get(from..to).and_then(rank);
        parts.extend((0..piece.len()).map(|at| Part {
            start: at,
            joined: joined(at, at + 2),
        }));
        let start_of = |parts: &[Part], at: usize| parts.get(at).map_or(piece.len(), |p| p.start);

        while let Some((at, _)) = lowest(parts) {
            // The part after next stands at `at + 2`, and its end where the one after it starts.
            let next_end = start_of(parts, at + 3);
            parts[at].joined = match parts.get(at + 2) {
                Some(_) => joined(parts[at].start, next_end),
                None => None,
            };
            if at > 0 {
                parts[at - 1].joined = joined(parts[at - 1].start, start_of(parts, at + 2));
            }
            parts.remove(at + 1);
        }
        self.ends
            .extend(parts.iter().skip(1).map(|part| part.start));
        self.ends.push(piece.len());
    }
}

/// The leftmost pair of lowest rank.
fn lowest(parts: &[Part]) -> Option<(usize, u32)> {
    let pairs = parts
        .iter()
        .enumerate()
        .filter_map(|(at, part)| Some((at, part.joined?)));
    pairs.min_by_key(|(_, rank)| *rank)
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
    let joined = |from: u32, to: u32| Some(Reverse((rank(piece.get(range(from, to))?)?, from, to)));
    let mut pairs: BinaryHeap<_> = (0..)
        .take(length)
        .filter_map(|at: u32| joined(at, at + 2))
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

fn range(from: u32, to: u32) -> std::ops::Range<usize> {
    index(from)..index(to)
}

fn index(at: u32) -> usize {
    at as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Merger, merge_long};

    proptest! {
        #[test]
        fn both_ways_of_merging_agree(piece in "([a-e]{1,90}|\\PC{1,22}|[ \\n=]{1,90})") {
            let mut merger = Merger::default();
            merger.ends.clear();
            merger.merge_short(piece.as_bytes());
            prop_assert_eq!(merger.ends, merge_long(piece.as_bytes()).collect::<Vec<_>>());
        }
    }
}
