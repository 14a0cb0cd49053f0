//! The skills of one agent, ready for its prompt.

use chela_config::{AgentView, Loaded};
use chela_core::secret::Redactor;
use chela_core::{ContentHash, Host, Origin, Trust, ok_or_warn, sanitize};
use chela_prompt::SkillsListing;
use chela_skills::{
    AgentSkills, FirstLook, Library, News, Places, Skill, SkillsSettings, Source, config_is_on,
};
use chela_workspace::OwnerNotice;

/// Finds the skills of an agent. What is new or has changed is looked into before it can be
/// listed: a dangerous skill is in no prompt, not even in the first one. A home that cannot be
/// written to keeps no note of that, and is looked at again the next time.
pub fn skills_of(host: &Host, loaded: &Loaded, view: &AgentView) -> AgentSkills {
    let mut library = library_of(host, loaded, view);
    ok_or_warn!(
        library.settle(&FirstLook),
        "no note is kept of the skills that were looked into"
    );
    library.for_agent(&|path| config_is_on(loaded, path))
}

/// The skills of an agent, as they lie on disk.
pub(crate) fn library_of(host: &Host, loaded: &Loaded, view: &AgentView) -> Library {
    let mut host = host.clone();
    host.env = loaded.env().clone();
    let places = Places::of(loaded, view);
    let settings = SkillsSettings::of(loaded, view);
    Library::open(&host, places, settings)
}

/// What the owner should hear about who wrote into the skills, each thing once.
pub(crate) fn notices_of(skills: &AgentSkills) -> Vec<OwnerNotice> {
    skills
        .skills()
        .iter()
        .filter(|skill| skill.entry.trust.news == News::Told)
        .map(|skill| {
            let trust = &skill.entry.trust;
            let skill = skill.skill();
            let used = match trust.state.may_be_used() {
                true => "",
                false => "; it is not used",
            };
            let text = format!(
                "Skill {0}: {1}{used} (chela skills diff {0} shows it, chela skills trust {0} settles it).",
                skill.name,
                sanitize::literal(&trust.reason)
            );
            OwnerNotice {
                key: ContentHash::of(format!("{}\0{text}", skill.tree)),
                path: skill.file.clone(),
                text,
            }
        })
        .collect()
}

/// The listing as the prompt takes it: each entry with the file it stands for, none with a key
/// its author left in it.
pub fn listing_of(skills: &AgentSkills, redactor: &Redactor) -> Option<SkillsListing> {
    let text = skills.listing().text;
    let text = redactor.redact(&text);
    let listing = SkillsListing::new(&text, Origin::Runtime, Trust::Operator)?;
    Some(listing.label(|name| {
        let skill = skills.get(name)?.skill();
        Some((origin(skill), trust(skill)))
    }))
}

fn origin(skill: &Skill) -> Origin {
    Origin::File {
        path: skill.file.display().to_string(),
        hash: skill.version,
    }
}

/// Our own skills speak for the operator, the rest for the owner who keeps them.
fn trust(skill: &Skill) -> Trust {
    match skill.source {
        Source::Bundled => Trust::Operator,
        Source::Plugin(_) => Trust::Plugin,
        _ => Trust::Owner,
    }
}
