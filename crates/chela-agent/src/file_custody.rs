//! What the agent's calls do to the files that shape it, whatever it did it with.
//!
//! A file tool names what it writes. A command may write anything, at once or from the background,
//! so the watched files are looked at before and after, and again for as long as a command runs.

mod changed_file_trust;
mod command_writes;
mod journal_writer;
mod note_stamps;
mod own_trees;
mod tree_watch;
mod watched_skills;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chela_core::{AgentId, ContentHash, Trust, lock, ok_or_debug, ok_or_warn};
use chela_guard::RunsWhen;
use chela_guard::flow::SessionTaint;
use chela_ledger::AuditKind;
use chela_tools::process::SessionProcesses;
use chela_workspace::custody::{Custody, WatchedKind, WritingTurn};
use chela_workspace::trust::{JudgedVersion, TrustError};
use serde_json::{Value, json};

use crate::agent::Agents;
use crate::blocking_work::on_blocking_thread;
use crate::order_files::OrderLeave;
use crate::self_running_files::SelfRunningFiles;
use crate::trust::heartbeat_key;
use changed_file_trust::{AgentWrite, note_agent_write};
use note_stamps::NoteStamps;
use own_trees::OwnTrees;
use watched_skills::{NotedSkill, SkillTrees, WatchedSkills};

pub(crate) use changed_file_trust::FileExtent;
pub(crate) use command_writes::CommandWrites;
pub(crate) use journal_writer::JournalWriter;

/// The files that shape the agent of a conversation, and the record of who changes them.
pub(crate) struct FileCustody {
    agents: Arc<Agents>,
    agent: AgentId,
    processes: SessionProcesses,
    skills: WatchedSkills,
    /// What its file tools write into the journal with.
    pub journal: Arc<JournalWriter>,
    /// The trees its commands run in.
    pub trees: OwnTrees,
    /// What commands in the background may still change.
    lingering: Mutex<Option<Lingering>>,
    /// The files that programs run, as they were when such a command was last looked at.
    background_files: Mutex<Option<SelfRunningFiles>>,
}

/// The watched files as they were.
pub(crate) struct FilesBefore {
    custody: Arc<Custody>,
    files: BTreeMap<PathBuf, Option<JudgedVersion>>,
    notes: NoteStamps,
    skills: SkillTrees,
    /// The heartbeat prompt of the config, as it is on disk.
    heartbeat: Option<String>,
}

/// What a call does, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct WriteContext {
    pub tool: String,
    pub turn: String,
    pub taint: SessionTaint,
    /// The question to which the owner said yes.
    pub question: Option<String>,
    /// The files that give orders and that may change unasked.
    pub leave: OrderLeave,
    pub reach: WriteReach,
}

/// What a call may write.
#[derive(Debug, Clone)]
pub(crate) enum WriteReach {
    /// The files it names, and no others.
    Named {
        paths: Vec<PathBuf>,
        extent: FileExtent,
    },
    /// Anything; of these it is known whose words they are.
    Anything(CommandWrites),
}

/// What was changed.
#[derive(Debug, Default)]
pub(crate) struct RecordedWrites {
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
    /// How far its words are trusted if the owner lets them stay, where they wait for that.
    pub held_as: Option<Trust>,
}

struct Lingering {
    before: FilesBefore,
    doing: WriteContext,
}

impl FileCustody {
    pub(crate) fn new(
        agents: Arc<Agents>,
        agent: AgentId,
        processes: SessionProcesses,
        journal: Arc<JournalWriter>,
    ) -> Self {
        Self {
            skills: WatchedSkills::new(Arc::clone(&agents), agent.clone()),
            journal,
            agents,
            agent,
            processes,
            trees: OwnTrees::default(),
            lingering: Mutex::default(),
            background_files: Mutex::default(),
        }
    }

    pub(crate) fn custody(&self) -> Option<Arc<Custody>> {
        let custody = self.agents.assembler.custody(&self.agent);
        ok_or_warn!(custody, "nobody watches who writes the agent's files")
    }

    /// Looks at what a call may change.
    pub(crate) fn before(&self, reach: &WriteReach) -> Option<FilesBefore> {
        let custody = self.custody()?;
        let look = |path: &Path| custody.look(path).map(|(judged, _)| judged);
        Some(match reach {
            WriteReach::Named { paths, .. } => FilesBefore {
                files: paths
                    .iter()
                    .map(|path| (path.clone(), look(path)))
                    .collect(),
                notes: NoteStamps::default(),
                heartbeat: None,
                skills: match paths.iter().any(|path| is_of_skill(&custody, path)) {
                    true => self.skills.trees(),
                    false => SkillTrees::default(),
                },
                custody,
            },
            WriteReach::Anything(_) => self.everything(custody),
        })
    }

