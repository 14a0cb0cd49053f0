//! Skills that came, changed or went after a session began.
//!
//! The listing is part of what every request begins with, and does not move while a session
//! lasts. What is different since is told once, with the newest message; at the next reset or
//! compaction it is part of the listing.

use chela_core::Trust;
use chela_core::secret::Redactor;
use chela_skills::AgentSkills;

use super::changed_files::ToldChanges;
use crate::prefix_text::PrefixText;
use crate::skills::trust_of_entry;

const ADDED: &str = include_str!("../../text/skills-added.md");
const CHANGED: &str = include_str!("../../text/skills-changed.md");
const WITHDRAWN: &str = include_str!("../../text/skills-withdrawn.md");
/// Most skills of one kind that are told of.
const MOST_SKILLS: usize = 64;

/// What a model that was told of the skills a session began with has to know now.
pub(super) fn skill_changes(
    frozen: &PrefixText,
    skills: &AgentSkills,
    redactor: &Redactor,
) -> ToldChanges {
    let has_tool = |name: &str| frozen.tools.iter().any(|tool| tool.name == name);
    let changes = skills.changes_since(told_listing(frozen).unwrap_or_default(), &has_tool);
    let mut told = ToldChanges::default();
    for (lead, entries) in [(ADDED, &changes.added), (CHANGED, &changes.changed)] {
        let shown: Vec<&str> = entries
            .iter()
            .take(MOST_SKILLS)
            .map(|(name, entry)| {
                let found = skills.get(name).map_or(Trust::External, trust_of_entry);
                told.trust = told.trust.join(found);
                entry.as_str()
            })
            .collect();
        if !shown.is_empty() {
            let text = format!("{}\n{}", lead.trim(), shown.join("\n"));
            told.texts.push(redactor.redact(&text).into_owned());
        }
    }
    if !changes.withdrawn.is_empty() {
        let names: Vec<&str> = changes.withdrawn.iter().map(String::as_str).collect();
        let names = names
            .get(..names.len().min(MOST_SKILLS))
            .unwrap_or_default()
            .join(", ");
        told.texts.push(format!("{} {names}.", WITHDRAWN.trim()));
    }
    told
}

/// The listing in the prompt the session began with, where it had one.
pub(super) fn told_listing(frozen: &PrefixText) -> Option<&str> {
    const OPEN: &str = "<available_skills>";
    const CLOSE: &str = "</available_skills>";
    let is_listed = frozen.sections.iter().any(|mark| mark.id == "skills");
    let listing = frozen.stable.find(OPEN).and_then(|start| {
        let rest = frozen.stable.get(start..).unwrap_or_default();
        rest.find(CLOSE)
            .map(|end| rest.get(..end).unwrap_or_default())
    });
    listing.filter(|_| is_listed)
}
