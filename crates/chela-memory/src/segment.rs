//! A part of the index: which term stands in which chunk, ready to be searched as it lies.
//!
//! Each batch of files becomes one segment; small segments are merged into larger ones. All
//! chunks of a file are in one segment and in order, so neighbours in the file are neighbours
//! here, and the chunks of one section are a run.

use std::collections::HashMap;
use std::ops::Range;

use crate::day::Day;
use crate::importance::Importance;

const MAGIC: &[u8; 8] = b"CHSEG001";
const NO_DATE: i32 = i32::MIN;

/// What ranking knows about a chunk besides its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocFacts {
    pub chunk: i64,
    pub file: i64,
    /// The number of its section within the file.
    pub section: u32,
    pub date: Option<Day>,
    pub flags: Flags,
    pub importance: Importance,
}

/// Small facts that change a rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    pub const DATED_NOTE: u8 = 1;
    pub const SAID_BY_USER: u8 = 2;
    pub const TRANSCRIPT: u8 = 4;
    pub const SHARED: u8 = 8;
    /// A dialogue between user and assistant, where the user's words weigh more.
    pub const ROLES: u8 = 16;

    pub fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }
}

/// A segment in memory.
#[derive(Debug, Default)]
pub struct Segment {
    pub docs: Vec<DocFacts>,
    /// Number of terms in each chunk.
    pub lengths: Vec<u32>,
    /// The section each chunk is in, counted through the segment.
    pub parents: Vec<u32>,
    pub parent_lengths: Vec<u32>,
    /// The terms one after another, sorted, and where each starts.
    terms: Vec<u8>,
    term_starts: Vec<u32>,
    postings: Vec<u8>,
    posting_starts: Vec<u32>,
}

impl Segment {
    /// Where each chunk with this exact term is, and how often it stands there.
    pub fn postings(&self, term: &str) -> Option<Postings<'_>> {
        self.find(term.as_bytes())
            .ok()
            .map(|at| self.postings_at(at))
    }

    /// How many bytes the postings of a term take: about as many as chunks have it.
    pub fn postings_size(&self, term: &str) -> usize {
        self.find(term.as_bytes()).map_or(0, |at| {
            (self.posting_starts[at + 1] - self.posting_starts[at]) as usize
        })
    }

    /// The terms that start like this, at most `limit`.
    pub fn terms_with_prefix(&self, prefix: &str, limit: usize) -> Vec<&str> {
        let first = self.find(prefix.as_bytes()).unwrap_or_else(|at| at);
        (first..self.term_count())
            .map_while(|at| {
                std::str::from_utf8(self.term(at))
                    .ok()
                    .filter(|term| term.starts_with(prefix))
            })
            .take(limit)
            .collect()
    }

    pub fn term_count(&self) -> usize {
        self.term_starts.len().saturating_sub(1)
    }

    fn find(&self, term: &[u8]) -> Result<usize, usize> {
        let mut range = 0..self.term_count();
        while !range.is_empty() {
            let middle = range.start + range.len() / 2;
            match self.term(middle).cmp(term) {
                std::cmp::Ordering::Less => range.start = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => range.end = middle,
            }
        }
        Err(range.start)
    }

    fn term(&self, at: usize) -> &[u8] {
        slice(&self.terms, self.term_starts[at]..self.term_starts[at + 1])
    }

    fn postings_at(&self, at: usize) -> Postings<'_> {
        Postings {
            bytes: slice(
                &self.postings,
                self.posting_starts[at]..self.posting_starts[at + 1],
            ),
            doc: 0,
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(self.postings.len() + self.terms.len() + 24 * self.docs.len());
        out.extend_from_slice(MAGIC);
        for number in [
            self.docs.len(),
            self.term_count(),
            self.terms.len(),
            self.postings.len(),
        ] {
            out.extend_from_slice(&(number as u32).to_le_bytes());
        }
        for (doc, length) in self.docs.iter().zip(&self.lengths) {
            out.extend_from_slice(&doc.chunk.to_le_bytes());
            out.extend_from_slice(&doc.file.to_le_bytes());
            out.extend_from_slice(&doc.section.to_le_bytes());
            out.extend_from_slice(&doc.date.map_or(NO_DATE, |day| day.0).to_le_bytes());
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&[doc.flags.0, doc.importance.percent(), 0, 0]);
        }
        for start in self.term_starts.iter().chain(&self.posting_starts) {
            out.extend_from_slice(&start.to_le_bytes());
        }
        out.extend_from_slice(&self.terms);
        out.extend_from_slice(&self.postings);
        out
    }

    /// `None` when the bytes are not a whole segment.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut number = || take(&mut rest).map(|bytes: &[u8; 4]| u32::from_le_bytes(*bytes));
        let (docs, terms) = (number()? as usize, number()? as usize);
        let (term_bytes, posting_bytes) = (number()? as usize, number()? as usize);
        let mut this = Self::default();
        for _ in 0..docs {
            let chunk = i64::from_le_bytes(*take(&mut rest)?);
            let file = i64::from_le_bytes(*take(&mut rest)?);
            let section = u32::from_le_bytes(*take(&mut rest)?);
            let date = i32::from_le_bytes(*take(&mut rest)?);
            let length = u32::from_le_bytes(*take(&mut rest)?);
            let [flags, importance, _, _] = *take(&mut rest)?;
            this.push_doc(
                DocFacts {
                    chunk,
                    file,
                    section,
                    date: (date != NO_DATE).then_some(Day(date)),
                    flags: Flags(flags),
                    importance: Importance::from_percent(importance),
                },
                length,
            );
        }
        let mut starts = |limit: usize| {
            let list: Vec<u32> = (0..=terms)
                .map(|_| take(&mut rest).map(|bytes| u32::from_le_bytes(*bytes)))
                .collect::<Option<_>>()?;
            (list.is_sorted() && list.last().is_some_and(|last| *last as usize <= limit))
                .then_some(list)
        };
        this.term_starts = starts(term_bytes)?;
        this.posting_starts = starts(posting_bytes)?;
        if rest.len() != term_bytes + posting_bytes {
            return None;
        }
        this.terms = rest[..term_bytes].to_vec();
        this.postings = rest[term_bytes..].to_vec();
        Some(this)
    }

    fn push_doc(&mut self, facts: DocFacts, length: u32) {
        let same = self
            .docs
            .last()
            .is_some_and(|last| last.file == facts.file && last.section == facts.section);
        if !same {
            self.parent_lengths.push(0);
        }
        let parent = self.parent_lengths.len() - 1;
        self.parent_lengths[parent] += length;
        self.parents.push(parent as u32);
        self.docs.push(facts);
        self.lengths.push(length);
    }
}