    /// Puts on record what a call changed. While a command goes on in the background, what it
    /// changes from now on is the agent's doing as well.
    pub(crate) fn note(&self, before: &FilesBefore, doing: &WriteContext) -> RecordedWrites {
        let mut noted = RecordedWrites::default();
        let custody = &before.custody;
        // In this order: what ends meanwhile is looked at once more.
        let goes_on = self.processes.any_running();
        let after = match doing.reach {
            WriteReach::Named { .. } => None,
            WriteReach::Anything(_) => Some(self.everything(Arc::clone(custody))),
        };
        for (path, judged) in touched(before, after.as_ref()) {
            let now = custody.look(&path).map(|(judged, _)| judged.hash);
            let was = judged.as_ref().map(|judged| judged.hash);
            if now == was || matches!(custody.kind(&path), None | Some(WatchedKind::Skill)) {
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
                is_unasked: doing.is_unasked(custody.root(), &path),
            };
            let held_as = match note_agent_write(custody, &write) {
                Ok(held_as) => held_as,
                Err(error) => {
                    noted.troubles.push(error.to_string());
                    None
                }
            };
            noted.files.push(NotedFile {
                path,
                before: was,
                after: now,
                held_as,
            });
        }
        let looks_at_skills = match &doing.reach {
            WriteReach::Named { paths, .. } => paths.iter().any(|path| is_of_skill(custody, path)),
            WriteReach::Anything(_) => true,
        };
        if looks_at_skills {
            noted.skills = self.skills.note(&before.skills, doing, custody.root());
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

    pub(crate) fn go_on_watching(&self, before: FilesBefore, doing: &WriteContext) {
        let mut lingering = lock(&self.lingering);
        let doing = doing.in_background();
        let doing = match lingering.take() {
            Some(known) => known.doing.and(&doing),
            None => doing,
        };
        *lingering = Some(Lingering { before, doing });
    }

    /// [`Self::note_background`] from where nothing may wait.
    pub(crate) async fn look_at_background(self: &Arc<Self>) {
        if self.lingers() {
            let custody = Arc::clone(self);
            on_blocking_thread(move || custody.note_background()).await;
        }
    }

    /// A turn is over: what a command wrote that ended meanwhile, or was broken off, is settled.
    pub(crate) async fn settle_ended_files(self: &Arc<Self>) {
        if lock(&self.background_files).is_some() && !self.processes.any_running() {
            let custody = Arc::clone(self);
            on_blocking_thread(move || custody.set_background_files_aside()).await;
        }
    }

    fn lingers(&self) -> bool {
        let lingering = self.lingering.lock();
        lingering.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Keeps how the files that programs run were, as long as a command may still write some.
    pub(crate) fn go_on_watching_files(&self, now: SelfRunningFiles) {
        if self.processes.any_running() {
            *lock(&self.background_files) = Some(now);
        }
    }

    /// A command was broken off: what it wrote is looked at with the next call, or when the
    /// conversation goes.
    pub(crate) fn look_at_files_later(&self, before: SelfRunningFiles) {
        lock(&self.background_files).get_or_insert(before);
    }

    /// Those files as they were when a command in the background was last looked at.
    pub(crate) fn take_background_files(&self) -> Option<SelfRunningFiles> {
        lock(&self.background_files).take()
    }

    /// Nobody is there to be asked any more: what was written is set aside.
    fn set_background_files_aside(&self) {
        let Some(before) = self.take_background_files() else {
            return;
        };
        let journal = self.agents.journal(&self.agent);
        let (written, _) = before.written(None);
        for file in written
            .into_iter()
            .filter(|file| file.when == RunsWhen::Opened)
        {
            file.set_aside(&journal);
            tracing::warn!(path = %file.path.display(), "programs run this file automatically: \
                what a command in the background wrote was moved aside");
        }
    }

    /// Whether a command runs on that can reach what nobody answers for: what it writes may lie
    /// anywhere at any moment.
    pub(crate) fn lingers_foreign(&self) -> bool {
        let lingering = self.lingering.lock();
        let lingering = lingering.unwrap_or_else(PoisonError::into_inner);
        let is_foreign = |known: &Lingering| known.doing.taint == SessionTaint::Tainted;
        lingering.as_ref().is_some_and(is_foreign) && self.processes.any_running()
    }

    /// Puts on record what commands in the background changed meanwhile.
    pub(crate) fn note_background(&self) {
        if let Some((noted, doing)) = self.look_back() {
            for trouble in &noted.troubles {
                tracing::warn!(
                    trouble,
                    "what a command changed in the background is not on record"
                );
            }
            self.put_on_record(&noted, &doing);
        }
    }

    /// Files that shape the agent have changed: that belongs to the record.
    pub(crate) fn put_on_record(&self, noted: &RecordedWrites, doing: &WriteContext) {
        let (Some(custody), Some(ledger)) = (self.custody(), self.agents.ledger()) else {
            return;
        };
        let by = json!({
            "agent": self.agent,
            "turn": doing.turn,
            "tool": doing.tool,
            "taint": doing.taint.as_str(),
            "question": doing.question,
        });
        let record_change = |what: Value| {
            let mut body = by.clone();
            if let (Some(body), Value::Object(what)) = (body.as_object_mut(), what) {
                body.extend(what);
            }
            // What has happened already happens no less without a record.
            drop(ledger.note(AuditKind::TrustChange, &body));
        };
        for file in &noted.files {
            let judged = custody.look(&file.path).map(|(judged, _)| judged.judgement);
            let judgement = judged.or(custody.missed(&file.path).map(|absent| absent.judgement));
            record_change(json!({
                "change": match file.after {
                    Some(_) => "agent-write",
                    None => "agent-delete",
                },
                "file": custody.shown(&file.path),
                "before": file.before,
                "hash": file.after,
                "state": judgement.map(|judgement| judgement.state.as_str()),
            }));
        }
        for skill in &noted.skills {
            record_change(json!({
                "change": "agent-write",
                "skill": skill.name,
                "tree": skill.tree,
                "state": skill.outcome.as_str(),
            }));
        }
    }

    /// What commands in the background changed since it was last looked at, with the call that
    /// began it.
    fn look_back(&self) -> Option<(RecordedWrites, WriteContext)> {
        let known = lock(&self.lingering).take()?;
        let noted = self.note(&known.before, &known.doing);
        Some((noted, known.doing))
    }

    /// The heartbeat prompt the config on disk gives this agent.
    fn heartbeat(&self) -> Option<String> {
        let loaded = chela_config::load(&self.agents.host);
        loaded.agent(&self.agent)?.heartbeat.value.prompt
    }

    fn everything(&self, custody: Arc<Custody>) -> FilesBefore {
        let knobs = self.agents.assembler.knobs(&self.agent);
        let knobs = ok_or_debug!(knobs, "the settings of an agent cannot be read");
        let extra = knobs.map_or(Vec::new(), |knobs| knobs.bootstrap.extra_files.clone());
        let files = custody.survey(&extra).into_iter();
        FilesBefore {
            files: files.map(|file| (file.path, file.judged)).collect(),
            notes: NoteStamps::below(&custody.root().join("memory")),
            heartbeat: self.heartbeat(),
            skills: self.skills.trees(),
            custody,
        }
    }
}

/// A command that had read foreign text does not choose what the agent is told by the clock.
fn note_heartbeat(
    before: &FilesBefore,
    after: &FilesBefore,
    doing: &WriteContext,
    agent: &AgentId,
) -> Result<(), TrustError> {
    let hand = WritingTurn {
        turn: &doing.turn,
        tool: &doing.tool,
        question: doing.question.as_deref(),
    };
    match &after.heartbeat {
        Some(text)
            if doing.taint == SessionTaint::Tainted && before.heartbeat.as_ref() != Some(text) =>
        {
            before
                .custody
                .hold_setting(&heartbeat_key(agent), text, &hand)
        }
        _ => Ok(()),
    }
}

/// The files that may have changed, as they were.
fn touched(
    before: &FilesBefore,
    after: Option<&FilesBefore>,
) -> BTreeMap<PathBuf, Option<JudgedVersion>> {
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

impl Drop for FileCustody {
    /// What still ran ends here, and with it what it may change.
    fn drop(&mut self) {
        if self.lingers() {
            self.processes.end_all();
            self.note_background();
        }
        self.set_background_files_aside();
    }
}

impl WriteContext {
    fn extent_at(&self, path: &Path) -> FileExtent {
        match &self.reach {
            WriteReach::Named { extent, .. } => *extent,
            WriteReach::Anything(writes) if writes.answer_for(path) => FileExtent::Command,
            WriteReach::Anything(_) => FileExtent::Unseen,
        }
    }

    /// Whether a command changed a file that gives orders, and the owner neither named it nor saw it
    /// in what they allowed.
    fn is_unasked(&self, root: &Path, path: &Path) -> bool {
        let WriteReach::Anything(writes) = &self.reach else {
            return false;
        };
        let is_seen = self.question.is_some() && matches!(writes, CommandWrites::Named(_));
        !is_seen && !self.leave.covers_file(root, path)
    }

    /// As it counts once nobody looks any more: what a command reads in the background nobody
    /// sees, unless its words say all of it.
    fn in_background(&self) -> Self {
        let is_known = matches!(
            &self.reach,
            WriteReach::Anything(CommandWrites::Named(_)) | WriteReach::Named { .. }
        );
        Self {
            taint: match is_known {
                true => self.taint,
                false => SessionTaint::Tainted,
            },
            ..self.clone()
        }
    }

    /// Two at once: the worse counts.
    fn and(mut self, other: &Self) -> Self {
        if other.taint == SessionTaint::Tainted {
            self.taint = SessionTaint::Tainted;
            self.turn.clone_from(&other.turn);
            self.question.clone_from(&other.question);
        }
        if let (WriteReach::Anything(writes), WriteReach::Anything(more)) =
            (&mut self.reach, &other.reach)
        {
            writes.narrow_to(more);
        }
        self
    }
}

fn is_of_skill(custody: &Custody, path: &Path) -> bool {
    custody.kind(path) == Some(WatchedKind::Skill)
        || path.file_name().is_some_and(|name| name == "SKILL.md")
        || path.components().any(|part| part.as_os_str() == "skills")
}
