//! What of the notes belongs into MEMORY.md, which every conversation begins with: a proposal, to
//! be looked at before anything is written.
//!
//! It loses nothing. What is added says of which day it is; what replaces something older keeps
//! its value; only what is there twice in the same words goes. Notes that hold untrusted content
//! are not read. What the owner refused is not proposed again.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use chela_core::{ContentHash, Trust, ok_or_warn};
use chela_files::{
    DiffLabels, DraftPlacement, ExpectedContent, FileDraft, FileMode, PathLocks, unified_diff,
};

use crate::chunk::{ChunkCut, NoteChunk};
use crate::day::CalendarDay;
use crate::facts::{self, StatedFact};
use crate::forgotten;
use crate::memory::Memory;
use crate::note::is_head_line;
use crate::source::{self, FileSource, is_core};
use crate::words::TermReader;
use crate::worth_keeping::kept_sentences;

/// The file that is kept.
const MEMORY_FILE: &str = "MEMORY.md";
/// Under which heading lines are added.
const HEADING: &str = "## From notes";
/// So many lines can be read before they are accepted.
const MOST_LINES: usize = 20;
/// Older notes were looked at before.
const OLDEST_DAYS: i32 = 90;
/// A longer line is a story.
const LONGEST_LINE: usize = 240;

/// What would become of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProposedKind {
    /// MEMORY.md does not say it yet.
    Added,
    /// MEMORY.md says what held before.
    Changed,
    /// MEMORY.md says it twice.
    Repeated,
}

/// One line of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposedLine {
    pub kind: ProposedKind,
    /// As MEMORY.md would have it, or does now where it goes.
    pub text: String,
    /// Where it comes from, as `memory/2026-03-04.md#L3`.
    pub from: String,
    /// The line it takes the place of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// What the note says, for [`Memory::refuse_lines`].
    #[serde(skip)]
    said: String,
}

/// A new MEMORY.md. Nothing is written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryProposal {
    pub lines: Vec<ProposedLine>,
    /// The whole new text.
    pub text: String,
    /// As `diff -u` writes it.
    pub diff: String,
    before: String,
}

impl MemoryProposal {
    /// MEMORY.md as it was looked at; empty where there is none.
    pub fn before(&self) -> &str {
        &self.before
    }
}

/// What a look at the notes came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryReview {
    pub proposal: Option<MemoryProposal>,
    /// Notes nobody answers for; they were not read.
    pub untrusted: Vec<String>,
}

/// Which of its lines a proposal may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalExtent {
    All,
    /// What adds to MEMORY.md and changes nothing in it.
    AdditionsOnly,
}

#[derive(Debug, thiserror::Error)]
pub enum ConsolidateError {
    #[error("{} could not be written; nothing changed", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} was changed meanwhile: look at the proposal again", path.display())]
    ChangedMeanwhile { path: PathBuf },
}

/// The texts a proposal is made from.
#[derive(Debug, Clone, Copy)]
struct ReviewedTexts<'a> {
    memory: &'a str,
    /// When somebody last wrote there.
    memory_day: Option<CalendarDay>,
    user: &'a str,
    /// By label.
    notes: &'a [(String, String)],
    today: CalendarDay,
}

