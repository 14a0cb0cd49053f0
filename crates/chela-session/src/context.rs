//! What a model is sent of a branch.
//!
//! A pure function, read from left to right: the same entries always give the same messages, and
//! a later entry only adds to the end. The one exception is meant: a compaction replaces what
//! came before it. So the cached prefix of a session grows and never moves.
//!
//! Endpoints want each tool call answered, once, right after it was made. What a crash or another
//! program left behind is put in order here, and each repair is decided by what precedes it:
//!
//! | found | done |
//! | --- | --- |
//! | a call with no result before the next answer | an error that says whether it ever started |
//! | a result for no open call, or a second one | dropped |
//! | two calls of one message with the same id | the second is dropped |
//! | a call without id, name or input | dropped |
//! | a message while calls were running | comes after their results |
//! | an answer of reasoning only, cut off | dropped |
//! | reasoning followed by nothing but the word for silence | dropped |

use std::collections::BTreeSet;
use std::sync::Arc;

use chela_model::{MessagePart, ModelMessage, StopReason, ToolCall};

use super::entry::{CompactionEntry, EntryBody, EntryId, EntryMeta, TranscriptEntry};
use super::kept_transcripts::TranscriptBranch;
use chela_reply::is_silence;
use chela_store::SessionIncarnation;

const SUMMARY: &str = include_str!("text/summary.md");
const BRANCH: &str = include_str!("text/branch.md");
const INTERRUPTED: &str = include_str!("text/interrupted.md");
const NEVER_STARTED: &str = include_str!("text/never_started.md");

/// The messages of a branch, from its last compaction on.
pub fn context(branch: &[TranscriptEntry]) -> Vec<ModelMessage> {
    let messages = replay_of(branch).messages();
    messages.into_iter().map(Arc::unwrap_or_clone).collect()
}

/// The messages of a session, kept while it grows: only what was added is read.
#[derive(Debug, Default)]
pub struct ContextReplay {
    replay: Replay,
    incarnation: SessionIncarnation,
    /// Entries that are in it, and the last of them.
    read: usize,
    last: Option<EntryId>,
}

impl ContextReplay {
    /// The messages of a branch, as [`context`] gives them. Those that were there before are the
    /// same ones again.
    pub fn follow(&mut self, branch: &TranscriptBranch) -> Vec<Arc<ModelMessage>> {
        match self.added(branch) {
            Some(added) => added
                .iter()
                .for_each(|entry| self.replay.entry(&entry.body)),
            None => self.replay = replay_of(branch),
        }
        self.incarnation = branch.incarnation();
        self.read = branch.len();
        self.last = branch.last().map(|entry| entry.id);
        self.replay.messages()
    }

    /// What a branch has more, where that is all there is to it: nothing was taken back or summed
    /// up.
    fn added<'b>(&self, branch: &'b TranscriptBranch) -> Option<&'b [TranscriptEntry]> {
        let (read, added) = branch.split_at_checked(self.read)?;
        let is_same = self.incarnation == branch.incarnation()
            && read.last().map(|entry| entry.id) == self.last
            && !added
                .iter()
                .any(|entry| matches!(entry.body, EntryBody::Compaction(_)));
        is_same.then_some(added)
    }
}

fn replay_of(branch: &[TranscriptEntry]) -> Replay {
    let mut replay = Replay::default();
    let last = branch
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, entry)| match &entry.body {
            EntryBody::Compaction(compaction) => Some((at, compaction)),
            _ => None,
        });
    let Some((at, compaction)) = last else {
        branch.iter().for_each(|entry| replay.entry(&entry.body));
        return replay;
    };
    let summary = ModelMessage::user(format!("{SUMMARY}{}", compaction.summary));
    replay.out.push(Arc::new(summary));
    let kept = kept(branch, at, compaction);
    let newest_question = kept
        .iter()
        .rposition(|entry| {
            matches!(
                &entry.body,
                EntryBody::Message {
                    message: ModelMessage::User { .. },
                    ..
                }
            )
        })
        .unwrap_or(kept.len());
    for (index, entry) in kept.iter().enumerate() {
        // Signatures are checked against the conversation they were made in, which is gone.
        if index < newest_question {
            replay.entry(&without_reasoning(&entry.body));
        } else {
            replay.entry(&entry.body);
        }
    }
    let since = branch.iter().skip(at + 1);
    since.for_each(|entry| replay.entry(&entry.body));
    replay
}

/// What a compaction kept of the entries before it.
fn kept<'b>(
    branch: &'b [TranscriptEntry],
    at: usize,
    compaction: &CompactionEntry,
) -> &'b [TranscriptEntry] {
    let first = branch
        .iter()
        .position(|entry| entry.id == compaction.first_kept);
    // One that is not before it kept nothing.
    first
        .and_then(|first| branch.get(first..at))
        .unwrap_or_default()
}

fn without_reasoning(body: &EntryBody) -> EntryBody {
    let mut body = body.clone();
    if let EntryBody::Message {
        message: ModelMessage::Assistant { content, .. },
        ..
    } = &mut body
    {
        content.retain(|part| !matches!(part, MessagePart::Reasoning { .. }));
    }
    body
}

