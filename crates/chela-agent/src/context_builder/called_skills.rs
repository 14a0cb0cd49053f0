//! The skills a person calls: `/name …`, `/skill name …`, or `$name` in the middle of a message.
//!
//! A call is understood where the turn runs, whatever it was typed into. Only what the owner typed
//! calls: what is quoted, pasted or piped in is somebody else's.

use std::sync::Arc;

use chela_core::{Origin, Trust, ok_or_debug, sanitize};
use chela_session::{MessageSource, find_external, split_told};
use chela_skills::{
    AgentSkills, LoadError, LoadedSkill, Skill, SkillContext, SkillLook, SkillUses,
};

use super::ContextBuilder;
use super::skill_bound::SkillInUse;
use crate::assemble::AssembleError;
use crate::inbound_message::InboundMessage;
use crate::runtime_blocks::{BlockKind, RuntimeBlock};

/// What is said where a message calls a skill and says nothing else.
const USE_IT: &str = "Use it now.";

/// What a message calls, made ready.
pub(crate) struct CalledSkills {
    /// The text of the skills; what is to be known of one that cannot be used.
    pub block: Option<RuntimeBlock>,
    /// What the person says besides.
    pub said: String,
    /// The work of a skill that does it in a sub-agent.
    pub fork: Option<ForkedSkill>,
}

/// A skill whose work is done in a sub-agent.
pub(crate) struct ForkedSkill {
    pub name: String,
    pub task: String,
    pub model: Option<String>,
}

/// The skills that were named, each with what was said to it.
struct SkillCalls {
    names: Vec<Result<String, LoadError>>,
    /// What follows a command; nothing of somebody else's.
    args: Option<String>,
    said: String,
}

impl ContextBuilder {
    /// What a message of the owner's calls; `None` when it calls nothing.
    pub(crate) async fn called_skills(
        &self,
        message: &InboundMessage,
        source: MessageSource,
    ) -> Option<CalledSkills> {
        if source != MessageSource::Person || !self.scope.is_owner() {
            return None;
        }
        let (agents, agent) = (Arc::clone(&self.scope.agents), self.scope.view.id.clone());
        let skills = ok_or_debug!(agents.assembler.skills(&agent), "no skill is called")?;
        let calls = calls_of(&skills, message)?;
        let mut loaded = Vec::new();
        let mut troubles = Vec::new();
        for name in calls.names {
            match name {
                Ok(name) => match self.load(&name).await {
                    Ok(skill) => loaded.push(skill),
                    Err(trouble) => troubles.push(trouble),
                },
                Err(error) => troubles.push(error.to_string()),
            }
        }
        let in_use = loaded
            .iter()
            .map(|(skill, _)| SkillInUse::new(&skill.name, skill.only_tools.as_deref()));
        self.use_skills(in_use.collect());
        let texts: Vec<String> = loaded
            .iter()
            .map(|(skill, _)| skill_message(skill, calls.args.as_deref()))
            .chain(troubles.iter().map(|trouble| not_used(trouble)))
            .collect();
        let trust = loaded.iter().map(|(_, trust)| *trust);
        if let [(skill, _)] = loaded.as_slice()
            && skill.context == SkillContext::Fork
            && calls.args.is_some()
        {
            return Some(CalledSkills {
                block: None,
                fork: Some(ForkedSkill {
                    name: skill.name.clone(),
                    task: format!("{}\n\n{}", texts.join("\n\n"), told_besides(&calls.said)),
                    model: skill.model.clone(),
                }),
                said: message.text.trim().to_owned(),
            });
        }
        let text = texts.join("\n\n");
        let origin = match loaded.as_slice() {
            [(skill, _)] => Origin::file(agents.host.compact(&skill.file), &text),
            _ => Origin::Runtime,
        };
        Some(CalledSkills {
            block: Some(RuntimeBlock {
                kind: BlockKind::Skills,
                origin,
                trust: trust.min().unwrap_or(Trust::Operator),
                text,
            }),
            said: told_besides(&calls.said).to_owned(),
            fork: None,
        })
    }

