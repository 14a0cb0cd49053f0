//! Why there is no answer, for people and for scripts.

use chela_agent::agent::OpenError;
use chela_agent::conversation::Conversation;
use chela_agent::slash::CommandContext;
use chela_agent::turn::TurnError;
use chela_model::CallFailure;

use super::clean::clean_line;
use super::ink::{StyledLine, look};
use crate::fail::{CommandError, CommandExit, NO_MODEL_CODE};

/// A failure as an error of the command.
pub fn turn_failure(error: &TurnError, talk: &Conversation) -> CommandError {
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
pub fn error_lines(error: &TurnError, talk: &Conversation, width: usize) -> Vec<StyledLine> {
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
