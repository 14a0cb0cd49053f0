//! Choosing an earlier conversation: arrow keys, Enter; what is typed narrows the list.

use chela_agent::slash::ConversationRow;

use super::clean::clean_line;
use super::editor::EditAction;
use super::ink::{StyledLine, look};
use super::keys::KeyAction;

/// Conversations to choose from.
#[derive(Debug)]
pub struct SessionPicker {
    rows: Vec<ConversationRow>,
    typed: String,
    chosen: usize,
}

/// What came of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PickerOutcome {
    Open,
    Closed,
    Chosen(String),
    /// The key is not for a list.
    Elsewhere,
}

const TITLE: &str = "Resume a conversation: ";
const KEYS: &str = "  ↑↓ to choose · Enter to resume · type to filter · Esc to cancel";
/// Rows of the list that are not conversations: title, two of preview, keys.
const OTHER_ROWS: usize = 4;
const MOST_ROWS: usize = 12;

impl SessionPicker {
    pub fn new(rows: Vec<ConversationRow>) -> Self {
        Self {
            rows,
            typed: String::new(),
            chosen: 0,
        }
    }

    pub fn press(&mut self, act: &KeyAction) -> PickerOutcome {
        let count = self.shown().len();
        match act {
            KeyAction::Up | KeyAction::CompleteBack if count > 0 => {
                self.chosen = (self.chosen + count - 1) % count;
            }
            KeyAction::Down | KeyAction::Complete if count > 0 => {
                self.chosen = (self.chosen + 1) % count;
            }
            KeyAction::PageUp => self.chosen = self.chosen.saturating_sub(MOST_ROWS),
            KeyAction::PageDown => {
                self.chosen = (self.chosen + MOST_ROWS).min(count.saturating_sub(1));
            }
            KeyAction::Submit => {
                return match self.shown().get(self.chosen) {
                    Some(row) if row.is_open => PickerOutcome::Closed,
                    Some(row) => PickerOutcome::Chosen(row.id.clone()),
                    None => PickerOutcome::Open,
                };
            }
            KeyAction::Stop | KeyAction::Interrupt => return PickerOutcome::Closed,
            KeyAction::EndOfInput if self.typed.is_empty() => return PickerOutcome::Closed,
            KeyAction::Edit(EditAction::Insert(text)) => {
                self.typed.push_str(text);
                self.chosen = 0;
            }
            KeyAction::Edit(EditAction::Backspace) => {
                self.typed.pop();
                self.chosen = 0;
            }
            KeyAction::Edit(EditAction::CutToStart) => {
                self.typed.clear();
                self.chosen = 0;
            }
            KeyAction::Redraw | KeyAction::Resized | KeyAction::Suspend => {
                return PickerOutcome::Elsewhere;
            }
            _ => {}
        }
        PickerOutcome::Open
    }

    /// Those that fit what was typed.
    fn shown(&self) -> Vec<&ConversationRow> {
        let words: Vec<String> = self
            .typed
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let fits = |row: &&ConversationRow| {
            let text = format!("{} {}", row.title, row.last.as_deref().unwrap_or(""));
            let text = text.to_lowercase();
            words
                .iter()
                .all(|word| text.contains(word) || row.id.starts_with(word.as_str()))
        };
        self.rows.iter().filter(fits).collect()
    }

    /// The list in a window of this width and height, and where the cursor is.
    pub fn lines(&self, size: (usize, usize)) -> (Vec<StyledLine>, (usize, usize)) {
        let (width, height) = size;
        let shown = self.shown();
        let room = height.saturating_sub(OTHER_ROWS).clamp(1, MOST_ROWS);
        let first = self.chosen.saturating_sub(room - 1);
        let mut head = StyledLine::new(TITLE, look::BOLD);
        head.push(&self.typed, look::PLAIN);
        let cursor = (0, head.width().min(width));
        let mut lines = vec![head.cut(width)];
        for (at, row) in shown.iter().enumerate().skip(first).take(room) {
            lines.push(row_line(row, at == self.chosen).cut(width));
            if at == self.chosen {
                lines.extend(preview(row, width));
            }
        }
        if shown.is_empty() {
            lines.push(StyledLine::new("  no match", look::DIM));
        }
        lines.push(StyledLine::new(KEYS, look::DIM).cut(width));
        (lines, cursor)
    }
}

fn row_line(row: &ConversationRow, chosen: bool) -> StyledLine {
    let (mark, style) = match chosen {
        true => ("› ", look::CODE.bold()),
        false => ("  ", look::PLAIN),
    };
    let mut line = StyledLine::new(mark, look::PERSON);
    line.push(&format!("{:>4}  ", row.age), look::DIM);
    line.push(&clean_line(&row.title), style);
    if row.is_open {
        line.push("  (open now)", look::DIM);
    }
    if let Some(key) = &row.key {
        line.push(&format!("  {}", clean_line(key)), look::DIM);
    }
    line
}

/// What was said last in the one that is highlighted.
fn preview(row: &ConversationRow, width: usize) -> Vec<StyledLine> {
    let last = row.last.as_deref().unwrap_or("");
    let id = row.id.get(..8).unwrap_or(&row.id);
    [
        format!("        last: {}", clean_line(last)),
        format!("        {id}, {} entries", row.entries),
    ]
    .into_iter()
    .map(|text| StyledLine::new(text, look::DIM).cut(width))
    .collect()
}

#[cfg(test)]
mod tests {
    use chela_agent::slash::ConversationRow;

    use super::{EditAction, KeyAction, PickerOutcome, SessionPicker};

    fn rows() -> Vec<ConversationRow> {
        let row = |id: &str, title: &str| ConversationRow {
            id: id.to_owned(),
            title: title.to_owned(),
            age: "2d".to_owned(),
            ..ConversationRow::default()
        };
        vec![
            row("aaaa", "plan the trip"),
            row("bbbb", "fix the bike"),
            row("cccc", "pay rent"),
        ]
    }

    #[test]
    fn arrows_walk_round_and_typing_narrows() {
        let mut picker = SessionPicker::new(rows());
        picker.press(&KeyAction::Up);
        assert_eq!(
            picker.press(&KeyAction::Submit),
            PickerOutcome::Chosen("cccc".to_owned())
        );
        for letter in ["b", "i", "k", "e"] {
            picker.press(&KeyAction::Edit(EditAction::Insert(letter.to_owned())));
        }
        assert_eq!(
            picker.press(&KeyAction::Submit),
            PickerOutcome::Chosen("bbbb".to_owned())
        );
        picker.press(&KeyAction::Edit(EditAction::Insert("x".to_owned())));
        assert_eq!(picker.press(&KeyAction::Submit), PickerOutcome::Open);
        assert_eq!(picker.press(&KeyAction::Stop), PickerOutcome::Closed);
    }

    #[test]
    fn a_small_window_shows_the_one_that_is_chosen() {
        let mut picker = SessionPicker::new(rows());
        // What was said last stands under the one it is about.
        let (lines, _) = picker.lines((60, 24));
        assert!(lines[1].text().contains("plan the trip"));
        assert!(lines[2].text().contains("last: "));
        assert!(lines[4].text().contains("fix the bike"));
        picker.press(&KeyAction::Down);
        picker.press(&KeyAction::Down);
        let (lines, _) = picker.lines((60, 5));
        let text: Vec<String> = lines.iter().map(|line| line.text()).collect();
        assert!(
            text.iter().any(|line| line.contains("pay rent")),
            "{text:?}"
        );
        assert_eq!(text.len(), 5, "{text:?}");
    }
}
