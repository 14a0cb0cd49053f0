//! `sessions_history`.

use std::sync::Arc;

use chela_core::{Trust, grouped};
use serde::Deserialize;
use serde_json::json;

use super::{SessionToolset, failed};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight};
use crate::local_time::local_time;
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::sessions_view::{HistoryAsk, HistoryMessage, ToolMessages};
use crate::spec::shared_spec;
use crate::{CallSink, Effect, OutputPiece, SinkKind, Tool, ToolNeed, ToolOutput, ToolSpec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct HistoryArguments {
    session_key: String,
    limit: Option<usize>,
    offset: Option<usize>,
    include_tools: Option<bool>,
}

const USUAL_LIMIT: usize = 50;
/// Longest text of one message.
const MOST_BLOCK_CHARS: usize = 4_000;
/// Longest answer.
const MOST_BYTES: usize = 80_000;

pub(super) fn tool(sessions: &Arc<SessionToolset>) -> Arc<dyn Tool> {
    Arc::new(
        BlockingTool {
            spec: shared_spec!(ToolSpec {
                name: "sessions_history".into(),
                description: "Read the newest messages of another session; nextOffset pages back."
                    .into(),
                parameters: ArgumentSchema::object()
                    .required(
                        "sessionKey",
                        ArgumentKind::text().not_empty().such_as("agent:main:main"),
                        "Key from sessions_list",
                    )
                    .optional(
                        "limit",
                        ArgumentKind::integer().min(1).max(500),
                        "At most so many messages; 50 unless given",
                    )
                    .optional(
                        "offset",
                        ArgumentKind::integer().min(0),
                        "Leave out so many of the newest messages",
                    )
                    .optional(
                        "includeTools",
                        ArgumentKind::flag(),
                        "Also tool calls and results",
                    )
                    .build()
                    .into(),
                effect: Effect::Read,
                sinks: [CallSink::new("sessionKey", SinkKind::Name)].into(),
            }),
            with: Arc::clone(sessions),
            act: history,
        }
        .foreseeing(CallForesight {
            targets: Some(|sessions, arguments| sessions.target(Some(&arguments.session_key))),
            needs: &[ToolNeed::Children],
            ..CallForesight::default()
        }),
    )
}

fn history(
    sessions: &SessionToolset,
    arguments: HistoryArguments,
    job: &BlockingJob,
) -> ToolOutput {
    let session = match sessions.named(Some(&arguments.session_key)) {
        Ok(session) => session,
        Err(failed) => return failed,
    };
    let offset = arguments.offset.unwrap_or(0);
    let asked = sessions.view.history(&HistoryAsk {
        session: &session,
        offset,
        limit: arguments.limit.unwrap_or(USUAL_LIMIT),
        tools: match arguments.include_tools {
            Some(true) => ToolMessages::Included,
            _ => ToolMessages::LeftOut,
        },
    });
    let page = match asked {
        Ok(page) => page,
        Err(error) => return failed(error),
    };
    // The newest messages are kept when not all fit.
    let most = MOST_BYTES.min(sessions.bound.chars());
    let mut blocks: Vec<String> = Vec::new();
    let mut used = 0;
    for message in page.messages.iter().rev() {
        let block = block(message, sessions.time_zone.as_deref());
        if used + block.len() > most && !blocks.is_empty() {
            break;
        }
        used += block.len() + 2;
        blocks.push(block);
    }
    let shown = blocks.len();
    blocks.reverse();
    let next = offset + shown;
    let more = next < page.total;
    let trust = page
        .messages
        .iter()
        .rev()
        .take(shown)
        .map(|m| m.trust)
        .min();
    let note = match (shown, more) {
        (0, _) => format!("{session} has no more messages."),
        (_, true) => format!(
            "{shown} of {} messages of {session}. Older ones: call sessions_history with offset={next}.",
            grouped(page.total)
        ),
        (_, false) => format!("{shown} messages of {session}; there are no older ones."),
    };
    let details = json!({
        "session": session.to_string(),
        "total": page.total,
        "nextOffset": more.then_some(next),
    });
    let mut output = ToolOutput::said(note).with_details(details);
    if shown > 0 {
        let text = blocks.join("\n\n");
        let trust = trust.unwrap_or(Trust::External);
        let fitted = sessions.bound.fit(&job.name, text, trust);
        let labelled = sessions.label("sessions_history", &session.to_string(), fitted.text, trust);
        output.content.insert(0, OutputPiece::Text(labelled));
    }
    output
}

fn block(message: &HistoryMessage, zone: Option<&str>) -> String {
    let at = message
        .at
        .map(|at| format!(", {}", local_time(at, zone)))
        .unwrap_or_default();
    let text = message.text.trim();
    let cut = text.char_indices().nth(MOST_BLOCK_CHARS);
    let text = match cut.and_then(|(end, _)| text.split_at_checked(end)) {
        Some((head, rest)) => {
            let left = rest.chars().count();
            format!("{head}\n[{} more characters]", grouped(left))
        }
        None => text.to_owned(),
    };
    format!("[{}{at}]\n{text}", message.role)
}
