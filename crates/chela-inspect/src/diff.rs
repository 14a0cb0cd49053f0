//! Two prompts side by side: which sections differ, and where a cached prefix would break.

use chela_core::{Zone, tokens};
use serde::Serialize;

use crate::assembled::TOOLS;
use crate::saved::{NamedStretch, SavedPrompt, SavedTool};

/// What differs between two prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptDiff {
    pub tokens_a: usize,
    pub tokens_b: usize,
    pub sections: Vec<SectionChange>,
    /// `None` when the two are the same to the byte.
    pub first_break: Option<CacheBreak>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SectionChange {
    pub section: String,
    pub zone: Zone,
    pub change: ChangeKind,
    pub tokens_a: usize,
    pub tokens_b: usize,
    /// The files, tools or skills inside that were added, removed or changed.
    pub inside: Vec<PartChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Same,
    Changed,
    Added,
    Removed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartChange {
    pub part: String,
    pub change: ChangeKind,
}

/// The first byte at which a provider's cache stops matching.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheBreak {
    pub byte: usize,
    pub section: String,
    pub zone: Zone,
    pub cause: String,
    /// Tokens up to the break: what the cache still serves.
    pub tokens_kept: usize,
    /// Tokens of the second prompt from the break on: what is read anew.
    pub tokens_after: usize,
    /// The lines at the break, on either side.
    pub line_a: String,
    pub line_b: String,
}

/// Tools are compared where both sides have them: a saved prompt is text alone.
pub fn diff(a: &SavedPrompt, b: &SavedPrompt) -> PromptDiff {
    let tools = tool_change(a, b);
    let (tools_a, tools_b) = tools
        .as_ref()
        .map_or((0, 0), |change| (change.tokens_a, change.tokens_b));
    let tools_differ = tools
        .as_ref()
        .is_some_and(|change| change.change != ChangeKind::Same);
    let mut sections = section_changes(a, b);
    sections.extend(tools);
    PromptDiff {
        tokens_a: tokens::count(&a.text) + tools_a,
        tokens_b: tokens::count(&b.text) + tools_b,
        sections,
        first_break: first_break(a, b).or_else(|| tools_differ.then(|| tool_break(a, b))),
    }
}

/// The tools of both, as one more section.
fn tool_change(a: &SavedPrompt, b: &SavedPrompt) -> Option<SectionChange> {
    let (in_a, in_b) = (a.tools.as_ref()?, b.tools.as_ref()?);
    let cost = |tools: &[SavedTool]| tools.iter().map(|tool| tokens::count(&tool.text)).sum();
    let in_other = |tools: &[SavedTool], name: &str| {
        let same = tools.iter().find(|tool| tool.name == name);
        same.map(|tool| tool.text.clone())
    };
    let mut inside = Vec::new();
    let part = |tool: &SavedTool, change| PartChange {
        part: format!("tool {}", tool.name),
        change,
    };
    for tool in in_b {
        match in_other(in_a, &tool.name) {
            None => inside.push(part(tool, ChangeKind::Added)),
            Some(text) if text != tool.text => inside.push(part(tool, ChangeKind::Changed)),
            Some(_) => {}
        }
    }
    let gone = in_a
        .iter()
        .filter(|tool| in_other(in_b, &tool.name).is_none());
    inside.extend(gone.map(|tool| part(tool, ChangeKind::Removed)));
    Some(SectionChange {
        section: TOOLS.to_owned(),
        zone: Zone::Stable,
        change: match in_a == in_b {
            true => ChangeKind::Same,
            false => ChangeKind::Changed,
        },
        tokens_a: cost(in_a),
        tokens_b: cost(in_b),
        inside,
    })
}