impl Memory<'_> {
    /// Looks at the notes as they are now.
    pub fn review_notes(&self, extent: ProposalExtent) -> MemoryReview {
        let found = source::find(self.host(), self.places(), self.settings());
        let mut review = MemoryReview::default();
        let (mut core, mut notes) = (BTreeMap::new(), Vec::new());
        let mut memory_day = None;
        for file in found.files.values() {
            if file.source != FileSource::Memory {
                continue;
            }
            let Ok((content, version)) = source::content(file, None) else {
                continue;
            };
            let ceiling = version.map(|read| self.places().ceiling.of_read(&file.path, &read));
            let text = String::from_utf8_lossy(&content).into_owned();
            if is_core(&file.label) {
                if file.label == MEMORY_FILE {
                    memory_day = self.day_of(file.modified);
                }
                core.insert(file.label.clone(), text);
            } else if file.trust.join(ceiling.unwrap_or(Trust::Operator)) < Trust::Agent {
                review.untrusted.push(file.label.clone());
            } else {
                notes.push((file.label.clone(), text));
            }
        }
        let text = |name: &str| core.get(name).map_or("", String::as_str);
        let texts = ReviewedTexts {
            memory: text(MEMORY_FILE),
            memory_day,
            user: text("USER.md"),
            notes: &notes,
            today: self.today(),
        };
        let refused = forgotten::read(&self.refused_file());
        let refused =
            ok_or_warn!(refused, "what was refused before is not known").unwrap_or_default();
        review.proposal = propose(&texts, extent, &refused);
        review
    }

    /// Writes what was proposed. A MEMORY.md that somebody changed since stays as it is.
    pub fn accept_proposal(&self, proposal: &MemoryProposal) -> Result<PathBuf, ConsolidateError> {
        let path = self.places().workspace.join(MEMORY_FILE);
        let fail = |source| ConsolidateError::Write {
            path: path.clone(),
            source,
        };
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let _held = PathLocks::of(self.host())
            .hold([real.as_path()])
            .map_err(|error| fail(error.into()))?;
        let expected = match path.exists() {
            true => ExpectedContent::Bytes(proposal.before.as_bytes()),
            false => ExpectedContent::Absent,
        };
        let placed = FileDraft::beside(&path, proposal.text.as_bytes(), FileMode::KeepOrPrivate)
            .and_then(|draft| draft.put_if(expected))
            .map_err(|error| fail(error.source))?;
        match placed == DraftPlacement::Changed {
            true => Err(ConsolidateError::ChangedMeanwhile { path }),
            false => Ok(path),
        }
    }

    /// The owner does not want these lines: they are not proposed again.
    pub fn refuse_lines(&self, lines: &[ProposedLine]) -> Result<(), ConsolidateError> {
        let path = self.refused_file();
        let hashes: Vec<ContentHash> = lines
            .iter()
            .map(|line| ContentHash::of(&line.said))
            .collect();
        forgotten::append(&path, &hashes).map_err(|source| ConsolidateError::Write { path, source })
    }

    fn refused_file(&self) -> PathBuf {
        self.store().path().with_extension("refused")
    }

    fn day_of(&self, modified: i64) -> Option<CalendarDay> {
        let seconds = u64::try_from(modified / 1_000_000_000).ok()?;
        (seconds > 0).then(|| self.places().zone.day(seconds))
    }
}

/// A line of a note that may be worth keeping.
struct NoteLine {
    said: String,
    day: CalendarDay,
    from: String,
    facts: Vec<StatedFact>,
}

fn propose(
    texts: &ReviewedTexts<'_>,
    extent: ProposalExtent,
    refused: &HashSet<ContentHash>,
) -> Option<MemoryProposal> {
    let mut terms = TermReader::default();
    let cut = |label: &str, text: &str| ChunkCut::default().markdown(label, text);
    let kept = cut(MEMORY_FILE, texts.memory);
    let known: Vec<KnownLine> = kept
        .iter()
        .chain(&cut("USER.md", texts.user))
        .enumerate()
        .map(|(at, unit)| KnownLine::of(unit, at < kept.len(), &mut terms))
        .collect();
    let mut lines: Vec<ProposedLine> = Vec::new();
    let mut file = MemoryLines::of(texts.memory);
    for note in newest_of_each(candidates(texts, &mut terms)) {
        if lines.len() >= MOST_LINES {
            break;
        }
        let words: HashSet<String> = terms.of(&note.said).into_iter().collect();
        let stands_there = [texts.memory, texts.user]
            .iter()
            .any(|text| text.contains(&note.said));
        let is_known = stands_there || known.iter().any(|line| line.says(&words));
        if words.is_empty() || is_known || refused.contains(&ContentHash::of(&note.said)) {
            continue;
        }
        let same = known.iter().find_map(|line| {
            let about = line.fact_about(&note.facts)?;
            Some((line, about))
        });
        match same {
            None => {
                let text = format!("- {} ({})", note.said, note.day);
                file.add(&text);
                lines.push(ProposedLine {
                    kind: ProposedKind::Added,
                    text,
                    from: note.from,
                    replaces: None,
                    said: note.said,
                });
            }
            Some((line, (older, newer))) => {
                let is_newer = line
                    .day
                    .or(texts.memory_day)
                    .is_none_or(|written| note.day >= written);
                let may_change = extent == ProposalExtent::All && line.is_of_memory;
                if !(newer.differs(older) && is_newer && may_change) {
                    continue;
                }
                let text = format!(
                    "- {} ({}; earlier: {})",
                    note.said.trim_end_matches('.'),
                    note.day,
                    older.value
                );
                let Some(replaced) = file.replace(line, &text) else {
                    continue;
                };
                lines.push(ProposedLine {
                    kind: ProposedKind::Changed,
                    text,
                    from: note.from,
                    replaces: Some(replaced),
                    said: note.said,
                });
            }
        }
    }
    if extent == ProposalExtent::All {
        lines.extend(file.drop_repeated(&known, refused));
    }
    let text = file.text();
    (!lines.is_empty() && text != texts.memory).then(|| {
        let labels = DiffLabels {
            old: MEMORY_FILE,
            new: MEMORY_FILE,
        };
        MemoryProposal {
            diff: unified_diff(labels, texts.memory, &text, 2),
            lines,
            text,
            before: texts.memory.to_owned(),
        }
    })
}

