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
mod since;

use chela_core::tokens;
use serde::Serialize;

use crate::settings::SkillLimits;
use crate::skill::Skill;
use crate::uses::SkillUses;
use budget::ListingPlan;
pub use since::{SkillChanges, changes_since};

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
    pub uses: &'a SkillUses,
    /// Seconds since 1970, for how fresh a use is.
    pub now: u64,
}

const OPEN: &str = "<available_skills>\n";
const CLOSE: &str = "</available_skills>";

/// The list of skills, as it stands in the stable zone.
pub fn list(request: &ListingRequest<'_>) -> SkillListing {
    if request.skills.is_empty() {
        return SkillListing {
            text: String::new(),
            report: ListingReport::default(),
        };
    }
    let plan = ListingPlan::make(request);
    SkillListing {
        text: plan.render(),
        report: plan.report(),
    }
}

/// The cost of one skill's full entry, for `skills why`.
pub fn entry_tokens(skill: &Skill) -> usize {
    let mut text = String::new();
    skill.shown.write(&mut text, usize::MAX);
    tokens::count(&text)
}

#[cfg(test)]
mod tests;
