//! Foreign text made fit for a terminal.
//!
//! What a model or a tool says may hold escape sequences that move the cursor, rename the window,
//! write the clipboard or hide text. None of them reaches the screen, also when one is split over
//! two pieces.

/// Takes control sequences out of text that arrives in pieces.
#[derive(Debug, Clone, Default)]
pub struct ControlCleaner {
    state: State,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// A carriage return: an end of line that a line feed may complete.
    Return,
    /// After ESC.
    Escape,
    /// `ESC (` and its like: one more byte belongs to it.
    Charset,
    /// `ESC [` up to a final byte.
    Control,
    /// `ESC ]`, `ESC P`, `ESC X`, `ESC ^`, `ESC _` up to BEL or ST.
    String,
    /// ESC inside a string: ST, perhaps.
    StringEscape,
}

impl ControlCleaner {
    /// The part of a piece that may be shown.
    pub fn push(&mut self, piece: &str) -> String {
        let mut shown = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.step(c, &mut shown);
        }
        shown
    }

    fn step(&mut self, c: char, shown: &mut String) {
        self.state = match (self.state, c) {
            (State::Return, '\n') => {
                shown.push('\n');
                State::Text
            }
            (State::Return, _) => {
                shown.push('\n');
                self.state = State::Text;
                return self.step(c, shown);
            }
            (State::Escape, '[') => State::Control,
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::String,
            (State::Escape, '(' | ')' | '*' | '+' | '#' | '%' | ' ') => State::Charset,
            (State::Escape | State::Charset, '\n') | (State::Control, '\n') => {
                shown.push('\n');
                State::Text
            }
            (State::Escape, '\u{1b}') => State::Escape,
            (State::Escape | State::Charset, _) => State::Text,
            (State::Control, '\u{1b}') => State::Escape,
            (State::Control, ' '..='?') => State::Control,
            // The final byte, or something that can be none: either way it is over.
            (State::Control, _) => State::Text,
            (State::String, '\u{7}' | '\u{9c}') => State::Text,
            (State::String, '\u{1b}') => State::StringEscape,
            // No honest sequence goes over the end of a line.
            (State::String | State::StringEscape, '\n') => {
                shown.push('\n');
                State::Text
            }
            (State::String, _) => State::String,
            (State::StringEscape, '\\') => State::Text,
            (State::StringEscape, _) => State::String,
            (State::Text, '\u{1b}') => State::Escape,
            (State::Text, '\u{9b}') => State::Control,
            (State::Text, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => State::String,
            (State::Text, '\r') => State::Return,
            (State::Text, c) => {
                if is_harmless(c) {
                    shown.push(c);
                }
                State::Text
            }
        };
    }

    /// What was held back at the end of the text.
    pub fn finish(&mut self) -> &'static str {
        let held = self.state == State::Return;
        self.state = State::Text;
        if held { "\n" } else { "" }
    }
}

/// A whole text, cleaned.
pub fn clean(text: &str) -> String {
    let mut cleaner = ControlCleaner::default();
    let mut shown = cleaner.push(text);
    shown.push_str(cleaner.finish());
    shown
}

/// A text on one line: line ends and tabs become blanks.
pub fn clean_line(text: &str) -> String {
    let cleaned = clean(text);
    cleaned.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Control characters move the cursor; embeddings and overrides make text read as what it is not.
fn is_harmless(c: char) -> bool {
    !matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ControlCleaner, clean, clean_line};

    #[test]
    fn sequences_go_and_text_stays() {
        for (raw, shown) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("a\u{1b}]52;c;aGk=\u{1b}\\b", "ab"),
            ("a\u{1b}Pq#0\u{1b}\\b", "ab"),
            ("a\u{9b}2Jb", "ab"),
            ("a\u{1b}(0b", "ab"),
            ("a\u{8}\u{8}b\u{7}", "ab"),
            ("one\r\ntwo\rthree", "one\ntwo\nthree"),
            ("tab\there", "tab\there"),
            ("user\u{202e}gnp.exe", "usergnp.exe"),
            (
                "\u{1b}]never ends\nbut the line does",
                "\nbut the line does",
            ),
            ("ümläut 漢字 👩‍👩‍👧", "ümläut 漢字 👩‍👩‍👧"),
        ] {
            assert_eq!(clean(raw), shown, "{raw:?}");
        }
        assert_eq!(clean_line("a\nb\t c\u{1b}[2J"), "a b c");
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(
            raw in "[a-z\u{1b}\u{9b}\u{7}\\[\\]\\\\;0-9mJ\r\nü漢]{0,60}",
            cuts in proptest::collection::vec(0usize..60, 0..6),
        ) {
            let mut cleaner = ControlCleaner::default();
            let mut shown = String::new();
            for piece in super::super::pieces(&raw, &cuts) {
                shown.push_str(&cleaner.push(piece));
            }
            shown.push_str(cleaner.finish());
            prop_assert_eq!(&shown, &clean(&raw));
            let escapes = shown.contains(['\u{1b}', '\u{9b}']);
            prop_assert!(!escapes);
            // What is clean stays as it is.
            prop_assert_eq!(clean(&shown), shown);
        }
    }
}
