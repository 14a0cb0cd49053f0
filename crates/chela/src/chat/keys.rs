//! What a key means.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::clean::clean;
use super::editor::EditAction;

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyAction {
    Edit(EditAction),
    /// Enter.
    Submit,
    Up,
    Down,
    PageUp,
    PageDown,
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
    /// Ctrl-R: look for something typed earlier.
    SearchHistory,
    /// Ctrl-G: write the message in `$EDITOR`.
    OpenEditor,
    Resized,
}

/// The meaning of an event; `None` for those that have none.
pub fn read_key_action(event: Event) -> Option<KeyAction> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(key),
        Event::Paste(text) => Some(KeyAction::Edit(EditAction::InsertPasted(clean(&text)))),
        Event::Resize(..) => Some(KeyAction::Resized),
        _ => None,
    }
}

fn of_key(key: KeyEvent) -> Option<KeyAction> {
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    let newline = || KeyAction::Edit(EditAction::Insert("\n".to_owned()));
    let act = match key.code {
        KeyCode::Enter if alt || shift || ctrl => newline(),
        KeyCode::Enter => KeyAction::Submit,
        KeyCode::Char(c) if ctrl => return of_control(c),
        KeyCode::Char(c) if alt => return of_alt(c),
        KeyCode::Char(c) => KeyAction::Edit(EditAction::Insert(c.to_string())),
        KeyCode::Backspace if alt || ctrl => KeyAction::Edit(EditAction::CutWordLeft),
        KeyCode::Backspace => KeyAction::Edit(EditAction::Backspace),
        KeyCode::Delete if alt || ctrl => KeyAction::Edit(EditAction::CutWordRight),
        KeyCode::Delete => KeyAction::Edit(EditAction::Delete),
        KeyCode::Left if alt || ctrl => KeyAction::Edit(EditAction::WordLeft),
        KeyCode::Left => KeyAction::Edit(EditAction::Left),
        KeyCode::Right if alt || ctrl => KeyAction::Edit(EditAction::WordRight),
        KeyCode::Right => KeyAction::Edit(EditAction::Right),
        KeyCode::Home => KeyAction::Edit(EditAction::LineStart),
        KeyCode::End => KeyAction::Edit(EditAction::LineEnd),
        KeyCode::Up => KeyAction::Up,
        KeyCode::Down => KeyAction::Down,
        KeyCode::PageUp => KeyAction::PageUp,
        KeyCode::PageDown => KeyAction::PageDown,
        KeyCode::Tab => KeyAction::Complete,
        KeyCode::BackTab => KeyAction::CompleteBack,
        KeyCode::Esc => KeyAction::Stop,
        _ => return None,
    };
    Some(act)
}

fn of_control(c: char) -> Option<KeyAction> {
    Some(match c.to_ascii_lowercase() {
        'a' => KeyAction::Edit(EditAction::LineStart),
        'b' => KeyAction::Edit(EditAction::Left),
        'c' => KeyAction::Interrupt,
        'd' => KeyAction::EndOfInput,
        'e' => KeyAction::Edit(EditAction::LineEnd),
        'f' => KeyAction::Edit(EditAction::Right),
        'g' => KeyAction::OpenEditor,
        'h' => KeyAction::Edit(EditAction::Backspace),
        'j' => KeyAction::Edit(EditAction::Insert("\n".to_owned())),
        'k' => KeyAction::Edit(EditAction::CutToEnd),
        'l' => KeyAction::Redraw,
        'n' => KeyAction::Down,
        'o' => KeyAction::Unfold,
        'p' => KeyAction::Up,
        'r' => KeyAction::SearchHistory,
        'u' => KeyAction::Edit(EditAction::CutToStart),
        'w' => KeyAction::Edit(EditAction::CutWordLeft),
        'y' => KeyAction::Edit(EditAction::Paste),
        'z' => KeyAction::Suspend,
        _ => return None,
    })
}

fn of_alt(c: char) -> Option<KeyAction> {
    Some(KeyAction::Edit(match c {
        'b' => EditAction::WordLeft,
        'f' => EditAction::WordRight,
        'd' => EditAction::CutWordRight,
        '\r' | '\n' => EditAction::Insert("\n".to_owned()),
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

    use super::{EditAction, KeyAction, read_key_action};

    #[test]
    fn enter_sends_and_alt_enter_does_not() {
        let press = |code, modifiers| read_key_action(Event::Key(KeyEvent::new(code, modifiers)));
        let newline = Some(KeyAction::Edit(EditAction::Insert("\n".into())));
        assert_eq!(
            press(KeyCode::Enter, KeyModifiers::NONE),
            Some(KeyAction::Submit)
        );
        assert_eq!(press(KeyCode::Enter, KeyModifiers::ALT), newline);
        assert_eq!(press(KeyCode::Char('j'), KeyModifiers::CONTROL), newline);
        assert_eq!(press(KeyCode::F(1), KeyModifiers::NONE), None);
    }

    #[test]
    fn pasted_text_is_cleaned() {
        assert_eq!(
            read_key_action(Event::Paste("a\u{1b}[31m\r\nb".into())),
            Some(KeyAction::Edit(EditAction::InsertPasted("a\nb".into())))
        );
    }
}
