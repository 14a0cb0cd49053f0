//! What the wizard asks a person.

use std::io::{self, BufRead, Write};

use chela_core::ok_or_warn;
use chela_model::ModelKey;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

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
        eprint_text(&format!("API key for {provider} (not shown): "));
        let typed = read_hidden().ok_or_else(given_up)?;
        eprint_text("\n");
        if let Some(key) = ModelKey::new(&typed) {
            return Ok(key);
        }
    }
}

fn read_hidden() -> Option<String> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin).ok()?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Flush, &hidden).ok()?;
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    ok_or_warn!(
        tcsetattr(&stdin, OptionalActions::Now, &before),
        "the terminal does not show what is typed"
    );
    match read {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

fn eprint_text(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

fn given_up() -> CommandError {
    CommandError::new("nothing was set up").hint("run `chela setup` to start again")
}
