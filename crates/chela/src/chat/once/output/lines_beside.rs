//! Single lines for people, beside the output or instead of it.

use chela_agent::turn::{TurnEnd, TurnOutcome};
use chela_model::StopReason;
use chela_reply::{Reply, Silence};

use crate::chat::clean::{self, clean_line};
use crate::chat::ink::{StyledLine, look};
use crate::chat::markdown::MarkdownStream;
use crate::fail::CommandError;
use crate::screen::{ColourMode, Screen, print_beside};

/// The answer to a command, on its own.
pub fn print_markdown(screen: &mut Screen, markdown: &str) -> Result<(), CommandError> {
    if markdown.is_empty() {
        return Ok(());
    }
    let cleaned = clean::clean(markdown);
    if !screen.is_terminal {
        screen.line(cleaned.trim_end())?;
        return Ok(());
    }
    let mut flow = MarkdownStream::new(screen.width.saturating_sub(1).min(100), screen.paint);
    let mut lines = flow.push(&cleaned);
    lines.extend(flow.finish());
    for line in lines {
        screen.line(line.ansi(screen.paint))?;
    }
    Ok(())
}

/// A line for people, beside the output.
pub fn print_note(paint: ColourMode, text: &str) {
    let line = StyledLine::new(clean_line(text), look::DIM);
    print_beside(line.ansi(paint));
}

/// Something that is not as it should be, beside the output.
pub fn print_warning(paint: ColourMode, text: &str) {
    print_beside(format_args!(
        "{} {}",
        paint.warn("warning:"),
        clean_line(text)
    ));
}

/// An answer without words that nobody asked to be silent, told; says whether it is one.
pub(super) fn tell_empty(paint: ColourMode, outcome: &TurnOutcome, drawn: bool) -> bool {
    let empty = matches!(
        &outcome.reply,
        Reply::Silent {
            why: Silence::Empty
        }
    );
    let told = match (outcome.ended == TurnEnd::Done, empty, outcome.stop) {
        (true, true, Some(StopReason::Refused)) => {
            "no answer: the provider stopped it (a filter, or the model refused)"
        }
        (true, true, Some(StopReason::Length)) => {
            "no answer: the model reached its output limit before it said anything"
        }
        (true, true, _) => "no answer: the model sent nothing",
        (true, false, Some(StopReason::Length)) if !drawn => {
            "the answer was cut off at the model's output limit"
        }
        (true, false, Some(StopReason::Refused)) if !drawn => {
            "the answer was cut off by the provider"
        }
        _ => return false,
    };
    print_warning(paint, told);
    empty
}
