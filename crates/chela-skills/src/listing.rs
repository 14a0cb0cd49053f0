//! The list of skills a model reads, within a budget that never hides a name.
//!
//! Full form, one line per skill:
//!
//! ```text
//! <available_skills>
//! <skill><name>pdf</name><description>…</description><location>~/…/pdf/SKILL.md</location><version>sha256:…</version></skill>
//! </available_skills>
//! ```
//!
//! What does not fit is shortened in this order. First all descriptions, at word boundaries, to
//! one common length. Then the descriptions of the skills that matter least go, and those skills
//! are named in groups, one per folder, with the pattern of their location:
//!
//! ```text
//! <skills location="~/.chela/workspace/skills/{name}/SKILL.md">alpha beta gamma</skills>
//! ```
//!
//! A name is left out only when no description is left to give up, and then the least used go
//! first, the workspace's own last. The order of the list itself depends on names and places
//! alone, so that it stays byte for byte the same while the skills do.

mod budget;
mod names;

use std::fmt::Write;

use chela_core::{Host, tokens};
use serde::Serialize;

use crate::settings::SkillLimits;
use crate::skill::Skill;
use crate::uses::Uses;
use crate::xml::escape;
use budget::Plan;

pub(crate) use names::{group_by_place, write_groups};

/// The rendered list and what had to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillListing {
    /// Empty when there is nothing to list.
    pub text: String,
    pub report: ListingReport,
}

/// What a listing holds, for the owner.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ListingReport {
    /// Skills with a description.
    pub described: Vec<String>,
    /// Skills with name and place only.
    pub names_only: Vec<String>,
    /// Skills that are not in the list at all.
    pub left_out: Vec<String>,
    /// The length all descriptions were cut to, if they were.
    pub description_cap: Option<usize>,
}

/// Who is listed, by what, within what.
#[derive(Debug, Clone, Copy)]
pub struct ListingRequest<'a> {
    pub skills: &'a [&'a Skill],
    pub limits: &'a SkillLimits,
    pub uses: &'a Uses,
    pub host: &'a Host,
}

pub(crate) const OPEN: &str = "<available_skills>\n";
pub(crate) const CLOSE: &str = "</available_skills>";

/// The list of skills, as it stands in the stable zone.
pub fn list(request: &ListingRequest<'_>) -> SkillListing {
    if request.skills.is_empty() {
        return SkillListing {
            text: String::new(),
            report: ListingReport::default(),
        };
    }
    let items: Vec<Item<'_>> = request
        .skills
        .iter()
        .map(|skill| Item::new(skill, request.host))
        .collect();
    let plan = Plan::make(&items, request);
    let text = plan.render(&items);
    SkillListing {
        report: plan.report(&items),
        text,
    }
}

/// The cost of one skill's full entry, for `skills why`.
pub fn entry_tokens(skill: &Skill, host: &Host) -> usize {
    let mut text = String::new();
    Item::new(skill, host).write(&mut text, usize::MAX);
    tokens::count(&text)
}

/// One skill, escaped and ready.
pub(crate) struct Item<'a> {
    pub skill: &'a Skill,
    name: String,
    description: String,
    /// Length of the description in characters.
    description_chars: usize,
    location: String,
    version: String,
    /// Characters of the entry without its description.
    frame_chars: usize,
}

impl<'a> Item<'a> {
    pub(crate) fn new(skill: &'a Skill, host: &Host) -> Self {
        let name = escape(&skill.name).into_owned();
        let description = escape(&skill.description).into_owned();
        let location = location(skill, host);
        let version = skill.version.short();
        let tags =
            "<skill><name></name><location></location><version>sha256:</version></skill>\n".len();
        let description_tags = "<description></description>".len();
        let frame_chars = tags + description_tags + chars(&name) + chars(&location) + version.len();
        Self {
            skill,
            name,
            description_chars: chars(&description),
            description,
            location,
            version,
            frame_chars,
        }
    }

    /// The entry with its description cut to `cap` characters.
    pub(crate) fn write(&self, text: &mut String, cap: usize) {
        let description = if self.description_chars <= cap {
            &self.description
        } else {
            self.cut(cap)
        };
        let ellipsis = if description.len() < self.description.len() {
            "…"
        } else {
            ""
        };
        let Self {
            name,
            location,
            version,
            ..
        } = self;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "<skill><name>{name}</name><description>{description}{ellipsis}</description>\
             <location>{location}</location><version>sha256:{version}</version></skill>"
        );
    }

    /// The characters of the entry at a cap, at most.
    fn chars_at(&self, cap: usize) -> usize {
        self.frame_chars + self.description_chars.min(cap)
    }

    /// At most `cap - 1` characters of the description, ended between words. Escapes hold no
    /// blanks, so none is cut in two; a single long word is dropped whole.
    fn cut(&self, cap: usize) -> &str {
        let text = self.description.as_str();
        let room = cap.saturating_sub(1);
        let end = match text.is_ascii() {
            true => room.min(text.len()),
            false => text
                .char_indices()
                .nth(room)
                .map_or(text.len(), |(at, _)| at),
        };
        let head = &text[..end];
        let whole_word = text[end..].starts_with(' ');
        let kept = if whole_word {
            head
        } else {
            head.rfind(' ').map_or("", |blank| &head[..blank])
        };
        let kept = kept.trim_end_matches([' ', ',', ';', ':', '.', '-']);
        if kept.is_empty() {
            without_broken_escape(head)
        } else {
            kept
        }
    }
}

/// For descriptions without blanks, such as Chinese ones: a cut anywhere but inside an escape.
fn without_broken_escape(head: &str) -> &str {
    match head.rfind('&') {
        Some(at) if !head[at..].contains(';') => &head[..at],
        _ => head,
    }
}

/// Where the model reads the skill: one clean line, the home folder as `~`.
fn location(skill: &Skill, host: &Host) -> String {
    let compact = host.compact(&skill.file);
    escape(&chela_core::sanitize::literal(&compact)).into_owned()
}

fn chars(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

#[cfg(test)]
mod tests;
