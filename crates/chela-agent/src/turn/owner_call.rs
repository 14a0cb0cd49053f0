//! A turn in which no model is asked: the person's program calls a tool by itself. Policy, guard,
//! approvals and the record are those of any call.

use chela_model::{MessagePart, ModelMessage, ToolCall};
use chela_session::{EntryBody, EntryMeta, MessageSource};
use serde_json::{Map, Value};

use super::{RunningTurn, StepEnd, TurnEnd, TurnError, TurnParts};
use crate::inbound_message::InboundMessage;
use crate::surface::TurnSurface;

/// A call somebody makes in place of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnerCall {
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerCallOutcome {
    /// As a model would read it.
    pub text: String,
    pub failed: bool,
}

/// Runs the call, with the message it is on record under.
pub(crate) async fn run_owner_call(
    parts: TurnParts<'_>,
    message: InboundMessage,
    call: OwnerCall,
    surface: &dyn TurnSurface,
) -> Result<OwnerCallOutcome, TurnError> {
    let source: MessageSource = parts.scope.source;
    let mut turn = RunningTurn::accept(parts, message, source, surface).await?;
    let entropy = parts.scope.agents.host.random_hex(8);
    let call = ToolCall {
        id: format!("owner_{entropy}"),
        name: call.tool,
        arguments: call.arguments,
        malformed: None,
    };
    let made = turn.make_owner_call(&call).await;
    let ended = match made {
        Ok(StepEnd::End(ended)) => ended,
        Ok(StepEnd::Again) => TurnEnd::Done,
        Err(error) => return Err(turn.fail(error).await),
    };
    let outcome = result_on_record(&turn, &call.id).await;
    turn.end(ended).await?;
    outcome
}

impl RunningTurn<'_> {
    pub(super) async fn make_owner_call(&mut self, call: &ToolCall) -> Result<StepEnd, TurnError> {
        self.catch_up(&self.prefix.toolbox).await?;
        let asked = EntryBody::Message {
            message: ModelMessage::Assistant {
                content: vec![MessagePart::ToolCall(call.clone())],
                model: None,
            },
            meta: EntryMeta::default(),
        };
        let sessions = &self.parts.transcript.sessions;
        sessions.append(&self.session, asked).await?;
        self.act(std::slice::from_ref(call)).await
    }
}

pub(super) async fn result_on_record(
    turn: &RunningTurn<'_>,
    id: &str,
) -> Result<OwnerCallOutcome, TurnError> {
    let branch = turn.parts.transcript.sessions.branch(&turn.session).await?;
    let result = branch.iter().rev().find_map(|entry| match &entry.body {
        EntryBody::Message {
            message:
                message @ ModelMessage::ToolResult {
                    call_id, is_error, ..
                },
            ..
        } if call_id == id => Some(OwnerCallOutcome {
            text: message.text(),
            failed: *is_error,
        }),
        _ => None,
    });
    Ok(result.unwrap_or_else(|| OwnerCallOutcome {
        text: "the call was broken off".to_owned(),
        failed: true,
    }))
}
