//! The line people type on: several lines, wide characters, a clipboard of its own.

use unicode_segmentation::UnicodeSegmentation;

use super::history::TypedMessage;
use super::ink::{count_columns, without_tabs};

/// Text being written, and where the cursor is in it.
#[derive(Debug, Clone, Default)]
pub struct LineEditor {
    text: String,
    /// Byte offset, always between two characters as people count them.
    cursor: usize,
    /// What was last cut out.
    cut: String,
    /// Blocks of several lines that were pasted since it was last empty.
    pasted: Vec<String>,
}

/// A movement or change, whatever key it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditAction {
    Insert(String),
    /// What came from the clipboard of the terminal.
    InsertPasted(String),
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    CutToEnd,
    CutToStart,
    CutWordLeft,
    CutWordRight,
    Paste,
}

/// The text as rows on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorRows {
    pub rows: Vec<String>,
    /// Row and column of the cursor.
    pub cursor: (usize, usize),
}

/// Where a vertical move ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerticalMove {
    Inside,
    /// There is no line there: the history's turn.
    Beyond,
}

impl LineEditor {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn is_at_end(&self) -> bool {
        self.cursor == self.text.len()
    }

    /// Replaces everything; the cursor goes to the end.
    pub fn set(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.cursor = self.text.len();
    }

    /// Replaces everything, with the cursor in the middle of it.
    pub fn set_at(&mut self, text: impl Into<String>, cursor: usize) {
        self.text = text.into();
        self.cursor = cursor.min(self.text.len());
        self.settle();
    }

    /// Byte offset of the cursor.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// A message that was typed before, with what of it was pasted.
    pub fn recall(&mut self, message: TypedMessage) {
        self.set(message.text);
        self.pasted.extend(message.pasted);
    }

