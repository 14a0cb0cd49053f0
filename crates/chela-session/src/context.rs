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

use chela_model::{Message, Part, StopReason, ToolCall};

use super::entry::{Body, Compaction, Entry, Meta};
use chela_reply::is_silence;

const SUMMARY: &str = include_str!("text/summary.md");
const BRANCH: &str = include_str!("text/branch.md");
const INTERRUPTED: &str = include_str!("text/interrupted.md");
const NEVER_STARTED: &str = include_str!("text/never_started.md");

/// The messages of a branch, from its last compaction on.
pub fn context(branch: &[Entry]) -> Vec<Message> {
    let mut replay = Replay::default();
    let last = branch
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, entry)| match &entry.body {
            Body::Compaction(compaction) => Some((at, compaction)),
            _ => None,
        });
    let Some((at, compaction)) = last else {
        branch.iter().for_each(|entry| replay.entry(&entry.body));
        return replay.finish();
    };
    replay
        .out
        .push(Message::user(format!("{SUMMARY}{}", compaction.summary)));
    let kept = kept(branch, at, compaction);
    let newest_question = kept
        .iter()
        .rposition(|entry| {
            matches!(
                &entry.body,
                Body::Message {
                    message: Message::User { .. },
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
    branch[at + 1..]
        .iter()
        .for_each(|entry| replay.entry(&entry.body));
    replay.finish()
}

/// What a compaction kept of the entries before it.
fn kept<'b>(branch: &'b [Entry], at: usize, compaction: &Compaction) -> &'b [Entry] {
    branch[..at]
        .iter()
        .position(|entry| entry.id == compaction.first_kept)
        .map_or(&[], |first| &branch[first..at])
}

fn without_reasoning(body: &Body) -> Body {
    let mut body = body.clone();
    if let Body::Message {
        message: Message::Assistant { content, .. },
        ..
    } = &mut body
    {
        content.retain(|part| !matches!(part, Part::Reasoning { .. }));
    }
    body
}

/// Messages so far, and the calls that still wait for their results.
#[derive(Default)]
struct Replay {
    out: Vec<Message>,
    open: Vec<OpenCall>,
    /// Came while calls were open.
    held: Vec<Message>,
}

struct OpenCall {
    id: String,
    tool: String,
    started: bool,
}

impl Replay {
    fn entry(&mut self, body: &Body) {
        match body {
            Body::Message { message, meta } => match message {
                Message::User { .. } => self.user(message.clone()),
                Message::Assistant { content, model } => self.assistant(content, model, meta),
                Message::ToolResult { call_id, .. } => self.result(call_id, message),
            },
            Body::CustomMessage(custom) => self.user(Message::User {
                content: custom.content.clone(),
            }),
            Body::BranchSummary(left) => {
                self.user(Message::user(format!("{BRANCH}{}", left.summary)));
            }
            Body::ToolStarted { call_id } => {
                if let Some(call) = self.open.iter_mut().find(|call| call.id == *call_id) {
                    call.started = true;
                }
            }
            Body::Compaction(_)
            | Body::Custom(_)
            | Body::TurnEnded { .. }
            | Body::Unknown { .. } => {}
        }
    }

    fn user(&mut self, message: Message) {
        if message.content().is_empty() {
            return;
        }
        if self.open.is_empty() {
            self.out.push(message);
        } else {
            self.held.push(message);
        }
    }

    fn assistant(&mut self, content: &[Part], model: &Option<String>, meta: &Meta) {
        let content = usable_parts(content);
        if !says_something(&content, meta) {
            return;
        }
        self.close();
        self.open = content
            .iter()
            .filter_map(|part| match part {
                Part::ToolCall(call) => Some(OpenCall {
                    id: call.id.clone(),
                    tool: call.name.clone(),
                    started: false,
                }),
                _ => None,
            })
            .collect();
        self.out.push(Message::Assistant {
            content,
            model: model.clone(),
        });
    }

    fn result(&mut self, call_id: &str, message: &Message) {
        let Some(at) = self.open.iter().position(|call| call.id == call_id) else {
            return;
        };
        self.open.remove(at);
        self.out.push(message.clone());
        if self.open.is_empty() {
            self.out.append(&mut self.held);
        }
    }

    /// Answers what is still open, so that something else may follow.
    fn close(&mut self) {
        for call in std::mem::take(&mut self.open) {
            let text = if call.started {
                INTERRUPTED
            } else {
                NEVER_STARTED
            };
            self.out.push(Message::ToolResult {
                call_id: call.id,
                tool: call.tool,
                content: vec![Part::text(text.trim_end())],
                is_error: true,
            });
        }
        self.out.append(&mut self.held);
    }

    fn finish(mut self) -> Vec<Message> {
        self.close();
        self.out
    }
}

/// The parts of an answer that can be sent back.
fn usable_parts(content: &[Part]) -> Vec<Part> {
    let mut seen = BTreeSet::new();
    content
        .iter()
        .filter(|part| match part {
            Part::ToolCall(call) => has_input(call) && seen.insert(&call.id),
            Part::Text { text } => !text.is_empty(),
            Part::Reasoning { .. } | Part::Image { .. } => true,
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
fn says_something(content: &[Part], meta: &Meta) -> bool {
    let has = |wanted: fn(&Part) -> bool| content.iter().any(wanted);
    if has(|part| matches!(part, Part::ToolCall(_) | Part::Image { .. })) {
        return true;
    }
    let text: String = content
        .iter()
        .filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let reasoned = has(|part| matches!(part, Part::Reasoning { .. }));
    let cut_off = meta.cut || meta.stop == Some(StopReason::Length);
    if text.trim().is_empty() {
        return reasoned && !cut_off;
    }
    !(reasoned && is_silence(&text))
}

#[cfg(test)]
mod tests;
