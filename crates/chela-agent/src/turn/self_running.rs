//! Files that programs run by themselves, after a command that nobody said yes to.
//!
//! Writing such a file with a file tool asks. A command can write one all the same. What runs at
//! the mere opening of a folder stays if the owner says so, where the command was the agent's own
//! in a session that had read nothing from outside; otherwise it is set aside under a name that
//! nothing runs. What runs at a build is told of after text from outside, and counts as foreign,
//! so that no standing yes covers it.

use std::path::Path;
use std::sync::Arc;

use chela_core::ContentHash;
use chela_guard::approval::{ApprovalQuestion, AskedCall, QuestionTiming, shown, shown_block};
use chela_guard::flow::{HostStanding, SessionTaint};
use chela_guard::{LabelledText, RunsWhen};
use chela_model::ToolCall;
use chela_sandbox::WriteRecord;
use chela_tools::{CallWrites, Effect, OutputPiece, ToolOutput};
use serde_json::Value;

use super::guard::JudgedCall;
use super::{RunningTurn, TurnEvent};
use crate::blocking_work::on_blocking_thread;
use crate::file_custody::{CommandWrites, FileCustody};
use crate::self_running_files::{SelfRunningFiles, WrittenFile};

const TOO_LARGE: &str = "The workspace is too large to check: files that programs run \
    automatically may have changed unnoticed. Look at what is new before you open it in an editor or a shell.";

/// What the model is told of a command that nobody allowed there.
pub(super) const UNWATCHED: &str = "Not done: the folders this command writes in are too large to \
    check for files that programs run automatically, untrusted content was read, and the owner did \
    not allow it. Ask the owner, or work in a smaller folder.";

/// Such files as they were before a command. Of one that is broken off they are looked at later.
pub(super) struct SelfRunningWatch {
    custody: Arc<FileCustody>,
    /// `None` once it has ended.
    before: Option<SelfRunningFiles>,
}

impl Drop for SelfRunningWatch {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            self.custody.look_at_files_later(before);
        }
    }
}

/// Whose doing it was that such a file was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WrittenAfter {
    /// A command of the agent's own, before anything from outside was read.
    OwnWords,
    /// It ran on while nobody looked: the owner themselves may have written it meanwhile.
    Background,
    /// Text from outside was read, or what the command could reach is nobody's.
    ForeignText,
}

impl WrittenAfter {
    /// By what was read before, and by what is known of the command. What the owner has on their
    /// list is theirs.
    pub(super) fn of(
        taint: SessionTaint,
        writes: Option<&CommandWrites>,
        standing: HostStanding,
    ) -> Self {
        let is_known = matches!(
            writes,
            Some(CommandWrites::Named(_) | CommandWrites::Enclosed)
        );
        match taint == SessionTaint::Clean && (is_known || standing == HostStanding::Listed) {
            true => Self::OwnWords,
            false => Self::ForeignText,
        }
    }
}