/// Messages so far, and the calls that still wait for their results.
#[derive(Debug, Default)]
struct Replay {
    out: Vec<Arc<ModelMessage>>,
    open: Vec<OpenCall>,
    /// Came while calls were open.
    held: Vec<Arc<ModelMessage>>,
}

#[derive(Debug)]
struct OpenCall {
    id: String,
    tool: String,
    started: bool,
}

impl Replay {
    fn entry(&mut self, body: &EntryBody) {
        match body {
            EntryBody::Message { message, meta } => match message {
                ModelMessage::User { .. } => self.user(message.clone()),
                ModelMessage::Assistant { content, model } => self.assistant(content, model, meta),
                ModelMessage::ToolResult { call_id, .. } => self.result(call_id, message),
            },
            EntryBody::CustomMessage(custom) => self.user(ModelMessage::User {
                content: custom.content.clone(),
            }),
            EntryBody::BranchSummary(left) => {
                self.user(ModelMessage::user(format!("{BRANCH}{}", left.summary)));
            }
            EntryBody::ToolStarted { call_id } => {
                if let Some(call) = self.open.iter_mut().find(|call| call.id == *call_id) {
                    call.started = true;
                }
            }
            EntryBody::Compaction(_)
            | EntryBody::Custom(_)
            | EntryBody::TurnEnded { .. }
            | EntryBody::Unknown { .. } => {}
        }
    }

    fn user(&mut self, message: ModelMessage) {
        if message.content().is_empty() {
            return;
        }
        let message = Arc::new(message);
        if self.open.is_empty() {
            self.out.push(message);
        } else {
            self.held.push(message);
        }
    }

    fn assistant(&mut self, content: &[MessagePart], model: &Option<String>, meta: &EntryMeta) {
        let content = usable_parts(content);
        if !says_something(&content, meta) {
            return;
        }
        self.close();
        self.open = content
            .iter()
            .filter_map(|part| match part {
                MessagePart::ToolCall(call) => Some(OpenCall {
                    id: call.id.clone(),
                    tool: call.name.clone(),
                    started: false,
                }),
                _ => None,
            })
            .collect();
        self.out.push(Arc::new(ModelMessage::Assistant {
            content,
            model: model.clone(),
        }));
    }

    fn result(&mut self, call_id: &str, message: &ModelMessage) {
        let Some(at) = self.open.iter().position(|call| call.id == call_id) else {
            return;
        };
        self.open.remove(at);
        self.out.push(Arc::new(message.clone()));
        if self.open.is_empty() {
            self.out.append(&mut self.held);
        }
    }

    /// Answers what is still open, so that something else may follow.
    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.out.extend(open.iter().map(OpenCall::unanswered));
        self.out.append(&mut self.held);
    }

    /// The messages as they would be sent now.
    fn messages(&self) -> Vec<Arc<ModelMessage>> {
        let open = self.open.iter().map(OpenCall::unanswered);
        let mut messages = self.out.clone();
        messages.extend(open.chain(self.held.iter().cloned()));
        messages
    }
}

impl OpenCall {
    /// What is said in place of the result it never had.
    fn unanswered(&self) -> Arc<ModelMessage> {
        let text = if self.started {
            INTERRUPTED
        } else {
            NEVER_STARTED
        };
        Arc::new(ModelMessage::ToolResult {
            call_id: self.id.clone(),
            tool: self.tool.clone(),
            content: vec![MessagePart::text(text.trim_end())],
            is_error: true,
        })
    }
}

/// The parts of an answer that can be sent back.
fn usable_parts(content: &[MessagePart]) -> Vec<MessagePart> {
    let mut seen = BTreeSet::new();
    content
        .iter()
        .filter(|part| match part {
            MessagePart::ToolCall(call) => has_input(call) && seen.insert(&call.id),
            MessagePart::Text { text } => !text.is_empty(),
            MessagePart::Reasoning { .. } | MessagePart::Image { .. } => true,
        })
        .cloned()
        .collect()
}

/// A call that came without its input was cut off before there was anything to run.
fn has_input(call: &ToolCall) -> bool {
    let cut_off = call
        .malformed
        .as_ref()
        .is_some_and(|text| text.trim().is_empty());
    !call.id.is_empty() && !call.name.is_empty() && !cut_off
}

/// Whether an answer says anything worth sending back.
fn says_something(content: &[MessagePart], meta: &EntryMeta) -> bool {
    let has = |wanted: fn(&MessagePart) -> bool| content.iter().any(wanted);
    if has(|part| matches!(part, MessagePart::ToolCall(_) | MessagePart::Image { .. })) {
        return true;
    }
    let text: String = content
        .iter()
        .filter_map(|part| match part {
            MessagePart::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let reasoned = has(|part| matches!(part, MessagePart::Reasoning { .. }));
    let cut_off = meta.cut || meta.stop == Some(StopReason::Length);
    if text.trim().is_empty() {
        return reasoned && !cut_off;
    }
    !(reasoned && is_silence(&text))
}

#[cfg(test)]
mod tests;