    /// The blocks of several lines that were pasted into the text: somebody else's words.
    pub fn take_pasted(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pasted)
    }

    /// Gives the text away and starts anew.
    pub fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    pub fn edit(&mut self, edit: EditAction) {
        match edit {
            EditAction::Insert(text) => {
                self.text.insert_str(self.cursor, &text);
                self.cursor += text.len();
                self.settle();
            }
            EditAction::InsertPasted(text) => {
                if text.trim().contains('\n') {
                    self.pasted.push(text.clone());
                }
                self.edit(EditAction::Insert(text));
            }
            EditAction::Backspace => drop(self.remove_to(self.left_of(self.cursor))),
            EditAction::Delete => drop(self.remove_to(self.right_of(self.cursor))),
            EditAction::Left => self.cursor = self.left_of(self.cursor),
            EditAction::Right => self.cursor = self.right_of(self.cursor),
            EditAction::WordLeft => self.cursor = self.word_left(),
            EditAction::WordRight => self.cursor = self.word_right(),
            EditAction::LineStart => self.cursor = self.line_start(),
            EditAction::LineEnd => self.cursor = self.line_end(),
            EditAction::CutToEnd => {
                let end = self.line_end();
                // At the end of a line the line end itself goes.
                let end = if end == self.cursor {
                    self.right_of(end)
                } else {
                    end
                };
                self.cut = self.remove_to(end);
            }
            EditAction::CutToStart => self.cut = self.remove_to(self.line_start()),
            EditAction::CutWordLeft => self.cut = self.remove_to(self.word_left()),
            EditAction::CutWordRight => self.cut = self.remove_to(self.word_right()),
            EditAction::Paste => self.edit(EditAction::Insert(self.cut.clone())),
        }
    }

    /// A backslash at the end asks for another line; it becomes the line end.
    pub fn continues(&mut self) -> bool {
        let backslashes = self.text.len() - self.text.trim_end_matches('\\').len();
        if backslashes % 2 == 1 && self.is_at_end() {
            self.text.pop();
            self.text.push('\n');
            self.cursor = self.text.len();
            return true;
        }
        false
    }

    pub fn up(&mut self) -> VerticalMove {
        let start = self.line_start();
        if start == 0 {
            return VerticalMove::Beyond;
        }
        let column = count_columns(self.text.get(start..self.cursor).unwrap_or_default());
        let end = start - 1;
        let start = self
            .text
            .get(..end)
            .unwrap_or_default()
            .rfind('\n')
            .map_or(0, |at| at + 1);
        self.cursor = self.at_column(start, end, column);
        VerticalMove::Inside
    }

    pub fn down(&mut self) -> VerticalMove {
        let end = self.line_end();
        if end == self.text.len() {
            return VerticalMove::Beyond;
        }
        let column = count_columns(
            self.text
                .get(self.line_start()..self.cursor)
                .unwrap_or_default(),
        );
        let start = end + 1;
        let end = self
            .text
            .get(start..)
            .unwrap_or_default()
            .find('\n')
            .map_or(self.text.len(), |at| start + at);
        self.cursor = self.at_column(start, end, column);
        VerticalMove::Inside
    }

    /// The text broken into rows of `width` columns.
    pub fn rows(&self, width: usize) -> EditorRows {
        let width = width.max(2);
        let mut rows = vec![String::new()];
        let mut column = 0;
        let mut cursor = (0, 0);
        for (at, grapheme) in self.text.grapheme_indices(true) {
            if at == self.cursor {
                cursor = (rows.len() - 1, column);
            }
            if grapheme.contains('\n') {
                rows.push(String::new());
                column = 0;
                continue;
            }
            let shown = without_tabs(grapheme);
            let wide = count_columns(&shown);
            if column + wide > width {
                rows.push(String::new());
                column = 0;
                if at == self.cursor {
                    cursor = (rows.len() - 1, 0);
                }
            }
            if let Some(row) = rows.last_mut() {
                row.push_str(&shown);
            }
            column += wide;
        }
        if self.cursor == self.text.len() {
            if column >= width {
                rows.push(String::new());
                column = 0;
            }
            cursor = (rows.len() - 1, column);
        }
        EditorRows { rows, cursor }
    }

    /// An inserted mark may have joined the character before it: the cursor goes after both.
    fn settle(&mut self) {
        let boundary = self
            .text
            .grapheme_indices(true)
            .map(|(at, _)| at)
            .find(|at| *at >= self.cursor);
        self.cursor = boundary.unwrap_or(self.text.len());
    }

    /// Removes what is between the cursor and `to`.
    fn remove_to(&mut self, to: usize) -> String {
        let (from, to) = (self.cursor.min(to), self.cursor.max(to));
        self.cursor = from;
        let removed = self.text.drain(from..to).collect();
        self.settle();
        removed
    }

    fn left_of(&self, at: usize) -> usize {
        let last = self
            .text
            .get(..at)
            .unwrap_or_default()
            .graphemes(true)
            .next_back();
        at - last.map_or(0, str::len)
    }

    fn right_of(&self, at: usize) -> usize {
        at + self
            .text
            .get(at..)
            .unwrap_or_default()
            .graphemes(true)
            .next()
            .map_or(0, str::len)
    }

    fn word_left(&self) -> usize {
        let before = self
            .text
            .get(..self.cursor)
            .unwrap_or_default()
            .trim_end_matches(|c: char| !c.is_alphanumeric());
        before.trim_end_matches(char::is_alphanumeric).len()
    }

    fn word_right(&self) -> usize {
        let after = self.text.get(self.cursor..).unwrap_or_default();
        let blanks = after.len()
            - after
                .trim_start_matches(|c: char| !c.is_alphanumeric())
                .len();
        let word = after.get(blanks..).unwrap_or_default();
        let length = word.len() - word.trim_start_matches(char::is_alphanumeric).len();
        self.cursor + blanks + length
    }

    fn line_start(&self) -> usize {
        self.text
            .get(..self.cursor)
            .unwrap_or_default()
            .rfind('\n')
            .map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text
            .get(self.cursor..)
            .unwrap_or_default()
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at)
    }

    fn at_column(&self, start: usize, end: usize, column: usize) -> usize {
        let mut passed = 0;
        for (at, grapheme) in self
            .text
            .get(start..end)
            .unwrap_or_default()
            .grapheme_indices(true)
        {
            if passed >= column {
                return start + at;
            }
            passed += count_columns(grapheme);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{EditAction, LineEditor, VerticalMove};
    use crate::chat::ink::count_columns;

    fn with(text: &str) -> LineEditor {
        let mut editor = LineEditor::default();
        editor.set(text);
        editor
    }

    #[test]
    fn words_are_cut_and_pasted() {
        let mut editor = with("git commit -m now");
        editor.edit(EditAction::CutWordLeft);
        assert_eq!(editor.text(), "git commit -m ");
        editor.edit(EditAction::WordLeft);
        editor.edit(EditAction::WordLeft);
        editor.edit(EditAction::CutToEnd);
        assert_eq!(editor.text(), "git ");
        editor.edit(EditAction::Paste);
        assert_eq!(editor.text(), "git commit -m ");
    }

    #[test]
    fn one_press_removes_what_looks_like_one_character() {
        for text in ["👩‍👩‍👧", "e\u{301}", "漢", "🇩🇪"] {
            let mut editor = with(text);
            editor.edit(EditAction::Backspace);
            assert_eq!(editor.text(), "", "{text}");
        }
    }

    #[test]
    fn lines_are_walked_by_column() {
        let mut editor = with("漢字 one\ntwo\nthree");
        assert_eq!(editor.up(), VerticalMove::Inside);
        assert_eq!(editor.up(), VerticalMove::Inside);
        assert_eq!(editor.up(), VerticalMove::Beyond);
        editor.edit(EditAction::Insert("|".into()));
        assert_eq!(editor.text(), "漢字| one\ntwo\nthree");
        assert_eq!(editor.down(), VerticalMove::Inside);
        assert_eq!(editor.down(), VerticalMove::Inside);
        assert_eq!(editor.down(), VerticalMove::Beyond);
    }

    #[test]
    fn rows_wrap_and_know_the_cursor() {
        let mut editor = with("abcdef");
        let rows = editor.rows(4);
        assert_eq!(
            (rows.rows, rows.cursor),
            (vec!["abcd".into(), "ef".into()], (1, 2))
        );
        let full = with("abcd").rows(4);
        assert_eq!((full.rows.len(), full.cursor), (2, (1, 0)));
        editor.set("漢字漢\nx");
        editor.up();
        assert_eq!(editor.rows(4).rows, ["漢字", "漢", "x"]);
    }

    #[test]
    fn a_backslash_at_the_end_asks_for_more() {
        let mut editor = with("first\\");
        assert!(editor.continues());
        assert_eq!(editor.text(), "first\n");
        assert!(!with("a\\\\").continues());
    }

    fn any_edit() -> impl Strategy<Value = EditAction> {
        prop_oneof![
            "[a-z漢 \n\u{301}👍\u{200d}]{1,3}".prop_map(EditAction::Insert),
            Just(EditAction::Backspace),
            Just(EditAction::Delete),
            Just(EditAction::Left),
            Just(EditAction::Right),
            Just(EditAction::WordLeft),
            Just(EditAction::WordRight),
            Just(EditAction::LineStart),
            Just(EditAction::LineEnd),
            Just(EditAction::CutToEnd),
            Just(EditAction::CutToStart),
            Just(EditAction::CutWordLeft),
            Just(EditAction::CutWordRight),
            Just(EditAction::Paste),
        ]
    }

    proptest! {
        /// Whatever is typed, the cursor is between characters and on the screen.
        #[test]
        fn the_cursor_is_never_lost(
            edits in proptest::collection::vec(any_edit(), 0..40),
            ups in 0usize..3,
            width in 2usize..12,
        ) {
            let mut editor = LineEditor::default();
            for edit in edits {
                editor.edit(edit);
                for _ in 0..ups {
                    editor.up();
                }
                editor.down();
                prop_assert!(editor.text.is_char_boundary(editor.cursor));
                let rows = editor.rows(width);
                prop_assert!(rows.cursor.0 < rows.rows.len());
                prop_assert!(rows.cursor.1 <= count_columns(&rows.rows[rows.cursor.0]));
                for row in &rows.rows {
                    prop_assert!(count_columns(row) <= width);
                }
            }
        }
    }
}
