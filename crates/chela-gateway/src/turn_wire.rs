//! What happens in a turn, as it goes over the wire to whoever shows it in another process, and
//! back.

use chela_agent::prelude::{Reply, ReplyDelivery, SessionKey, TurnEnd, TurnEvent, TurnOutcome};
use chela_agent::turn::ContextMeter;
use chela_core::Usage;
use chela_model::StopReason;
use chela_reply::{ReplyTo, Silence};
use chela_tools::{CallProgress, CallSuccess};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Longer output of a tool is cut: whoever shows it shows its beginning.
const MOST_TEXT: usize = 16 * 1024;

/// An event by its name and what is told of it.
pub(crate) fn write_event(event: TurnEvent) -> (&'static str, Value) {
    match event {
        TurnEvent::Calling { model, step } => {
            ("turn.calling", json!({ "model": model, "step": step }))
        }
        TurnEvent::Text(text) => ("turn.text", json!({ "delta": text })),
        TurnEvent::Reasoning(text) => ("turn.reasoning", json!({ "delta": text })),
        TurnEvent::ToolStarted {
            id,
            tool,
            summary,
            arguments,
        } => (
            "turn.tool",
            json!({
                "phase": "started", "call": id, "tool": tool, "summary": summary,
                "arguments": if_short(arguments),
            }),
        ),
        TurnEvent::ToolProgress { id, progress } => {
            let (kind, text) = match progress {
                CallProgress::Status(text) => ("status", text),
                CallProgress::Output(text) => ("output", text),
            };
            (
                "turn.tool",
                json!({ "phase": "progress", "call": id, "kind": kind, "text": cut(text) }),
            )
        }
        TurnEvent::ToolEnded {
            id,
            tool,
            success,
            text,
            details,
        } => (
            "turn.tool",
            json!({
                "phase": "ended", "call": id, "tool": tool, "success": success.as_str(),
                "text": cut(text), "details": if_short(details),
            }),
        ),
        TurnEvent::Retracted => ("turn.retracted", Value::Null),
        TurnEvent::Restarted { why } => ("turn.restarted", json!({ "why": why })),
        TurnEvent::Notice(text) => notice("notice", text),
        TurnEvent::Waiting(text) => notice("waiting", text),
        TurnEvent::Unrecorded(text) => notice("unrecorded", text),
        TurnEvent::Tampered(text) => notice("tampered", text),
        TurnEvent::Called { usage, context } => (
            "turn.called",
            json!({
                "inputTokens": usage.input, "outputTokens": usage.output,
                "cacheReadTokens": usage.cache_read, "cacheWriteTokens": usage.cache_write,
                "usage": usage,
                "context": write_meter(context),
            }),
        ),
    }
}

fn notice(kind: &str, text: String) -> (&'static str, Value) {
    ("turn.notice", json!({ "kind": kind, "text": text }))
}

fn write_meter(meter: ContextMeter) -> Value {
    json!({ "used": meter.used, "window": meter.window })
}

fn cut(mut text: String) -> String {
    if text.len() > MOST_TEXT {
        let mut end = MOST_TEXT;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("\n…");
    }
    text
}

fn if_short(value: Value) -> Value {
    match value.to_string().len() <= MOST_TEXT {
        true => value,
        false => Value::Null,
    }
}

/// The event that was told so; `None` for what is none of a turn, or of a later version.
pub fn read_event(name: &str, data: &Value) -> Option<TurnEvent> {
    let text = |key: &str| data.get(key)?.as_str().map(str::to_owned);
    Some(match name {
        "turn.calling" => TurnEvent::Calling {
            model: text("model")?,
            step: read(data, "step")?,
        },
        "turn.text" => TurnEvent::Text(text("delta")?),
        "turn.reasoning" => TurnEvent::Reasoning(text("delta")?),
        "turn.tool" => read_tool(data)?,
        "turn.retracted" => TurnEvent::Retracted,
        "turn.restarted" => TurnEvent::Restarted { why: text("why")? },
        "turn.notice" => {
            let told = text("text")?;
            match data.get("kind").and_then(Value::as_str) {
                Some("waiting") => TurnEvent::Waiting(told),
                Some("unrecorded") => TurnEvent::Unrecorded(told),
                Some("tampered") => TurnEvent::Tampered(told),
                _ => TurnEvent::Notice(told),
            }
        }
        "turn.called" => TurnEvent::Called {
            usage: read(data, "usage")?,
            context: read_meter(data.get("context")?),
        },
        _ => return None,
    })
}

