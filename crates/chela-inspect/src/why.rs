//! Why something is in the prompt - or is not.

use std::path::PathBuf;

use chela_core::{Audience, Trust, Zone, suggest, tokens};
use chela_model::ToolSchema;
use chela_prompt::{PartKind, PartSpan, SectionAbsence, SectionId};
use chela_workspace::FileReport;
use serde::Serialize;

pub use crate::assembled::TOOLS;
use crate::assembled::{AssembledPrompt, tool_origin};

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

/// More places than these help nobody.
const MOST_PLACES: usize = 5;

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

fn about_files(assembled: &AssembledPrompt, asked: &str) -> Vec<WhyAnswer> {
    let asked = asked.strip_prefix("./").unwrap_or(asked);
    let is_asked = |file: &&FileReport| {
        file.name.eq_ignore_ascii_case(asked)
            || file.shown_path.eq_ignore_ascii_case(asked)
            || file.path == std::path::Path::new(asked)
    };
    assembled
        .files
        .iter()
        .filter(is_asked)
        .map(|file| about_file(assembled, file))
        .collect()
}

fn about_file(assembled: &AssembledPrompt, file: &FileReport) -> WhyAnswer {
    let part = file_part(assembled, file);
    let cut = matches!(file.status, chela_workspace::FileStatus::Truncated { .. });
    let presence = match part {
        Some(_) if cut => TextPresence::Partly,
        Some(_) if file.status.is_in_prompt() => TextPresence::Present,
        _ => TextPresence::Absent,
    };
    let mut because = format!("{} {}.", file.name, file.status);
    if presence == TextPresence::Absent && file.status.is_in_prompt() {
        because = format!(
            "{} would be loaded, but a {} prompt has no project context.",
            file.name,
            assembled.input.mode.as_str()
        );
    }
    for remark in &file.remarks {
        because.push_str(&format!(" It {remark}."));
    }
    WhyAnswer {
        what: format!("file {}", file.shown_path),
        presence,
        because,
        spot: part.map(|part| part_spot(assembled, part)),
        source: Some(FilePosition {
            path: file.path.clone(),
            line: 0,
            text: String::new(),
        }),
    }
}

fn file_part<'a>(assembled: &'a AssembledPrompt, file: &FileReport) -> Option<&'a PartSpan> {
    assembled.prompt.parts.iter().find(|part| match &part.kind {
        PartKind::File { path, .. } => *path == file.shown_path,
        _ => false,
    })
}

fn about_section(assembled: &AssembledPrompt, asked: &str) -> Option<WhyAnswer> {
    let id = section_named(assembled, asked)?;
    let what = format!("section {id}");
    if let Some(span) = assembled.prompt.section(id) {
        let because = match chela_prompt::needs(id) {
            "" => format!(
                "It is part of every {} prompt.",
                assembled.input.mode.as_str()
            ),
            needs => format!("It needs {needs}, which is present."),
        };
        let text = assembled.prompt.slice(&span.range);
        let spot = PromptSpot {
            section: id.as_str(),
            start: span.range.start,
            end: span.range.end,
            zone: span.zone,
            origin: span.origin.to_string(),
            trust: span.trust,
            audience: span.audience,
            chars: text.chars().count(),
            tokens: tokens::count(text),
        };
        return Some(WhyAnswer {
            what,
            presence: TextPresence::Present,
            because,
            spot: Some(spot),
            source: None,
        });
    }
    let because = match chela_prompt::why_absent(&assembled.input, id) {
        Some(SectionAbsence::Mode { mode }) => format!("A {} prompt leaves it out.", mode.as_str()),
        Some(SectionAbsence::Needs { what }) => format!("It needs {what}."),
        Some(SectionAbsence::Replaced) => "A plugin's prompt replaces it.".to_owned(),
        None => "It is empty.".to_owned(),
    };
    Some(WhyAnswer {
        what,
        presence: TextPresence::Absent,
        because,
        spot: None,
        source: None,
    })
}

/// By id, with `-` or blanks for `_`, or by heading.
fn section_named(assembled: &AssembledPrompt, asked: &str) -> Option<SectionId> {
    let title = asked.trim_start_matches('#').trim();
    let as_id = title.to_lowercase().replace(['-', ' '], "_");
    SectionId::from_id(&as_id).or_else(|| {
        let has_title = |heading: &str| {
            heading
                .trim_start_matches('#')
                .trim()
                .eq_ignore_ascii_case(title)
        };
        let shown = assembled
            .prompt
            .sections
            .iter()
            .find(|section| section.heading.as_deref().is_some_and(has_title));
        shown.map(|section| section.id).or_else(|| {
            SectionId::ALL
                .into_iter()
                .find(|id| chela_prompt::usual_heading(*id).is_some_and(has_title))
        })
    })
}

