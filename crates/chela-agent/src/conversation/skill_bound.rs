//! The bound a skill sets: while it is in use, only the tools it asked for.
//!
//! A skill is in use from the moment its text is with the model - a person called it, or the model
//! read its SKILL.md - until the next message that calls no skill. Several skills narrow together.
//! The list of tools stays as it is, so that the cached prefix does not move; what the bound takes
//! away is refused when it is called.

use chela_core::Host;
use chela_model::ToolCall;
use chela_skills::{AgentSkills, Presence};
use chela_tools::Policy;
use chela_tools::policy::Names;

use super::Conversation;
use crate::turn::Block;

/// What one skill allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkillBound {
    skill: String,
    tools: Vec<String>,
}

/// The bounds of a conversation.
#[derive(Debug, Default)]
pub(super) struct SkillBounds {
    /// Of the skill a person has just called; holds for the turn that follows.
    called: Option<SkillBound>,
    active: Vec<SkillBound>,
    /// The text of that skill, to be told from what the person says.
    text: Option<Block>,
}

impl SkillBound {
    pub(super) fn new(skill: &str, allowed_tools: &[String]) -> Self {
        Self {
            skill: skill.to_owned(),
            tools: allowed_tools.iter().flat_map(|name| ours(name)).collect(),
        }
    }
}

impl Conversation {
    /// A person called a skill: its bound holds for the message that comes of it.
    pub(super) fn skill_called(&self, bound: Option<SkillBound>, text: Block) {
        self.with(|state| {
            state.bounds.called = bound;
            state.bounds.text = Some(text);
        });
    }

    /// The text of a skill at the head of a message, as what it is: not the words of the person
    /// who called it. With what is left of the message.
    pub(crate) fn skill_text<'m>(&self, message: &'m str) -> Option<(Block, &'m str)> {
        let skill = self.with(|state| state.bounds.text.take())?;
        let rest = message.strip_prefix(skill.text.as_str())?;
        Some((skill, rest.trim_start()))
    }

    /// A new message: what narrowed the last one no longer does.
    pub(super) fn begin_bounds(&self) {
        self.with(|state| {
            let called = state.bounds.called.take();
            state.bounds.active = called.into_iter().collect();
        });
    }

    /// The model has read something: when it is the text of a skill, that skill is in use.
    pub(crate) fn note_reading(&self, call: &ToolCall) {
        if call.name != "read" {
            return;
        }
        let Some(path) = call.arguments.get("path").and_then(|path| path.as_str()) else {
            return;
        };
        let Ok(skills) = self.agents.assembler.skills(&self.view.id) else {
            return;
        };
        if let Some(bound) = bound_of(&skills, path, &self.agents.host) {
            self.with(|state| {
                if !state.bounds.active.contains(&bound) {
                    state.bounds.active.push(bound);
                }
            });
        }
    }

    /// A policy under the bounds of the skills in use.
    pub(super) fn bounded(&self, policy: Policy) -> Policy {
        let active = self.with(|state| state.bounds.active.clone());
        active.into_iter().fold(policy, |policy, bound| {
            let from = format!(
                "`allowed-tools` of the skill {}, which is in use,",
                bound.skill
            );
            policy.only(from, Names::new(bound.tools))
        })
    }
}

/// The bound of the skill whose SKILL.md lies at a path.
fn bound_of(skills: &AgentSkills, path: &str, host: &Host) -> Option<SkillBound> {
    let path = host.expand(path);
    let found = skills.skills().iter().find(|skill| {
        let usable = matches!(skill.presence(), Presence::Listed | Presence::OnCall);
        usable && skill.skill().file == path
    })?;
    let skill = found.skill();
    let tools = skill.front.allowed_tools.as_deref()?;
    Some(SkillBound::new(&skill.name, tools))
}

/// Our tools behind a name as skills write it: `Read`, `Bash(git:*)`, `web_fetch`.
fn ours(written: &str) -> Vec<String> {
    let name = written
        .split('(')
        .next()
        .unwrap_or(written)
        .trim()
        .to_ascii_lowercase();
    let known: &[&str] = match name.as_str() {
        "bash" | "shell" | "sh" | "python" | "node" | "terminal" | "exec" => &["exec", "process"],
        "multiedit" | "notebookedit" | "edit" => &["edit", "apply_patch"],
        "glob" => &["find"],
        "webfetch" => &["web_fetch"],
        "websearch" => &["web_search"],
        "task" | "agent" => &["sessions_spawn", "subagents"],
        "todowrite" => &["update_plan"],
        _ => return vec![name],
    };
    known.iter().map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{SkillBound, ours};
    use chela_tools::Policy;
    use chela_tools::policy::Names;

    #[test]
    fn w05_the_tools_of_a_skill_in_use_are_a_narrowing_and_nothing_else() {
        let bound = SkillBound::new("notes", &["Read".to_owned(), "Bash(git:*)".to_owned()]);
        let narrowed = Policy::open().only("notes", Names::new(&bound.tools));
        assert!(narrowed.allows("read") && narrowed.allows("exec"));
        assert!(!narrowed.allows("write") && !narrowed.allows("web_fetch"));
        // What the config takes away a skill does not bring back, and two skills narrow together.
        let closed = Policy::open().only("config", Names::new(["read"]));
        assert!(
            !closed
                .only("notes", Names::new(&bound.tools))
                .allows("exec")
        );
        assert!(
            narrowed
                .only("other", Names::new(["write"]))
                .explain("read")
                .why()
                .contains("other")
        );
        // A list that names nothing of ours leaves nothing.
        let nothing = Policy::open().only("x", Names::new(ours("NoSuchTool")));
        assert!(!nothing.allows("read"));
    }
}
