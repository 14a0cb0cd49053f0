//! A skill whose work is done in a sub-agent (`context: fork`): the person's call starts it, and no
//! model is asked here.

use chela_model::{MessagePart, ModelMessage, ToolCall};
use chela_reply::ReplyGate;
use chela_session::{EntryBody, EntryMeta};
use serde_json::{Map, Value, json};

use super::owner_call::result_on_record;
use super::{RunningTurn, StepEnd, TurnEnd, TurnError};
use crate::context_builder::ForkedSkill;

impl RunningTurn<'_> {
    /// Starts the sub-agent as a call of `sessions_spawn`, under the rules of any such call.
    pub(super) async fn run_fork(&mut self, fork: ForkedSkill) -> Result<TurnEnd, TurnError> {
        let mut arguments = Map::new();
        arguments.insert("task".to_owned(), json!(fork.task));
        arguments.insert("label".to_owned(), json!(fork.name));
        if let Some(model) = fork.model {
            arguments.insert("model".to_owned(), Value::from(model));
        }
        let entropy = self.parts.scope.agents.host.random_hex(8);
        let call = ToolCall {
            id: format!("skill_{entropy}"),
            name: "sessions_spawn".to_owned(),
            arguments,
            malformed: None,
        };
        let ended = match self.make_owner_call(&call).await? {
            StepEnd::End(ended) => ended,
            StepEnd::Again => TurnEnd::Done,
        };
        let outcome = result_on_record(self, &call.id).await?;
        let text = match outcome.failed {
            false => format!("`{}` works in a sub-agent; its result follows.", fork.name),
            true => format!(
                "`{}` does its work in a sub-agent, which could not be started: {}",
                fork.name, outcome.text
            ),
        };
        let said = EntryBody::Message {
            message: ModelMessage::Assistant {
                content: vec![MessagePart::text(text.clone())],
                model: None,
            },
            meta: EntryMeta::default(),
        };
        let sessions = &self.parts.transcript.sessions;
        sessions.append(&self.session, said).await?;
        let mut gate = ReplyGate::new(self.gate_settings());
        for shown in gate.push(&text) {
            self.outlet.show(shown);
        }
        self.reply = self.close(gate).await;
        Ok(ended)
    }
}
