//! The skills of an agent, and why one is or is not in its prompt.

use std::path::Path;

use chela_core::{AgentId, tokens};
use chela_skills::{
    AgentSkill, AgentSkills, HiddenReason, RootState, SkillFinding, SkillLibrary, SkillPresence,
    SkillTrust, SkillUse, entry_tokens, is_valid_name,
};
use serde::Serialize;

/// Every skill that was found, used or not.
#[derive(Debug, Serialize)]
pub struct SkillsReport<'s> {
    pub agent: &'s AgentId,
    pub skills: Vec<SkillSummary<'s>>,
    pub shadowed: Vec<ShadowedSkill<'s>>,
    pub skipped: Vec<SkippedFolder<'s>>,
    pub roots: Vec<SearchedFolder<'s>>,
    pub listing: ListingCost,
}

/// One skill in short.
#[derive(Debug, Serialize)]
pub struct SkillSummary<'s> {
    pub name: &'s str,
    pub description: &'s str,
    pub source: String,
    pub location: &'s Path,
    pub version: String,
    pub presence: SkillPresence,
    pub trust: &'s SkillTrust,
    pub hidden: &'s [HiddenReason],
    pub tokens: usize,
    pub findings: &'s [SkillFinding],
}

/// A skill that another of its name stands before.
#[derive(Debug, Serialize)]
pub struct ShadowedSkill<'s> {
    pub name: &'s str,
    pub location: &'s Path,
    pub by: &'s Path,
    pub trust: &'s SkillTrust,
}

/// A folder that is no usable skill.
#[derive(Debug, Serialize)]
pub struct SkippedFolder<'s> {
    pub path: &'s Path,
    pub source: String,
    pub reason: String,
}

/// A folder in which skills were looked for.
#[derive(Debug, Serialize)]
pub struct SearchedFolder<'s> {
    pub dir: &'s Path,
    pub source: String,
    pub state: &'s RootState,
    pub skills: usize,
}

/// What the list in the prompt costs, and what had to give way.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListingCost {
    pub chars: usize,
    pub tokens: usize,
    pub described: Vec<String>,
    pub names_only: Vec<String>,
    pub left_out: Vec<String>,
    pub description_cap: Option<usize>,
}

/// Everything that decides about one skill.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillReasons<'s> {
    #[serde(flatten)]
    pub summary: SkillSummary<'s>,
    pub agent: &'s AgentId,
    pub in_prompt: &'static str,
    pub shadows: Vec<&'s Path>,
    pub command: Option<String>,
    pub used: Option<SkillUse>,
    /// For a message: its place among the listed skills from 1, if it is among the first.
    pub rank: Option<Option<usize>>,
    /// What the whole list in the prompt costs.
    #[serde(skip)]
    pub listing_tokens: usize,
}

impl<'s> SkillsReport<'s> {
    pub fn of(agent: &'s AgentId, library: &'s SkillLibrary, skills: &'s AgentSkills) -> Self {
        let catalog = library.catalog();
        let shadowed = catalog.shadowed.iter().map(|shadowed| ShadowedSkill {
            name: &shadowed.skill.name,
            location: &shadowed.skill.file,
            by: &shadowed.by.file,
            trust: &shadowed.trust,
        });
        let skipped = catalog.skipped.iter().map(|skipped| SkippedFolder {
            path: &skipped.path,
            source: skipped.source.to_string(),
            reason: skipped.reason.to_string(),
        });
        let roots = catalog.roots.iter().map(|report| SearchedFolder {
            dir: &report.root.dir,
            source: report.root.source.to_string(),
            state: &report.state,
            skills: report.candidates,
        });
        Self {
            agent,
            skills: skills.skills().iter().map(SkillSummary::of).collect(),
            shadowed: shadowed.collect(),
            skipped: skipped.collect(),
            roots: roots.collect(),
            listing: ListingCost::of(skills),
        }
    }
}

impl<'s> SkillSummary<'s> {
    pub fn of(skill: &'s AgentSkill) -> Self {
        let inner = skill.skill();
        Self {
            name: &inner.name,
            description: &inner.description,
            source: inner.source.to_string(),
            location: &inner.file,
            version: inner.version_label(),
            presence: skill.presence(),
            trust: &skill.entry.trust,
            hidden: &skill.hidden,
            tokens: entry_tokens(inner),
            findings: &inner.findings,
        }
    }
}

impl ListingCost {
    fn of(skills: &AgentSkills) -> Self {
        let listing = skills.listing();
        Self {
            chars: listing.text.chars().count(),
            tokens: tokens::count(&listing.text),
            described: listing.report.described,
            names_only: listing.report.names_only,
            left_out: listing.report.left_out,
            description_cap: listing.report.description_cap,
        }
    }
}

impl<'s> SkillReasons<'s> {
    pub fn of(
        (agent, library, skills): (&'s AgentId, &'s SkillLibrary, &'s AgentSkills),
        skill: &'s AgentSkill,
        rank: Option<Option<usize>>,
    ) -> Self {
        let name = &skill.skill().name;
        let cost = ListingCost::of(skills);
        let in_prompt = if cost.described.contains(name) {
            "yes, with its description"
        } else if cost.names_only.contains(name) {
            "yes, by name; described with messages it fits"
        } else if cost.left_out.contains(name) {
            "no: described with messages it fits, and found by skills_search"
        } else {
            "no"
        };
        let mut commands = skills.commands();
        let command = commands.find(|(_, known)| known.skill().name == *name);
        let shadows = library.catalog().shadowed_by_name(name);
        Self {
            summary: SkillSummary::of(skill),
            agent,
            in_prompt,
            shadows: shadows
                .map(|shadowed| shadowed.skill.file.as_path())
                .collect(),
            command: command.map(|(command, _)| match is_valid_name(name) {
                true => format!("/{name}"),
                false => format!("/{command}"),
            }),
            used: library.uses.get(name),
            rank,
            listing_tokens: cost.tokens,
        }
    }
}
