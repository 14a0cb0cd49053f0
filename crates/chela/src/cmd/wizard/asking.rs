//! What the wizard asks a person.

use std::io::{self, BufRead, Write};

use chela_core::ok_or_warn;
use chela_model::ModelKey;

use crate::chat::line_questions::ask_fresh_line;
use crate::fail::CommandError;

/// One of several, by its number; the first for nothing typed.
pub fn choose(title: &str, choices: &[String]) -> Result<usize, CommandError> {
    let mut text = format!("{title}\n");
    for (number, choice) in (1..).zip(choices) {
        text.push_str(&format!("  {number}. {choice}\n"));
    }
    eprint_text(&text);
    loop {
        let question = format!("Which? [1-{}, Enter for 1] ", choices.len());
        let typed = ask_fresh_line(&question).ok_or_else(given_up)?;
        match typed.trim() {
            "" => return Ok(0),
            number => match number.parse::<usize>() {
                Ok(number) if (1..=choices.len()).contains(&number) => return Ok(number - 1),
                _ => {}
            },
        }
    }
}

pub fn ask(question: &str) -> Result<String, CommandError> {
    loop {
        let typed = ask_fresh_line(question).ok_or_else(given_up)?;
        if !typed.is_empty() {
            return Ok(typed);
        }
    }
}

/// A key, typed or pasted where nobody sees it.
pub fn ask_key(provider: &str) -> Result<ModelKey, CommandError> {
    loop {
        let question = format!("API key for {provider} (not shown): ");
        let typed = ask_hidden(&question).ok_or_else(given_up)?;
        if let Some(key) = ModelKey::new(&typed) {
            return Ok(key);
        }
    }
}

/// The same where none may be needed: `None` for an empty line.
pub fn ask_optional_key(provider: &str) -> Result<Option<ModelKey>, CommandError> {
    let question = format!("API key for {provider} (not shown; press Enter if it needs none): ");
    let typed = ask_hidden(&question).ok_or_else(given_up)?;
    Ok(ModelKey::new(&typed))
}

/// Asks once nothing is shown any more: what is typed into the question counts. Ctrl-C is read like
/// any other key, because the terminal must be given back as it was before the process may go.
fn ask_hidden(question: &str) -> Option<String> {
    let hidden = HiddenTyping::begin()?;
    eprint_text(question);
    let line = hidden_line(io::stdin().lock());
    ok_or_warn!(hidden.end(), "the terminal does not show what is typed");
    eprint_text("\n");
    line
}

/// A terminal that does not show what is typed.
#[cfg(unix)]
struct HiddenTyping(rustix::termios::Termios);

#[cfg(unix)]
impl HiddenTyping {
    fn begin() -> Option<Self> {
        use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(io::stdin()).ok()?;
        let mut hidden = before.clone();
        hidden.make_raw();
        // What is printed meanwhile, by whomever, stands in lines as usual.
        hidden.output_modes = before.output_modes;
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden).ok()?;
        Some(Self(before))
    }

    fn end(self) -> io::Result<()> {
        use rustix::termios::{OptionalActions, tcsetattr};
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &self.0)?)
    }
}

#[cfg(not(unix))]
struct HiddenTyping;

#[cfg(not(unix))]
impl HiddenTyping {
    fn begin() -> Option<Self> {
        crossterm::terminal::enable_raw_mode().ok().map(|()| Self)
    }

    fn end(self) -> io::Result<()> {
        crossterm::terminal::disable_raw_mode()
    }
}

/// The keys of a line that is typed or pasted blindly. `None` when it is given up.
fn hidden_line(input: impl BufRead) -> Option<String> {
    const INTERRUPT: u8 = 0x03;
    const END: u8 = 0x04;
    const BACKSPACE: [u8; 2] = [0x08, 0x7f];
    const CLEAR: u8 = 0x15;
    let mut typed: Vec<u8> = Vec::new();
    for byte in input.bytes() {
        match byte.ok()? {
            b'\r' | b'\n' => return String::from_utf8(typed).ok(),
            INTERRUPT => return None,
            END if typed.is_empty() => return None,
            CLEAR => typed.clear(),
            key if BACKSPACE.contains(&key) => {
                typed.pop();
            }
            key => typed.push(key),
        }
    }
    None
}

fn eprint_text(text: &str) {
    // Where standard error is closed nobody is there to answer either.
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

fn given_up() -> CommandError {
    CommandError::new("nothing was set up").hint("run `chela setup` to start again")
}

#[cfg(test)]
mod tests {
    use super::hidden_line;

    #[test]
    fn a_line_is_typed_blindly() {
        let typed = |keys: &str| hidden_line(keys.as_bytes());
        assert_eq!(typed("sk-1\r"), Some("sk-1".to_owned()));
        assert_eq!(typed("sk-2\u{7f}1\n"), Some("sk-1".to_owned()));
        assert_eq!(typed("wrong\u{15}sk-1\r"), Some("sk-1".to_owned()));
        assert_eq!(typed("sk-1\u{3}"), None);
        assert_eq!(typed("\u{4}"), None);
        assert_eq!(typed("sk-1"), None, "the terminal went away");
    }
}
