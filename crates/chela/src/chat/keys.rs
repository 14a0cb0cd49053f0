//! What a key means.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::clean::clean;
use super::editor::Edit;

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Edit(Edit),
    /// Enter.
    Submit,
    Up,
    Down,
    /// Tab, and the other way round.
    Complete,
    CompleteBack,
    /// Esc.
    Stop,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D on an empty line; elsewhere it deletes.
    EndOfInput,
    /// Ctrl-L.
    Redraw,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-O: show more of the last tool calls.
    Unfold,
    Resized,
}

/// The meaning of an event; `None` for those that have none.
pub fn meaning(event: Event) -> Option<Act> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(key),
        Event::Paste(text) => Some(Act::Edit(Edit::Insert(clean(&text)))),
        Event::Resize(..) => Some(Act::Resized),
        _ => None,
    }
}

fn of_key(key: KeyEvent) -> Option<Act> {
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    let newline = || Act::Edit(Edit::Insert("\n".to_owned()));
    let act = match key.code {
        KeyCode::Enter if alt || shift || ctrl => newline(),
        KeyCode::Enter => Act::Submit,
        KeyCode::Char(c) if ctrl => return of_control(c),
        KeyCode::Char(c) if alt => return of_alt(c),
        KeyCode::Char(c) => Act::Edit(Edit::Insert(c.to_string())),
        KeyCode::Backspace if alt || ctrl => Act::Edit(Edit::CutWordLeft),
        KeyCode::Backspace => Act::Edit(Edit::Backspace),
        KeyCode::Delete if alt || ctrl => Act::Edit(Edit::CutWordRight),
        KeyCode::Delete => Act::Edit(Edit::Delete),
        KeyCode::Left if alt || ctrl => Act::Edit(Edit::WordLeft),
        KeyCode::Left => Act::Edit(Edit::Left),
        KeyCode::Right if alt || ctrl => Act::Edit(Edit::WordRight),
        KeyCode::Right => Act::Edit(Edit::Right),
        KeyCode::Home => Act::Edit(Edit::LineStart),
        KeyCode::End => Act::Edit(Edit::LineEnd),
        KeyCode::Up => Act::Up,
        KeyCode::Down => Act::Down,
        KeyCode::Tab => Act::Complete,
        KeyCode::BackTab => Act::CompleteBack,
        KeyCode::Esc => Act::Stop,
        _ => return None,
    };
    Some(act)
}

fn of_control(c: char) -> Option<Act> {
    Some(match c.to_ascii_lowercase() {
        'a' => Act::Edit(Edit::LineStart),
        'b' => Act::Edit(Edit::Left),
        'c' => Act::Interrupt,
        'd' => Act::EndOfInput,
        'e' => Act::Edit(Edit::LineEnd),
        'f' => Act::Edit(Edit::Right),
        'h' => Act::Edit(Edit::Backspace),
        'j' => Act::Edit(Edit::Insert("\n".to_owned())),
        'k' => Act::Edit(Edit::CutToEnd),
        'l' => Act::Redraw,
        'n' => Act::Down,
        'o' => Act::Unfold,
        'p' => Act::Up,
        'u' => Act::Edit(Edit::CutToStart),
        'w' => Act::Edit(Edit::CutWordLeft),
        'y' => Act::Edit(Edit::Paste),
        'z' => Act::Suspend,
        _ => return None,
    })
}

fn of_alt(c: char) -> Option<Act> {
    Some(Act::Edit(match c {
        'b' => Edit::WordLeft,
        'f' => Edit::WordRight,
        'd' => Edit::CutWordRight,
        '\r' | '\n' => Edit::Insert("\n".to_owned()),
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

    use super::{Act, Edit, meaning};

    #[test]
    fn enter_sends_and_alt_enter_does_not() {
        let press = |code, modifiers| meaning(Event::Key(KeyEvent::new(code, modifiers)));
        let newline = Some(Act::Edit(Edit::Insert("\n".into())));
        assert_eq!(press(KeyCode::Enter, KeyModifiers::NONE), Some(Act::Submit));
        assert_eq!(press(KeyCode::Enter, KeyModifiers::ALT), newline);
        assert_eq!(press(KeyCode::Char('j'), KeyModifiers::CONTROL), newline);
        assert_eq!(press(KeyCode::F(1), KeyModifiers::NONE), None);
    }

    #[test]
    fn pasted_text_is_cleaned() {
        assert_eq!(
            meaning(Event::Paste("a\u{1b}[31m\r\nb".into())),
            Some(Act::Edit(Edit::Insert("a\nb".into())))
        );
    }
}