/// What MEMORY.md or USER.md says already.
struct KnownLine {
    start: u32,
    end: u32,
    text: String,
    words: HashSet<String>,
    facts: Vec<StatedFact>,
    day: Option<CalendarDay>,
    is_of_memory: bool,
}

impl KnownLine {
    fn of(unit: &NoteChunk, is_of_memory: bool, terms: &mut TermReader) -> Self {
        Self {
            start: unit.start_line,
            end: unit.end_line,
            text: unit.text.clone(),
            words: terms.of(unit.body()).into_iter().collect(),
            facts: facts::stated_in(unit, terms),
            day: CalendarDay::find_written(&unit.text),
            is_of_memory,
        }
    }

    /// A word or two stand in many lines that say something else.
    fn says(&self, words: &HashSet<String>) -> bool {
        const FEW: usize = 3;
        words.is_subset(&self.words) && (words.len() >= FEW || self.words.len() <= FEW)
    }

    /// A fact it states, and the one among others that is about the same.
    fn fact_about<'f>(
        &'f self,
        others: &'f [StatedFact],
    ) -> Option<(&'f StatedFact, &'f StatedFact)> {
        self.facts.iter().find_map(|fact| {
            let other = others.iter().find(|other| other.about == fact.about)?;
            Some((fact, other))
        })
    }
}

/// Everything in dated notes that outlasts its day.
fn candidates(texts: &ReviewedTexts<'_>, terms: &mut TermReader) -> Vec<NoteLine> {
    let mut found = Vec::new();
    for (label, text) in texts.notes {
        for unit in ChunkCut::default().markdown(label, text) {
            let Some(day) = unit
                .date
                .filter(|day| (0..=OLDEST_DAYS).contains(&(texts.today.0 - day.0)))
            else {
                continue;
            };
            // What others said is theirs; what the assistant said nobody has confirmed.
            if unit
                .speaker
                .is_some_and(|who| who != crate::chunk::MessageSpeaker::User)
            {
                continue;
            }
            for said in kept_of(&unit, terms) {
                let facts = facts::stated("", &said, true, terms);
                found.push(NoteLine {
                    from: format!("{label}#L{}", unit.start_line),
                    said,
                    day,
                    facts,
                });
            }
        }
    }
    found
}

fn kept_of(unit: &NoteChunk, terms: &mut TermReader) -> Vec<String> {
    let mut kept: Vec<String> = kept_sentences(unit.body())
        .into_iter()
        .map(str::to_owned)
        .collect();
    let lines = unit.body().lines().map(str::trim);
    for line in lines.filter(|line| !is_head_line(line)) {
        let line = line.trim_start_matches(['-', '*', '+', ' ']);
        let states = |fact: &StatedFact| fact.is_definite();
        let is_new = !kept.iter().any(|sentence| line.contains(sentence.as_str()));
        if is_new && facts::stated("", line, true, terms).iter().any(states) {
            kept.push(line.to_owned());
        }
    }
    kept.retain(|line| line.chars().count() <= LONGEST_LINE);
    kept
}

