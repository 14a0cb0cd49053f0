//! The skills of one agent at one moment: what it may use, how that is listed, how it is called.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use chela_core::{Host, Trust};
use serde::Serialize;

use crate::catalog::{CatalogEntry, SkillCatalog};
use crate::eligibility::{GateContext, HiddenReason, PathPrograms, hidden, missing_tools};
use crate::invoke::{self, LoadError, LoadedSkill, SkillCall, parse_call};
use crate::listing::{self, ListingRequest, SkillChanges, SkillListing};
use crate::mention;
use crate::name::{command_base, command_names};
use crate::settings::SkillsSettings;
use crate::shown_skill::listed_word;
use crate::skill::Skill;
use crate::trust::{SkillLook, TrustVoucher};
use crate::uses::SkillUses;

/// A snapshot of what an agent can do.
#[derive(Debug)]
pub struct AgentSkills {
    skills: Vec<AgentSkill>,
    commands: BTreeMap<String, usize>,
    settings: SkillsSettings,
    host: Host,
    uses: SkillUses,
    /// Whether the list describes them all, once somebody has asked.
    partial: OnceLock<bool>,
}

/// One skill as the agent meets it.
#[derive(Debug, Clone)]
pub struct AgentSkill {
    pub entry: CatalogEntry,
    /// Why it is hidden; empty when it is not.
    pub hidden: Vec<HiddenReason>,
}

/// How much of a skill the agent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkillPresence {
    /// In the prompt.
    Listed,
    /// Not in the prompt, but callable by name.
    OnCall,
    /// Some gate is closed.
    Hidden,
    /// Not trusted.
    Quarantined,
}

impl AgentSkill {
    /// How far the words of the skill are trusted: as the owner's only where somebody the owner
    /// trusts answers for them.
    pub fn trust_of_words(&self) -> Trust {
        match self.entry.trust.voucher {
            TrustVoucher::Build | TrustVoucher::Publisher | TrustVoucher::Owner => Trust::Owner,
            TrustVoucher::Agent => Trust::Agent,
            TrustVoucher::Nobody => Trust::Plugin,
        }
    }

    pub fn skill(&self) -> &Skill {
        &self.entry.skill
    }

    /// Its name as one word.
    pub fn word(&self) -> String {
        listed_word(&self.skill().name)
    }

    pub fn presence(&self) -> SkillPresence {
        if !self.entry.trust.state.may_be_used() {
            SkillPresence::Quarantined
        } else if !self.hidden.is_empty() {
            SkillPresence::Hidden
        } else if self.skill().front.disable_model_invocation {
            SkillPresence::OnCall
        } else {
            SkillPresence::Listed
        }
    }
}

/// Commands that are not for skills to take.
const TAKEN_COMMANDS: [&str; 4] = ["skill", "skills", "help", "commands"];

impl AgentSkills {
    /// Whether the same are hidden for the same reasons in another look at the same catalog.
    pub fn hides_the_same(&self, other: &Self) -> bool {
        let hidden = self.skills.iter().map(|skill| &skill.hidden);
        hidden.eq(other.skills.iter().map(|skill| &skill.hidden))
    }

    pub(crate) fn new(
        catalog: &SkillCatalog,
        gates: &GateContext<'_>,
        programs: &mut PathPrograms,
        uses: &SkillUses,
    ) -> Self {
        let skills: Vec<AgentSkill> = catalog
            .entries()
            .iter()
            .map(|entry| {
                let hidden = hidden(&entry.skill, gates, programs);
                for why in &hidden {
                    tracing::debug!(skill = entry.skill.name, %why, "a skill is hidden");
                }
                AgentSkill {
                    entry: entry.clone(),
                    hidden,
                }
            })
            .collect();
        let callable = skills
            .iter()
            .filter(|skill| is_for_people(skill))
            .map(|skill| skill.skill().name.as_str());
        let positions: BTreeMap<&str, usize> = skills
            .iter()
            .enumerate()
            .map(|(at, skill)| (skill.skill().name.as_str(), at))
            .collect();
        let commands = command_names(callable, &TAKEN_COMMANDS)
            .into_iter()
            .filter_map(|(command, name)| Some((command, *positions.get(name)?)))
            .collect();
        Self {
            commands,
            skills,
            settings: gates.settings.clone(),
            host: gates.host.clone(),
            uses: uses.clone(),
            partial: OnceLock::new(),
        }
    }

