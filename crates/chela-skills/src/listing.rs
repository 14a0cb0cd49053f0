//! The list of skills a model reads, within a budget.
//!
//! Skills that lie in one folder share one frame. In it stands a line for each that is described,
//! with digits that change when its SKILL.md does, and one line with the names of the others:
//!
//! ```text
//! <available_skills>
//! <skills location="~/.chela/workspace/skills/{name}/SKILL.md">
//! deploy v482913: Puts the site online.
//! notes@tools/notes v120331: Keeps notes.
//! - alpha beta gamma
//! </skills>
//! <more>4207 more skills are not listed: find them with `skills_search`.</more>
//! </available_skills>
//! ```
//!
//! While all descriptions fit, shortened to one common length at worst, they all stand here. When
//! they do not, the list becomes small, whatever there is: names, the descriptions of the skills
//! that matter most, and the way to find the rest; what fits a message is described with the message.
//! `skills.ranking: stable` keeps to the whole budget instead and describes nothing elsewhere.
//! The order of the lines depends on names and places alone, so that the list stays byte for byte
//! the same while the skills do.

mod groups;
mod plan;
mod since;

use chela_core::tokens;
use serde::Serialize;

use crate::settings::{SkillLimits, SkillRanking};
use crate::skill::Skill;
use crate::uses::SkillUses;
use plan::ListingPlan;
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
    /// Skills that are not in the list: they are found by what they do.
    pub left_out: Vec<String>,
    /// The length all descriptions were cut to, if they were.
    pub description_cap: Option<usize>,
}

impl ListingReport {
    /// Whether some skill is not described here.
    pub fn is_partial(&self) -> bool {
        !(self.names_only.is_empty() && self.left_out.is_empty())
    }
}

/// Who is listed, by what, within what.
#[derive(Debug, Clone, Copy)]
pub struct ListingRequest<'a> {
    pub skills: &'a [&'a Skill],
    pub limits: &'a SkillLimits,
    pub ranking: SkillRanking,
    pub uses: &'a SkillUses,
    /// Seconds since 1970, for how fresh a use is.
    pub now: u64,
}

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

/// Whether a list, as a model has it, does not describe all there is.
pub fn is_partial(told: &str) -> bool {
    told.lines()
        .any(|line| line.starts_with("- ") || line.starts_with("<more>"))
}

/// Some skills with all they say of themselves, in the form of the list.
pub fn describe<'a>(skills: impl IntoIterator<Item = &'a Skill>, cap: usize) -> String {
    let mut text = String::new();
    groups::write(
        &mut text,
        skills.into_iter().map(|skill| (skill, Some(cap))),
    );
    text
}

/// The cost of one skill's full line, for `skills why`.
pub fn entry_tokens(skill: &Skill) -> usize {
    let mut text = String::new();
    skill.shown.write_line(&mut text, usize::MAX);
    tokens::count(&text)
}

#[cfg(test)]
mod tests;
