//! The rows at the bottom: what is being written, and where things stand.

use std::io::Write;
use std::time::Instant;

use chela_core::SessionForm;
use chela_guard::flow::SessionTaint;

use super::ChatRoom;
use crate::chat::card::CardFocus;
use crate::chat::ink::{StyledLine, look};
use crate::chat::stage::ScreenFrame;

/// Rows of the message being written.
const MOST_ROWS: usize = 10;
/// Rows that are not the question's: a blank one before and after it, the line people type on, where
/// things stand, and the last one of the window, which stays empty.
const ROWS_AROUND: usize = 5;
const PROMPT: &str = "› ";

impl<W: Write> ChatRoom<'_, W> {
    pub(super) fn frame(&mut self, now: Instant) -> ScreenFrame {
        let width = self.stage.width().saturating_sub(1).max(1);
        let mut lines = self.view.live(now);
        let room = self.stage.height().saturating_sub(ROWS_AROUND);
        let focus = match self.editor.is_empty() {
            true => CardFocus::Here,
            false => CardFocus::Elsewhere,
        };
        let question = self.questions.lines((width, room), focus);
        if !lines.is_empty() || !question.is_empty() {
            lines.push(StyledLine::default());
        }
        let above = lines.len();
        if !question.is_empty() {
            lines.extend(question);
            lines.push(StyledLine::default());
        }
        let (rows, mut cursor) = match &self.picker {
            Some(picker) => picker.lines((width, room)),
            None => self.writing(width),
        };
        cursor.0 += lines.len();
        lines.extend(rows);
        lines.extend(self.menu.lines(width));
        lines.push(match &self.search {
            Some(search) => search.line(&self.history).cut(width),
            None => self.status(width),
        });
        // What is taller than the window loses its top: a question must not.
        self.question_fits = lines.len() - above < self.stage.height();
        ScreenFrame {
            lines,
            cursor: Some(cursor),
        }
    }

    /// The rows of the message around the cursor.
    fn writing(&self, width: usize) -> (Vec<StyledLine>, (usize, usize)) {
        let room = width.saturating_sub(PROMPT.chars().count() + 1);
        let rows = self.editor.rows(room);
        let most = MOST_ROWS.min(self.stage.height() / 2).max(1);
        let first = rows.cursor.0.saturating_sub(most - 1);
        let lines = rows.rows.iter().enumerate().skip(first).take(most);
        let lines = lines.map(|(at, row)| {
            let lead = if at == 0 { PROMPT } else { "  " };
            StyledLine::new(lead, look::PERSON).with(row, look::PLAIN)
        });
        let cursor = (
            rows.cursor.0 - first,
            rows.cursor.1 + PROMPT.chars().count(),
        );
        (lines.collect(), cursor)
    }

    fn status(&self, width: usize) -> StyledLine {
        if self.leaving {
            return StyledLine::new("  Ctrl-C again to quit", look::WARN);
        }
        let model = match &self.model {
            // On a narrow screen the name is enough.
            Some(model) if width < 60 => model.rsplit('/').next().unwrap_or(model),
            Some(model) => model.as_str(),
            None => "no model: /model",
        };
        let mut parts = Vec::new();
        // First, so that no narrow screen cuts it off.
        if self.busy.is_some() {
            parts.push("Esc stops".to_owned());
        }
        parts.push(model.to_owned());
        if let Some(place) = self.place() {
            parts.push(place);
        }
        parts.extend(meter(self.view.meter.used, self.view.meter.window));
        if self.talk.taint() == SessionTaint::Tainted {
            parts.push("⚠ untrusted content in context".to_owned());
        }
        // What stands on the card needs no second telling, and the card counts those after it.
        let elsewhere = match self.questions.is_empty() {
            true => self.talk.questions_waiting(),
            false => 0,
        };
        match elsewhere {
            0 => {}
            1 => parts.push("1 question waiting".to_owned()),
            many => parts.push(format!("{many} questions waiting")),
        }
        parts.extend(self.talk.background().running().counted());
        StyledLine::new(format!("  {}", parts.join(" · ")), look::DIM).cut(width)
    }

    /// The session, where it is not the main one.
    fn place(&self) -> Option<String> {
        let key = self.talk.key();
        match &key.form {
            SessionForm::Main { key } if key == "main" => None,
            _ => Some(key.to_string()),
        }
    }
}

/// `▰▰▱▱▱▱▱▱ 12.4k of 200k`.
fn meter(used: u64, window: Option<u64>) -> Option<String> {
    const CELLS: u64 = 8;
    let window = window.filter(|window| *window > 0);
    match (used, window) {
        (0, None) => None,
        (used, None) => Some(short(used)),
        (used, Some(window)) => {
            let full = (used * CELLS).div_ceil(window).min(CELLS);
            let full = usize::try_from(full).unwrap_or(0);
            let cells = "▰".repeat(full) + &"▱".repeat(8 - full);
            Some(format!("{cells} {} of {}", short(used), short(window)))
        }
    }
}

fn short(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..10_000 => format!("{:.1}k", tokens as f64 / 1e3),
        10_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::{meter, short};

    #[test]
    fn the_meter_fills() {
        assert_eq!(meter(0, Some(200_000)).unwrap(), "▱▱▱▱▱▱▱▱ 0 of 200k");
        assert_eq!(
            meter(30_000, Some(200_000)).unwrap(),
            "▰▰▱▱▱▱▱▱ 30k of 200k"
        );
        assert_eq!(
            meter(250_000, Some(200_000)).unwrap(),
            "▰▰▰▰▰▰▰▰ 250k of 200k"
        );
        assert_eq!(meter(4_321, None).unwrap(), "4.3k");
        assert_eq!(meter(0, None), None);
        assert_eq!(short(1_200_000), "1.2M");
    }
}
