//! One call of the model: what is streamed, what of it is kept, what it cost.

use chela_model::{MessagePart, ModelMessage, ModelResponse, ResponseEvent, StopReason, TurnStage};
use chela_reply::{GateSettings, Reply, ReplyGate};
use chela_session::{AppendBatch, EntryBody, EntryMeta, SessionError, UsageOfCall};
use tokio::time::sleep;

use super::partial::PartialAnswer;
use super::request::TurnRequest;
use super::{RunningTurn, TurnError};
use crate::surface::{ContextMeter, TurnEnd, TurnEvent};

/// What came of a model call.
pub(super) enum ModelCallOutcome {
    Answer(ModelResponse),
    /// The person or the clock ended it.
    Interrupted(TurnEnd),
}

/// What the person is told of an answer that did not end by itself.
pub(super) fn cut_short(stop: StopReason) -> Option<&'static str> {
    match stop {
        StopReason::Length => Some("The answer was cut off: it reached the model's output limit."),
        StopReason::Refused => {
            Some("The answer was stopped by the provider: a filter, or the model refused.")
        }
        StopReason::End | StopReason::Tools => None,
    }
}

impl<'a> RunningTurn<'a> {
    /// Calls the model, showing what it says while it says it.
    pub(super) async fn call(
        &mut self,
        request: &chela_model::ModelRequest,
        encoded: &chela_model::EncodedRequest,
        gate: &mut ReplyGate,
        partial: &mut PartialAnswer,
    ) -> Result<ModelCallOutcome, TurnError> {
        let stage = match self.spent.steps {
            0 => TurnStage::Fresh,
            _ => TurnStage::Underway,
        };
        let surface = self.surface;
        let settings = self.gate_settings();
        let outlet = &self.outlet;
        let mut sink = |event: ResponseEvent| match event {
            ResponseEvent::Text(text) => {
                partial.text.push_str(&text);
                gate.push(&text)
                    .into_iter()
                    .for_each(|shown| outlet.show(shown));
            }
            ResponseEvent::Reasoning(text) => {
                partial.reasoning.push_str(&text);
                gate.push_reasoning(&text)
                    .into_iter()
                    .for_each(|shown| outlet.show(shown));
            }
            ResponseEvent::ToolCall { .. } => {}
            ResponseEvent::Restarted { why } => {
                tracing::info!(why, "the answer broke off and is discarded");
                *gate = ReplyGate::new(settings);
                partial.restart();
                outlet.drop_held();
                surface.event(TurnEvent::Restarted { why });
            }
            ResponseEvent::Waiting { why, wait } => {
                let seconds = wait.as_secs().max(1);
                surface.event(TurnEvent::Waiting(format!(
                    "{why}: trying again in {seconds} s"
                )));
            }
        };
        let time_left = self.spent.time_left(self.now());
        let http = &self.parts.scope.agents.http;
        let answer = self.chain.answer(http, request, encoded, stage, &mut sink);
        tokio::select! {
            biased;
            () = self.parts.until_stopped() => Ok(ModelCallOutcome::Interrupted(TurnEnd::Stopped)),
            () = sleep(time_left) => Ok(ModelCallOutcome::Interrupted(TurnEnd::Limit(self.spent.out_of_time()))),
            response = answer => match response {
                Ok(response) => Ok(ModelCallOutcome::Answer(response)),
                Err(error) => {
                    self.keep_partial(partial).await?;
                    Err(error.into())
                }
            },
        }
    }

    /// Puts an answer on disk, with what it cost; gives the calls it asks for.
    pub(super) async fn keep(
        &self,
        response: &ModelResponse,
    ) -> Result<Vec<chela_model::ToolCall>, SessionError> {
        let message = ModelMessage::Assistant {
            content: response.content.clone(),
            model: Some(response.model.clone()),
        };
        let calls = message.tool_calls().cloned().collect();
        let answer = EntryBody::Message {
            message,
            meta: EntryMeta {
                usage: Some(response.usage),
                stop: Some(response.stop),
                ..EntryMeta::default()
            },
        };
        let batch = AppendBatch {
            bodies: std::slice::from_ref(&answer),
            usage: Some(UsageOfCall {
                usage: response.usage,
                context: self.meter.used,
            }),
        };
        self.parts
            .transcript
            .sessions
            .append_batch(&self.session, batch, answer.durability())
            .await?;
        Ok(calls)
    }

    /// What was said before the stream ended early is part of the conversation too.
    pub(super) async fn keep_partial(&self, partial: &PartialAnswer) -> Result<(), SessionError> {
        let mut content = Vec::new();
        if !partial.reasoning.is_empty() {
            content.push(MessagePart::Reasoning {
                text: partial.reasoning.clone(),
                signature: None,
                redacted: false,
            });
        }
        if partial.text.is_empty() {
            return Ok(());
        }
        content.push(MessagePart::text(partial.text.clone()));
        let message = ModelMessage::Assistant {
            content,
            model: Some(self.chain.current().reference().to_owned()),
        };
        let meta = EntryMeta {
            cut: true,
            ..EntryMeta::default()
        };
        self.parts
            .transcript
            .sessions
            .append(&self.session, EntryBody::Message { message, meta })
            .await
            .map(drop)
    }

    pub(super) fn account(&mut self, request: &TurnRequest, response: &ModelResponse) {
        self.usage += response.usage;
        let target = self.chain.current();
        self.meter = ContextMeter {
            used: match response.usage.input {
                0 => request.tokens,
                input => input,
            },
            window: target.info().context_window,
        };
        let chosen = self.chain.primary().reference();
        let fallback = (response.model != chosen)
            .then(|| (response.model.clone(), format!("{chosen} did not answer")));
        self.parts
            .transcript
            .note_answer(response.usage, self.meter, fallback);
        self.surface.event(TurnEvent::Called {
            usage: response.usage,
            context: self.meter,
        });
    }

    pub(super) fn gate_settings(&self) -> GateSettings {
        let format = self.chain.primary().info().compat.reply_format;
        self.parts.scope.gate_settings(format, self.source)
    }

    /// What the gate still held back, and what the answer comes to.
    pub(super) async fn close(&self, gate: ReplyGate) -> Reply {
        let finished = gate.finish();
        finished
            .shown
            .into_iter()
            .for_each(|shown| self.outlet.show(shown));
        self.before_agent_reply(finished.reply).await
    }
}