/// A tool: its schema goes with every request, or it waits to be found, or it may not be used.
fn about_tool(assembled: &AssembledPrompt, asked: &str) -> Option<WhyAnswer> {
    let named = |tool: &&ToolSchema| tool.name.eq_ignore_ascii_case(asked);
    let answer = |name: &str, presence, because, spot| WhyAnswer {
        what: format!("tool {name}"),
        presence,
        because,
        spot,
        source: None,
    };
    if let Some((at, tool)) = assembled
        .tools
        .iter()
        .enumerate()
        .find(|(_, tool)| named(tool))
    {
        let text = assembled
            .shape
            .tool_texts
            .get(at)
            .map_or("", String::as_str);
        let spot = PromptSpot {
            section: TOOLS,
            start: 0,
            end: text.len(),
            zone: Zone::Stable,
            origin: tool_origin(&tool.name),
            trust: Trust::Operator,
            audience: Audience::Shared,
            chars: text.chars().count(),
            tokens: tokens::count(text),
        };
        let because = "The agent may use it, so its schema goes with every request.".to_owned();
        return Some(answer(
            &tool.name,
            TextPresence::Present,
            because,
            Some(spot),
        ));
    }
    if let Some(tool) = assembled.deferred.iter().find(named) {
        let because = format!(
            "Deferred: found by tools_find, or called by its name. Nobody needs it yet; listed, it would cost about {} tokens.",
            tokens::count(&format!(
                "{} {} {}",
                tool.name, tool.description, tool.parameters
            ))
        );
        return Some(answer(&tool.name, TextPresence::Absent, because, None));
    }
    let is_out = |(name, _): &&(String, String)| name.eq_ignore_ascii_case(asked);
    let (name, why) = assembled.left_out.iter().find(is_out)?;
    let because = format!("The agent may not use it: {why}.");
    Some(answer(name, TextPresence::Absent, because, None))
}

fn about_entry(assembled: &AssembledPrompt, asked: &str) -> Option<WhyAnswer> {
    let is_asked = |part: &&PartSpan| {
        !matches!(part.kind, PartKind::File { .. })
            && part
                .kind
                .name()
                .is_some_and(|name| name.eq_ignore_ascii_case(asked))
    };
    let part = assembled.prompt.parts.iter().find(is_asked)?;
    let kind = part.kind.as_str();
    Some(WhyAnswer {
        what: format!("{kind} {asked}"),
        presence: TextPresence::Present,
        because: format!("This {kind} is available to the agent, so it is listed."),
        spot: Some(part_spot(assembled, part)),
        source: None,
    })
}

/// A skill that has no entry of its own in the list.
fn about_skill(assembled: &AssembledPrompt, asked: &str) -> Option<WhyAnswer> {
    let skill = assembled.skills.get(asked)?;
    let inner = skill.skill();
    let listing = assembled.prompt.section(SectionId::Skills);
    let (presence, because) = match skill.presence() {
        chela_skills::SkillPresence::Quarantined => (
            TextPresence::Absent,
            "It is quarantined: nobody has trusted it yet.".to_owned(),
        ),
        chela_skills::SkillPresence::Hidden => {
            let reasons: Vec<String> = skill.hidden.iter().map(ToString::to_string).collect();
            (
                TextPresence::Absent,
                format!("It is hidden: {}.", reasons.join("; ")),
            )
        }
        chela_skills::SkillPresence::OnCall => (
            TextPresence::Absent,
            "It hides itself from the list; it can be called by name.".to_owned(),
        ),
        chela_skills::SkillPresence::Listed if listing.is_some() => (
            TextPresence::Partly,
            "The list had no room for its description, so it is listed by name and path."
                .to_owned(),
        ),
        chela_skills::SkillPresence::Listed => (
            TextPresence::Absent,
            format!(
                "A {} prompt has no list of skills.",
                assembled.input.mode.as_str()
            ),
        ),
    };
    Some(WhyAnswer {
        what: format!("skill {}", inner.name),
        presence,
        because,
        spot: None,
        source: Some(FilePosition {
            path: inner.file.clone(),
            line: 0,
            text: String::new(),
        }),
    })
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

/// Words: first in the prompt, then in the files that did not make it there.
fn about_text(assembled: &AssembledPrompt, raw: RawFiles<'_>, asked: &str) -> Vec<WhyAnswer> {
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
    let start = prompt.text[..at]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let end = prompt.text[at..]
        .find('\n')
        .map_or(prompt.text.len(), |newline| at + newline);
    let line = &prompt.text[start..end];
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

fn nowhere(assembled: &AssembledPrompt, asked: &str) -> WhyAnswer {
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
