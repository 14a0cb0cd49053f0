//! The bound a skill sets: while it is in use, only the tools it asked for.
//!
//! A skill is in use from the moment its text is with the model - a person called it, or a tool
//! brought the text of its SKILL.md - until the next message that calls no skill. Several skills
//! narrow together, and sub-agents started meanwhile have no more. Which are in use stands in the
//! transcript, so that a later process knows. The list of tools stays as it is, so that the cached
//! prefix does not move; what the bound takes away is refused when it is called.

mod reading;

use chela_model::{Message, ToolCall};
use chela_tools::Policy;
use chela_tools::policy::Names;
use chela_tools::{Output, Success};
use serde::{Deserialize, Serialize};

use super::Conversation;
use crate::turn::Block;
use chela_session::{Body, Custom, Entry, Session, SessionError, Source};

/// The kind of entry that keeps which skill is in use.
const MARK: &str = "skill-bound";

/// What one skill allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SkillBound {
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

    /// The bounds a transcript ends with: those since the last message that was no mere event.
    pub(crate) fn active(branch: &[Entry]) -> Vec<Self> {
        let begins = |body: &Body| match body {
            Body::Message {
                message: Message::User { .. },
                meta,
            } => meta.source != Source::Event,
            _ => false,
        };
        let since = branch.iter().rposition(|entry| begins(&entry.body));
        let mut active: Vec<Self> = Vec::new();
        for entry in &branch[since.unwrap_or(0)..] {
            if let Body::Custom(custom) = &entry.body
                && custom.custom_type == MARK
                && let Ok(bound) = serde_json::from_value(custom.data.clone())
                && !active.contains(&bound)
            {
                active.push(bound);
            }
        }
        active
    }

    /// A policy under this bound as well.
    pub(crate) fn narrow(self, policy: Policy) -> Policy {
        let from = format!(
            "`allowed-tools` of the skill {}, which is in use,",
            self.skill
        );
        policy.only(from, Names::new(self.tools))
    }
}

impl From<&SkillBound> for Body {
    fn from(bound: &SkillBound) -> Self {
        Self::Custom(Custom {
            custom_type: MARK.to_owned(),
            data: serde_json::to_value(bound).unwrap_or_default(),
        })
    }
}

impl SkillBounds {
    /// As a transcript says.
    pub(super) fn of(branch: &[Entry]) -> Self {
        Self {
            active: SkillBound::active(branch),
            ..Self::default()
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

    /// A new message: what narrowed the last one no longer does. What the runtime says by itself
    /// is none: the work goes on.
    pub(super) fn begin_bounds(&self, source: Source) {
        if source == Source::Event {
            return;
        }
        self.with(|state| {
            let called = state.bounds.called.take();
            state.bounds.active = called.into_iter().collect();
        });
    }

    /// Puts on disk which skills are in use, after a message has been accepted.
    pub(crate) async fn keep_bounds(&self, session: &Session) -> Result<(), SessionError> {
        for bound in self.with(|state| state.bounds.active.clone()) {
            self.sessions.append(session, Body::from(&bound)).await?;
        }
        Ok(())
    }

    /// The model has read something: when it is the text of a skill, that skill is in use.
    pub(crate) async fn note_reading(
        &self,
        session: &Session,
        call: &ToolCall,
        output: &Output,
    ) -> Result<(), SessionError> {
        let Ok(skills) = self.agents.assembler.skills(&self.view.id) else {
            return Ok(());
        };
        let text = output.text();
        let what = reading::Read {
            call,
            done: output.success == Success::Done,
            text: &text,
            workspace: &self.view.workspace.value,
            host: &self.agents.host,
        };
        for bound in what.bounds(&skills) {
            let new = self.with(|state| {
                let new = !state.bounds.active.contains(&bound);
                if new {
                    state.bounds.active.push(bound.clone());
                }
                new
            });
            if new {
                self.sessions.append(session, Body::from(&bound)).await?;
            }
        }
        Ok(())
    }

    /// A policy under the bounds of the skills in use.
    pub(super) fn bounded(&self, policy: Policy) -> Policy {
        let active = self.with(|state| state.bounds.active.clone());
        active
            .into_iter()
            .fold(policy, |policy, bound| bound.narrow(policy))
    }
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