/// Chunks and counts, in order.
#[derive(Debug, Clone)]
pub struct Postings<'a> {
    bytes: &'a [u8],
    doc: u32,
}

impl Iterator for Postings<'_> {
    type Item = (u32, u32);

    #[inline]
    fn next(&mut self) -> Option<(u32, u32)> {
        // The count shares the number with the distance: most counts are 1.
        let value = read_varint(&mut self.bytes)?;
        let count = if value & 1 == 0 {
            1
        } else {
            read_varint(&mut self.bytes)?
        };
        self.doc = self.doc.wrapping_add(value >> 1);
        Some((self.doc, count))
    }
}

/// Builds a segment, chunk by chunk.
#[derive(Debug, Default)]
pub struct SegmentBuilder {
    segment: Segment,
    numbers: HashMap<Box<str>, u32>,
    lists: Vec<List>,
}

#[derive(Debug, Default)]
struct List {
    bytes: Vec<u8>,
    last: u32,
}

impl SegmentBuilder {
    pub fn docs(&self) -> usize {
        self.segment.docs.len()
    }

    /// Adds a chunk; `terms` may repeat. `length` may differ from their number.
    pub fn push<'t>(&mut self, facts: DocFacts, length: u32, terms: impl Iterator<Item = &'t str>) {
        let doc = self.segment.docs.len() as u32;
        let mut counts: Vec<u32> = terms.map(|term| self.number(term)).collect();
        counts.sort_unstable();
        for run in counts.chunk_by(|a, b| a == b) {
            self.lists[run[0] as usize].push(doc, run.len() as u32);
        }
        self.segment.push_doc(facts, length);
    }

    /// Adds the chunks of a segment for which `keep` holds, in order.
    pub fn append(&mut self, other: &Segment, keep: impl Fn(usize) -> bool) {
        let moved: Vec<Option<u32>> = (0..other.docs.len())
            .map(|doc| {
                keep(doc).then(|| {
                    self.segment.push_doc(other.docs[doc], other.lengths[doc]);
                    self.segment.docs.len() as u32 - 1
                })
            })
            .collect();
        for at in 0..other.term_count() {
            let mut number = None;
            for (doc, count) in other.postings_at(at) {
                let Some(Some(doc)) = moved.get(doc as usize) else {
                    continue;
                };
                let number = *number.get_or_insert_with(|| {
                    self.number(std::str::from_utf8(other.term(at)).unwrap_or_default())
                });
                self.lists[number as usize].push(*doc, count);
            }
        }
    }

    pub fn finish(mut self) -> Segment {
        let mut order: Vec<(Box<str>, u32)> = self.numbers.into_iter().collect();
        order.sort_unstable();
        let segment = &mut self.segment;
        segment.term_starts.push(0);
        segment.posting_starts.push(0);
        for (term, number) in order {
            segment.terms.extend_from_slice(term.as_bytes());
            segment.term_starts.push(segment.terms.len() as u32);
            segment
                .postings
                .extend_from_slice(&self.lists[number as usize].bytes);
            segment.posting_starts.push(segment.postings.len() as u32);
        }
        self.segment
    }

    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let number = self.lists.len() as u32;
        self.lists.push(List::default());
        self.numbers.insert(term.into(), number);
        number
    }
}

