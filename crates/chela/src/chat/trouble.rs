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
            let told = why.to_string();
            let mut missing = talk.model().missing;
            missing.retain(|line| !line.starts_with(&told));
            let fail = Fail {
                code: NO_MODEL_CODE,
                ..Fail::new(clean_line(&told))
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
        TurnError::Broken(_) => {
            Fail::new(clean_line(&error.to_string())).hint("`chela logs` shows what came before it")
        }
        other => Fail::new(clean_line(&other.to_string())),
    }
}

/// The same as lines of the chat.
pub fn lines(error: &TurnError, talk: &Conversation, width: usize) -> Vec<Line> {
    let fail = fail(error, talk);
    let indent = Line::new("    ", look::PLAIN);
    let mut lines = Line::new(fail.message, look::PLAIN).wrap(
        width,
        &Line::new("✗ ", look::BAD),
        &Line::new("  ", look::PLAIN),
    );
    let arrow = Line::new("  → ", look::CODE);
    for hint in fail.hint.iter().flat_map(|hint| hint.lines()) {
        lines.extend(Line::new(hint.trim(), look::PLAIN).wrap(width, &arrow, &indent));
    }
    lines
}
