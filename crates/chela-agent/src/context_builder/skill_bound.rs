//! The bound a skill sets: while it is in use, only the tools it asked for.
//!
//! A skill is in use from the moment its text is with the model - a person called it, or a tool
//! brought the text of its SKILL.md - until the next message that calls no skill. Several skills
//! narrow together, and sub-agents started meanwhile have no more. Which are in use stands in the
//! transcript, so that a later process knows. The list of tools stays as it is, so that the cached
//! prefix does not move; what the bound takes away is refused when it is called.

mod reading;

use std::path::PathBuf;
use std::sync::MutexGuard;

use chela_core::{lock, ok_or_warn};
use chela_model::{ModelMessage, ToolCall};
use chela_tools::ToolRules;
use chela_tools::policy::ToolNames;
use chela_tools::{CallSuccess, ToolOutput};
use serde::{Deserialize, Serialize};

use super::ContextBuilder;
use crate::runtime_blocks::RuntimeBlock;
use chela_session::{
    CustomEntry, EntryBody, MessageSource, OpenSession, SessionError, TranscriptEntry,
};

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
    text: Option<RuntimeBlock>,
}

impl SkillBound {
    pub(crate) fn new(skill: &str, allowed_tools: &[String]) -> Self {
        Self {
            skill: skill.to_owned(),
            tools: allowed_tools.iter().flat_map(|name| ours(name)).collect(),
        }
    }

    /// The bounds a transcript ends with: those since the last message that was no mere event.
    pub(crate) fn active(branch: &[TranscriptEntry]) -> Vec<Self> {
        let begins = |body: &EntryBody| match body {
            EntryBody::Message {
                message: ModelMessage::User { .. },
                meta,
            } => meta.source != MessageSource::Event,
            _ => false,
        };
        let since = branch.iter().rposition(|entry| begins(&entry.body));
        let mut active: Vec<Self> = Vec::new();
        for entry in branch.get(since.unwrap_or(0)..).unwrap_or_default() {
            if let Some(bound) = Self::in_entry(&entry.body)
                && !active.contains(&bound)
            {
                active.push(bound);
            }
        }
        active
    }

    fn in_entry(body: &EntryBody) -> Option<Self> {
        let EntryBody::Custom(custom) = body else {
            return None;
        };
        let of_skill = (custom.custom_type == MARK).then(|| custom.data.clone())?;
        let bound = ok_or_warn!(
            serde_json::from_value(of_skill),
            "which tools a skill left cannot be read: none are left"
        );
        Some(bound.unwrap_or_else(Self::unreadable))
    }

    /// Of a skill nobody can say anything about: it leaves no tool.
    fn unreadable() -> Self {
        Self {
            skill: "(unreadable)".to_owned(),
            tools: Vec::new(),
        }
    }

    /// A policy under this bound as well.
    pub(crate) fn narrow(self, policy: ToolRules) -> ToolRules {
        let from = format!(
            "`allowed-tools` of the skill {}, which is in use,",
            self.skill
        );
        policy.only(from, ToolNames::new(self.tools))
    }
}

impl From<&SkillBound> for EntryBody {
    fn from(bound: &SkillBound) -> Self {
        Self::Custom(CustomEntry {
            custom_type: MARK.to_owned(),
            data: serde_json::to_value(bound).unwrap_or_default(),
        })
    }
}

impl SkillBounds {
    /// As a transcript says.
    pub(super) fn of(branch: &[TranscriptEntry]) -> Self {
        Self {
            active: SkillBound::active(branch),
            ..Self::default()
        }
    }
}

impl ContextBuilder {
    /// A person called a skill: its bound holds for the message that comes of it.
    pub(crate) fn skill_called(&self, bound: Option<SkillBound>, text: RuntimeBlock) {
        let mut bounds = self.bounds();
        bounds.called = bound;
        bounds.text = Some(text);
    }

