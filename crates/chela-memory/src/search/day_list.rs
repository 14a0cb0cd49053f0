//! A day or a period from its first entry to its last, for questions that ask for nothing else.

use crate::segment::{ChunkFlags, DocFacts};
use crate::snapshot::IndexSnapshot;

use super::scope::ScopeMask;
use super::{RankedChunk, ScoreParts};

/// A term is so many characters of text, about.
const CHARS_OF_TERM: usize = 9;

/// The entries of some days in order. Where they are more than `chars` characters, every day has
/// some of its own: those that tell most.
pub fn list(snapshot: &IndexSnapshot, mask: &ScopeMask, chars: usize) -> Vec<RankedChunk> {
    let mut entries: Vec<DayEntry> = mask
        .slots(snapshot)
        .filter_map(|slot| {
            let (part, at) = snapshot.locate(slot)?;
            let doc = part.segment.docs.get(at)?;
            let terms = part.segment.lengths.get(at).copied().unwrap_or(0);
            Some(DayEntry {
                slot,
                doc: *doc,
                chars: terms as usize * CHARS_OF_TERM + 1,
                told: told(doc, terms),
            })
        })
        .collect();
    entries.sort_by_key(|entry| (entry.doc.date, entry.slot));
    if entries.iter().map(|entry| entry.chars).sum::<usize>() > chars {
        entries = some_of_each_day(entries, chars);
    }
    (1..)
        .zip(entries)
        .map(|(rank, entry)| RankedChunk {
            slot: entry.slot,
            chunk: entry.doc.chunk,
            file: entry.doc.file,
            language: entry.doc.language,
            score: 1.0,
            explain: ScoreParts {
                first_rank: rank,
                ..ScoreParts::default()
            },
        })
        .collect()
}

struct DayEntry {
    slot: usize,
    doc: DocFacts,
    chars: usize,
    /// How much it tells, beside the others of its day.
    told: f32,
}

/// What was marked as important, wished for, said by the user, and is no mere question.
fn told(doc: &DocFacts, terms: u32) -> f32 {
    let mut told = (terms as f32).min(40.0) / 40.0 + doc.importance.share();
    for (flag, worth) in [
        (ChunkFlags::WISH, 0.5),
        (ChunkFlags::TELLS_NUMBER, 0.2),
        (ChunkFlags::TELLS_TIME, 0.2),
        (ChunkFlags::ONLY_ASKS, -1.0),
    ] {
        if doc.flags.has(flag) {
            told += worth;
        }
    }
    if doc.flags.has(ChunkFlags::ROLES) && doc.flags.has(ChunkFlags::SAID_BY_USER) {
        told += 0.5;
    }
    told
}

/// In turn the best of each day, until there is no more room; then in order again.
fn some_of_each_day(entries: Vec<DayEntry>, chars: usize) -> Vec<DayEntry> {
    let mut days: Vec<Vec<DayEntry>> = Vec::new();
    for entry in entries {
        match days.last_mut() {
            Some(day)
                if day
                    .last()
                    .is_some_and(|last| last.doc.date == entry.doc.date) =>
            {
                day.push(entry);
            }
            _ => days.push(vec![entry]),
        }
    }
    for day in &mut days {
        day.sort_by(|a, b| a.told.total_cmp(&b.told).then(b.slot.cmp(&a.slot)));
    }
    let mut chosen: Vec<DayEntry> = Vec::new();
    let mut used = 0;
    while used < chars && days.iter().any(|day| !day.is_empty()) {
        for day in &mut days {
            if used < chars
                && let Some(entry) = day.pop()
            {
                used += entry.chars;
                chosen.push(entry);
            }
        }
    }
    chosen.sort_by_key(|entry| (entry.doc.date, entry.slot));
    chosen
}
