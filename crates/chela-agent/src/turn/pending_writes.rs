//! What waits for the owner: a text the agent wanted to write when nobody could be asked, and one
//! that a command wrote while foreign text was being read.

use std::path::Path;
use std::sync::Arc;

use chela_core::{ContentHash, Trust, ok_or_warn};
use chela_guard::approval::{AnswerError, ApprovalQuestion, AskedCall, QuestionTiming, shown};
use chela_model::ToolCall;
use chela_tools::FilePreview;
use chela_workspace::custody::{Custody, WatchedKind, WritingTurn};
use chela_workspace::replace_file;
use chela_workspace::trust::{VersionCopies, VersionWriter, WrittenVersion};

use super::agent_writes::HeldFile;
use super::guard::{DenialKind, JudgedCall, MissingApproval};
use super::{RunningTurn, TurnEvent};
use crate::blocking_work::on_blocking_thread;

/// What the model is told about a text that is kept.
const KEPT: &str = " What you wanted to write is kept for the owner to decide about; do not write it anywhere else.";

impl RunningTurn<'_> {
    /// Keeps what a call would have written into files that shape the agent, for the owner to
    /// decide about later. After a no, what was kept of it before is dropped.
    pub(super) async fn keep_proposal(
        &self,
        call: &ToolCall,
        case: &JudgedCall,
        asked: &MissingApproval,
    ) -> Option<&'static str> {
        let custody = self.parts.custody.custody()?;
        let drafts = self.previewed(case).await;
        let request = ProposedWrites {
            drafts,
            denied: asked.why == DenialKind::Denied,
            turn: self.recorder.turn().to_owned(),
            tool: call.name.clone(),
            question: asked.question.clone(),
        };
        let (kept, notices) = on_blocking_thread(move || request.keep(&custody)).await;
        for notice in notices {
            self.surface.event(TurnEvent::Notice(notice));
        }
        kept.then_some(KEPT)
    }

    /// What a call would leave behind, without doing it.
    pub(super) async fn previewed(&self, case: &JudgedCall) -> Vec<FilePreview> {
        let tool = Arc::clone(&case.prepared.tool);
        let arguments = case.prepared.arguments.clone();
        let preview = tokio::task::spawn_blocking(move || tool.preview(&arguments));
        ok_or_warn!(
            preview.await,
            "a call is asked about without what it writes"
        )
        .unwrap_or_default()
    }

    /// Asks about what a command just did to files that shape the agent. Nobody there: it waits.
    pub(super) async fn ask_about_held(&self, call: &ToolCall, held: Vec<HeldFile>) {
        let Some(custody) = self.parts.custody.custody().filter(|_| !held.is_empty()) else {
            return;
        };
        let host = &self.parts.scope.agents.host;
        let id = host.random_hex(3);
        let calls = held
            .iter()
            .map(|file| self.about_held(&custody, file, call))
            .collect();
        let asking = QuestionTiming {
            id: &id,
            now: host.clock.now(),
            lasts: self.parts.guarding.patience(),
        };
        let mut question = ApprovalQuestion::new(calls, asking);
        let outcome = self.put(&mut question).await;
        let kept_by = match outcome {
            Ok(_) => Some(VersionWriter::Agent {
                turn: self.recorder.turn().to_owned(),
                question: Some(id),
            }),
            Err(AnswerError::Denied) => None,
            Err(_) => return,
        };
        let tool = call.name.clone();
        let settle = move |custody: &Custody, file: &HeldFile| match &kept_by {
            Some(writer) => keep_held(custody, file, writer, &tool),
            None => put_back(custody, &file.path),
        };
        let settled = on_blocking_thread(move || {
            let settled = held.iter().map(|file| settle(&custody, file));
            settled.filter_map(Result::err).collect::<Vec<_>>()
        });
        for why in settled.await {
            self.surface.event(TurnEvent::Notice(why));
        }
    }

    fn about_held(&self, custody: &Custody, file: &HeldFile, call: &ToolCall) -> AskedCall {
        let path = &file.path;
        let why = match file.trust < Trust::Agent {
            true => {
                "the file shapes the agent, and untrusted content was in context when it was \
                    changed"
            }
            false => "the file tells the agent what to do, and you did not name it",
        };
        let name = custody.shown(path);
        let (old, new) = texts(custody, path);
        let did = match new {
            Some(_) => "changed",
            None => "deleted",
        };
        AskedCall {
            tool: shown(&call.name),
            summary: format!("A command {did} {}. Keep the change?", shown(&name)),
            exact: vec![self.diff_row(&name, old.as_deref(), new.as_deref())],
            why: format!("{why}; if you deny it, the previous text is restored"),
            passage: None,
            shape: ContentHash::of(format!("{name}\0{new:?}")),
        }
    }
}

