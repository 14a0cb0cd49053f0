//! The skills of one agent, ready for its prompt.

use chela_config::{AgentView, LoadedConfig};
use chela_core::secret::Redactor;
use chela_core::{ContentHash, Host, Origin, Trust, ok_or_warn, sanitize};
use chela_prompt::SkillsListing;
use chela_sandbox::may_command_live;
use chela_skills::{
    AgentSkill, AgentSkills, FirstLook, Skill, SkillLibrary, SkillNewcomers, SkillPlaces,
    SkillSource, SkillsSettings, TrustNews, TrustState, WorkspaceStanding, config_is_on,
};
use chela_workspace::OwnerNotice;
use chela_workspace::trust::FolderGround;

use crate::trust::custody_of;

/// Finds the skills of an agent, and locks at first sight what is new. A few new ones are scanned
/// here; of many each is when it is added, by `chela skills` and `doctor`, beside a conversation, and
/// at the latest before its text is given to anybody.
pub fn skills_of(host: &Host, loaded: &LoadedConfig, view: &AgentView) -> AgentSkills {
    usable_skills(&mut library_of(host, loaded, view), loaded)
}

/// The same after everything was scanned, for whoever has the time; with where they were found.
pub fn scanned_skills(
    host: &Host,
    loaded: &LoadedConfig,
    view: &AgentView,
) -> (SkillLibrary, AgentSkills) {
    let mut library = library_of(host, loaded, view);
    ok_or_warn!(
        library.settle(&FirstLook),
        "no note is kept of the skills that were scanned"
    );
    let skills = usable_skills(&mut library, loaded);
    (library, skills)
}

/// So many new skills are scanned before anybody is told what they say of themselves. Where more came
/// at once, reading them would keep the first answer waiting: they are scanned beside it.
const SCANNED_AT_ONCE: usize = 24;

/// The same of a library that is kept.
pub(crate) fn usable_skills(library: &mut SkillLibrary, loaded: &LoadedConfig) -> AgentSkills {
    library.expect_newcomers(newcomers(library.host()));
    ok_or_warn!(
        library.note_newcomers(),
        "no note is kept of the skills that are new"
    );
    let waiting = library.waiting_looks();
    if (1..=SCANNED_AT_ONCE).contains(&waiting.len()) {
        let is_one = |skill: &Skill| waiting.contains(&skill.folder);
        ok_or_warn!(
            library.look_into(&is_one, &FirstLook),
            "no note is kept of the skills that were scanned"
        );
    }
    library.for_agent(&|path| config_is_on(loaded, path))
}

/// The skills of an agent, as they lie on disk.
pub(crate) fn library_of(host: &Host, loaded: &LoadedConfig, view: &AgentView) -> SkillLibrary {
    let mut host = host.clone();
    host.env = loaded.env().clone();
    let places = SkillPlaces::of(loaded, view);
    let settings = settings_of(&host, loaded, view);
    SkillLibrary::open(&host, places, settings)
}

/// What the operator wants of the skills of an agent, and whose folder its workspace is.
pub fn settings_of(host: &Host, loaded: &LoadedConfig, view: &AgentView) -> SkillsSettings {
    let ground = custody_of(host, loaded, view).workspace_ground();
    SkillsSettings {
        workspace: match ground {
            FolderGround::Own => WorkspaceStanding::Own,
            FolderGround::Foreign => WorkspaceStanding::Foreign,
        },
        newcomers: newcomers(host),
        ..SkillsSettings::of(loaded, view)
    }
}

/// Who may have put there what is new in a workspace.
fn newcomers(host: &Host) -> SkillNewcomers {
    match may_command_live(host) {
        true => SkillNewcomers::MaybeByCommand,
        false => SkillNewcomers::ByHand,
    }
}

/// What the owner should hear about who wrote into the skills, each thing once.
pub(crate) fn notices_of(skills: &AgentSkills) -> Vec<OwnerNotice> {
    skills
        .skills()
        .iter()
        .filter(|skill| skill.entry.trust.news == TrustNews::Told)
        .map(|skill| {
            let trust = &skill.entry.trust;
            let skill = skill.skill();
            let used = match trust.state.may_be_used() {
                true => "",
                false => "; it is not used",
            };
            let text = format!(
                "Skill {0}: {1}{used} (review: chela skills diff {0}; approve: chela skills \
                    trust {0}).",
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

/// The listing as the prompt of a session with these tools takes it: each entry with the file it
/// stands for, none with a key its author left in it.
pub fn listing_of(
    skills: &AgentSkills,
    has_tool: &dyn Fn(&str) -> bool,
    redactor: &Redactor,
) -> Option<SkillsListing> {
    let text = skills.listing_for(has_tool).text;
    let text = redactor.redact(&text);
    let listing = SkillsListing::new(&text, Origin::Runtime, Trust::Operator)?;
    Some(listing.label(|name| {
        let found = skills.get(name)?;
        Some((origin(found.skill()), trust_of_entry(found)))
    }))
}

/// How far the line about a skill is trusted. What somebody else changed speaks for nobody.
pub(crate) fn trust_of_entry(found: &AgentSkill) -> Trust {
    match found.entry.trust.state {
        TrustState::Changed => trust(found.skill()).join(found.trust_of_words()),
        _ => trust(found.skill()),
    }
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
        SkillSource::Bundled => Trust::Operator,
        SkillSource::Plugin(_) => Trust::Plugin,
        _ => Trust::Owner,
    }
}
