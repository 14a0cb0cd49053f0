//! Why there is no answer, for people and for scripts.

use chela_agent::agent::OpenError;
use chela_agent::conversation::Conversation;
use chela_agent::slash::Talk;
use chela_agent::turn::TurnError;
use chela_model::Failure;

use super::clean::clean_line;
use super::ink::{Line, look};
use crate::fail::{Fail, NO_MODEL_CODE};

/// A failure as an error of the command.
pub fn fail(error: &TurnError, talk: &Conversation) -> Fail {
    match error {
        TurnError::Open(OpenError::Model(why)) => {
            let missing = talk.model().missing;
            let fail = Fail {
                code: NO_MODEL_CODE,
                ..Fail::new(clean_line(&why.to_string()))
            };
            match missing.is_empty() {
                true => fail,
                false => fail.hint(missing.join("\n    ")),
            }
        }
        TurnError::Model(error) => {
            let fail = Fail {
                code: match error.failure {
                    Failure::Unauthorized | Failure::NoModel | Failure::Unreachable => {
                        NO_MODEL_CODE
                    }
                    _ => 1,
                },
                ..Fail::new(clean_line(&error.message))
            };
            match &error.hint {
                Some(hint) => fail.hint(clean_line(hint)),
                None => fail,
            }
        }
        other => Fail::new(clean_line(&other.to_string())),
    }
}

/// The same as lines of the chat.
pub fn lines(error: &TurnError, talk: &Conversation) -> Vec<Line> {
    let fail = fail(error, talk);
    let mut lines = vec![Line::new("✗ ", look::BAD).with(&fail.message, look::PLAIN)];
    if let Some(hint) = fail.hint {
        lines.extend(
            hint.lines()
                .map(|hint| Line::new("  → ", look::CODE).with(hint.trim(), look::PLAIN)),
        );
    }
    lines
}
