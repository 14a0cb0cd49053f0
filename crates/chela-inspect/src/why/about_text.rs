//! Words of a prompt: where they stand, and the file they come from.

use chela_core::{suggest, tokens};
use chela_prompt::{PartKind, PartSpan, SectionId};
use chela_workspace::FileReport;

use super::{FilePosition, PromptSpot, RawFiles, TextPresence, WhyAnswer};
use crate::assembled::AssembledPrompt;

/// More places than these help nobody.
const MOST_PLACES: usize = 5;

/// Words: first in the prompt, then in the files that did not make it there.
pub(super) fn about_text(
    assembled: &AssembledPrompt,
    raw: RawFiles<'_>,
    asked: &str,
) -> Vec<WhyAnswer> {
    if asked.is_empty() {
        return Vec::new();
    }
    let text = &assembled.prompt.text;
    let mut places = positions(text, asked);
    places.truncate(MOST_PLACES);
    if !places.is_empty() {
        return places
            .into_iter()
            .map(|at| found_at(assembled, raw, at))
            .collect();
    }
    let mut answers = Vec::new();
    for file in &assembled.files {
        let Some(content) = raw(file) else { continue };
        let lines = (1u32..).zip(content.lines());
        let hits = lines.filter(|(_, line)| contains_words(line, asked));
        answers.extend(hits.map(|(number, line)| not_in_prompt(file, number, line)));
    }
    answers.truncate(MOST_PLACES);
    answers
}

/// Offsets of the words, exactly as written or else without regard to case.
fn positions(text: &str, asked: &str) -> Vec<usize> {
    let exact: Vec<usize> = text.match_indices(asked).map(|(at, _)| at).collect();
    if !exact.is_empty() {
        return exact;
    }
    let mut at = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        if contains_words(line, asked) {
            found.push(at);
        }
        at += line.len();
    }
    found
}

fn contains_words(line: &str, asked: &str) -> bool {
    let fold = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };
    fold(line).contains(&fold(asked))
}

fn found_at(assembled: &AssembledPrompt, raw: RawFiles<'_>, at: usize) -> WhyAnswer {
    let prompt = &assembled.prompt;
    let start = prompt
        .text
        .get(..at)
        .unwrap_or_default()
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let end = prompt
        .text
        .get(at..)
        .unwrap_or_default()
        .find('\n')
        .map_or(prompt.text.len(), |newline| at + newline);
    let line = prompt.text.get(start..end).unwrap_or_default();
    let section = prompt.section_at(at);
    let part = prompt.part_at(at);
    let spot = section.map(|section| PromptSpot {
        section: section.id.as_str(),
        start,
        end,
        zone: section.zone,
        origin: part
            .map_or(&section.origin, |part| &part.origin)
            .to_string(),
        trust: part.map_or(section.trust, |part| part.trust),
        audience: part.map_or(section.audience, |part| part.audience),
        chars: line.chars().count(),
        tokens: tokens::count(line),
    });
    let because = match part.map(|part| &part.kind) {
        Some(PartKind::File { path, .. }) => format!("It is a line of {path}."),
        Some(PartKind::Tool { name }) => format!("It is the line of tool {name}."),
        Some(PartKind::Skill { name }) => format!("It is the entry of skill {name}."),
        Some(PartKind::Line | PartKind::Block) => "It was contributed to this section.".to_owned(),
        None => "It is Chela's own text.".to_owned(),
    };
    WhyAnswer {
        what: format!("“{}”", line.trim()),
        presence: TextPresence::Present,
        because,
        source: part.and_then(|part| file_line(assembled, raw, part, start)),
        spot,
    }
}

/// The line of the file that a line of the prompt was read from. Cutting keeps the order of
/// lines, so the n-th occurrence here is the n-th there.
fn file_line(
    assembled: &AssembledPrompt,
    raw: RawFiles<'_>,
    part: &PartSpan,
    start: usize,
) -> Option<FilePosition> {
    let PartKind::File { path, content } = &part.kind else {
        return None;
    };
    let file = assembled
        .files
        .iter()
        .find(|file| file.shown_path == *path)?;
    let text = assembled.prompt.slice(&(*content..part.range.end));
    let before = assembled.prompt.slice(&(*content..start.max(*content)));
    let line = text.get(before.len()..)?.lines().next().unwrap_or_default();
    let nth = before
        .lines()
        .filter(|other| other.trim_end() == line.trim_end())
        .count();
    let original = raw(file)?;
    let mut same = (1u32..)
        .zip(original.lines())
        .filter(|(_, other)| other.trim_end() == line.trim_end());
    let (number, _) = same.nth(nth)?;
    Some(FilePosition {
        path: file.path.clone(),
        line: number,
        text: line.to_owned(),
    })
}

fn not_in_prompt(file: &FileReport, number: u32, line: &str) -> WhyAnswer {
    WhyAnswer {
        what: format!("“{}”", line.trim()),
        presence: TextPresence::Absent,
        because: format!(
            "It is in {}, but {} {}.",
            file.shown_path, file.name, file.status
        ),
        spot: None,
        source: Some(FilePosition {
            path: file.path.clone(),
            line: number,
            text: line.to_owned(),
        }),
    }
}

pub(super) fn nowhere(assembled: &AssembledPrompt, asked: &str) -> WhyAnswer {
    let tools = assembled.tools.iter().chain(&assembled.deferred);
    let names = assembled
        .files
        .iter()
        .map(|file| file.name.as_str())
        .chain(tools.map(|tool| tool.name.as_str()))
        .chain(SectionId::ALL.iter().map(|id| id.as_str()));
    let because = match suggest::nearest(asked, names) {
        Some(near) => format!("No file, section, tool or text of the prompt or the workspace is called that; did you mean `{near}`?"),
        None => "No file, section or tool is called that, and the words are neither in the prompt nor in the workspace files.".to_owned(),
    };
    WhyAnswer {
        what: format!("“{asked}”"),
        presence: TextPresence::Absent,
        because,
        spot: None,
        source: None,
    }
}
