//! The skills the agent may have written into: their lock decides about them, not the record of
//! single files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chela_core::{AgentId, ContentHash, lock, ok_or_warn};
use chela_guard::flow::SessionTaint;
use chela_skills::{AgentWriter, FirstLook, Skill, SkillLibrary, SkillSource};

use super::{WriteContext, WriteReach};
use crate::agent::Agents;
use crate::skills::library_of;

/// The skills of one agent, looked at again and again.
pub(super) struct WatchedSkills {
    agents: Arc<Agents>,
    agent: AgentId,
    library: Mutex<Option<SkillLibrary>>,
}

/// Every skill by its folder, with the hash of all its files.
pub(super) type SkillTrees = BTreeMap<PathBuf, ContentHash>;

/// A skill that was written into.
#[derive(Debug)]
pub(crate) struct NotedSkill {
    pub name: String,
    pub tree: ContentHash,
    pub outcome: SkillOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkillOutcome {
    /// On record as the agent's.
    Recorded,
    Held,
    /// Nobody known changed it.
    Someone,
}

impl SkillOutcome {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Held => "held",
            Self::Someone => "changed",
        }
    }
}

impl WatchedSkills {
    pub(super) fn new(agents: Arc<Agents>, agent: AgentId) -> Self {
        Self {
            agents,
            agent,
            library: Mutex::default(),
        }
    }

    pub(super) fn trees(&self) -> SkillTrees {
        self.with(|library| {
            own(library)
                .map(|skill| (skill.folder.clone(), skill.tree))
                .collect()
        })
        .unwrap_or_default()
    }

    /// Puts on record who wrote into which skill.
    pub(super) fn note(
        &self,
        before: &SkillTrees,
        doing: &WriteContext,
        root: &Path,
    ) -> Vec<NotedSkill> {
        let host = &self.agents.host;
        let noted = self.with(|library| {
            let changed: Vec<Skill> = own(library)
                .filter(|skill| before.get(&skill.folder) != Some(&skill.tree))
                .cloned()
                .collect();
            if changed.is_empty() {
                return Vec::new();
            }
            let hand = AgentWriter {
                turn: &doing.turn,
                // A yes after foreign text leaves foreign words; before it, the agent's own.
                question: doing
                    .question
                    .as_deref()
                    .filter(|_| doing.taint == SessionTaint::Tainted),
            };
            let outcomes: Vec<SkillOutcome> = changed
                .iter()
                .map(|skill| outcome(skill, doing, root))
                .collect();
            // What cannot be written down is looked into when the skills are listed again.
            let noted = library.change_lock(|lock| {
                for (skill, outcome) in changed.iter().zip(&outcomes) {
                    match outcome {
                        SkillOutcome::Recorded => {
                            lock.written_by_agent(skill, &hand, &FirstLook, host);
                        }
                        SkillOutcome::Held => lock.hold(skill, &hand, host),
                        SkillOutcome::Someone => {}
                    }
                }
            });
            ok_or_warn!(noted, "who changed a skill is not written down");
            changed
                .into_iter()
                .zip(outcomes)
                .map(|(skill, outcome)| NotedSkill {
                    name: skill.name,
                    tree: skill.tree,
                    outcome,
                })
                .collect()
        });
        let noted: Vec<NotedSkill> = noted.unwrap_or_default();
        if !noted.is_empty() {
            self.agents.assembler.refresh(&self.agent);
        }
        noted
    }

    fn with<T>(&self, look: impl FnOnce(&mut SkillLibrary) -> T) -> Option<T> {
        let mut kept = lock(&self.library);
        let library = match &mut *kept {
            Some(library) => {
                library.refresh();
                library
            }
            none => {
                let view = self.agents.view(&self.agent);
                let view = ok_or_warn!(view, "the skills of an agent are not watched")?;
                none.insert(library_of(&self.agents.host, &self.agents.loaded, &view))
            }
        };
        Some(look(library))
    }
}

fn outcome(skill: &Skill, doing: &WriteContext, root: &Path) -> SkillOutcome {
    let tainted = doing.taint == SessionTaint::Tainted;
    match &doing.reach {
        WriteReach::Named { paths, .. } => {
            let is_named = paths.iter().any(|path| lies_in(path, &skill.folder));
            match (is_named, tainted && doing.question.is_none()) {
                (false, _) => SkillOutcome::Someone,
                (true, true) => SkillOutcome::Held,
                (true, false) => SkillOutcome::Recorded,
            }
        }
        WriteReach::Anything(_) if tainted => SkillOutcome::Held,
        WriteReach::Anything(writes) if writes.answer_within(&skill.folder) => {
            match doing.is_unasked(root, &skill.folder) {
                true => SkillOutcome::Held,
                false => SkillOutcome::Recorded,
            }
        }
        // Who wrote into it beside the command cannot be told, and a new one would be trusted at
        // first sight.
        WriteReach::Anything(_) => SkillOutcome::Held,
    }
}

fn lies_in(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real(path).starts_with(real(folder))
}

/// Those the build brought cannot be written into.
fn own(library: &SkillLibrary) -> impl Iterator<Item = &Skill> {
    let entries = library.catalog().entries().iter();
    entries
        .map(|entry| entry.skill.as_ref())
        .filter(|skill| skill.source != SkillSource::Bundled)
}