/// Equal words with other tools: nothing of the request is served from the cache for sure.
fn tool_break(a: &SavedPrompt, b: &SavedPrompt) -> CacheBreak {
    let first = |tools: &Option<Vec<SavedTool>>, at: usize| {
        let tool = tools.as_ref().and_then(|tools| tools.get(at));
        tool.map(|tool| tool.text.clone()).unwrap_or_default()
    };
    let same = |at: &usize| first(&a.tools, *at) == first(&b.tools, *at);
    let most = a
        .tools
        .as_ref()
        .map_or(0, Vec::len)
        .max(b.tools.as_ref().map_or(0, Vec::len));
    let at = (0..most).find(|at| !same(at)).unwrap_or(0);
    CacheBreak {
        byte: b.boundary,
        section: TOOLS.to_owned(),
        zone: Zone::Stable,
        cause: "the tools differ".to_owned(),
        tokens_kept: 0,
        tokens_after: tokens::count(&b.text),
        line_a: first(&a.tools, at),
        line_b: first(&b.tools, at),
    }
}

fn section_changes(a: &SavedPrompt, b: &SavedPrompt) -> Vec<SectionChange> {
    let mut changes: Vec<SectionChange> = Vec::new();
    let mut next_in_a = 0;
    for section in &b.sections {
        if let Some(at) = a
            .sections
            .iter()
            .position(|other| other.name == section.name)
        {
            // What stands only in A is told where it stood.
            let skipped = a.sections.iter().take(at).skip(next_in_a);
            let removed = skipped.filter(|other| !has(b, &other.name));
            changes.extend(removed.map(|other| change(a, b, Some(other), None)));
            next_in_a = next_in_a.max(at + 1);
            changes.push(change(a, b, a.sections.get(at), Some(section)));
        } else {
            changes.push(change(a, b, None, Some(section)));
        }
    }
    let rest = a
        .sections
        .iter()
        .skip(next_in_a)
        .filter(|other| !has(b, &other.name));
    changes.extend(rest.map(|other| change(a, b, Some(other), None)));
    changes
}

fn has(prompt: &SavedPrompt, section: &str) -> bool {
    prompt.sections.iter().any(|other| other.name == section)
}

fn change(
    a: &SavedPrompt,
    b: &SavedPrompt,
    in_a: Option<&NamedStretch>,
    in_b: Option<&NamedStretch>,
) -> SectionChange {
    let text_a = in_a.map_or("", |section| section_text(a, section));
    let text_b = in_b.map_or("", |section| section_text(b, section));
    let change = match (in_a, in_b) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Removed,
        _ if text_a == text_b => ChangeKind::Same,
        _ => ChangeKind::Changed,
    };
    let either = in_b.or(in_a);
    SectionChange {
        section: either
            .map(|section| section.name.clone())
            .unwrap_or_default(),
        zone: either.map_or(Zone::Stable, |section| section.zone),
        inside: if change == ChangeKind::Changed {
            part_changes(a, b, in_a, in_b)
        } else {
            Vec::new()
        },
        change,
        tokens_a: tokens::count(text_a),
        tokens_b: tokens::count(text_b),
    }
}

/// Without the blank line that separates it from the next one: the last section has none.
fn section_text<'a>(prompt: &'a SavedPrompt, section: &NamedStretch) -> &'a str {
    prompt
        .text
        .get(section.range.clone())
        .unwrap_or_default()
        .trim_end_matches('\n')
}

fn part_changes(
    a: &SavedPrompt,
    b: &SavedPrompt,
    in_a: Option<&NamedStretch>,
    in_b: Option<&NamedStretch>,
) -> Vec<PartChange> {
    let parts_a = parts_inside(a, in_a);
    let parts_b = parts_inside(b, in_b);
    let text_in = |parts: &[(&str, &str)], name: &str| {
        parts
            .iter()
            .find(|(other, _)| *other == name)
            .map(|(_, text)| (*text).to_owned())
    };
    let mut changes = Vec::new();
    for (name, text) in &parts_b {
        let change = match text_in(&parts_a, name) {
            None => ChangeKind::Added,
            Some(old) if old != *text => ChangeKind::Changed,
            Some(_) => continue,
        };
        changes.push(PartChange {
            part: (*name).to_owned(),
            change,
        });
    }
    let removed = parts_a
        .iter()
        .filter(|(name, _)| text_in(&parts_b, name).is_none());
    changes.extend(removed.map(|(name, _)| PartChange {
        part: (*name).to_owned(),
        change: ChangeKind::Removed,
    }));
    changes
}

