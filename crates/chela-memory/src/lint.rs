//! What could be better about the notes themselves.

use std::collections::{BTreeMap, BTreeSet};

use chela_core::ok_or_warn;
use chela_files::{DiffLabels, unified_diff};

use crate::chunk::{ChunkCut, NoteChunk};
use crate::day::CalendarDay;
use crate::facts::{self, StatedFact};
use crate::memory::Memory;
use crate::source::{self, FileSource, is_core};
use crate::words::TermReader;

/// A finding, with the places it is about.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct NoteFinding {
    pub kind: FindingKind,
    pub message: String,
    pub places: Vec<NotePlace>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    Duplicate,
    Contradiction,
    StaleDate,
    Oversized,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct NotePlace {
    pub label: String,
    pub line: u32,
    pub text: String,
}

/// A note to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LintedNote<'a> {
    pub label: &'a str,
    pub text: &'a str,
}

/// What is too much, too old, too alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LintLimits {
    /// MEMORY.md is read into every session: beyond this it is cut.
    pub memory_chars: usize,
    /// A dated entry older than this is history.
    pub stale_days: i32,
}

impl Default for LintLimits {
    fn default() -> Self {
        Self {
            memory_chars: 20_000,
            stale_days: 180,
        }
    }
}

/// What was found in the notes of a memory, and what could be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintReport {
    pub findings: Vec<NoteFinding>,
    pub proposal: Option<LintProposal>,
}

/// Looks at the notes of a memory as they are now.
pub fn lint_memory(memory: &Memory<'_>, limits: &LintLimits) -> LintReport {
    let found = source::find(memory.host(), memory.places(), memory.settings());
    let notes = found.files.values();
    let texts: Vec<(String, String)> = notes
        .filter(|file| file.source == FileSource::Memory)
        .filter_map(|file| {
            let bytes = std::fs::read(&file.path);
            let bytes = ok_or_warn!(bytes, "a note is left out", path = %file.path.display())?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Some((file.label.clone(), text))
        })
        .collect();
    let notes: Vec<LintedNote<'_>> = texts
        .iter()
        .map(|(label, text)| LintedNote { label, text })
        .collect();
    let today = memory.today();
    LintReport {
        findings: lint(&notes, today, limits),
        proposal: propose_move(&notes, today, limits),
    }
}

/// Looks at all notes.
pub fn lint(notes: &[LintedNote<'_>], today: CalendarDay, limits: &LintLimits) -> Vec<NoteFinding> {
    let units: Vec<(&str, NoteChunk)> = notes
        .iter()
        .flat_map(|note| {
            ChunkCut::default()
                .markdown(note.label, note.text)
                .into_iter()
                .map(|unit| (note.label, unit))
        })
        .collect();
    let mut findings = duplicates(&units);
    findings.extend(contradictions(&units));
    findings.extend(stale(&units, today, limits));
    findings.extend(oversized(notes, limits));
    findings.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| a.places.cmp(&b.places)));
    findings
}

/// Entries in the same words. Short ones ("done", "ok") repeat for good reasons.
fn duplicates(units: &[(&str, NoteChunk)]) -> Vec<NoteFinding> {
    const FEWEST_TERMS: usize = 4;
    let mut terms = TermReader::default();
    let mut by_words: BTreeMap<Vec<String>, Vec<NotePlace>> = BTreeMap::new();
    for (label, unit) in units {
        let words = terms.of(unit.body());
        if words.len() >= FEWEST_TERMS {
            by_words.entry(words).or_default().push(place(label, unit));
        }
    }
    by_words
        .into_values()
        .filter(|places| places.len() > 1)
        .map(|places| NoteFinding {
            kind: FindingKind::Duplicate,
            message: format!("the same entry is in {} places; keep one", places.len()),
            places,
        })
        .collect()
}

/// What has two values that cannot both hold.
fn contradictions(units: &[(&str, NoteChunk)]) -> Vec<NoteFinding> {
    let mut terms = TermReader::default();
    let mut by_subject: BTreeMap<Vec<String>, Vec<FactPlace>> = BTreeMap::new();
    for (label, unit) in units {
        for fact in facts::stated_in(unit, &mut terms) {
            let said = by_subject.entry(fact.about.clone()).or_default();
            said.push(FactPlace {
                fact,
                day: unit.date,
                place: place(label, unit),
            });
        }
    }
    by_subject.into_values().filter_map(contradiction).collect()
}

struct FactPlace {
    fact: StatedFact,
    day: Option<CalendarDay>,
    place: NotePlace,
}

fn contradiction(said: Vec<FactPlace>) -> Option<NoteFinding> {
    let mut different: Vec<&FactPlace> = Vec::new();
    for one in &said {
        if different.iter().all(|other| other.fact.differs(&one.fact)) {
            different.push(one);
        }
    }
    // A value for every other day is a record of it.
    (2..=facts::MOST_VALUES)
        .contains(&different.len())
        .then_some(())?;
    let name = &different.first()?.fact.named;
    let days: BTreeSet<CalendarDay> = different.iter().filter_map(|one| one.day).collect();
    let newest = (days.len() == different.len())
        .then(|| different.iter().max_by_key(|one| one.day))
        .flatten();
    let message = match newest {
        Some(newest) => format!(
            "\"{name}\" has changed: it is {} in the newest; mark or remove the older",
            newest.fact.value
        ),
        None => format!("\"{name}\" has contradictory values; keep the right one"),
    };
    Some(NoteFinding {
        kind: FindingKind::Contradiction,
        message,
        places: said.into_iter().map(|one| one.place).collect(),
    })
}

