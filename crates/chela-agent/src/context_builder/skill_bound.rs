//! The skills in use: what they bound, and what they were granted.
//!
//! A skill is in use from the moment its text is with the model - a person called it, or a tool
//! brought the text of its SKILL.md - until the next message that calls no skill. One that sets a
//! bound under our own key (`metadata.chela.onlyTools`) leaves only those tools; several narrow
//! together, and sub-agents started meanwhile have no more. Its own folder can be read all the same.
//! What the owner granted of its `allowed-tools` needs no approval meanwhile, and no longer. Which are in
//! use stands in the transcript, so that a later process knows; what was granted is looked up anew.
//! The list of tools stays as it is, so that the cached prefix does not move; what a bound takes away
//! is refused when it is called.

mod reading;

use std::path::PathBuf;
use std::sync::{Arc, MutexGuard};

use chela_core::{lock, ok_or_warn, sanitize};
use chela_model::{ModelMessage, ToolCall};
use chela_skills::{AgentSkill, Skill, SkillLook, SkillPresence};
use chela_tools::ToolRules;
use chela_tools::approvals::{ApprovalEntry, SkillRequest};
use chela_tools::policy::ToolNames;
use chela_tools::{CallSuccess, ToolOutput};
use serde::{Deserialize, Serialize};

use super::ContextBuilder;
use chela_session::{
    CustomEntry, EntryBody, MessageSource, OpenSession, SessionError, TranscriptEntry,
};

/// What the model reads in place of a skill that is not to be read.
const QUARANTINED: &str = include_str!("../../text/skill-quarantined.md");
const NOT_SCANNED: &str = include_str!("../../text/skill-not-scanned.md");

/// The kind of entry that keeps which skill is in use.
const MARK: &str = "skill-bound";

/// One skill in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SkillInUse {
    skill: String,
    /// The only tools it leaves; `None` where it sets no bound.
    #[serde(deserialize_with = "Option::deserialize")]
    tools: Option<Vec<String>>,
}

/// The skills in use in a conversation.
#[derive(Debug)]
pub(super) struct SkillsInUse {
    active: Vec<SkillInUse>,
}

impl SkillInUse {
    pub(crate) fn new(skill: &str, only_tools: Option<&[String]>) -> Self {
        let ours = |names: &[String]| names.iter().flat_map(|name| ours(name)).collect();
        Self {
            skill: skill.to_owned(),
            tools: only_tools.map(ours),
        }
    }

    /// The skills a transcript ends with: those called since the last message that was no mere event.
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
            tools: Some(Vec::new()),
        }
    }

    /// A policy under this bound as well.
    pub(crate) fn narrow(self, policy: ToolRules) -> ToolRules {
        let Some(tools) = self.tools else {
            return policy;
        };
        let from = format!("`onlyTools` of the skill {}, which is in use,", self.skill);
        policy.only(from, ToolNames::new(tools))
    }
}

impl From<&SkillInUse> for EntryBody {
    fn from(bound: &SkillInUse) -> Self {
        Self::Custom(CustomEntry {
            custom_type: MARK.to_owned(),
            data: serde_json::to_value(bound).unwrap_or_default(),
        })
    }
}

impl SkillsInUse {
    /// As a transcript says.
    pub(super) fn of(branch: &[TranscriptEntry]) -> Self {
        Self {
            active: SkillInUse::active(branch),
        }
    }
}

impl ContextBuilder {
    /// A new message: what narrowed the last one no longer does. What the runtime says by itself
    /// is none: the work goes on.
    pub(crate) fn begin_bounds(&self, source: MessageSource) {
        if source != MessageSource::Event {
            self.bounds().active.clear();
        }
        self.grant_to_skills();
    }

    /// A person called these: they are in use for the message that comes of it.
    pub(super) fn use_skills(&self, called: Vec<SkillInUse>) {
        self.bounds().active.extend(called);
        self.grant_to_skills();
    }

    /// What the owner granted to the skills in use, from now on and as long as they are.
    fn grant_to_skills(&self) {
        let active = self.bounds().active.clone();
        let skills = match active.is_empty() {
            true => None,
            false => {
                let skills = self.scope.agents.assembler.skills(&self.scope.view.id);
                ok_or_warn!(
                    skills,
                    "what skills were granted cannot be told: nothing is"
                )
            }
        };
        let granted = active.iter().flat_map(|used| {
            let found = skills.as_ref().and_then(|skills| skills.get(&used.skill));
            found.map(granted_commands).unwrap_or_default()
        });
        self.background.commands.grant(granted.collect());
    }

    /// The folders of the skills in use.
    fn folders_in_use(&self) -> Vec<PathBuf> {
        let active = self.bounds().active.clone();
        if active.is_empty() {
            return Vec::new();
        }
        let skills = self.scope.agents.assembler.skills(&self.scope.view.id);
        let skills = ok_or_warn!(skills, "where the skills in use lie cannot be told");
        let folder_of = |used: &SkillInUse| {
            let skill = skills.as_ref()?.get(&used.skill)?;
            skill.skill().folder.canonicalize().ok()
        };
        active.iter().filter_map(folder_of).collect()
    }

    /// Puts on disk which skills are in use, after a message has been accepted.
    pub(crate) async fn keep_bounds(&self, session: &OpenSession) -> Result<(), SessionError> {
        let active = self.bounds().active.clone();
        for bound in active {
            self.append_bound(session, &bound).await?;
        }
        Ok(())
    }