fn parts_inside<'a>(
    prompt: &'a SavedPrompt,
    section: Option<&NamedStretch>,
) -> Vec<(&'a str, &'a str)> {
    let Some(section) = section else {
        return Vec::new();
    };
    let inside = |part: &&NamedStretch| {
        section.range.start <= part.range.start && part.range.end <= section.range.end
    };
    prompt
        .parts
        .iter()
        .filter(inside)
        .map(|part| {
            (
                part.name.as_str(),
                prompt
                    .text
                    .get(part.range.clone())
                    .unwrap_or_default()
                    .trim_end(),
            )
        })
        .collect()
}

fn first_break(a: &SavedPrompt, b: &SavedPrompt) -> Option<CacheBreak> {
    if a.text == b.text {
        return None;
    }
    let same = a
        .text
        .bytes()
        .zip(b.text.bytes())
        .take_while(|(x, y)| x == y)
        .count();
    // Both sides agree up to here, so a character boundary of one is a boundary of the other.
    let byte = (0..=same)
        .rev()
        .find(|at| b.text.is_char_boundary(*at) && a.text.is_char_boundary(*at))?;
    let section = b
        .section_at(byte)
        .or_else(|| b.sections.last())
        .or_else(|| a.section_at(byte))?;
    Some(CacheBreak {
        byte,
        section: section.name.clone(),
        zone: if byte < b.boundary {
            Zone::Stable
        } else {
            Zone::Volatile
        },
        cause: cause(a, b, byte),
        tokens_kept: tokens::count(b.text.get(..byte).unwrap_or_default()),
        tokens_after: tokens::count(b.text.get(byte..).unwrap_or_default()),
        line_a: line_at(&a.text, byte),
        line_b: line_at(&b.text, byte),
    })
}

/// What is behind the difference, in words.
fn cause(a: &SavedPrompt, b: &SavedPrompt, byte: usize) -> String {
    let in_a = a.section_at(byte).map(|section| section.name.as_str());
    let in_b = b.section_at(byte).map(|section| section.name.as_str());
    match (in_a, in_b) {
        (Some(here), Some(there)) if here != there => {
            let only_a = !has(b, here);
            let only_b = !has(a, there);
            match (only_a, only_b) {
                (true, true) => format!("section `{here}` is replaced by `{there}`"),
                (true, false) => format!("section `{here}` is only in the first"),
                (false, true) => format!("section `{there}` is only in the second"),
                (false, false) => format!("section `{here}` ends earlier in one of them"),
            }
        }
        (None, Some(there)) => format!("the second goes on with section `{there}`"),
        (Some(here), None) => format!("the first goes on with section `{here}`"),
        _ => inside_cause(a, b, byte),
    }
}

/// The break lies within one section: name the file, tool or skill, or else the section.
fn inside_cause(a: &SavedPrompt, b: &SavedPrompt, byte: usize) -> String {
    let named = |prompt: &SavedPrompt| {
        let part = prompt.parts.iter().find(|part| part.range.contains(&byte));
        part.map(|part| part.name.clone()).or_else(|| {
            prompt
                .section_at(byte)
                .map(|section| format!("section `{}`", section.name))
        })
    };
    match (named(a), named(b)) {
        (Some(here), Some(there)) if here == there => format!("{here} differs"),
        (Some(here), Some(there)) => format!("{here} is replaced by {there}"),
        _ => "one of them ends here".to_owned(),
    }
}

fn line_at(text: &str, byte: usize) -> String {
    let byte = byte.min(text.len());
    let start = text
        .get(..byte)
        .unwrap_or_default()
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let end = text
        .get(byte..)
        .unwrap_or_default()
        .find('\n')
        .map_or(text.len(), |at| byte + at);
    text.get(start..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
