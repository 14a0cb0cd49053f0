//! What the agent's calls do to the files that shape it, whatever it did it with.
//!
//! A file tool names what it writes. A command may write anything, at once or from the background,
//! so the watched files are looked at before and after, and again for as long as a command runs.

mod notes;
mod shelf;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chela_core::{AgentId, ContentHash, ok_or_debug, ok_or_warn};
use chela_guard::flow::Taint;
use chela_tools::process::Processes;
use chela_workspace::trust::{Custody, Hand, Judged, Kind, TrustError};

use crate::agent::Agents;
use crate::trust::{AgentWrite, Extent, heartbeat_key, note_agent_write};
use notes::Stamps;
pub(crate) use shelf::NotedSkill;
use shelf::{Shelf, Trees};

/// The watched files of one conversation's agent.
pub(crate) struct Writes {
    agents: Arc<Agents>,
    agent: AgentId,
    processes: Processes,
    shelf: Shelf,
    /// What commands in the background may still change.
    lingering: Mutex<Option<Lingering>>,
}

/// The watched files as they were.
pub(crate) struct Before {
    custody: Arc<Custody>,
    files: BTreeMap<PathBuf, Option<Judged>>,
    notes: Stamps,
    skills: Trees,
    /// The heartbeat prompt of the config, as it is on disk.
    heartbeat: Option<String>,
}

/// What a call does, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct Doing {
    pub tool: String,
    pub turn: String,
    pub taint: Taint,
    /// The question to which the owner said yes.
    pub question: Option<String>,
    pub reach: Reach,
}

/// What a call may write.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    /// The files it names, and no others.
    Named { paths: Vec<PathBuf>, extent: Extent },
    /// Anything; these are its words.
    Anything { words: String },
}

/// What was changed.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub files: Vec<NotedFile>,
    pub skills: Vec<NotedSkill>,
    /// What could not be put on record.
    pub troubles: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct NotedFile {
    pub path: PathBuf,
    pub before: Option<ContentHash>,
    /// `None`: it is gone.
    pub after: Option<ContentHash>,
}

struct Lingering {
    before: Before,
    doing: Doing,
}

impl Writes {
    pub(crate) fn new(agents: Arc<Agents>, agent: AgentId, processes: Processes) -> Self {
        Self {
            shelf: Shelf::new(Arc::clone(&agents), agent.clone()),
            agents,
            agent,
            processes,
            lingering: Mutex::default(),
        }
    }

    pub(crate) fn custody(&self) -> Option<Arc<Custody>> {
        let custody = self.agents.assembler.custody(&self.agent);
        ok_or_warn!(custody, "nobody watches who writes the agent's files")
    }

    /// Looks at what a call may change.
    pub(crate) fn before(&self, reach: &Reach) -> Option<Before> {
        let custody = self.custody()?;
        let look = |path: &Path| custody.look(path).map(|(judged, _)| judged);
        Some(match reach {
            Reach::Named { paths, .. } => Before {
                files: paths
                    .iter()
                    .map(|path| (path.clone(), look(path)))
                    .collect(),
                notes: Stamps::default(),
                heartbeat: None,
                skills: match paths.iter().any(|path| is_of_skill(&custody, path)) {
                    true => self.shelf.trees(),
                    false => Trees::default(),
                },
                custody,
            },
            Reach::Anything { .. } => self.everything(custody),
        })
    }

    /// Puts on record what a call changed. While a command goes on in the background, what it
    /// changes from now on is the agent's doing as well.
    pub(crate) fn note(&self, before: &Before, doing: &Doing) -> Noted {
        let mut noted = Noted::default();
        let custody = &before.custody;
        // In this order: what ends meanwhile is looked at once more.
        let goes_on = self.processes.any_running();
        let after = match doing.reach {
            Reach::Named { .. } => None,
            Reach::Anything { .. } => Some(self.everything(Arc::clone(custody))),
        };
        for (path, judged) in touched(before, after.as_ref()) {
            let now = custody.look(&path).map(|(judged, _)| judged.hash);
            let was = judged.as_ref().map(|judged| judged.hash);
            if now == was || matches!(custody.kind(&path), None | Some(Kind::Skill)) {
                continue;
            }
            let extent = doing.extent_at(&path);
            let question = doing.question.as_deref();
            let write = AgentWrite {
                path: &path,
                tool: &doing.tool,
                turn: &doing.turn,
                taint: doing.taint,
                allowed: question.filter(|_| !extent.is_command()),
                asked: question,
                before: judged.as_ref(),
                extent,
            };
            if let Err(error) = note_agent_write(custody, &write) {
                noted.troubles.push(error.to_string());
            }
            noted.files.push(NotedFile {
                path,
                before: was,
                after: now,
            });
        }
        let looks_at_skills = match &doing.reach {
            Reach::Named { paths, .. } => paths.iter().any(|path| is_of_skill(custody, path)),
            Reach::Anything { .. } => true,
        };
        if looks_at_skills {
            noted.skills = self.shelf.note(&before.skills, doing);
        }
        if let Some(after) = &after
            && let Err(error) = note_heartbeat(before, after, doing, &self.agent)
        {
            noted.troubles.push(error.to_string());
        }
        if let Some(after) = after.filter(|_| goes_on) {
            self.go_on_watching(after, doing);
        }
        noted
    }

