//! The skills of one agent at one moment: what it may use, how that is listed, how it is called.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use chela_core::{Host, Trust};
use serde::Serialize;

use crate::catalog::{Catalog, Entry};
use crate::eligibility::{Gates, Hidden, Programs, hidden};
use crate::invoke::{self, Call, LoadError, LoadedSkill, parse_call};
use crate::listing::{self, ListingRequest, SkillListing};
use crate::name::command_names;
use crate::rank::{DESCRIBED_PER_MESSAGE, RankIndex, Ranked};
use crate::settings::{Ranking, SkillLimits, SkillsSettings};
use crate::skill::Skill;
use crate::trust::Voucher;
use crate::uses::Uses;

/// A snapshot of what an agent can do.
#[derive(Debug)]
pub struct AgentSkills {
    skills: Vec<AgentSkill>,
    commands: BTreeMap<String, usize>,
    settings: SkillsSettings,
    host: Host,
    uses: Uses,
    index: OnceLock<RankIndex>,
}

/// One skill as the agent meets it.
#[derive(Debug, Clone)]
pub struct AgentSkill {
    pub entry: Entry,
    /// Why it is hidden; empty when it is not.
    pub hidden: Vec<Hidden>,
}

/// How much of a skill the agent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
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
            Voucher::Build | Voucher::Publisher | Voucher::Owner => Trust::Owner,
            Voucher::Agent => Trust::Agent,
            Voucher::Nobody => Trust::Plugin,
        }
    }

    pub fn skill(&self) -> &Skill {
        &self.entry.skill
    }

    pub fn presence(&self) -> Presence {
        if !self.entry.trust.state.may_be_used() {
            Presence::Quarantined
        } else if !self.hidden.is_empty() {
            Presence::Hidden
        } else if self.skill().front.disable_model_invocation {
            Presence::OnCall
        } else {
            Presence::Listed
        }
    }
}

/// Commands that are not for skills to take.
const TAKEN_COMMANDS: [&str; 4] = ["skill", "skills", "help", "commands"];

impl AgentSkills {
    pub(crate) fn new(
        catalog: &Catalog,
        gates: &Gates<'_>,
        programs: &mut Programs,
        uses: &Uses,
    ) -> Self {
        let skills: Vec<AgentSkill> = catalog
            .entries()
            .iter()
            .map(|entry| AgentSkill {
                entry: entry.clone(),
                hidden: hidden(&entry.skill, gates, programs),
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
            index: OnceLock::new(),
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
            .filter(|skill| skill.presence() == Presence::Listed)
            .map(|skill| (skill.skill(), skill.trust_of_words()))
    }

    /// The list for the stable zone. Ranked by relevance it holds names alone, so that it stays
    /// the same whatever is asked.
    pub fn listing(&self) -> SkillListing {
        let names_only = SkillLimits {
            max_skills_in_prompt: 0,
            ..self.settings.limits
        };
        let limits = match self.settings.ranking {
            Ranking::Stable => &self.settings.limits,
            Ranking::Relevance => &names_only,
        };
        let skills = self.listed();
        listing::list(&ListingRequest {
            skills: &skills,
            limits,
            uses: &self.uses,
            now: self.host.unix_time(),
        })
    }

    /// For the volatile zone, when ranked by relevance: full descriptions of the skills that fit
    /// this message. Empty when none does.
    pub fn relevant(&self, message: &str) -> String {
        if self.settings.ranking != Ranking::Relevance {
            return String::new();
        }
        let skills = self.listed();
        let best = self.rank(message);
        if best.is_empty() {
            return String::new();
        }
        let mut text = String::from("<relevant_skills>\n");
        for ranked in best.iter().take(DESCRIBED_PER_MESSAGE) {
            if let Some(skill) = skills.get(ranked.at) {
                skill.shown.write(&mut text, usize::MAX);
            }
        }
        text.push_str("</relevant_skills>");
        text
    }

    /// The listed skills by how well they fit a message; positions are those of [`Self::listed`].
    pub fn rank(&self, message: &str) -> Vec<Ranked> {
        let index = self.index.get_or_init(|| RankIndex::new(self.listed()));
        index.rank(message, &self.uses, self.host.unix_time())
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
            Call::Skill { name, args } => Some(self.callable(name).map(|skill| (skill, args))),
            Call::Command { command, args } => {
                let at = *self.commands.get(&command.to_ascii_lowercase())?;
                Some(Ok((self.skills.get(at)?, args)))
            }
        }
    }

    /// A skill that a person may call, by its name or command name.
    fn callable(&self, name: &str) -> Result<&AgentSkill, LoadError> {
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
            Presence::Listed | Presence::OnCall => Ok(skill),
            Presence::Quarantined => Err(LoadError::Quarantined {
                name: own_name,
                reason: skill.entry.trust.reason.clone(),
            }),
            Presence::Hidden => {
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
            .or_else(|| self.skills.get(*self.commands.get(name)?))
    }

    fn nearest(&self, name: &str) -> Option<&str> {
        chela_core::suggest::nearest(
            name,
            self.skills.iter().map(|skill| skill.skill().name.as_str()),
        )
    }

    /// Reads a skill for a turn and records the use.
    pub fn load(&self, name: &str, uses: &mut Uses) -> Result<LoadedSkill, LoadError> {
        let skill = self.usable(name)?.skill();
        let entry = self.settings.entry(skill.key(), &skill.name);
        let loaded = invoke::load(skill, entry, &self.host)?;
        uses.record(&skill.name, self.host.unix_time());
        Ok(loaded)
    }
}

fn is_for_people(skill: &AgentSkill) -> bool {
    matches!(skill.presence(), Presence::Listed | Presence::OnCall)
        && skill.skill().front.user_invocable
}
