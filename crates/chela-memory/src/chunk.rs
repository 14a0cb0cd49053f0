//! Notes cut into the units that are searched.
//!
//! By default a unit is what a person would call one entry: a list item, a message, a paragraph,
//! a table, a code block. Small units find more per character shown; neighbours are put together
//! again when an answer is shown. `ChunkCut::Fixed` is the reference's way: runs of lines of a fixed
//! size that overlap.

mod blocks;
mod fixed;
mod org;
mod speakers;

use std::borrow::Cow;

use chela_core::tokens;

use crate::day::CalendarDay;
use crate::front;
use crate::importance::NoteImportance;
use crate::language::{Language, LanguageVote};

pub use speakers::mark_speakers;

/// One unit of a note.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoteChunk {
    /// First and last line, from 1.
    pub start_line: u32,
    pub end_line: u32,
    /// The headings above it, outermost first.
    pub heading: String,
    /// Which part of the file it belongs to: units under one heading are one part.
    pub section: u32,
    /// The day it is about, from the nearest dated heading, the front matter or the file name.
    pub date: Option<CalendarDay>,
    pub text: String,
    /// Where the text starts without list mark and speaker: `- Ann: hello` says `hello`.
    pub body_at: u32,
    pub speaker: Option<MessageSpeaker>,
    /// The name of who speaks, as written.
    pub said_by: String,
    pub importance: NoteImportance,
    pub language: Language,
}

impl NoteChunk {
    /// The text without list mark and speaker.
    pub fn body(&self) -> &str {
        self.text.get(self.body_at as usize..).unwrap_or(&self.text)
    }
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageSpeaker {
    User,
    Assistant,
    /// A name.
    Other,
}

/// How notes are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkCut {
    /// One entry each, at most this many tokens.
    Units { tokens: usize },
    /// Runs of lines of so many tokens, the next repeating the end of the last.
    Fixed { tokens: usize, overlap: usize },
}

impl Default for ChunkCut {
    fn default() -> Self {
        Self::Units { tokens: 160 }
    }
}

impl ChunkCut {
    /// A name for the index: chunks made another way are made again.
    pub fn identity(self) -> String {
        match self {
            Self::Units { tokens } => format!("units-4/{tokens}"),
            Self::Fixed { tokens, overlap } => format!("fixed-3/{tokens}/{overlap}"),
        }
    }

    /// Cuts a Markdown file. `path` may carry a date.
    pub fn markdown(self, path: &str, text: &str) -> Vec<NoteChunk> {
        let named = CalendarDay::find(path.rsplit('/').next().unwrap_or(path));
        let text = &*match path.ends_with(".org") {
            true => Cow::Owned(org::as_markdown(text)),
            false => Cow::Borrowed(text),
        };
        let mut chunks = match self {
            Self::Units { tokens } => blocks::cut(text, tokens.max(16), named),
            Self::Fixed { tokens, overlap } => fixed::cut(text, tokens.max(16), overlap, named),
        };
        let whole = front::read(text).importance.unwrap_or_default();
        let mut next = None;
        chunks.retain_mut(|chunk| {
            if blocks::is_blank_label(&chunk.text) {
                return false;
            }
            if let Some(alone) = NoteImportance::alone(&chunk.text) {
                next = Some(alone);
                return false;
            }
            let said = NoteImportance::in_entry(&chunk.text).or(next.take());
            chunk.importance = said.unwrap_or(whole);
            true
        });
        mark_languages(&mut chunks);
        chunks
    }
}

/// Says of each unit in which language it is: its own where that is clear, else that of the file.
pub fn mark_languages(chunks: &mut [NoteChunk]) {
    let votes: Vec<LanguageVote> = chunks
        .iter()
        .map(|chunk| LanguageVote::of(chunk.body()))
        .collect();
    let mut all = LanguageVote::default();
    votes.iter().for_each(|vote| all.join(vote));
    let of_file = all.winner().unwrap_or_default();
    for (chunk, vote) in chunks.iter_mut().zip(&votes) {
        chunk.language = match vote.is_clear() {
            true => vote.winner().unwrap_or(of_file),
            false => of_file,
        };
    }
}

/// Whether a text is within a number of tokens; short texts are not counted.
fn fits(text: &str, limit: usize) -> bool {
    text.len() <= limit * 2 || tokens::count_at_most(text, limit).is_some()
}

#[cfg(test)]
mod tests;