    /// The text of a skill at the head of a message, as what it is: not the words of the person
    /// who called it. With what is left of the message.
    pub(crate) fn skill_text<'m>(&self, message: &'m str) -> Option<(RuntimeBlock, &'m str)> {
        let skill = self.bounds().text.take()?;
        let rest = message.strip_prefix(skill.text.as_str())?;
        Some((skill, rest.trim_start()))
    }

    /// A new message: what narrowed the last one no longer does. What the runtime says by itself
    /// is none: the work goes on.
    pub(crate) fn begin_bounds(&self, source: MessageSource) {
        if source == MessageSource::Event {
            return;
        }
        let mut bounds = self.bounds();
        let called = bounds.called.take();
        bounds.active = called.into_iter().collect();
    }

    /// Puts on disk which skills are in use, after a message has been accepted.
    pub(crate) async fn keep_bounds(&self, session: &OpenSession) -> Result<(), SessionError> {
        let active = self.bounds().active.clone();
        for bound in active {
            self.append_bound(session, &bound).await?;
        }
        Ok(())
    }

    /// The model has read something: when it is the text of a skill, that skill is in use.
    pub(crate) async fn note_reading(
        &self,
        session: &OpenSession,
        call: &ToolCall,
        files: &[PathBuf],
        output: &ToolOutput,
    ) -> Result<(), SessionError> {
        let skills = self.scope.agents.assembler.skills(&self.scope.view.id);
        let skills = ok_or_warn!(
            skills,
            "which skill was read cannot be told: no tool is left"
        );
        let text = output.text();
        let what = reading::ReadCall {
            call,
            files,
            done: output.success == CallSuccess::Done,
            text: &text,
        };
        let bounds = skills.map_or_else(
            || vec![SkillBound::unreadable()],
            |skills| what.bounds(&skills),
        );
        for bound in bounds {
            let is_new = {
                let mut bounds = self.bounds();
                let is_new = !bounds.active.contains(&bound);
                if is_new {
                    bounds.active.push(bound.clone());
                }
                is_new
            };
            if is_new {
                self.append_bound(session, &bound).await?;
            }
        }
        Ok(())
    }

    async fn append_bound(
        &self,
        session: &OpenSession,
        bound: &SkillBound,
    ) -> Result<(), SessionError> {
        let sessions = &self.transcript.sessions;
        sessions
            .append(session, EntryBody::from(bound))
            .await
            .map(drop)
    }

    fn bounds(&self) -> MutexGuard<'_, SkillBounds> {
        lock(&self.bounds)
    }

    /// A policy under the bounds of the skills in use.
    pub(super) fn bounded(&self, policy: ToolRules) -> ToolRules {
        let active = self.bounds().active.clone();
        active
            .into_iter()
            .fold(policy, |policy, bound| bound.narrow(policy))
    }
}

/// Our tools behind a name as skills write it: `ReadCall`, `Bash(git:*)`, `web_fetch`.
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
    use super::{MARK, SkillBound, ours};
    use chela_session::{CustomEntry, EntryBody};
    use chela_tools::ToolRules;
    use chela_tools::policy::ToolNames;
    use serde_json::json;

    #[test]
    fn w05_the_tools_of_a_skill_in_use_are_a_narrowing_and_nothing_else() {
        let bound = SkillBound::new("notes", &["Read".to_owned(), "Bash(git:*)".to_owned()]);
        let narrowed = ToolRules::open().only("notes", ToolNames::new(&bound.tools));
        assert!(narrowed.allows("read") && narrowed.allows("exec"));
        assert!(!narrowed.allows("write") && !narrowed.allows("web_fetch"));
        // What the config takes away a skill does not bring back, and two skills narrow together.
        let closed = ToolRules::open().only("config", ToolNames::new(["read"]));
        assert!(
            !closed
                .only("notes", ToolNames::new(&bound.tools))
                .allows("exec")
        );
        assert!(
            narrowed
                .only("other", ToolNames::new(["write"]))
                .explain("read")
                .why()
                .contains("other")
        );
        // A list that names nothing of ours leaves nothing.
        let nothing = ToolRules::open().only("x", ToolNames::new(ours("NoSuchTool")));
        assert!(!nothing.allows("read"));
    }

    #[test]
    fn a_bound_that_cannot_be_read_leaves_no_tool() {
        for data in [
            json!(null),
            json!({ "skill": "notes" }),
            json!({ "tools": 7 }),
        ] {
            let entry = EntryBody::Custom(CustomEntry {
                custom_type: MARK.to_owned(),
                data,
            });
            let bound = SkillBound::in_entry(&entry).expect("a bound");
            let narrowed = bound.narrow(ToolRules::open());
            assert!(!narrowed.allows("read") && !narrowed.allows("exec"));
        }
        let bound = SkillBound::new("notes", &["Read".to_owned()]);
        assert_eq!(SkillBound::in_entry(&EntryBody::from(&bound)), Some(bound));
    }
}