    pub fn skills(&self) -> &[AgentSkill] {
        &self.skills
    }

    /// The skills that belong in the prompt, in the order of the list.
    pub fn listed(&self) -> Vec<&Skill> {
        self.listed_with_trust().map(|(skill, _)| skill).collect()
    }

    /// The same with how far the words of each are trusted.
    pub fn listed_with_trust(&self) -> impl Iterator<Item = (&Skill, Trust)> {
        self.skills
            .iter()
            .filter(|skill| skill.presence() == SkillPresence::Listed)
            .map(|skill| (skill.skill(), skill.trust_of_words()))
    }

    /// The same, without those that need a tool which `has_tool` does not know.
    pub fn listed_for(&self, has_tool: &dyn Fn(&str) -> bool) -> Vec<&Skill> {
        let mut skills = self.listed();
        skills.retain(|skill| missing_tools(skill, has_tool).is_empty());
        skills
    }

    /// Hides what needs a tool that `has_tool` does not know, and says why.
    #[must_use]
    pub fn gated_by_tools(mut self, has_tool: &dyn Fn(&str) -> bool) -> Self {
        for skill in &mut self.skills {
            let missing = missing_tools(&skill.entry.skill, has_tool);
            skill.hidden.extend(missing);
        }
        let skills = &self.skills;
        self.commands
            .retain(|_, at| skills.get(*at).is_some_and(is_for_people));
        self
    }

    /// Whether a skill may be called by its name where these tools are.
    pub fn has_its_tools(&self, name: &str, has_tool: &dyn Fn(&str) -> bool) -> bool {
        let skill = self.get(name);
        skill.is_none_or(|skill| missing_tools(skill.skill(), has_tool).is_empty())
    }

    /// What is different now from what a model was told with `told`, a listing made earlier.
    pub fn changes_since(&self, told: &str, has_tool: &dyn Fn(&str) -> bool) -> SkillChanges {
        listing::changes_since(told, &self.listed_for(has_tool))
    }

    /// The list of everything that no gate hides.
    pub fn listing(&self) -> SkillListing {
        self.listing_for(&|_| true)
    }

    /// The list for the stable zone of a session with these tools. It does not depend on what is
    /// asked.
    pub fn listing_for(&self, has_tool: &dyn Fn(&str) -> bool) -> SkillListing {
        let skills = self.listed_for(has_tool);
        listing::list(&ListingRequest {
            skills: &skills,
            limits: &self.settings.limits,
            ranking: self.settings.ranking,
            uses: &self.uses,
            now: self.host.unix_time(),
        })
    }

    /// Whether some skill is not described in the list, so that it has to be found another way.
    pub fn has_partial_list(&self) -> bool {
        *self
            .partial
            .get_or_init(|| self.listing().report.is_partial())
    }

    /// How much a skill is in use: 0 for never, about 1 for one fresh use.
    pub fn use_of(&self, name: &str) -> f64 {
        self.uses.weight(name, self.host.unix_time())
    }

    /// What people can type after a slash, and the skill it calls.
    pub fn commands(&self) -> impl Iterator<Item = (&str, &AgentSkill)> {
        self.commands
            .iter()
            .filter_map(|(command, at)| Some((command.as_str(), self.skills.get(*at)?)))
    }