    /// The word by which a person calls a skill, and the model that is to answer; an error says why it
    /// cannot be called.
    pub(crate) async fn callable_skill(
        &self,
        name: &str,
    ) -> Result<(String, Option<String>), String> {
        let toolbox = self.toolbox().await.map_err(|error| error.to_string())?;
        let tools: Vec<String> = toolbox.specs().map(|spec| spec.name.to_string()).collect();
        let (scope, name) = (Arc::clone(&self.scope), name.to_owned());
        let look = move || {
            let skills = scanned(&scope.agents, &scope.view.id, &name)?;
            if !skills.has_its_tools(&name, &|tool| tools.iter().any(|known| known == tool)) {
                return Err(format!(
                    "skill `{name}` needs a tool that is not there; `chela skills why {name}` says \
                     which"
                ));
            }
            let skill = skills.callable(&name).map_err(|error| error.to_string())?;
            let front = &skill.skill().front;
            // A sub-agent is told who answers in it.
            let answers =
                front.context == SkillContext::Inline && skill.trust_of_words() >= Trust::Owner;
            let model = front.model.clone().filter(|_| answers);
            Ok((skill.word(), model))
        };
        self.scope.agents.cores.run(look).await
    }

    /// Reads a skill, which is scanned first where nobody has. With how far its words are trusted.
    async fn load(&self, name: &str) -> Result<(LoadedSkill, Trust), String> {
        let (scope, name) = (Arc::clone(&self.scope), name.to_owned());
        let load = move || {
            let agents = &scope.agents;
            let skills = scanned(&scope.agents, &scope.view.id, &name)?;
            let mut uses = SkillUses::open(&agents.host.state_dir());
            let loaded = skills.load(&name, &mut uses);
            let loaded = loaded.map_err(|error| error.to_string())?;
            // A use that is not counted only ranks the skill lower.
            ok_or_debug!(uses.save(), "the use of a skill is not noted");
            let words = skills
                .get(&name)
                .map_or(Trust::Plugin, |skill| skill.trust_of_words());
            let trust = words.join(agents.file_trust().ceiling(&loaded.file));
            Ok((loaded, trust))
        };
        self.scope.agents.cores.run(load).await
    }
}

/// The skills of an agent, after this one was scanned.
fn scanned(
    agents: &crate::agent::Agents,
    agent: &chela_core::AgentId,
    name: &str,
) -> Result<Arc<AgentSkills>, String> {
    let in_words = |error: AssembleError| error.to_string();
    let skills = agents.assembler.skills(agent).map_err(in_words)?;
    let waiting = skills
        .get(name)
        .filter(|skill| skill.entry.trust.look == SkillLook::Waiting);
    let Some(folder) = waiting.map(|skill| skill.skill().folder.clone()) else {
        return Ok(skills);
    };
    let is_it = |skill: &Skill| *skill.folder == *folder;
    agents
        .assembler
        .look_into_skills(agent, &is_it)
        .map_err(in_words)
}

fn calls_of(skills: &AgentSkills, message: &InboundMessage) -> Option<SkillCalls> {
    let text = message.text.trim();
    let external = find_external(text, &message.pasted);
    let begins_typed = external.first().is_none_or(|span| span.start > 0);
    if begins_typed && let Some(call) = skills.resolve(text) {
        let (name, said) = match call {
            Ok((skill, args)) => (Ok(skill.skill().name.clone()), args),
            Err(error) => (Err(error), ""),
        };
        let is_typed = find_external(said, &message.pasted).is_empty() && message.piped.is_none();
        return Some(SkillCalls {
            names: vec![name],
            args: Some(if is_typed {
                said.to_owned()
            } else {
                String::new()
            }),
            said: said.to_owned(),
        });
    }
    let own = split_told(text, &external).map(|(own, _)| own)?;
    let named = skills.mentioned(&own);
    (!named.is_empty()).then(|| SkillCalls {
        names: named
            .iter()
            .map(|skill| Ok(skill.skill().name.clone()))
            .collect(),
        args: None,
        said: text.to_owned(),
    })
}

fn told_besides(said: &str) -> &str {
    match said.trim() {
        "" => USE_IT,
        said => said,
    }
}

/// What the model is told when a person calls a skill.
fn skill_message(skill: &LoadedSkill, args: Option<&str>) -> String {
    let content = skill.content_for(args.unwrap_or_default());
    format!("Use the skill `{}`:\n\n{content}", skill.name)
}

fn not_used(trouble: &str) -> String {
    format!("Not used: {}. Tell the owner.", sanitize::literal(trouble))
}
