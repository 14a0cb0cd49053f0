//! A turn as a program reads it: a line for each event, one object for the end.

use chela_agent::conversation::Conversation;
use chela_agent::turn::{TurnEnd, TurnEvent, TurnOutcome};
use chela_model::StopReason;
use chela_reply::{Reply, ReplyDelivery, Silence};
use chela_tools::REFUSED;
use serde::Serialize;
use serde_json::json;

use super::OneShotOutput;
use crate::chat::once::OutputForm;
use crate::fail::CommandError;

/// What `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnResult<'a> {
    reply: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    media: &'a [String],
    /// Why there is no reply: `no-reply`, `heartbeat-ok`, `empty`.
    silent: Option<&'static str>,
    session: String,
    session_id: String,
    model: &'a str,
    usage: chela_model::Usage,
    context: Context,
    steps: u32,
    tool_calls: u32,
    /// `done`, `stopped`, `limit`, `loop`.
    ended: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    /// Why the model stopped speaking: `end`, `length` (its output limit), `refused` (a filter).
    stop: Option<&'static str>,
    /// What it was not allowed to do.
    refused: &'a [RefusedCall],
    /// What still ran in the background and ended with the process.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    ended_with_it: &'a [String],
}

/// A call that was not allowed.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RefusedCall {
    pub tool: String,
    /// What it was about: a command, a path.
    pub what: String,
    pub why: String,
}

#[derive(Serialize)]
struct Context {
    used: u64,
    window: Option<u64>,
}

/// What happens during a turn, as one line for a program. Documented in `chela chat --help`.
pub(super) fn event_object(event: &TurnEvent) -> Option<serde_json::Value> {
    Some(match event {
        TurnEvent::Calling { model, step } => {
            json!({ "type": "calling", "model": model, "step": step })
        }
        TurnEvent::Text(text) => json!({ "type": "text", "text": text }),
        TurnEvent::Reasoning(text) => json!({ "type": "reasoning", "text": text }),
        TurnEvent::ToolStarted {
            id,
            tool,
            summary,
            arguments,
        } => json!({
            "type": "tool-started", "id": id, "tool": tool, "summary": summary,
            "arguments": arguments,
        }),
        TurnEvent::ToolProgress { .. } => return None,
        TurnEvent::ToolEnded {
            id,
            tool,
            success,
            text,
            details,
        } => json!({
            "type": "tool-ended", "id": id, "tool": tool,
            "outcome": match details[REFUSED].is_string() {
                true => "refused",
                false => success.as_str(),
            },
            "text": text,
        }),
        TurnEvent::Retracted => json!({ "type": "retracted" }),
        TurnEvent::Restarted { why } => json!({ "type": "restarted", "why": why }),
        TurnEvent::Notice(text) => json!({ "type": "notice", "text": text }),
        TurnEvent::Waiting(text) => json!({ "type": "waiting", "text": text }),
        TurnEvent::Unrecorded(text) | TurnEvent::Tampered(text) => {
            json!({ "type": "warning", "text": text })
        }
        TurnEvent::Called { usage, context } => json!({
            "type": "called", "usage": usage,
            "context": { "used": context.used, "window": context.window },
        }),
    })
}

impl<'a> OneShotOutput<'a> {
    pub(super) fn json(
        &mut self,
        talk: &Conversation,
        outcome: &TurnOutcome,
        left: &[String],
    ) -> Result<(), CommandError> {
        let nothing = ReplyDelivery::default();
        let (delivery, silent) = match &outcome.reply {
            Reply::Deliver(delivery) => (delivery, None),
            Reply::Silent { why } => (
                &nothing,
                Some(match why {
                    Silence::NoReply => "no-reply",
                    Silence::HeartbeatOk => "heartbeat-ok",
                    Silence::Empty => "empty",
                }),
            ),
        };
        let (ended, why) = match &outcome.ended {
            TurnEnd::Done => ("done", None),
            TurnEnd::Stopped => ("stopped", None),
            TurnEnd::Limit(what) => ("limit", Some(what.as_str())),
            TurnEnd::Loop(what) => ("loop", Some(what.as_str())),
        };
        let told = TurnResult {
            reply: &delivery.text,
            media: &delivery.media,
            silent,
            session: outcome.session.to_string(),
            session_id: talk.session().id.to_string(),
            model: &outcome.model,
            usage: outcome.usage,
            context: Context {
                used: outcome.context.used,
                window: outcome.context.window,
            },
            steps: outcome.steps,
            tool_calls: outcome.tool_calls,
            ended,
            why,
            stop: outcome.stop.map(StopReason::as_str),
            refused: &self.refused,
            ended_with_it: left,
        };
        match self.form {
            OutputForm::JsonStream => {
                let mut told = serde_json::to_value(&told)?;
                if let Some(told) = told.as_object_mut() {
                    told.insert("type".to_owned(), "result".into());
                }
                self.screen.line(told)?;
            }
            _ => self.screen.json(&told)?,
        }
        Ok(())
    }
}