/// What a call wanted to write into files that shape the agent.
struct ProposedWrites {
    drafts: Vec<FilePreview>,
    /// The owner said no to it.
    denied: bool,
    turn: String,
    tool: String,
    question: String,
}

impl ProposedWrites {
    /// Whether something is kept, and what the owner is to know.
    fn keep(&self, custody: &Custody) -> (bool, Vec<String>) {
        let mut kept = false;
        let mut notices = Vec::new();
        for draft in &self.drafts {
            let path = custody.resolved(&draft.path);
            if matches!(custody.kind(&path), None | Some(WatchedKind::Skill)) {
                continue;
            }
            if self.denied {
                drop_refused(custody, &path, draft);
                continue;
            }
            let hand = WritingTurn {
                turn: &self.turn,
                tool: &self.tool,
                question: Some(&self.question),
            };
            if let Err(error) = custody.propose(&path, draft.after.as_deref(), &hand) {
                notices.push(error.to_string());
                continue;
            }
            let name = custody.shown(&path);
            notices.push(format!(
                "The proposed change to {name} is kept: review it with chela trust diff {name}, \
                    then chela trust approve {name} or chela trust refuse {name}."
            ));
            kept = true;
        }
        (kept, notices)
    }
}

fn drop_refused(custody: &Custody, path: &Path, draft: &FilePreview) {
    let hash = draft.after.as_ref().map(ContentHash::of);
    let records = custody.records();
    let known = records
        .entry(path)
        .and_then(|entry| entry.proposed.as_ref());
    if known.is_some_and(|known| known.hash == hash) {
        let dropped = custody.drop_proposal(path);
        ok_or_warn!(dropped, "a proposal that was refused stays", path = %path.display());
    }
}

/// The owner lets it stay. What text from outside had a part in is foreign all the same.
fn keep_held(
    custody: &Custody,
    HeldFile { path, trust }: &HeldFile,
    writer: &VersionWriter,
    tool: &str,
) -> Result<(), String> {
    let noted = match custody.look(path) {
        Some((_, bytes)) => custody.record(&[WrittenVersion {
            path: &custody.resolved(path),
            bytes: &bytes,
            writer,
            how: tool,
            trust: *trust,
        }]),
        None => custody.record_gone(path, writer, tool),
    };
    noted.map_err(|error| error.to_string())
}

/// The last trusted text is put back; what had none is taken away.
pub fn put_back(custody: &Custody, path: &Path) -> Result<(), String> {
    let resolved = custody.resolved(path);
    let records = custody.records();
    let entry = records.entry(&resolved).cloned().unwrap_or_default();
    let former = entry.trusted.as_ref().filter(|_| entry.gone.is_none());
    let put = match former {
        Some(version) => {
            let bytes = VersionCopies::of(custody.host())
                .bytes(version.hash)
                .ok_or_else(|| {
                    format!(
                        "the previous text of {} was not kept, so it cannot be restored",
                        custody.shown(path)
                    )
                })?;
            replace_file(&resolved, &bytes).map_err(|error| error.to_string())
        }
        None => match std::fs::remove_file(&resolved) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        },
    };
    put.and_then(|()| custody.settle_held(&resolved).map_err(|e| e.to_string()))
}

fn texts(custody: &Custody, path: &Path) -> (Option<String>, Option<String>) {
    let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let records = custody.records();
    let entry = records.entry(&custody.resolved(path));
    let version = entry.and_then(|entry| entry.trusted.as_ref());
    let old = version.and_then(|version| VersionCopies::of(custody.host()).bytes(version.hash));
    let new = custody.look(path).map(|(_, bytes)| bytes);
    (old.map(lossy), new.map(lossy))
}
