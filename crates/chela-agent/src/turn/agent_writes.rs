//! What a call did to the files that shape the agent.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chela_core::{Trust, lock};
use chela_guard::flow::{Decision, DecisionRule, SessionTaint};
use chela_ledger::AuditKind;
use chela_model::ToolCall;
use chela_sandbox::SandboxStanding;
use chela_tools::{CallWrites, ChangeJournal as _, FileChange, MOST_FILE_BYTES, WriteExtent};
use serde_json::json;

use super::authority_files::{AuthorityAsk, AuthorityFiles};
use super::guard::{JudgedCall, OwnerApproval};
use super::output_taint::leaves_sandbox;
use super::{RunningTurn, TurnEvent};
use crate::blocking_work::on_blocking_thread;
use crate::file_custody::{
    CommandWrites, FileCustody, FileExtent, FilesBefore, WriteContext, WriteReach,
};
use crate::order_files::OrderLeave;

/// The files a call may change, as they were before it. What a call changed that is broken off is
/// looked at with the next one, or when the conversation goes.
pub(super) struct WriteWatch {
    custody: Arc<FileCustody>,
    /// `None` once it has ended.
    open: Option<OpenWatch>,
    /// For what may write anything: the files that say what it may.
    authority: Mutex<Option<AuthorityFiles>>,
}

struct OpenWatch {
    before: FilesBefore,
    /// As it counts when nobody hears what the call brought: it may have been anything.
    doing: WriteContext,
    /// The texts that nobody else keeps for the journal.
    kept: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Drop for WriteWatch {
    fn drop(&mut self) {
        let is_command = |open: &OpenWatch| matches!(open.doing.reach, WriteReach::Anything(_));
        if let Some(open) = self.open.take().filter(is_command) {
            self.custody.go_on_watching(open.before, &open.doing);
        }
        for told in lock(&self.authority)
            .take()
            .map_or_else(Vec::new, AuthorityFiles::settle)
        {
            tracing::warn!("{told}");
        }
    }
}

/// A file that waits for the owner.
pub(super) struct HeldFile {
    pub path: PathBuf,
    /// How far its words are trusted if the owner lets them stay.
    pub trust: Trust,
}

/// What of the guard's word matters here.
#[derive(Debug, Clone)]
pub(super) struct GuardContext {
    taint: SessionTaint,
    question: Option<String>,
    /// The files that give orders and that may change unasked.
    leave: OrderLeave,
}

/// What is known of a call once it was made.
pub(super) struct CallOutcome {
    /// The least trusted text it can have had before it.
    pub brought: Trust,
    /// What of the changes is its doing, where it could write anything.
    pub writes: CommandWrites,
}

impl RunningTurn<'_> {
    pub(super) async fn word_about(
        &self,
        case: &JudgedCall,
        decision: &Decision,
        yes: Option<&OwnerApproval>,
    ) -> GuardContext {
        let question = match yes {
            Some(yes) => Some(yes.question.clone()),
            None if decision.rule == DecisionRule::ApprovedShape => {
                self.question_behind(case).await
            }
            None => None,
        };
        GuardContext {
            taint: decision.taint,
            question,
            leave: self.order_leave(),
        }
    }

    /// Looks at what a call may change. `None` for one that changes nothing here.
    pub(super) async fn watch(
        &self,
        call: &ToolCall,
        case: &JudgedCall,
        word: &GuardContext,
    ) -> Option<WriteWatch> {
        if matches!(case.writes, CallWrites::Nothing) {
            return None;
        }
        let (custody, writes) = (Arc::clone(self.parts.custody), case.writes.clone());
        let keeps_changes = case.prepared.tool.keeps_changes();
        let doing = BrokenOff {
            tool: call.name.clone(),
            turn: self.recorder.turn().to_owned(),
            question: word.question.clone(),
            leave: word.leave.clone(),
        };
        let host = self.parts.scope.agents.host.clone();
        // In the sandbox those files are out of reach, and what changes them meanwhile is the owner.
        let sandbox = self.parts.background.commands.sandbox();
        let is_inside = matches!(
            &**sandbox,
            SandboxStanding::Inside(_) | SandboxStanding::CommandsInside(_)
        );
        let is_outside = !is_inside || leaves_sandbox(&call.arguments);
        let prepared = &case.prepared;
        let (tool, arguments) = (Arc::clone(&prepared.tool), prepared.arguments.clone());
        let look = on_blocking_thread(move || {
            let mut watch = WriteWatch::begin(custody, &writes, keeps_changes, doing)?;
            if is_outside && matches!(writes, CallWrites::Anything) {
                let reach = tool.state_reach(&arguments);
                watch.authority = Mutex::new(Some(AuthorityFiles::look(host, reach)));
            }
            Some(watch)
        });
        look.await
    }

    /// The owner hears that files of the guard were put back, and it is on record.
    pub(super) fn tell_of_tampering(&self, put_back: Vec<String>) {
        for told in put_back {
            let body = json!({ "change": "put-back", "told": told });
            self.recorder.note(AuditKind::TrustChange, &body);
            self.surface.event(TurnEvent::Tampered(told));
        }
    }

