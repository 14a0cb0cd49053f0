//! `sessions_send`.

use std::sync::Arc;

use chela_core::{ContentHash, Origin, Trust};
use chela_guard::{ExternalSource, Labelled};
use serde::Deserialize;
use serde_json::json;

use super::{Answered, SendAsk, Spawner};
use crate::schema::{Kind, Schema, read};
use crate::sessions::Sessions;
use crate::{Call, Effect, Output, Running, Sink, SinkKind, Spec, Tool};

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
    spec: Spec,
    spawner: Arc<dyn Spawner>,
    sessions: Arc<Sessions>,
}

pub(super) fn tool(spawner: &Arc<dyn Spawner>, sessions: &Arc<Sessions>) -> Arc<dyn Tool> {
    Arc::new(Send {
        spec: Spec {
            name: "sessions_send".into(),
            description:
                "Write to another session and wait for its answer; timeoutSeconds 0 does not wait."
                    .into(),
            parameters: Schema::object()
                .required(
                    "sessionKey",
                    Kind::text().not_empty().such_as("agent:main:main"),
                    "Key from sessions_list",
                )
                .required("message", Kind::text().not_empty(), "What to say")
                .optional(
                    "timeoutSeconds",
                    Kind::integer().min(0).max(600),
                    "How long to wait; 30 unless given, 0 to send and go on",
                )
                .build()
                .into(),
            effect: Effect::WriteOutward,
            sinks: [
                Sink::new("sessionKey", SinkKind::Recipient),
                Sink::new("message", SinkKind::Text),
            ]
            .into(),
        },
        spawner: Arc::clone(spawner),
        sessions: Arc::clone(sessions),
    })
}

impl Tool for Send {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn run<'a>(&'a self, call: Call<'a>) -> Running<'a> {
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
                Err(_) => return Output::failed("The sessions cannot be read."),
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
                Err(refused) => return Output::failed(refused.to_string()),
                Ok(Answered::Sent) => ("accepted", Output::said(format!("Sent to {name}."))),
                Ok(Answered::NoReply) => (
                    "no_reply",
                    Output::said(format!("{name} has nothing to say. Do not ask again.")),
                ),
                Ok(Answered::Timeout) => (
                    "timeout",
                    Output::said(format!(
                        "{name} has not answered in time and goes on. sessions_history shows its answer later."
                    )),
                ),
                Ok(Answered::Reply { text, trust }) => {
                    ("ok", Output::of(self.labelled(&name, text, trust)))
                }
            };
            output.with_details(json!({ "status": status, "sessionKey": name }))
        })
    }
}

impl Send {
    fn labelled(&self, session: &str, text: String, trust: Trust) -> Labelled {
        let origin = Origin::Tool {
            call: format!("sessions_send {session}"),
            hash: ContentHash::of(&text),
        };
        match trust {
            Trust::External => {
                let source = ExternalSource::Api {
                    name: format!("session {session}"),
                };
                Labelled::external(&text, &source, origin, self.sessions.entropy())
            }
            trust => Labelled::local(text, trust.min(Trust::Agent), origin),
        }
    }
}
