//! Why something is in the prompt - or is not.

mod about_name;
mod about_text;

use std::path::PathBuf;

use chela_core::{Audience, Trust, Zone, tokens};
use chela_prompt::PartSpan;
use chela_workspace::FileReport;
use serde::Serialize;

use crate::assembled::AssembledPrompt;
pub use crate::assembled::TOOLS;

use about_name::{about_entry, about_files, about_section, about_skill, about_tool};
use about_text::{about_text, nowhere};

/// One answer; a question may have several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WhyAnswer {
    /// What was found: `section safety`, `file SOUL.md`, `text`.
    pub what: String,
    pub presence: TextPresence,
    /// In one sentence.
    pub because: String,
    /// Where it stands in the prompt, or beside it.
    pub spot: Option<PromptSpot>,
    /// Where it comes from on the disk.
    pub source: Option<FilePosition>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TextPresence {
    Present,
    /// Some of it is there, some is not.
    Partly,
    Absent,
}

/// A place in the prompt and what it costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptSpot {
    pub section: &'static str,
    pub start: usize,
    pub end: usize,
    pub zone: Zone,
    pub origin: String,
    pub trust: Trust,
    pub audience: Audience,
    pub chars: usize,
    pub tokens: usize,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FilePosition {
    pub path: PathBuf,
    /// From 1; 0 when the file as a whole is meant.
    pub line: u32,
    /// The line itself.
    pub text: String,
}

/// A file's text as it is on the disk, for looking up what did not make it into the prompt.
pub type RawFiles<'a> = &'a dyn Fn(&FileReport) -> Option<String>;

/// Looks for a file, a section, a tool or skill, and then for words in the text.
pub fn why(assembled: &AssembledPrompt, raw: RawFiles<'_>, asked: &str) -> Vec<WhyAnswer> {
    let asked = asked.trim();
    let files = about_files(assembled, asked);
    if !files.is_empty() {
        return files;
    }
    let named: Vec<WhyAnswer> = about_section(assembled, asked)
        .into_iter()
        .chain(
            about_tool(assembled, asked)
                .or_else(|| about_entry(assembled, asked))
                .or_else(|| about_skill(assembled, asked)),
        )
        .collect();
    if !named.is_empty() {
        return named;
    }
    let found = about_text(assembled, raw, asked);
    if !found.is_empty() {
        return found;
    }
    vec![nowhere(assembled, asked)]
}

fn part_spot(assembled: &AssembledPrompt, part: &PartSpan) -> PromptSpot {
    let text = assembled.prompt.slice(&part.range);
    PromptSpot {
        section: part.section.as_str(),
        start: part.range.start,
        end: part.range.end,
        zone: if part.range.start < assembled.prompt.boundary {
            Zone::Stable
        } else {
            Zone::Volatile
        },
        origin: part.origin.to_string(),
        trust: part.trust,
        audience: part.audience,
        chars: text.chars().count(),
        tokens: tokens::count(text),
    }
}
