//! The daily notes a new session starts with, and the entries a message calls up.

use std::path::Path;

use chela_core::cut::{CutLimit, CutRequest, cut};
use chela_core::ok_or_warn;
use chela_files::{ReadVersion, read_version_at};

use crate::day::CalendarDay;
use crate::note::is_session_note_text;
use crate::settings::PreludeSettings;
use crate::source::LARGEST_FILE;

/// One recent daily note, cut to its limit.
#[derive(Debug, Clone)]
pub struct DailyNote {
    pub label: String,
    pub day: CalendarDay,
    pub text: String,
    /// Characters of the whole note.
    pub raw_chars: usize,
    /// What it was when it was read.
    pub version: ReadVersion,
}

/// The notes of today and the days before, newest first, within the limits.
pub fn daily_notes(
    workspace: &Path,
    today: CalendarDay,
    settings: &PreludeSettings,
) -> Vec<DailyNote> {
    if !settings.enabled {
        return Vec::new();
    }
    let folder = workspace.join("memory");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return Vec::new();
    };
    if !crate::source::inside(&folder, workspace) {
        return Vec::new();
    }
    let oldest = today
        .0
        .saturating_sub(settings.days.saturating_sub(1) as i32);
    let mut names: Vec<(CalendarDay, String)> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let day = CalendarDay::find(name.get(..10)?)?;
            let wanted = name.ends_with(".md") && (oldest..=today.0).contains(&day.0);
            wanted.then_some((day, name))
        })
        .collect();
    names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut left = settings.max_total_chars;
    let mut notes = Vec::new();
    for (day, name) in names {
        let path = folder.join(&name);
        let Some((content, version)) = read_start(&path, settings.max_file_bytes) else {
            continue;
        };
        // What was said in another conversation is found when it is asked for.
        if is_session_note_text(&content) {
            continue;
        }
        let content = content.trim();
        let limit = settings.max_file_chars.min(left);
        if content.is_empty() || limit == 0 {
            continue;
        }
        let label = format!("memory/{name}");
        let request = CutRequest {
            name: &label,
            first_line: 1,
            text: content,
            limit: CutLimit::Chars(limit),
            pinned_headings: &[],
        };
        let text = cut(&request).text.into_owned();
        left = left.saturating_sub(text.chars().count());
        notes.push(DailyNote {
            raw_chars: content.chars().count(),
            label,
            day,
            text,
            version,
        });
    }
    notes
}

fn read_start(path: &Path, bytes: u64) -> Option<(String, ReadVersion)> {
    // Read as a whole, so that the note that is judged is the one that is shown.
    let read = read_version_at(path, LARGEST_FILE.max(bytes) + 1);
    let (content, version) = ok_or_warn!(read, "a daily note is left out", path = %path.display())?;
    let start = usize::try_from(bytes)
        .ok()
        .and_then(|bytes| content.get(..bytes));
    let start = String::from_utf8_lossy(start.unwrap_or(&content));
    Some((start.trim_end_matches('\u{fffd}').to_owned(), version))
}

/// At most this many entries are called up by one message.
pub const MOST_TRIGGERED: usize = 3;
/// Only what the owner curates may speak up by itself.
const TRUSTED: [&str; 2] = ["MEMORY.md", "USER.md"];
/// A phrase shorter than this would match everything.
const SHORTEST_PHRASE: usize = 3;

/// An entry whose trigger a message contains.
#[derive(Debug, Clone)]
pub struct TriggeredEntry {
    pub label: String,
    /// What the file was when it was read.
    pub version: ReadVersion,
    pub line: u32,
    pub phrase: String,
    pub text: String,
}

/// The entries marked `<!-- trigger: phrase, phrase -->` whose phrases the message contains. The
/// mark stands behind an entry or in the line above it. No model is asked.
pub fn triggered(workspace: &Path, message: &str) -> Vec<TriggeredEntry> {
    let said = folded(message);
    let mut found: Vec<TriggeredEntry> = Vec::new();
    for label in TRUSTED {
        let path = workspace.join(label);
        if !crate::source::inside(&path, workspace) {
            continue;
        }
        let content = read_version_at(&path, LARGEST_FILE + 1);
        let Some((content, version)) =
            ok_or_warn!(content, "the entries of a file call nothing up", label)
        else {
            continue;
        };
        let content = String::from_utf8_lossy(&content);
        let mut waiting: Option<String> = None;
        for (number, line) in (1..).zip(content.lines()) {
            let (text, mark) = split_mark(line);
            if text.trim().is_empty() {
                waiting = mark.map(str::to_owned).or(waiting);
                continue;
            }
            let mark = mark.map(str::to_owned).or(waiting.take());
            waiting = None;
            let phrase = mark.as_deref().and_then(|mark| {
                mark.split([',', '|', ';'])
                    .map(|phrase| phrase.trim().trim_matches('"'))
                    .find(|phrase| phrase.chars().count() >= SHORTEST_PHRASE && says(&said, phrase))
                    .map(str::to_owned)
            });
            let text = text.trim().trim_start_matches(['-', '*', '+']).trim();
            if let Some(phrase) = phrase
                && !found.iter().any(|known| known.text == text)
            {
                found.push(TriggeredEntry {
                    label: label.into(),
                    version: version.clone(),
                    line: number,
                    phrase,
                    text: text.into(),
                });
                if found.len() == MOST_TRIGGERED {
                    return found;
                }
            }
        }
    }
    found
}

/// A line without its trigger mark, and what the mark says.
fn split_mark(line: &str) -> (String, Option<&str>) {
    let Some(start) = line.find("<!--") else {
        return (line.to_owned(), None);
    };
    let Some(length) = line.get(start..).unwrap_or_default().find("-->") else {
        return (line.to_owned(), None);
    };
    let inside = line
        .get(start + 4..start + length)
        .unwrap_or_default()
        .trim();
    let rest = format!(
        "{}{}",
        line.get(..start).unwrap_or_default(),
        line.get(start + length + 3..).unwrap_or_default()
    );
    match inside.strip_prefix("trigger:") {
        Some(phrases) => (rest, Some(phrases.trim())),
        None => (rest, None),
    }
}

/// Words with one space before, between and after, so that only whole words match.
fn folded(text: &str) -> String {
    let mut out = String::from(" ");
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        out.push_str(&word.to_lowercase());
        out.push(' ');
    }
    out
}

fn says(said: &str, phrase: &str) -> bool {
    let phrase = folded(phrase);
    phrase.len() > 2 && (said.contains(&phrase) || cjk_within(said, &phrase))
}

/// Text without spaces has no word edges to respect.
fn cjk_within(said: &str, phrase: &str) -> bool {
    let bare = phrase.trim();
    bare.chars().all(crate::words::is_cjk) && said.contains(bare)
}

#[cfg(test)]
mod tests;