/// Of lines that say the same or give something another value, the newest; in the order of days.
fn newest_of_each(mut lines: Vec<NoteLine>) -> Vec<NoteLine> {
    lines.sort_by(|a, b| b.day.cmp(&a.day).then_with(|| a.from.cmp(&b.from)));
    let mut subjects: HashSet<Vec<String>> = HashSet::new();
    let mut said: HashSet<String> = HashSet::new();
    lines.retain(|line| {
        let is_new = said.insert(line.said.to_lowercase());
        let about: Vec<&Vec<String>> = line.facts.iter().map(|fact| &fact.about).collect();
        let is_newest = about.iter().all(|about| !subjects.contains(*about));
        subjects.extend(about.into_iter().cloned());
        is_new && is_newest
    });
    lines.sort_by_key(|line| line.day);
    lines
}

/// MEMORY.md line by line.
struct MemoryLines {
    /// `None` where one goes.
    lines: Vec<Option<String>>,
    added: Vec<String>,
}

impl MemoryLines {
    fn of(text: &str) -> Self {
        Self {
            lines: text.lines().map(|line| Some(line.to_owned())).collect(),
            added: Vec::new(),
        }
    }

    fn add(&mut self, line: &str) {
        self.added.push(line.to_owned());
    }

    /// Puts a line where a unit was. What takes several lines or has been changed already stays.
    fn replace(&mut self, old: &KnownLine, new: &str) -> Option<String> {
        if old.start != old.end {
            return None;
        }
        let line = self.lines.get_mut(old.start.checked_sub(1)? as usize)?;
        if line.as_deref().map(str::trim) != Some(old.text.trim()) {
            return None;
        }
        line.replace(new.to_owned())
    }

    /// Lines that say what one above them says, in the same words.
    fn drop_repeated(
        &mut self,
        known: &[KnownLine],
        refused: &HashSet<ContentHash>,
    ) -> Vec<ProposedLine> {
        let mut seen: HashSet<&str> = HashSet::new();
        let mut gone = Vec::new();
        for unit in known
            .iter()
            .filter(|unit| unit.is_of_memory && unit.start == unit.end)
        {
            let is_repeated =
                !seen.insert(unit.text.trim()) && !refused.contains(&ContentHash::of(&unit.text));
            let Some(line) = self.lines.get_mut((unit.start as usize).saturating_sub(1)) else {
                continue;
            };
            if is_repeated && line.as_deref().map(str::trim) == Some(unit.text.trim()) {
                *line = None;
                gone.push(ProposedLine {
                    kind: ProposedKind::Repeated,
                    text: unit.text.trim().to_owned(),
                    from: format!("{MEMORY_FILE}#L{}", unit.start),
                    replaces: None,
                    said: unit.text.clone(),
                });
            }
        }
        gone
    }

    fn text(&self) -> String {
        let mut lines: Vec<&str> = self.lines.iter().flatten().map(String::as_str).collect();
        if !self.added.is_empty() {
            let at = match lines.iter().position(|line| line.trim() == HEADING) {
                Some(heading) => {
                    let below = lines.get(heading + 1..).unwrap_or_default();
                    let next = below.iter().position(|line| line.starts_with('#'));
                    let mut end = next.map_or(lines.len(), |next| heading + 1 + next);
                    while end > heading + 1
                        && lines.get(end - 1).is_some_and(|l| l.trim().is_empty())
                    {
                        end -= 1;
                    }
                    end
                }
                None => {
                    while lines.last().is_some_and(|line| line.trim().is_empty()) {
                        lines.pop();
                    }
                    match lines.is_empty() {
                        true => lines.extend(["# Memory", "", HEADING]),
                        false => lines.extend(["", HEADING]),
                    }
                    lines.len()
                }
            };
            lines.splice(at..at, self.added.iter().map(String::as_str));
        }
        let mut text = lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests;
