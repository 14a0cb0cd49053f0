//! Telling commands, directives and plain messages apart.

use super::levels;
use super::table::{Command, Id, Kind, find};

/// What a person wrote, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// A message of its own.
    Command {
        command: &'static Command,
        args: String,
    },
    /// Nothing but directives: they hold from now on.
    Directives(Vec<Directive>),
    /// Text for the model. Its directives hold for this message only (a model is kept);
    /// its shortcuts are answered beside it.
    Message {
        text: String,
        directives: Vec<Directive>,
        shortcuts: Vec<&'static Command>,
    },
    /// Looks like a command and is none: a skill's, perhaps.
    Unknown { name: String, args: String },
}

/// A setting inside or instead of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    pub command: &'static Command,
    /// `None` asks how it stands.
    pub value: Option<String>,
}

/// Reads what a person wrote. Text between backticks is never a command.
pub fn parse(text: &str) -> Parsed {
    let trimmed = text.trim();
    if let Some((name, args)) = command_word(trimmed) {
        match find(name) {
            Some(command) if command.kind != Kind::Directive => {
                return Parsed::Command {
                    command,
                    args: args.to_owned(),
                };
            }
            Some(_) => {}
            None => {
                return Parsed::Unknown {
                    name: name.to_owned(),
                    args: args.to_owned(),
                };
            }
        }
    }
    inline(trimmed)
}

/// `/name`, `/name: args`, `/name args` at the start of a text.
fn command_word(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, args) = rest.split_at(end);
    let (word, args) = match word.split_once(':') {
        Some((word, "")) => (word, args),
        // `/think:high`
        Some((word, _)) => (word, &rest[word.len() + 1..]),
        None => (word, args),
    };
    is_name(word).then_some((word, args.trim()))
}

/// A path such as `/etc/hosts` is no name.
fn is_name(word: &str) -> bool {
    word == "?"
        || (word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'))
}

fn inline(text: &str) -> Parsed {
    let mut kept = String::new();
    let mut directives = Vec::new();
    let mut shortcuts = Vec::new();
    let mut rest = text;
    while let Some(at) = next_slash(rest, kept.chars().next_back()) {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        match taken(rest) {
            Some((Taken::Directive(directive), left)) => {
                directives.push(directive);
                rest = left;
                trim_seam(&mut kept, &mut rest);
            }
            Some((Taken::Shortcut(command), left)) => {
                shortcuts.push(command);
                rest = left;
                trim_seam(&mut kept, &mut rest);
            }
            None => {
                kept.push('/');
                rest = &rest[1..];
            }
        }
    }
    kept.push_str(rest);
    let kept = kept.trim();
    match (kept.is_empty(), directives.is_empty()) {
        (true, false) => Parsed::Directives(directives),
        _ => Parsed::Message {
            text: kept.to_owned(),
            directives,
            shortcuts,
        },
    }
}

/// The next slash that begins a word and does not stand in code.
fn next_slash(text: &str, before: Option<char>) -> Option<usize> {
    let mut before = before;
    let mut in_code = false;
    for (at, c) in text.char_indices() {
        match c {
            '`' => in_code = !in_code,
            '/' if !in_code && before.is_none_or(char::is_whitespace) => return Some(at),
            _ => {}
        }
        before = Some(c);
    }
    None
}

enum Taken {
    Directive(Directive),
    Shortcut(&'static Command),
}

/// What stands at the start of `text`, and what is left after it.
fn taken(text: &str) -> Option<(Taken, &str)> {
    let (name, _) = command_word(text)?;
    let command = find(name)?;
    let after_name = &text[1 + name.len()..];
    let after_colon = after_name.strip_prefix(':').unwrap_or(after_name);
    match command.kind {
        Kind::Standalone => None,
        Kind::Shortcut => Some((Taken::Shortcut(command), after_name)),
        Kind::Directive => {
            let argument = after_colon.trim_start_matches([' ', '\t']);
            let end = argument.find(char::is_whitespace).unwrap_or(argument.len());
            let (word, left) = argument.split_at(end);
            let is_value = match command.id {
                Id::Model => !word.is_empty(),
                id => levels::level(id, word).is_some(),
            };
            if is_value {
                let directive = Directive {
                    command,
                    value: Some(word.to_owned()),
                };
                return Some((Taken::Directive(directive), left));
            }
            // A question about itself, or a word that is no level: alone that is worth an answer.
            let alone = Directive {
                command,
                value: (!word.is_empty()).then(|| word.to_owned()),
            };
            left.trim()
                .is_empty()
                .then_some((Taken::Directive(alone), ""))
        }
    }
}

/// Where something was taken out, one blank stays, not two.
fn trim_seam(kept: &mut String, rest: &mut &str) {
    if kept.is_empty() || kept.ends_with(char::is_whitespace) {
        *rest = rest.trim_start_matches([' ', '\t']);
    }
    if rest.is_empty() {
        kept.truncate(kept.trim_end().len());
    }
}