    /// Puts on record what a call changed. Gives the files that wait for the owner now.
    pub(super) async fn note_writes(
        &self,
        mut watch: WriteWatch,
        call: &ToolCall,
        word: GuardContext,
        made: CallOutcome,
    ) -> Vec<HeldFile> {
        let Some(open) = &mut watch.open else {
            return Vec::new();
        };
        let is_command = matches!(open.doing.reach, WriteReach::Anything(_));
        open.doing = WriteContext {
            // What could reach text from outside, or brought it, may have written it down, too.
            taint: match is_command && made.brought < Trust::Agent {
                true => SessionTaint::Tainted,
                false => word.taint,
            },
            reach: match is_command {
                true => WriteReach::Anything(made.writes),
                false => open.doing.reach.clone(),
            },
            ..open.doing.clone()
        };
        let id = call.id.clone();
        let end = on_blocking_thread(move || {
            let authority = lock(&watch.authority).take();
            let put_back = authority.map_or_else(Vec::new, AuthorityFiles::settle);
            let (troubles, held) = watch.end(&id);
            (put_back, troubles, held)
        });
        let (put_back, troubles, held) = end.await;
        self.tell_of_tampering(put_back);
        for trouble in troubles {
            self.surface.event(TurnEvent::Notice(trouble));
        }
        held
    }
}

/// Whose call it is, should it be broken off.
struct BrokenOff {
    tool: String,
    turn: String,
    question: Option<String>,
    leave: OrderLeave,
}

impl WriteWatch {
    /// While a question waits nothing of the call runs: whatever changes in the guard's files
    /// meanwhile is the owner's, however the question ends. Gives what the owner is to hear of the
    /// time before it.
    pub(super) async fn leave_authority(&self) -> (Option<AuthorityAsk>, Vec<String>) {
        let Some(authority) = lock(&self.authority).take() else {
            return (None, Vec::new());
        };
        let ask = authority.ask();
        let told = on_blocking_thread(move || authority.settle()).await;
        (Some(ask), told)
    }

    /// Watches the guard's files again, from now on.
    pub(super) async fn watch_authority(&self, ask: AuthorityAsk) {
        let look = move || AuthorityFiles::look(ask.host, ask.reach);
        let now = on_blocking_thread(look).await;
        *lock(&self.authority) = Some(now);
    }

    fn begin(
        custody: Arc<FileCustody>,
        writes: &CallWrites,
        keeps_changes: bool,
        whose: BrokenOff,
    ) -> Option<Self> {
        let reach = match writes {
            CallWrites::Nothing => return None,
            CallWrites::Files { paths, extent } => WriteReach::Named {
                paths: resolved(&custody, paths),
                extent: match extent {
                    WriteExtent::Whole => FileExtent::Whole,
                    WriteExtent::Part => FileExtent::Part,
                },
            },
            CallWrites::Anything => WriteReach::Anything(CommandWrites::Unknown),
        };
        custody.note_background();
        let kept = match (&reach, keeps_changes) {
            (WriteReach::Named { paths, .. }, false) => paths
                .iter()
                .map(|path| (path.clone(), read_for_journal(path)))
                .collect(),
            _ => Vec::new(),
        };
        let open = OpenWatch {
            before: custody.before(&reach)?,
            doing: WriteContext {
                tool: whose.tool,
                turn: whose.turn,
                taint: SessionTaint::Tainted,
                question: whose.question,
                leave: whose.leave,
                reach,
            },
            kept,
        };
        Some(Self {
            custody,
            open: Some(open),
            authority: Mutex::default(),
        })
    }

    /// What could not be put on record, and the files that wait for the owner now.
    fn end(mut self, call: &str) -> (Vec<String>, Vec<HeldFile>) {
        let Some(open) = self.open.take() else {
            return (Vec::new(), Vec::new());
        };
        let custody = &self.custody;
        let mut troubles = open.journal_changes(custody, call);
        let mut noted = custody.note(&open.before, &open.doing);
        troubles.append(&mut noted.troubles);
        custody.put_on_record(&noted, &open.doing);
        let held = noted.files.into_iter().filter_map(|file| {
            let records = custody.custody()?.records();
            let is_held = records.entry(&file.path)?.held.is_some();
            is_held.then_some(HeldFile {
                path: file.path,
                trust: file.held_as.unwrap_or(Trust::External),
            })
        });
        (troubles, held.collect())
    }
}

impl OpenWatch {
    /// Hands to the journal what a tool changed that keeps none itself: the change can be taken
    /// back, and text from outside stays text from outside. Gives what it could not keep.
    fn journal_changes(&self, custody: &FileCustody, call: &str) -> Vec<String> {
        let doing = &self.doing;
        let mut troubles = Vec::new();
        for (path, before) in &self.kept {
            let after = read_for_journal(path);
            if *before == after {
                continue;
            }
            let change = FileChange {
                path,
                before: before.as_deref(),
                after: after.as_deref(),
                keeps: match doing.reach {
                    WriteReach::Named {
                        extent: FileExtent::Part,
                        ..
                    } => Some(path),
                    _ => None,
                },
                tool: &doing.tool,
                call,
            };
            if let Err(why) = custody.journal.before(&change) {
                troubles.push(format!(
                    "{} was changed by {} and cannot be undone: {why}",
                    path.display(),
                    doing.tool
                ));
            }
        }
        troubles
    }
}

/// Paths as the trust in files knows them.
fn resolved(custody: &FileCustody, paths: &[PathBuf]) -> Vec<PathBuf> {
    match custody.custody() {
        Some(custody) => paths.iter().map(|path| custody.resolved(path)).collect(),
        None => Vec::new(),
    }
}

/// What a file holds, as far as the journal keeps files; `None` for none.
fn read_for_journal(path: &Path) -> Option<Vec<u8>> {
    let size = path.metadata().ok()?.len();
    match size <= MOST_FILE_BYTES {
        true => std::fs::read(path).ok(),
        false => None,
    }
}
