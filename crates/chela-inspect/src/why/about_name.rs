//! What has a name in a prompt: a file, a section, a tool, an entry, a skill.

use chela_core::{Audience, Trust, Zone, tokens};
use chela_model::ToolSchema;
use chela_prompt::{PartKind, PartSpan, SectionAbsence, SectionId};
use chela_workspace::FileReport;

use super::{FilePosition, PromptSpot, TextPresence, WhyAnswer, part_spot};
use crate::assembled::{AssembledPrompt, TOOLS, tool_origin};

pub(super) fn about_files(assembled: &AssembledPrompt, asked: &str) -> Vec<WhyAnswer> {
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

pub(super) fn about_section(assembled: &AssembledPrompt, asked: &str) -> Option<WhyAnswer> {
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
pub(super) fn about_tool(assembled: &AssembledPrompt, asked: &str) -> Option<WhyAnswer> {
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

pub(super) fn about_entry(assembled: &AssembledPrompt, asked: &str) -> Option<WhyAnswer> {
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
pub(super) fn about_skill(assembled: &AssembledPrompt, asked: &str) -> Option<WhyAnswer> {
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
