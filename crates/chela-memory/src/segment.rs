//! A part of the index: which term stands in which chunk, ready to be searched as it lies.
//!
//! Each batch of files becomes one segment; small segments are merged into larger ones. All
//! chunks of a file are in one segment and in order, so neighbours in the file are neighbours
//! here, and the chunks of one section are a run.

#![expect(
    clippy::indexing_slicing,
    reason = "reading a segment holds that its starts are in range"
)]

mod build;
mod bytes;

use std::ops::Range;

use crate::day::{CalendarDay, DaySpan};
use crate::importance::NoteImportance;
use crate::language::Language;
use crate::words::folded;

pub use build::SegmentBuilder;

/// What ranking knows about a chunk besides its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocFacts {
    pub chunk: i64,
    pub file: i64,
    /// The number of its section within the file.
    pub section: u32,
    pub date: Option<CalendarDay>,
    /// Who says it, as [`speaker_number`] has it; 0 is nobody.
    pub speaker: u32,
    pub flags: ChunkFlags,
    pub importance: NoteImportance,
    pub language: Language,
}

/// Small facts that change a rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChunkFlags(pub u16);

impl ChunkFlags {
    pub const DATED_NOTE: u16 = 1;
    pub const SAID_BY_USER: u16 = 2;
    pub const TRANSCRIPT: u16 = 4;
    pub const SHARED: u16 = 8;
    /// A dialogue between user and assistant, where the user's words weigh more.
    pub const ROLES: u16 = 16;
    /// Said by someone, in a conversation of any kind.
    pub const SPOKEN: u16 = 32;
    /// Of MEMORY.md or USER.md, which the owner curates.
    pub const CORE: u16 = 64;
    /// "Always", "never", "I prefer".
    pub const WISH: u16 = 128;
    pub const TELLS_TIME: u16 = 256;
    pub const TELLS_NUMBER: u16 = 512;
    /// One question and nothing else.
    pub const ONLY_ASKS: u16 = 1024;
    /// Ends with a question: what follows may answer it.
    pub const ENDS_ASKING: u16 = 2048;

    pub fn has(self, flag: u16) -> bool {
        self.0 & flag != 0
    }

    pub fn set(&mut self, flag: u16, is: bool) {
        if is {
            self.0 |= flag;
        }
    }
}

/// A speaker as a number: the first word of the name, whatever its case. Never 0.
pub fn speaker_number(name: &str) -> u32 {
    let first = name
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty());
    first.map_or(0, |word| {
        let state = folded(word).bytes().fold(0x811c_9dc5_u32, |state, byte| {
            (state ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        state.max(1)
    })
}

/// A chunk tells of some days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayMention {
    pub doc: u32,
    pub span: DaySpan,
}

/// A segment in memory.
#[derive(Debug, Default)]
pub struct IndexSegment {
    pub docs: Vec<DocFacts>,
    /// Number of terms in each chunk.
    pub lengths: Vec<u32>,
    /// The section each chunk is in, counted through the segment.
    pub parents: Vec<u32>,
    pub parent_lengths: Vec<u32>,
    /// The days chunks tell of, other than their own, in the order of the chunks.
    pub mentions: Vec<DayMention>,
    /// The terms one after another, sorted, and where each starts.
    terms: Vec<u8>,
    term_starts: Vec<u32>,
    postings: Vec<u8>,
    posting_starts: Vec<u32>,
}

impl IndexSegment {
    /// Where each chunk with this exact term is, and how often it stands there.
    pub fn postings(&self, term: &str) -> Option<TermPostings<'_>> {
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

    /// The terms that start with a letter.
    pub fn terms_starting_with(&self, letter: char) -> impl Iterator<Item = &str> {
        let mut buffer = [0; 4];
        let prefix: &str = letter.encode_utf8(&mut buffer);
        let first = self.find(prefix.as_bytes()).unwrap_or_else(|at| at);
        (first..self.term_count())
            .map_while(|at| std::str::from_utf8(self.term(at)).ok())
            .take_while(move |term| term.starts_with(letter))
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

    fn postings_at(&self, at: usize) -> TermPostings<'_> {
        TermPostings {
            bytes: slice(
                &self.postings,
                self.posting_starts[at]..self.posting_starts[at + 1],
            ),
            doc: 0,
        }
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
pub struct TermPostings<'a> {
    bytes: &'a [u8],
    doc: u32,
}

impl Iterator for TermPostings<'_> {
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

fn slice(bytes: &[u8], range: Range<u32>) -> &[u8] {
    bytes
        .get(range.start as usize..range.end as usize)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