fn read_tool(data: &Value) -> Option<TurnEvent> {
    let text = |key: &str| data.get(key)?.as_str().map(str::to_owned);
    let value = |key: &str| data.get(key).cloned().unwrap_or_default();
    let id = text("call")?;
    Some(match data.get("phase")?.as_str()? {
        "started" => TurnEvent::ToolStarted {
            id,
            tool: text("tool")?,
            summary: text("summary")?,
            arguments: value("arguments"),
        },
        "progress" => TurnEvent::ToolProgress {
            id,
            progress: match data.get("kind")?.as_str()? {
                "output" => CallProgress::Output(text("text")?),
                _ => CallProgress::Status(text("text")?),
            },
        },
        "ended" => TurnEvent::ToolEnded {
            id,
            tool: text("tool")?,
            success: match data.get("success")?.as_str()? {
                "done" => CallSuccess::Done,
                _ => CallSuccess::Failed,
            },
            text: text("text").unwrap_or_default(),
            details: value("details"),
        },
        _ => return None,
    })
}

fn read<T: DeserializeOwned>(data: &Value, key: &str) -> Option<T> {
    serde_json::from_value(data.get(key)?.clone()).ok()
}

fn read_meter(meter: &Value) -> ContextMeter {
    ContextMeter {
        used: meter.get("used").and_then(Value::as_u64).unwrap_or(0),
        window: meter.get("window").and_then(Value::as_u64),
    }
}

/// How a turn ended, whole.
pub(crate) fn write_outcome(outcome: &TurnOutcome) -> Value {
    let (ended, why) = match &outcome.ended {
        TurnEnd::Limit(why) | TurnEnd::Loop(why) => (outcome.ended.as_str(), Some(why)),
        ended => (ended.as_str(), None),
    };
    json!({
        "session": outcome.session, "turn": outcome.turn, "model": outcome.model,
        "reply": write_reply(&outcome.reply), "usage": outcome.usage,
        "context": write_meter(outcome.context), "steps": outcome.steps,
        "toolCalls": outcome.tool_calls, "stop": outcome.stop, "ended": ended, "why": why,
    })
}

fn write_reply(reply: &Reply) -> Value {
    match reply {
        Reply::Deliver(delivery) => json!({
            "text": delivery.text, "media": delivery.media,
            "audioAsVoice": delivery.audio_as_voice,
            "replyTo": match &delivery.reply_to {
                None => Value::Null,
                Some(ReplyTo::Current) => json!({ "kind": "current" }),
                Some(ReplyTo::Id(id)) => json!({ "kind": "id", "id": id }),
            },
        }),
        Reply::Silent { why } => json!({ "silent": match why {
            Silence::NoReply => "no-reply",
            Silence::HeartbeatOk => "heartbeat-ok",
            Silence::Empty => "empty",
        } }),
    }
}

/// The outcome that was told so.
pub fn read_outcome(told: &Value) -> Option<TurnOutcome> {
    let text = |key: &str| told.get(key)?.as_str().map(str::to_owned);
    let why = || text("why").unwrap_or_default();
    Some(TurnOutcome {
        session: SessionKey::parse(told.get("session")?.as_str()?).ok()?,
        turn: text("turn")?,
        model: text("model")?,
        reply: read_reply(told.get("reply")?),
        usage: read::<Usage>(told, "usage")?,
        context: read_meter(told.get("context")?),
        steps: read(told, "steps")?,
        tool_calls: read(told, "toolCalls")?,
        stop: read::<StopReason>(told, "stop"),
        ended: match told.get("ended")?.as_str()? {
            "done" => TurnEnd::Done,
            "limit" => TurnEnd::Limit(why()),
            "loop" => TurnEnd::Loop(why()),
            _ => TurnEnd::Stopped,
        },
    })
}

