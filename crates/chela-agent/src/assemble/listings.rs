//! The skills and the tools a prompt is made with.
//!
//! Which tools a session gets is decided in `toolset`; what a skill needs, in `chela-skills`.

use std::borrow::Borrow;

use chela_config::LoadedConfig;
use chela_core::{Host, SessionKey, lock};
use chela_model::ModelTarget;
use chela_prompt::SkillsListing;

use super::hidden::hide_in_tools;
use super::known_agent::KnownAgent;
use super::prompt_request::{AssembleError, PromptRequest};
use super::request_shape::PromptReader;
use super::{PromptAssembler, RequestFacts};
use crate::skills::listing_of;
use crate::toolset;
use crate::toolset::{PromptSize, SessionTools};

/// The tool that reads the files of skills.
const READS: &str = "read";

impl<H: Borrow<Host>, L: Borrow<LoadedConfig>> PromptAssembler<H, L> {
    /// The skills a prompt lists. A small model's lists none, and whoever cannot read the files has
    /// no use for the list.
    pub(super) fn listed_skills(
        &self,
        facts: &RequestFacts<'_>,
    ) -> Result<Option<SkillsListing>, AssembleError> {
        let all = match facts.size {
            PromptSize::Full if facts.has_tool(READS) => self.listing(facts),
            PromptSize::Full | PromptSize::Short => None,
        };
        let Some(skill) = &facts.ask.skill else {
            return Ok(all);
        };
        match all.and_then(|all| all.only(skill)) {
            Some(alone) => Ok(Some(alone)),
            None => Err(AssembleError::NoSkill {
                skill: skill.clone(),
                agent: facts.known.knobs.agent.clone(),
            }),
        }
    }

    /// The skills that have the tools they need.
    fn listing(&self, facts: &RequestFacts<'_>) -> Option<SkillsListing> {
        let skills = &facts.known.skills;
        let has_tool = |name: &str| facts.has_tool(name);
        let lacking: Vec<String> = skills
            .listed()
            .iter()
            .map(|skill| skill.name.as_str())
            .filter(|name| !skills.has_its_tools(name, &has_tool))
            .map(str::to_owned)
            .collect();
        let mut listings = lock(&facts.known.listings);
        if let Some((_, listing)) = listings.iter().find(|(known, _)| *known == lacking) {
            return listing.clone();
        }
        let listing = listing_of(skills, &has_tool, self.redactor());
        listings.push((lacking, listing.clone()));
        listing
    }

    /// The tools the agent would get if a session began now.
    pub(super) fn tools(
        &self,
        ask: &PromptRequest,
        session: &SessionKey,
        known: &KnownAgent,
        reader: &PromptReader,
    ) -> SessionTools {
        let mut offered = lock(&known.tools);
        let channel = ask.channel.as_deref();
        let info = reader.target.as_ref().map(ModelTarget::info);
        let model = info.map_or("", |info| &info.reference);
        let key = (
            format!("{session} {} {model}", channel.unwrap_or_default()),
            reader.size,
        );
        if let Some((_, tools)) = offered.iter().find(|(known, _)| *known == key) {
            return tools.clone();
        }
        let tools = self
            .loaded()
            .agent(&known.knobs.agent)
            .map(|view| {
                toolset::preview(&toolset::PreviewAsk {
                    host: self.host(),
                    loaded: self.loaded(),
                    view: &view,
                    session,
                    size: reader.size,
                    channel,
                    skills: &known.skills,
                    model: info,
                })
            })
            .unwrap_or_default();
        let mut tools = tools;
        hide_in_tools(&mut tools.listed, self.redactor());
        hide_in_tools(&mut tools.deferred, self.redactor());
        offered.push((key, tools.clone()));
        tools
    }
}
