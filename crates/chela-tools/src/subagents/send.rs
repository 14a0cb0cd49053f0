//! `sessions_send`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ChildSpawner, SendAsk, SendOutcome};
use crate::schema::{ArgumentKind, ArgumentSchema, read};
use crate::sessions::SessionToolset;
use crate::spec::shared_spec;
use crate::{
    CallFuture, CallSink, CallTarget, Effect, RunCall, SinkKind, Tool, ToolOutput, ToolSpec,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    session_key: String,
    message: String,
    timeout_seconds: Option<u64>,
}

/// How long an answer is waited for.
const USUAL_TIMEOUT: u64 = 30;
const LONGEST_TIMEOUT: u64 = 600;

struct Send {
    spec: ToolSpec,
    spawner: Arc<dyn ChildSpawner>,
    sessions: Arc<SessionToolset>,
}

pub(super) fn tool(
    spawner: &Arc<dyn ChildSpawner>,
    sessions: &Arc<SessionToolset>,
) -> Arc<dyn Tool> {
    Arc::new(Send {
        spec: shared_spec!(ToolSpec {
            name: "sessions_send".into(),
            description:
                "Write to another session and wait for its answer; timeoutSeconds 0 does not wait."
                    .into(),
            parameters: ArgumentSchema::object()
                .required(
                    "sessionKey",
                    ArgumentKind::text().not_empty().such_as("agent:main:main"),
                    "Key from sessions_list",
                )
                .required("message", ArgumentKind::text().not_empty(), "What to say")
                .optional(
                    "timeoutSeconds",
                    ArgumentKind::integer().min(0).max(600),
                    "How long to wait; 30 unless given, 0 to send and go on",
                )
                .build()
                .into(),
            effect: Effect::WriteOutward,
            sinks: [
                CallSink::new("sessionKey", SinkKind::Recipient),
                CallSink::new("message", SinkKind::Text),
            ]
            .into(),
        }),
        spawner: Arc::clone(spawner),
        sessions: Arc::clone(sessions),
    })
}

impl Tool for Send {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn targets(&self, arguments: &Map<String, Value>) -> Vec<CallTarget> {
        let key = arguments.get("sessionKey").and_then(Value::as_str);
        key.map(|key| self.sessions.target(Some(key)))
            .unwrap_or_default()
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let arguments: Arguments = match read(call.arguments) {
                Ok(arguments) => arguments,
                Err(refused) => return refused,
            };
            let sessions = Arc::clone(&self.sessions);
            let key = arguments.session_key.clone();
            let named = tokio::task::spawn_blocking(move || sessions.another(&key)).await;
            let session = match named {
                Ok(Ok(session)) => session,
                Ok(Err(failed)) => return failed,
                Err(_) => return ToolOutput::failed("The sessions cannot be read."),
            };
            let asked = SendAsk {
                session: session.clone(),
                text: arguments.message,
                timeout_seconds: arguments
                    .timeout_seconds
                    .unwrap_or(USUAL_TIMEOUT)
                    .min(LONGEST_TIMEOUT),
            };
            let name = session.to_string();
            let (status, output) = match self.spawner.send(asked).await {
                Err(refused) => return ToolOutput::failed(refused.to_string()),
                Ok(SendOutcome::Sent) => ("accepted", ToolOutput::said(format!("Sent to {name}."))),
                Ok(SendOutcome::NoReply) => (
                    "no_reply",
                    ToolOutput::said(format!("{name} has nothing to say. Do not ask again.")),
                ),
                Ok(SendOutcome::Timeout) => (
                    "timeout",
                    ToolOutput::said(format!(
                        "{name} has not answered in time and goes on. sessions_history shows its answer later."
                    )),
                ),
                Ok(SendOutcome::Reply { text, trust }) => {
                    let said = self.sessions.label("sessions_send", &name, text, trust);
                    ("ok", ToolOutput::of(said))
                }
            };
            output.with_details(json!({ "status": status, "sessionKey": name }))
        })
    }
}
