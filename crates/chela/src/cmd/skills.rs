//! `chela skills …`: what the agent knows how to do, why, and whether to trust it.

mod author;
mod diff;
mod fetch;
mod info;
mod list;
pub mod registry;
mod scan;
mod setup;
mod sign;
mod switch;
mod trust;
mod update;
mod watch;
mod why;

use chela_core::{AgentId, Host, Trust, suggest};
use chela_skills::{
    AgentSkill, AgentSkills, FirstLook, SkillLibrary, SkillPlaces, SkillPresence, TrustState,
    config_is_on,
};

use super::{CommandOutcome, CommandSetup};
use crate::cli::AgentArg;
use crate::cli::skills::{SkillsCommand, WhoseSkills};
use crate::fail::CommandError;
use crate::screen::{ColourMode, Screen};

pub fn run(host: &Host, screen: &mut Screen, command: SkillsCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        SkillsCommand::List { of, all, json } => list::run(open(&setup, &of)?, screen, all, json),
        SkillsCommand::Info { name, of, json } => {
            info::run(&mut open(&setup, &of)?, screen, &name, json)
        }
        SkillsCommand::Check { what, of, json } => {
            author::check(&open(&setup, &of)?, screen, &what, json)
        }
        SkillsCommand::Scan { what, of, json } => {
            scan::run(&mut open(&setup, &of)?, screen, &what, json)
        }
        SkillsCommand::Sign { folder, key } => sign::sign(&setup.host, screen, &folder, &key),
        SkillsCommand::Verify { what, of, json } => {
            sign::verify(&open(&setup, &of)?, screen, &what, json)
        }
        SkillsCommand::Keygen { file, name } => {
            sign::keygen(&setup.host, screen, &file, name.as_deref())
        }
        SkillsCommand::Why {
            name,
            of,
            message,
            json,
        } => why::run(
            &mut open(&setup, &of)?,
            screen,
            &name,
            message.as_deref(),
            json,
        ),
        SkillsCommand::Trust {
            name,
            folder,
            of,
            yes,
            despite_scan,
            grant,
        } => {
            let mut installed = open(&setup, &of)?;
            let consent = trust::GivenConsent {
                yes,
                despite_scan,
                grant,
            };
            match (name, folder) {
                (_, Some(folder)) => trust::set_folder_trust(
                    &mut installed,
                    screen,
                    &folder,
                    trust::FolderTrust::Yes,
                ),
                (name, None) => {
                    trust::trust_skill(&mut installed, screen, &name.unwrap_or_default(), consent)
                }
            }
        }
        SkillsCommand::Untrust { name, folder, of } => {
            let mut installed = open(&setup, &of)?;
            match (name, folder) {
                (_, Some(folder)) => {
                    trust::set_folder_trust(&mut installed, screen, &folder, trust::FolderTrust::No)
                }
                (name, None) => {
                    trust::untrust_skill(&mut installed, screen, &name.unwrap_or_default())
                }
            }
        }
        SkillsCommand::Diff { name, of } => diff::run(&open(&setup, &of)?, screen, &name),
        SkillsCommand::New {
            name,
            description,
            shared,
            of,
        } => author::create_skill(
            &open(&setup, &of)?,
            screen,
            &name,
            description.as_deref(),
            shared,
        ),
        SkillsCommand::Search {
            words,
            registry,
            json,
        } => {
            let asked = (registry.as_deref(), json);
            in_runtime(fetch::search(&setup, screen, &words.join(" "), asked))
        }
        SkillsCommand::Add {
            source,
            only,
            registry,
        } => in_runtime(fetch::add(
            &setup,
            screen,
            fetch::FetchRequest {
                source: &source,
                only: only.as_deref(),
                registry: registry.as_deref(),
            },
        )),
        SkillsCommand::Outdated { of, json } => {
            let installed = open(&setup, &of)?;
            in_runtime(update::outdated(&setup, &installed, screen, json))
        }
        SkillsCommand::Update {
            names,
            of,
            yes,
            despite_scan,
        } => {
            let mut installed = open(&setup, &of)?;
            let consent = trust::GivenConsent {
                yes,
                despite_scan,
                grant: false,
            };
            in_runtime(update::update(
                &setup,
                &mut installed,
                screen,
                (&names, consent),
            ))
        }
        SkillsCommand::Setup {
            name,
            step,
            yes,
            of,
        } => setup::run(
            &setup,
            &open(&setup, &of)?,
            screen,
            setup::SetupRequest {
                name: &name,
                step: step.as_deref(),
                yes,
            },
        ),
        SkillsCommand::Enable { name, of } => {
            let (installed, agent) = (open(&setup, &of)?, of.agent.as_deref());
            let on = switch::SkillSwitch::On;
            switch::run(&setup, &installed, screen, (&name, agent), on)
        }
        SkillsCommand::Disable { name, of } => {
            let (installed, agent) = (open(&setup, &of)?, of.agent.as_deref());
            let off = switch::SkillSwitch::Off;
            switch::run(&setup, &installed, screen, (&name, agent), off)
        }
        SkillsCommand::Remove { name, of } => {
            author::remove(&mut open(&setup, &of)?, screen, &name)
        }
        SkillsCommand::Watch { of } => watch::run(&setup, open(&setup, &of)?, screen),
    }
}

