//! `sessions_history`.

use std::sync::Arc;

use chela_core::{ContentHash, Origin, Trust, grouped};
use chela_guard::{ExternalSource, Labelled};
use serde::Deserialize;
use serde_json::json;

use super::{Sessions, failed};
use crate::blocking::{Blocking, Job};
use crate::local_time::local_time;
use crate::schema::{Kind, Schema};
use crate::sessions_view::{HistoryAsk, HistoryMessage, ToolMessages};
use crate::{Effect, Output, Piece, Sink, SinkKind, Spec, Tool};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
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

pub(super) fn tool(sessions: &Arc<Sessions>) -> Arc<dyn Tool> {
    Arc::new(Blocking {
        spec: Spec {
            name: "sessions_history".into(),
            description: "Read the newest messages of another session; nextOffset pages back."
                .into(),
            parameters: Schema::object()
                .required(
                    "sessionKey",
                    Kind::text().not_empty().such_as("agent:main:main"),
                    "Key from sessions_list",
                )
                .optional(
                    "limit",
                    Kind::integer().min(1).max(500),
                    "At most so many messages; 50 unless given",
                )
                .optional(
                    "offset",
                    Kind::integer().min(0),
                    "Leave out so many of the newest messages",
                )
                .optional("includeTools", Kind::flag(), "Also tool calls and results")
                .build()
                .into(),
            effect: Effect::Read,
            sinks: [Sink::new("sessionKey", SinkKind::Name)].into(),
        },
        with: Arc::clone(sessions),
        act: history,
    })
}

fn history(sessions: &Sessions, arguments: Arguments, job: &Job) -> Output {
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
    let mut output = Output::said(note).with_details(details);
    if shown > 0 {
        let text = blocks.join("\n\n");
        let trust = trust.unwrap_or(Trust::External);
        let fitted = sessions.bound.fit(&job.name, text, trust);
        let labelled = label(sessions, &session.to_string(), fitted.text, trust);
        output.content.insert(0, Piece::Text(labelled));
    }
    output
}

fn label(sessions: &Sessions, session: &str, text: String, trust: Trust) -> Labelled {
    let origin = Origin::Tool {
        call: format!("sessions_history {session}"),
        hash: ContentHash::of(&text),
    };
    match trust {
        Trust::External => {
            let source = ExternalSource::Api {
                name: format!("session {session}"),
            };
            Labelled::external(&text, &source, origin, sessions.entropy.as_ref())
        }
        // What another session said is no order of the owner's here.
        trust => Labelled::local(text, trust.min(Trust::Agent), origin),
    }
}

fn block(message: &HistoryMessage, zone: Option<&str>) -> String {
    let at = message
        .at
        .map(|at| format!(", {}", local_time(at, zone)))
        .unwrap_or_default();
    let text = message.text.trim();
    let text = match text.char_indices().nth(MOST_BLOCK_CHARS) {
        Some((end, _)) => {
            let left = text[end..].chars().count();
            format!("{}\n[{} more characters]", &text[..end], grouped(left))
        }
        None => text.to_owned(),
    };
    format!("[{}{at}]\n{text}", message.role)
}
