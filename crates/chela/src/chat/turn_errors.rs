//! Why there is no answer, for people and for scripts.

use chela_agent::agent::OpenError;
use chela_agent::conversation::Conversation;
use chela_agent::slash::CommandContext;
use chela_agent::turn::{ContextMeter, TurnEnd, TurnError, TurnOutcome};
use chela_core::{SessionKey, Usage};
use chela_gateway::LinkError;
use chela_model::CallFailure;
use chela_reply::{Reply, ReplyDelivery, Silence};
use serde_json::Value;

use super::clean::clean_line;
use super::ink::{StyledLine, look};
use crate::fail::{CommandError, CommandExit, NO_MODEL_CODE};

/// Why a turn came to nothing, here or in the gateway.
#[derive(Debug)]
pub enum TurnFailure {
    Here(TurnError),
    Gateway(GatewayFailure),
}

/// The same as the gateway tells it.
#[derive(Debug, Clone, Default)]
pub struct GatewayFailure {
    pub message: String,
    pub hint: Option<String>,
    /// Of which kind, in a word: `no-model`, `stopped`.
    pub failure: Option<String>,
}

impl From<TurnError> for TurnFailure {
    fn from(error: TurnError) -> Self {
        Self::Here(error)
    }
}

impl GatewayFailure {
    /// The gateway ended while a turn ran there.
    pub fn gone() -> Self {
        Self {
            message: "the gateway has ended; your message is saved and is answered when it runs \
                again"
                .to_owned(),
            hint: Some("chela gateway run".to_owned()),
            failure: None,
        }
    }

    pub fn of_link(error: &LinkError) -> Self {
        Self {
            message: error.to_string(),
            ..Self::default()
        }
    }

    /// As the end of a piece of work says.
    pub fn of_told(told: &Value) -> Self {
        let text = |key: &str| told.get(key).and_then(Value::as_str).map(str::to_owned);
        let status = text("status").unwrap_or_default();
        Self {
            message: text("error").unwrap_or_else(|| format!("the turn ended: {status}")),
            hint: text("hint"),
            failure: text("failure").or_else(|| (status == "stopped").then_some(status)),
        }
    }

    /// What is on record of a turn whose end was not heard.
    pub fn of_outcome(outcome: &Value, session: &str) -> Result<TurnOutcome, Self> {
        let text = |key: &str| outcome.get(key).and_then(Value::as_str);
        let number = |key: &str| outcome.get(key).and_then(Value::as_u64).unwrap_or(0);
        let reply = text("reply").unwrap_or_default();
        let session = SessionKey::parse(session).map_err(|error| Self {
            message: error.to_string(),
            ..Self::default()
        })?;
        let ended = match text("status") {
            Some("answered" | "silent") => TurnEnd::Done,
            Some("stopped") => TurnEnd::Stopped,
            _ => return Err(Self::of_told(outcome)),
        };
        Ok(TurnOutcome {
            session,
            turn: String::new(),
            model: text("model").unwrap_or_default().to_owned(),
            reply: match reply.is_empty() {
                true => Reply::Silent {
                    why: Silence::Empty,
                },
                false => Reply::Deliver(ReplyDelivery {
                    text: reply.to_owned(),
                    ..ReplyDelivery::default()
                }),
            },
            usage: Usage {
                input: number("inputTokens"),
                output: number("outputTokens"),
                ..Usage::default()
            },
            context: ContextMeter::default(),
            steps: u32::try_from(number("steps")).unwrap_or(0),
            tool_calls: 0,
            stop: None,
            ended,
        })
    }

    fn as_error(&self, talk: &Conversation) -> CommandError {
        let mut fail = CommandError::new(clean_line(&self.message));
        fail.code = match self.failure.as_deref() {
            Some("no-model") => NO_MODEL_CODE,
            Some("stopped") => CommandExit::Stopped.code(),
            _ => 1,
        };
        let missing = talk.model().missing;
        match (&self.hint, self.failure.as_deref()) {
            (Some(hint), _) => fail.hint(clean_line(hint)),
            (None, Some("no-model")) if !missing.is_empty() => fail.hint(missing.join("\n    ")),
            (None, Some("broken")) => fail.hint("`chela logs` shows what led to it"),
            _ => fail,
        }
    }
}

/// A failure as an error of the command.
pub fn turn_failure(failure: &TurnFailure, talk: &Conversation) -> CommandError {
    let error = match failure {
        TurnFailure::Here(error) => error,
        TurnFailure::Gateway(failure) => return failure.as_error(talk),
    };
    match error {
        TurnError::Open(OpenError::Model(why)) => {
            let told = why.to_string();
            let mut missing = talk.model().missing;
            missing.retain(|line| !line.starts_with(&told));
            let fail = CommandError {
                code: NO_MODEL_CODE,
                ..CommandError::new(clean_line(&told))
            };
            match missing.is_empty() {
                true => fail,
                false => fail.hint(missing.join("\n    ")),
            }
        }
        TurnError::Model(error) => {
            let fail = CommandError {
                code: match error.failure {
                    CallFailure::Unauthorized | CallFailure::NoModel | CallFailure::Unreachable => {
                        NO_MODEL_CODE
                    }
                    _ => 1,
                },
                ..CommandError::new(clean_line(&error.message))
            };
            match &error.hint {
                Some(hint) => fail.hint(clean_line(hint)),
                None => fail,
            }
        }
        TurnError::StoppedWaiting => CommandError {
            code: CommandExit::Stopped.code(),
            ..CommandError::new(error.to_string())
        },
        TurnError::Broken(_) => CommandError::new(clean_line(&error.to_string()))
            .hint("`chela logs` shows what led to it"),
        other => CommandError::new(clean_line(&other.to_string())),
    }
}

/// The same as lines of the chat.
pub fn error_lines(error: &TurnFailure, talk: &Conversation, width: usize) -> Vec<StyledLine> {
    let fail = turn_failure(error, talk);
    let indent = StyledLine::new("    ", look::PLAIN);
    let mut lines = StyledLine::new(fail.message, look::PLAIN).wrap(
        width,
        &StyledLine::new("✗ ", look::BAD),
        &StyledLine::new("  ", look::PLAIN),
    );
    let arrow = StyledLine::new("  → ", look::CODE);
    for hint in fail.hint.iter().flat_map(|hint| hint.lines()) {
        lines.extend(StyledLine::new(hint.trim(), look::PLAIN).wrap(width, &arrow, &indent));
    }
    lines
}