/// Dated entries in files that are read into every session.
fn stale(units: &[(&str, NoteChunk)], today: CalendarDay, limits: &LintLimits) -> Vec<NoteFinding> {
    units
        .iter()
        .filter(|(label, _)| is_core(label))
        .filter_map(|(label, unit)| {
            let day = CalendarDay::find_written(&unit.text)?;
            let age = today.0 - day.0;
            (age > limits.stale_days).then(|| NoteFinding {
                kind: FindingKind::StaleDate,
                message: format!("{day} is {age} days ago; is it still worth reading every time?"),
                places: vec![place(label, unit)],
            })
        })
        .collect()
}

fn oversized(notes: &[LintedNote<'_>], limits: &LintLimits) -> Vec<NoteFinding> {
    notes
        .iter()
        .filter(|note| is_core(note.label))
        .filter_map(|note| {
            let chars = note.text.chars().count();
            (chars > limits.memory_chars).then(|| NoteFinding {
                kind: FindingKind::Oversized,
                message: format!(
                    "{} has {chars} characters, but only {} fit in a session; move what is \
                        rarely needed to daily notes",
                    note.label, limits.memory_chars
                ),
                places: vec![NotePlace {
                    label: note.label.into(),
                    line: 1,
                    text: String::new(),
                }],
            })
        })
        .collect()
}

fn place(label: &str, unit: &NoteChunk) -> NotePlace {
    NotePlace {
        label: label.to_owned(),
        line: unit.start_line,
        text: unit.text.clone(),
    }
}

/// A change that would mend findings: whole units moved from MEMORY.md to a daily note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintProposal {
    pub memory: String,
    pub note_label: String,
    pub note: String,
    /// Both changes, as `diff -u` writes them.
    pub diff: String,
}

/// Proposes to move repeated, stale and, while the file is too large, the oldest dated entries of
/// MEMORY.md into a daily note. Nothing is written.
pub fn propose_move(
    notes: &[LintedNote<'_>],
    today: CalendarDay,
    limits: &LintLimits,
) -> Option<LintProposal> {
    let memory = notes.iter().find(|note| note.label == "MEMORY.md")?;
    let findings = lint(notes, today, limits);
    let mut lines: Vec<u32> = Vec::new();
    for finding in &findings {
        let here = finding
            .places
            .iter()
            .filter(|place| place.label == "MEMORY.md");
        match finding.kind {
            // Where MEMORY.md repeats itself the first stays; what a daily note has too may go.
            FindingKind::Duplicate => {
                let elsewhere = finding
                    .places
                    .iter()
                    .any(|place| place.label != "MEMORY.md");
                lines.extend(here.skip(usize::from(!elsewhere)).map(|place| place.line));
            }
            FindingKind::StaleDate => lines.extend(here.map(|place| place.line)),
            FindingKind::Contradiction | FindingKind::Oversized => {}
        }
    }
    let units = ChunkCut::default().markdown(memory.label, memory.text);
    let mut moved: Vec<&NoteChunk> = units
        .iter()
        .filter(|u| lines.contains(&u.start_line))
        .collect();
    let mut size = memory.text.chars().count()
        - moved
            .iter()
            .map(|unit| unit.text.chars().count() + 1)
            .sum::<usize>()
            .min(memory.text.len());
    // Still too large: what stands at the end was added last and is the least settled.
    for unit in units.iter().rev() {
        if size <= limits.memory_chars {
            break;
        }
        if !lines.contains(&unit.start_line) {
            size = size.saturating_sub(unit.text.chars().count() + 1);
            moved.push(unit);
        }
    }
    if moved.is_empty() {
        return None;
    }
    moved.sort_by_key(|unit| unit.start_line);
    let goes = |number: u32| {
        moved
            .iter()
            .any(|unit| (unit.start_line..=unit.end_line).contains(&number))
    };
    let kept: Vec<&str> = (1..)
        .zip(memory.text.lines())
        .filter(|(number, _)| !goes(*number))
        .map(|(_, line)| line)
        .collect();
    let note_label = format!("memory/{today}-from-memory.md");
    let before = notes
        .iter()
        .find(|note| note.label == note_label)
        .map_or("", |note| note.text);
    let mut note = before.to_owned();
    if note.is_empty() {
        note.push_str("# Moved from MEMORY.md\n\n");
    }
    for unit in &moved {
        note.push_str(&unit.text);
        note.push('\n');
    }
    let kept = kept.join("\n") + "\n";
    let compared = |label: &str, old: &str, new: &str| {
        let labels = DiffLabels {
            old: label,
            new: label,
        };
        unified_diff(labels, old, new, 2)
    };
    let diff = compared("MEMORY.md", memory.text, &kept) + &compared(&note_label, before, &note);
    Some(LintProposal {
        memory: kept,
        note_label,
        note,
        diff,
    })
}

#[cfg(test)]
mod tests;