fn read_reply(told: &Value) -> Reply {
    if let Some(silent) = told.get("silent").and_then(Value::as_str) {
        let why = match silent {
            "no-reply" => Silence::NoReply,
            "heartbeat-ok" => Silence::HeartbeatOk,
            _ => Silence::Empty,
        };
        return Reply::Silent { why };
    }
    let reply_to = told.get("replyTo").and_then(|to| {
        Some(match to.get("kind")?.as_str()? {
            "id" => ReplyTo::Id(to.get("id")?.as_str()?.to_owned()),
            _ => ReplyTo::Current,
        })
    });
    Reply::Deliver(ReplyDelivery {
        text: read(told, "text").unwrap_or_default(),
        media: read(told, "media").unwrap_or_default(),
        reply_to,
        audio_as_voice: read(told, "audioAsVoice").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use chela_agent::prelude::{Reply, ReplyDelivery, SessionKey, TurnEnd, TurnEvent, TurnOutcome};
    use chela_agent::turn::ContextMeter;
    use chela_core::{AgentId, Usage};
    use chela_model::StopReason;
    use chela_reply::{ReplyTo, Silence};
    use chela_tools::{CallProgress, CallSuccess};
    use serde_json::json;

    use super::{read_event, read_outcome, write_event, write_outcome};

    #[test]
    fn every_event_comes_back_as_it_was() {
        let context = ContextMeter {
            used: 7,
            window: Some(9),
        };
        let usage = Usage {
            input: 3,
            cache_write: 2,
            ..Usage::default()
        };
        let events = [
            TurnEvent::Calling {
                model: "kit/m".into(),
                step: 2,
            },
            TurnEvent::Text("a".into()),
            TurnEvent::Reasoning("b".into()),
            TurnEvent::ToolStarted {
                id: "1".into(),
                tool: "exec".into(),
                summary: "ls".into(),
                arguments: json!({ "command": "ls" }),
            },
            TurnEvent::ToolProgress {
                id: "1".into(),
                progress: CallProgress::Output("x".into()),
            },
            TurnEvent::ToolEnded {
                id: "1".into(),
                tool: "exec".into(),
                success: CallSuccess::Failed,
                text: "no".into(),
                details: json!({ "code": 1 }),
            },
            TurnEvent::Retracted,
            TurnEvent::Restarted { why: "w".into() },
            TurnEvent::Notice("n".into()),
            TurnEvent::Waiting("n".into()),
            TurnEvent::Unrecorded("n".into()),
            TurnEvent::Tampered("n".into()),
            TurnEvent::Called { usage, context },
        ];
        for event in events {
            let (name, data) = write_event(event.clone());
            let back = read_event(name, &data).expect("it is known");
            assert_eq!(format!("{back:?}"), format!("{event:?}"));
        }
        assert!(read_event("turn.tomorrow", &json!({})).is_none());
    }

    #[test]
    fn an_outcome_comes_back_as_it_was() {
        let outcome = TurnOutcome {
            session: SessionKey::main(&AgentId::main()),
            turn: "t".into(),
            model: "kit/m".into(),
            reply: Reply::Deliver(ReplyDelivery {
                text: "hi".into(),
                media: vec!["a.png".into()],
                reply_to: Some(ReplyTo::Id("7".into())),
                audio_as_voice: true,
            }),
            usage: Usage::default(),
            context: ContextMeter::default(),
            steps: 1,
            tool_calls: 2,
            stop: Some(StopReason::Length),
            ended: TurnEnd::Limit("steps".into()),
        };
        let silent = TurnOutcome {
            reply: Reply::Silent {
                why: Silence::NoReply,
            },
            ended: TurnEnd::Done,
            stop: None,
            ..outcome.clone()
        };
        for outcome in [outcome, silent] {
            let back = read_outcome(&write_outcome(&outcome)).expect("it is whole");
            assert_eq!(format!("{back:?}"), format!("{outcome:?}"));
        }
    }
}