/// Waits for what asks the network.
fn in_runtime<T>(work: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

/// The skills of one agent and all that is needed to talk about them.
pub struct InstalledSkills {
    pub host: Host,
    pub agent: AgentId,
    pub shelf: SkillLibrary,
    pub skills: AgentSkills,
    /// The tools its main session has.
    tools: Vec<String>,
}

/// The skills of an agent, for commands about something else.
pub fn open_skills(
    setup: &CommandSetup,
    agent: &AgentArg,
) -> Result<InstalledSkills, CommandError> {
    let of = WhoseSkills {
        agent: agent.agent.clone(),
        explicit: Vec::new(),
    };
    open(setup, &of)
}
/// Most skills a command scans beside what it is for.
const MOST_AT_ONCE: usize = 40;

/// Finds the skills of an agent, and locks at first sight what lies in the owner's folders. A
/// home that cannot be written to is no reason to say nothing.
fn open(setup: &CommandSetup, of: &WhoseSkills) -> Result<InstalledSkills, CommandError> {
    let agent = setup.agent(of.agent.as_deref())?;
    let view = setup
        .loaded
        .agent(&agent)
        .ok_or_else(|| CommandError::new(format!("there is no agent `{agent}`")))?;
    let mut host = setup.host.clone();
    host.env = setup.loaded.env().clone();
    let mut settings = chela_agent::skills::settings_of(&host, &setup.loaded, &view);
    settings.explicit = of.explicit.iter().map(|path| host.cwd.join(path)).collect();
    let places = SkillPlaces::of(&setup.loaded, &view);
    let mut shelf = SkillLibrary::open(&host, places, settings);
    let before = shelf.for_agent(&|path| config_is_on(&setup.loaded, path));
    // Many at once are scanned by `skills scan`.
    let scanned = match shelf.waiting_looks().len() {
        0..=MOST_AT_ONCE => shelf.settle(&FirstLook),
        _ => shelf.note_newcomers(),
    };
    let quarantined = scanned.is_ok_and(|notices| {
        notices
            .iter()
            .any(|notice| notice.state == TrustState::Quarantined)
    });
    // What is new is shown as new, once; what the scan holds back is held back at once.
    let skills = if quarantined {
        shelf.for_agent(&|path| config_is_on(&setup.loaded, path))
    } else {
        before
    };
    let tools = chela_agent::effects(&setup.host, &setup.loaded, &agent, &skills);
    let tools: Vec<String> = tools.into_iter().map(|known| known.tool).collect();
    let has_tool = |name: &str| tools.iter().any(|known| known == name);
    Ok(InstalledSkills {
        skills: skills.gated_by_tools(&has_tool),
        host,
        agent,
        shelf,
        tools,
    })
}

impl InstalledSkills {
    /// The skills as they are now.
    fn skills_now(&mut self, setup: &CommandSetup) -> AgentSkills {
        let config = |path: &str| config_is_on(&setup.loaded, path);
        let has_tool = |name: &str| self.tools.iter().any(|known| known == name);
        self.shelf.for_agent(&config).gated_by_tools(&has_tool)
    }

    /// The skill of a name, or the nearest one as a hint.
    pub fn skill(&self, name: &str) -> Result<&AgentSkill, CommandError> {
        self.skills.get(name).ok_or_else(|| self.unknown(name))
    }

    pub fn unknown(&self, name: &str) -> CommandError {
        let fail = CommandError::new(format!("there is no skill `{name}`"));
        let skipped = self.shelf.catalog().skipped_by_name(name).next();
        if let Some(skipped) = skipped {
            let path = self.host.compact(&skipped.path);
            return CommandError::new(format!("{path} is not a usable skill: {}", skipped.reason));
        }
        let known = self.skills.skills().iter();
        let names: Vec<&str> = known.map(|skill| skill.skill().name.as_str()).collect();
        match suggest::nearest(name, names) {
            Some(near) => fail.hint(format!("did you mean `{near}`?")),
            None => fail.hint("`chela skills list` shows them"),
        }
    }
}

/// What the owner can do about a skill whose words nobody answers for.
fn trust_hint(skill: &AgentSkill) -> Option<String> {
    let name = &skill.skill().name;
    match (skill.presence(), skill.trust_of_words()) {
        (SkillPresence::Quarantined, _) => Some(format!(
            "it is not used before you look at it: chela skills trust {name}"
        )),
        (_, words) if words < Trust::Agent => Some(format!(
            "it is used; its words count as yours after: chela skills trust {name}"
        )),
        _ => None,
    }
}

/// One word for where a skill stands, in its colour.
fn mark(presence: SkillPresence, paint: ColourMode) -> String {
    match presence {
        SkillPresence::Listed => paint.good("in"),
        SkillPresence::OnCall => paint.accent("on request"),
        SkillPresence::Hidden => paint.dim("hidden"),
        SkillPresence::Quarantined => paint.warn("quarantined"),
    }
}
