//! Building a segment, from chunks or from other segments.

#![expect(
    clippy::indexing_slicing,
    reason = "documents and terms are numbered by the lists they index"
)]

use std::collections::HashMap;

use super::{DayMention, DocFacts, IndexSegment};
use crate::day::DaySpan;

/// Builds a segment, chunk by chunk.
#[derive(Debug, Default)]
pub struct SegmentBuilder {
    segment: IndexSegment,
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

    /// Says of which days the last chunk tells.
    pub fn mention(&mut self, spans: &[DaySpan]) {
        let Some(doc) = self.segment.docs.len().checked_sub(1) else {
            return;
        };
        let doc = doc as u32;
        let mentions = spans.iter().map(|span| DayMention { doc, span: *span });
        self.segment.mentions.extend(mentions);
    }

    /// Adds the chunks of a segment for which `keep` holds, in order.
    pub fn append(&mut self, other: &IndexSegment, keep: impl Fn(usize) -> bool) {
        let moved: Vec<Option<u32>> = (0..other.docs.len())
            .map(|doc| {
                keep(doc).then(|| {
                    self.segment.push_doc(other.docs[doc], other.lengths[doc]);
                    self.segment.docs.len() as u32 - 1
                })
            })
            .collect();
        for mention in &other.mentions {
            if let Some(Some(doc)) = moved.get(mention.doc as usize) {
                let doc = *doc;
                self.segment.mentions.push(DayMention { doc, ..*mention });
            }
        }
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

    pub fn finish(mut self) -> IndexSegment {
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