    /// The skill a message calls, and the rest of the message; `None` when it calls none.
    pub fn resolve<'a>(
        &'a self,
        message: &'a str,
    ) -> Option<Result<(&'a AgentSkill, &'a str), LoadError>> {
        match parse_call(message)? {
            SkillCall::Skill { name, args } => Some(self.callable(name).map(|skill| (skill, args))),
            SkillCall::Command { command, args } => {
                let skill = self.called_by(command)?;
                Some(Ok((skill, args)))
            }
        }
    }

    /// The skill a person calls with a word after a slash: its own name, or that in the letters
    /// every chat platform takes.
    pub fn called_by(&self, command: &str) -> Option<&AgentSkill> {
        let own = self.skills.iter().filter(|skill| is_for_people(skill));
        let mut named = own.filter(|skill| skill.skill().name.eq_ignore_ascii_case(command));
        named.next().or_else(|| {
            let at = self.commands.get(&command_base(command))?;
            self.skills.get(*at)
        })
    }

    /// The skills that a message names as `$name`, each once, in its order.
    pub fn mentioned<'a>(&'a self, message: &str) -> Vec<&'a AgentSkill> {
        let mut found: Vec<&AgentSkill> = Vec::new();
        for name in mention::names(message) {
            let skill = self.called_by(name);
            if let Some(skill) = skill
                && !found
                    .iter()
                    .any(|known| known.skill().name == skill.skill().name)
            {
                found.push(skill);
            }
        }
        found
    }

    /// A skill that a person may call, by its name or command name.
    pub fn callable(&self, name: &str) -> Result<&AgentSkill, LoadError> {
        let skill = self.usable(name)?;
        if skill.skill().front.user_invocable {
            Ok(skill)
        } else {
            Err(LoadError::NotForPeople {
                name: skill.skill().name.clone(),
            })
        }
    }

    fn usable(&self, name: &str) -> Result<&AgentSkill, LoadError> {
        let skill = self.get(name).ok_or_else(|| LoadError::Unknown {
            name: name.to_owned(),
            nearest: self.nearest(name).map(str::to_owned),
        })?;
        let own_name = skill.skill().name.clone();
        match skill.presence() {
            SkillPresence::Listed | SkillPresence::OnCall => Ok(skill),
            SkillPresence::Quarantined => Err(LoadError::Quarantined {
                name: own_name,
                reason: skill.entry.trust.reason.clone(),
            }),
            SkillPresence::Hidden => {
                let reasons: Vec<String> = skill.hidden.iter().map(ToString::to_string).collect();
                Err(LoadError::Hidden {
                    name: own_name,
                    reason: reasons.join("; "),
                })
            }
        }
    }

    /// A skill by its name, or by its command name.
    pub fn get(&self, name: &str) -> Option<&AgentSkill> {
        let exact = self.skills.iter().find(|skill| skill.skill().name == name);
        exact
            .or_else(|| {
                self.skills
                    .iter()
                    .find(|skill| skill.skill().name.eq_ignore_ascii_case(name))
            })
            .or_else(|| self.skills.get(*self.commands.get(&command_base(name))?))
            .or_else(|| {
                let mut skills = self.skills.iter();
                skills.find(|skill| listed_word(&skill.skill().name) == name)
            })
    }

    fn nearest(&self, name: &str) -> Option<&str> {
        chela_core::suggest::nearest(
            name,
            self.skills.iter().map(|skill| skill.skill().name.as_str()),
        )
    }

    /// Reads a skill for a turn and records the use. One nobody has looked into is not read.
    pub fn load(&self, name: &str, uses: &mut SkillUses) -> Result<LoadedSkill, LoadError> {
        let found = self.usable(name)?;
        let skill = found.skill();
        if found.entry.trust.look == SkillLook::Waiting {
            return Err(LoadError::NotLookedInto {
                name: skill.name.clone(),
            });
        }
        let entry = self.settings.entry(skill.key(), &skill.name);
        let mut loaded = invoke::load(skill, entry, &self.host)?;
        loaded.granted.clone_from(&found.entry.granted);
        if found.trust_of_words() < Trust::Owner {
            // Who answers, the owner decides: only words that count as theirs may say it.
            loaded.model = None;
        }
        uses.record(&skill.name, self.host.unix_time());
        Ok(loaded)
    }
}

fn is_for_people(skill: &AgentSkill) -> bool {
    matches!(
        skill.presence(),
        SkillPresence::Listed | SkillPresence::OnCall
    ) && skill.skill().front.user_invocable
}
