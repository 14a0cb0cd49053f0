//! Text that a model reads and a person does not see.

use chela_core::sanitize;

use super::pattern::patterns;
use crate::finding::SkillFinding;
use crate::inspect::hosts::KnownSites;
use crate::inspect::plain;
use crate::inspect::rules::{self, order};
use crate::inspect::scanned_file::ScannedFile;
use chela_config::Severity;

patterns! {
    "hidden.txt":
    COMMENT, LINK_COMMENT, ORDERS, SENDS_AWAY, CARRIES_KEY, INVISIBLE_STYLE,
}

/// Blank lines that push a text out of sight.
const MANY_BLANK_LINES: usize = 120;
/// Blanks that push a text out of the window.
const MANY_BLANKS: usize = 250;

pub(in crate::inspect) fn look(path: &str, text: &str) -> Vec<SkillFinding> {
    let mut found = invisible(path, text);
    found.extend(blanks(path, text));
    let lower = path.to_ascii_lowercase();
    if [".md", ".mdx", ".markdown", ".html", ".htm", ".svg", ".xml"]
        .iter()
        .any(|end| lower.ends_with(end))
    {
        found.extend(comments(path, text));
    }
    found
}

fn invisible(path: &str, text: &str) -> Vec<SkillFinding> {
    if text.is_ascii()
        && !text
            .bytes()
            .any(|byte| byte < 32 && !matches!(byte, b'\n' | b'\r' | b'\t'))
    {
        return Vec::new();
    }
    let (_, removed) = sanitize::content(text);
    let line = removed.first_lines.first().copied();
    let mut found = Vec::new();
    if removed.tags > 3 {
        let hidden: String = text
            .chars()
            .filter_map(|c| char::from_u32((c as u32).checked_sub(0xe0000)?))
            .filter(|c| c.is_ascii_graphic() || *c == ' ')
            .take(100)
            .collect();
        let message = format!("contains invisible text: \"{}\"", hidden.trim());
        found.push(
            SkillFinding::error("invisible-text", message)
                .in_file(path)
                .at(line),
        );
    }
    if removed.selectors > 8 {
        let message = format!(
            "contains {} invisible characters, which can spell anything",
            removed.selectors
        );
        found.push(
            SkillFinding::error("invisible-text", message)
                .in_file(path)
                .at(line),
        );
    }
    let runs = longest_run(text);
    if runs >= 8 {
        let message = format!("contains {runs} invisible characters in a row");
        found.push(
            SkillFinding::error("invisible-text", message)
                .in_file(path)
                .at(line),
        );
    }
    let overrides = text
        .chars()
        .filter(|c| matches!(c, '\u{202d}' | '\u{202e}' | '\u{2066}'..='\u{2068}'))
        .count();
    let right_to_left = text
        .chars()
        .any(|c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}'));
    if overrides > 0 && !right_to_left {
        let message = "reverses the text direction, so that a line looks different from what runs";
        found.push(
            SkillFinding::error("bidi-override", message)
                .in_file(path)
                .at(line),
        );
    }
    if found.is_empty() && removed.total() > 0 {
        let message = format!("contains {} invisible characters", removed.total());
        found.push(
            SkillFinding::note("hidden-characters", message)
                .in_file(path)
                .at(line),
        );
    }
    found
}

/// The most zero-width characters that follow each other.
fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}' | '\u{e0100}'..='\u{e01ef}');
        run = if hidden { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Text behind so much nothing that no reader gets there.
fn blanks(path: &str, text: &str) -> Option<SkillFinding> {
    let mut empty = 0;
    for (at, line) in text.lines().enumerate() {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let trimmed = line.trim_start();
        if trimmed.is_empty() {
            empty += 1;
            continue;
        }
        if empty >= MANY_BLANK_LINES {
            let message = format!("continues after {empty} empty lines, where nobody looks");
            return Some(
                SkillFinding::error("pushed-out-of-sight", message)
                    .in_file(path)
                    .at(number)
                    .excerpt(line),
            );
        }
        empty = 0;
        let padded = trimmed.starts_with('|') && trimmed.trim_end().ends_with('|');
        let inner = trimmed
            .split(|c: char| !c.is_whitespace())
            .map(|blank| blank.chars().count())
            .max()
            .unwrap_or(0);
        let indent = line.chars().count() - trimmed.chars().count();
        if (inner >= MANY_BLANKS && !(padded && is_table_row(text, at)))
            || indent >= MANY_BLANKS * 2
        {
            let message = "continues after hundreds of spaces, outside any window";
            return Some(
                SkillFinding::error("pushed-out-of-sight", message)
                    .in_file(path)
                    .at(number)
                    .excerpt(trimmed),
            );
        }
    }
    None
}

/// Whether a row is padded to about the width of the row above or below, as tables are laid out.
fn is_table_row(text: &str, at: usize) -> bool {
    let width = |at: usize| {
        let row = text.lines().nth(at)?.trim();
        row.starts_with(['|', '+']).then(|| row.chars().count())
    };
    let Some(own) = width(at) else {
        return false;
    };
    let alike = |other: Option<usize>| other.is_some_and(|other| other.abs_diff(own) * 5 <= own);
    alike(width(at + 1)) || at > 0 && alike(width(at - 1))
}

/// Orders in comments and in elements that are not shown.
fn comments(path: &str, text: &str) -> Vec<SkillFinding> {
    let mut found = Vec::new();
    let spans = COMMENT
        .regex()
        .into_iter()
        .flat_map(|regex| regex.captures_iter(text))
        .filter_map(|hit| hit.get(1));
    let styled = INVISIBLE_STYLE
        .regex()
        .into_iter()
        .flat_map(|regex| regex.captures_iter(text))
        .filter_map(|hit| hit.get(2));
    let linked = LINK_COMMENT
        .regex()
        .into_iter()
        .flat_map(|regex| regex.captures_iter(text))
        .filter_map(|hit| hit.get(1));
    for span in spans.chain(styled).chain(linked).take(200) {
        let inner = span.as_str();
        let lower = inner.to_lowercase();
        if !ORDERS.is_in(&lower) {
            continue;
        }
        let page = ScannedFile::read("hidden.md", inner);
        let mut inside = Vec::new();
        rules::look(&page, &KnownSites::default(), &mut inside);
        let worst = inside.iter().map(|finding| finding.severity).max();
        let line = text
            .get(..span.start())
            .unwrap_or_default()
            .matches('\n')
            .count()
            + 1;
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let lower = plain::clean(inner).replace('\n', " ");
        let bad = order::drops_rules(&lower)
            || order::hides(&lower) && lower.len() < 2_000
            || order::deceives(&lower) && lower.len() < 2_000
            || rules::brief::is_doubtful(&page)
            || SENDS_AWAY.is_in(&lower)
            || CARRIES_KEY.is_in(&lower);
        let message = "gives instructions in a part of the text that is hidden from people";
        let finding = match worst {
            _ if bad => SkillFinding::error("hidden-orders", message),
            Some(Severity::Error | Severity::Warning) => {
                SkillFinding::error("hidden-orders", message)
            }
            _ => SkillFinding::note("hidden-orders", message),
        };
        found.push(finding.in_file(path).at(line).excerpt(inner.trim()));
    }
    found
}