impl RunningTurn<'_> {
    /// Looks at such files before a command that nobody was asked about. `None` for a call that
    /// can write none.
    pub(super) async fn self_running_before(&self, case: &JudgedCall) -> Option<SelfRunningWatch> {
        let is_command = matches!(case.writes, CallWrites::Anything);
        if !is_command || case.prospect.effect == Effect::Read {
            return None;
        }
        let mut folders = self.parts.scope.writable_roots();
        folders.extend(case.prepared.tool.writes_in());
        let provenance = &self.parts.guarding.provenance;
        let taint = provenance.with(|seen| seen.taint());
        let look = move || match taint {
            SessionTaint::Clean => SelfRunningFiles::look(folders),
            SessionTaint::Tainted => SelfRunningFiles::look_far(folders),
        };
        let before = on_blocking_thread(look).await;
        Some(SelfRunningWatch {
            custody: Arc::clone(self.parts.custody),
            before: Some(before),
        })
    }

    /// Whether a command may run although not all of the folders it writes in can be looked
    /// through, after untrusted content was read: what it leaves behind might be missed. Asks.
    pub(super) async fn may_run_unwatched(
        &self,
        watch: Option<&SelfRunningWatch>,
        taint: SessionTaint,
        call: &ToolCall,
    ) -> bool {
        let is_cut = |watch: &SelfRunningWatch| {
            let before = watch.before.as_ref();
            before.is_some_and(|before| before.is_cut)
        };
        if taint == SessionTaint::Clean || !watch.is_some_and(is_cut) {
            return true;
        }
        let arguments = Value::Object(call.arguments.clone());
        let shape = ContentHash::of(format!("unwatched\0{}\0{arguments}", call.name));
        if self.parts.guarding.is_always_allowed(shape) {
            return true;
        }
        let host = &self.parts.scope.agents.host;
        let id = host.random_hex(3);
        let asking = QuestionTiming {
            id: &id,
            now: host.clock.now(),
            lasts: self.parts.guarding.patience(),
        };
        let exact = call.arguments.iter().map(|(name, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (name.clone(), shown_block(&text))
        });
        let asked = AskedCall {
            tool: call.name.clone(),
            summary: "Run a command in folders that are too large to check".to_owned(),
            exact: exact.collect(),
            why: "untrusted content was read, and files that programs run automatically could be \
                left there unnoticed"
                .to_owned(),
            passage: None,
            shape,
        };
        let mut question = ApprovalQuestion::new(vec![asked], asking);
        self.put(&mut question).await.is_ok()
    }

    /// Settles what a command did to them; the model and the owner are told. What still runs is
    /// looked at again.
    pub(super) async fn settle_self_running(
        &self,
        mut watch: SelfRunningWatch,
        after: WrittenAfter,
        mut output: ToolOutput,
    ) -> ToolOutput {
        let Some(before) = watch.before.take() else {
            return output;
        };
        let written = output.written.clone();
        for words in self.settle_written(before, after, written).await {
            output
                .content
                .push(OutputPiece::Text(LabelledText::runtime(words)));
        }
        output
    }

    /// The same for what commands in the background wrote meanwhile.
    pub(super) async fn settle_background_files(&self) {
        if let Some(before) = self.parts.custody.take_background_files() {
            let after = WrittenAfter::Background;
            self.settle_written(before, after, None).await;
        }
    }

    async fn settle_written(
        &self,
        before: SelfRunningFiles,
        after: WrittenAfter,
        record: Option<Arc<WriteRecord>>,
    ) -> Vec<String> {
        let is_foreign = after == WrittenAfter::ForeignText;
        let was_cut = before.is_cut;
        let look = move || {
            let touched = record.and_then(|record| record.touched());
            before.written(touched.as_ref())
        };
        let (written, mut now) = on_blocking_thread(look).await;
        // Who makes a workspace too large to be looked through may do so in order not to be seen.
        let is_blind = now.is_cut && (is_foreign || !was_cut);
        let (opened, built): (Vec<_>, Vec<_>) = written
            .into_iter()
            .partition(|file| file.when == RunsWhen::Opened);
        let stays = !is_foreign && self.may_stay(&opened).await;
        let scope = self.parts.scope;
        let journal = scope.agents.journal(&scope.view.id);
        let custody = Arc::clone(self.parts.custody);
        let settle = move || {
            let mut settled = Vec::new();
            for file in opened.into_iter().filter(|_| !stays) {
                let held = file.set_aside(&journal);
                now.look_again(&file.path);
                settled.push((file, held));
            }
            for file in built.into_iter().filter(|_| is_foreign) {
                file.mark_foreign(&journal);
                settled.push((file, None));
            }
            custody.go_on_watching_files(now);
            settled
        };
        let settled = on_blocking_thread(settle).await;
        let cut = is_blind.then(|| TOO_LARGE.to_owned());
        let told = settled
            .iter()
            .map(|(file, held)| self.about_settled(file, held.as_deref()));
        let told: Vec<String> = cut.into_iter().chain(told).collect();
        for words in &told {
            self.surface.event(TurnEvent::Notice(words.clone()));
        }
        told
    }

    fn about_settled(&self, file: &WrittenFile, held: Option<&Path>) -> String {
        let path = self.shown_path(&file.path);
        match (file.when, held) {
            (RunsWhen::Opened, Some(held)) => format!(
                "{path} runs automatically when its folder is opened, so what the command wrote \
                    was moved aside to {}; only the owner can put it in place.",
                self.shown_path(held)
            ),
            (RunsWhen::Opened, None) => format!(
                "{path} runs automatically when its folder is opened; a command wrote it, and it \
                    could not be moved aside."
            ),
            (RunsWhen::Built, _) => format!(
                "{path} runs at the next build, and untrusted content may have influenced what \
                    the command wrote: commands outside the sandbox ask again."
            ),
        }
    }

    /// Asks whether such files are to stay. Nobody there means no.
    async fn may_stay(&self, written: &[WrittenFile]) -> bool {
        if written.is_empty() {
            return true;
        }
        let host = &self.parts.scope.agents.host;
        let id = host.random_hex(3);
        let asking = QuestionTiming {
            id: &id,
            now: host.clock.now(),
            lasts: self.parts.guarding.patience(),
        };
        let calls = written
            .iter()
            .map(|file| self.about_written(file))
            .collect();
        let mut question = ApprovalQuestion::new(calls, asking);
        self.put(&mut question).await.is_ok()
    }

    fn about_written(&self, file: &WrittenFile) -> AskedCall {
        let name = self.shown_path(&file.path);
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let old = file.before.as_deref().map(lossy);
        let new = file.text_now();
        AskedCall {
            tool: "command".to_owned(),
            summary: format!("A command wrote {}. Keep it?", shown(&name)),
            exact: vec![self.diff_row(&name, old.as_deref(), new.as_deref())],
            why: "programs run this file automatically when its folder is opened or they start; \
                if you deny it, it is moved aside"
                .to_owned(),
            passage: None,
            shape: ContentHash::of(format!("{name}\0{new:?}")),
        }
    }

    fn shown_path(&self, path: &Path) -> String {
        let path = self.parts.scope.agents.host.compact(path);
        chela_core::sanitize::literal(&path).into_owned()
    }
}