    /// The model is about to read something: when it is the text of a skill, that skill is in use. A
    /// skill nobody has scanned is scanned first; one that is dangerous is not read, and the answer is
    /// what is said instead.
    pub(crate) async fn note_reading(
        &self,
        session: &OpenSession,
        call: &ToolCall,
        files: &[PathBuf],
        output: &ToolOutput,
    ) -> Result<Option<ToolOutput>, SessionError> {
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
        let Some(skills) = skills else {
            self.take_into_use(session, SkillInUse::unreadable())
                .await?;
            return Ok(None);
        };
        let found = what.skills(&skills);
        if found.is_empty() {
            return Ok(None);
        }
        let unscanned: Vec<PathBuf> = found
            .iter()
            .filter(|skill| skill.entry.trust.look == SkillLook::Waiting)
            .map(|skill| skill.skill().folder.clone())
            .collect();
        if !unscanned.is_empty()
            && let Some(refused) = self.scan_before_reading(unscanned).await
        {
            return Ok(Some(refused));
        }
        for skill in found {
            let inner = skill.skill();
            let used = SkillInUse::new(&inner.name, inner.front.only_tools.as_deref());
            self.take_into_use(session, used).await?;
        }
        Ok(None)
    }

    /// Scans skills whose text somebody wants; the answer is a refusal when one is not to be read.
    async fn scan_before_reading(&self, folders: Vec<PathBuf>) -> Option<ToolOutput> {
        let (agents, agent) = (Arc::clone(&self.scope.agents), self.scope.view.id.clone());
        let of = folders.clone();
        let scanned = move || {
            let is_one = |skill: &Skill| of.contains(&skill.folder);
            agents.assembler.look_into_skills(&agent, &is_one)
        };
        let skills = self.scope.agents.cores.run(scanned).await;
        let Some(skills) = ok_or_warn!(skills, "a skill could not be scanned") else {
            return Some(ToolOutput::refused(NOT_SCANNED.trim()));
        };
        let held = skills.skills().iter().find(|skill| {
            folders.contains(&skill.skill().folder)
                && skill.presence() == SkillPresence::Quarantined
        })?;
        let told = QUARANTINED
            .trim()
            .replace("{{skill}}", &held.skill().name)
            .replace("{{reason}}", &sanitize::literal(&held.entry.trust.reason));
        Some(ToolOutput::refused(told))
    }

    async fn take_into_use(
        &self,
        session: &OpenSession,
        used: SkillInUse,
    ) -> Result<(), SessionError> {
        {
            let mut bounds = self.bounds();
            if bounds.active.contains(&used) {
                return Ok(());
            }
            bounds.active.push(used.clone());
        }
        self.grant_to_skills();
        self.append_bound(session, &used).await
    }

    async fn append_bound(
        &self,
        session: &OpenSession,
        bound: &SkillInUse,
    ) -> Result<(), SessionError> {
        let sessions = &self.transcript.sessions;
        sessions
            .append(session, EntryBody::from(bound))
            .await
            .map(drop)
    }

    fn bounds(&self) -> MutexGuard<'_, SkillsInUse> {
        lock(&self.bounds)
    }

    /// A policy under the bounds of the skills in use.
    pub(super) fn bounded(&self, policy: ToolRules) -> ToolRules {
        let active = self.bounds().active.clone();
        active
            .into_iter()
            .fold(policy.reading_in(self.folders_in_use()), |policy, bound| {
                bound.narrow(policy)
            })
    }
}

/// The commands the owner granted to a skill, as the list of commands has them.
fn granted_commands(skill: &AgentSkill) -> Vec<ApprovalEntry> {
    let name = &skill.skill().name;
    let requests = skill.entry.granted.iter();
    requests
        .filter_map(|written| {
            SkillRequest::read(written).into_entry(name, skill.entry.granted_at * 1_000)
        })
        .collect()
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
    use super::{MARK, SkillInUse, ours};
    use chela_session::{CustomEntry, EntryBody};
    use chela_tools::ToolRules;
    use chela_tools::policy::ToolNames;
    use serde_json::json;

    #[test]
    fn w05_the_tools_of_a_skill_in_use_are_a_narrowing_and_nothing_else() {
        let only = ["Read".to_owned(), "Bash(git:*)".to_owned()];
        let bound = SkillInUse::new("notes", Some(&only));
        let tools = ToolNames::new(bound.tools.as_ref().unwrap());
        let narrowed = ToolRules::open().only("notes", tools.clone());
        assert!(narrowed.allows("read") && narrowed.allows("exec"));
        assert!(!narrowed.allows("write") && !narrowed.allows("web_fetch"));
        // What the config takes away a skill does not bring back, and two skills narrow together.
        let closed = ToolRules::open().only("config", ToolNames::new(["read"]));
        assert!(!closed.only("notes", tools).allows("exec"));
        // One that sets no bound takes nothing away.
        let free = SkillInUse::new("notes", None);
        assert!(free.narrow(ToolRules::open()).allows("write"));
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
            let bound = SkillInUse::in_entry(&entry).expect("a bound");
            let narrowed = bound.narrow(ToolRules::open());
            assert!(!narrowed.allows("read") && !narrowed.allows("exec"));
        }
        for only in [None, Some(&["Read".to_owned()][..])] {
            let bound = SkillInUse::new("notes", only);
            assert_eq!(SkillInUse::in_entry(&EntryBody::from(&bound)), Some(bound));
        }
    }
}