impl List {
    fn push(&mut self, doc: u32, count: u32) {
        let distance = doc - self.last;
        self.last = doc;
        write_varint(&mut self.bytes, distance << 1 | u32::from(count > 1));
        if count > 1 {
            write_varint(&mut self.bytes, count);
        }
    }
}

fn write_varint(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[inline]
fn read_varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
        if shift > 28 {
            return None;
        }
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (chunk, more) = rest.split_first_chunk::<N>()?;
    *rest = more;
    Some(chunk)
}

fn slice(bytes: &[u8], range: Range<u32>) -> &[u8] {
    bytes
        .get(range.start as usize..range.end as usize)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{DocFacts, Flags, Segment, SegmentBuilder};
    use proptest::prelude::*;

    fn facts(chunk: i64) -> DocFacts {
        DocFacts {
            chunk,
            file: chunk / 3,
            section: 0,
            date: None,
            flags: Flags::default(),
            importance: super::Importance::default(),
        }
    }

    fn build(docs: &[Vec<String>]) -> Segment {
        let mut builder = SegmentBuilder::default();
        for (at, terms) in docs.iter().enumerate() {
            builder.push(
                facts(at as i64),
                terms.len() as u32,
                terms.iter().map(String::as_str),
            );
        }
        builder.finish()
    }

    fn list(segment: &Segment, term: &str) -> Vec<(u32, u32)> {
        segment
            .postings(term)
            .map(|postings| postings.collect())
            .unwrap_or_default()
    }

    proptest! {
        #[test]
        fn postings_are_what_was_put_in(docs in prop::collection::vec(prop::collection::vec("[ab]{1,2}", 0..6), 0..40)) {
            let segment = Segment::from_bytes(&build(&docs).to_bytes()).unwrap();
            for term in ["a", "b", "aa", "ab", "ba", "bb"] {
                let expected: Vec<(u32, u32)> = docs.iter().enumerate().filter_map(|(at, doc)| {
                    let count = doc.iter().filter(|t| *t == term).count() as u32;
                    (count > 0).then_some((at as u32, count))
                }).collect();
                prop_assert_eq!(list(&segment, term), expected);
            }
        }

        #[test]
        fn merging_drops_what_is_dead_and_keeps_the_rest(
            docs in prop::collection::vec(prop::collection::vec("[ab]{1,2}", 0..6), 1..40),
            cut in 0_usize..40, dead in prop::collection::vec(any::<bool>(), 40),
        ) {
            let cut = cut.min(docs.len());
            let (first, second) = docs.split_at(cut);
            let mut builder = SegmentBuilder::default();
            builder.append(&build(first), |doc| !dead[doc]);
            builder.append(&build(second), |doc| !dead[cut + doc]);
            let live: Vec<Vec<String>> = docs.iter().enumerate().filter(|(at, _)| !dead[*at]).map(|(_, doc)| doc.clone()).collect();
            let merged = builder.finish();
            let fresh = build(&live);
            prop_assert_eq!(merged.docs.len(), live.len());
            for term in ["a", "b", "aa", "ab", "ba", "bb"] {
                prop_assert_eq!(list(&merged, term), list(&fresh, term));
            }
        }

        #[test]
        fn foreign_bytes_are_no_segment_and_no_crash(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Segment::from_bytes(&bytes);
            bytes.splice(0..0, *super::MAGIC);
            if let Some(segment) = Segment::from_bytes(&bytes) {
                let _ = segment.postings("a").map(|postings| postings.count());
            }
        }
    }

    #[test]
    fn terms_are_found_by_their_beginning() {
        let segment = build(&[vec!["maxres".into(), "max".into(), "min".into()]]);
        assert_eq!(segment.terms_with_prefix("max", 9), ["max", "maxres"]);
        assert!(segment.terms_with_prefix("z", 9).is_empty());
    }
}