    fn go_on_watching(&self, before: Before, doing: &Doing) {
        let mut lingering = self
            .lingering
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let doing = match lingering.take() {
            Some(known) => known.doing.and(doing),
            None => doing.clone(),
        };
        *lingering = Some(Lingering { before, doing });
    }

    /// What commands in the background changed since it was last looked at, with the call that
    /// began it.
    pub(crate) fn look_back(&self) -> Option<(Noted, Doing)> {
        let known = self
            .lingering
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        let noted = self.note(&known.before, &known.doing);
        Some((noted, known.doing))
    }

    /// The heartbeat prompt the config on disk gives this agent.
    fn heartbeat(&self) -> Option<String> {
        let loaded = chela_config::load(&self.agents.host);
        loaded.agent(&self.agent)?.heartbeat.value.prompt
    }

    fn everything(&self, custody: Arc<Custody>) -> Before {
        let knobs = self.agents.assembler.knobs(&self.agent);
        let knobs = ok_or_debug!(knobs, "the settings of an agent cannot be read");
        let extra = knobs.map_or(Vec::new(), |knobs| knobs.bootstrap.extra_files.clone());
        let files = custody.survey(&extra).into_iter();
        Before {
            files: files.map(|file| (file.path, file.judged)).collect(),
            notes: Stamps::below(&custody.root().join("memory")),
            heartbeat: self.heartbeat(),
            skills: self.shelf.trees(),
            custody,
        }
    }
}

/// A command that had read foreign text does not choose what the agent is told by the clock.
fn note_heartbeat(
    before: &Before,
    after: &Before,
    doing: &Doing,
    agent: &AgentId,
) -> Result<(), TrustError> {
    let hand = Hand {
        turn: &doing.turn,
        tool: &doing.tool,
        question: doing.question.as_deref(),
    };
    match &after.heartbeat {
        Some(text) if doing.taint == Taint::Tainted && before.heartbeat.as_ref() != Some(text) => {
            before
                .custody
                .hold_setting(&heartbeat_key(agent), text, &hand)
        }
        _ => Ok(()),
    }
}

/// The files that may have changed, as they were.
fn touched(before: &Before, after: Option<&Before>) -> BTreeMap<PathBuf, Option<Judged>> {
    let mut files = before.files.clone();
    if let Some(after) = after {
        // Notes nobody recorded are known by their stamps alone.
        let notes = before.notes.changed(&after.notes);
        for path in after.files.keys().chain(&notes) {
            files.entry(path.clone()).or_insert(None);
        }
    }
    files
}

impl Drop for Writes {
    /// What still ran ends here, and with it what it may change.
    fn drop(&mut self) {
        let lingers = self
            .lingering
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some();
        if lingers {
            self.processes.end_all();
            self.look_back();
        }
    }
}

impl Doing {
    fn extent_at(&self, path: &Path) -> Extent {
        match &self.reach {
            Reach::Named { extent, .. } => *extent,
            Reach::Anything { words } => {
                let name = path.file_name().and_then(|name| name.to_str());
                match name.is_some_and(|name| words.contains(name)) {
                    true => Extent::Command,
                    false => Extent::Unseen,
                }
            }
        }
    }

    /// Two at once: the worse counts.
    fn and(mut self, other: &Self) -> Self {
        if other.taint == Taint::Tainted {
            self.taint = Taint::Tainted;
            self.turn.clone_from(&other.turn);
            self.question.clone_from(&other.question);
        }
        if let (Reach::Anything { words }, Reach::Anything { words: more }) =
            (&mut self.reach, &other.reach)
            && words != more
        {
            words.push('\n');
            words.push_str(more);
        }
        self
    }
}

fn is_of_skill(custody: &Custody, path: &Path) -> bool {
    custody.kind(path) == Some(Kind::Skill)
        || path.file_name().is_some_and(|name| name == "SKILL.md")
        || path.components().any(|part| part.as_os_str() == "skills")
}
