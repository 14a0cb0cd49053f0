//! Telling commands, directives and plain messages apart.

use chela_session::{ExternalSpan, find_external};

use super::levels;
use super::table::{CommandId, CommandKind, SlashCommand, find};

/// What a person wrote, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedLine {
    /// A message of its own.
    Command {
        command: &'static SlashCommand,
        args: String,
    },
    /// Nothing but directives: they hold from now on.
    Directives(Vec<InlineDirective>),
    /// Text for the model. Its directives hold for this message only (a model is kept);
    /// its shortcuts are answered beside it.
    Message {
        text: String,
        directives: Vec<InlineDirective>,
        shortcuts: Vec<&'static SlashCommand>,
    },
    /// Looks like a command and is none: a skill's, perhaps.
    Unknown { name: String, args: String },
}

/// A setting inside or instead of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineDirective {
    pub command: &'static SlashCommand,
    /// `None` asks how it stands.
    pub value: Option<String>,
}

/// Reads what a person wrote. Text between backticks is never a command.
pub fn parse(text: &str) -> ParsedLine {
    parse_beside(text, &[])
}

/// The same beside blocks that were pasted: only what the person typed gives orders. What is
/// quoted, fenced or part of a block of several lines is somebody else's.
pub fn parse_beside(text: &str, pasted: &[String]) -> ParsedLine {
    let trimmed = text.trim();
    let external = find_external(trimmed, pasted);
    let begins_typed = external.first().is_none_or(|span| span.start > 0);
    if begins_typed && let Some((name, args)) = command_word(trimmed) {
        match find(name) {
            Some(command) if command.kind != CommandKind::Directive => {
                return ParsedLine::Command {
                    command,
                    args: args.to_owned(),
                };
            }
            Some(_) => {}
            None => {
                return ParsedLine::Unknown {
                    name: name.to_owned(),
                    args: args.to_owned(),
                };
            }
        }
    }
    inline(trimmed, &external)
}

/// `/name`, `/name: args`, `/name args` at the start of a text.
fn command_word(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, args) = rest.split_at(end);
    let (word, args) = match word.split_once(':') {
        Some((word, "")) => (word, args),
        // `/think:high`
        Some((word, _)) => (word, rest.get(word.len() + 1..).unwrap_or_default()),
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

fn inline(text: &str, external: &[ExternalSpan]) -> ParsedLine {
    let mut kept = String::new();
    let mut directives = Vec::new();
    let mut shortcuts = Vec::new();
    let mut rest = text;
    while let Some(at) = next_slash(rest, kept.chars().next_back()) {
        kept.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        let place = text.len() - rest.len();
        let is_typed = !external
            .iter()
            .any(|span| (span.start..span.end).contains(&place));
        match taken(rest).filter(|_| is_typed) {
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
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    kept.push_str(rest);
    let kept = kept.trim();
    match (kept.is_empty(), directives.is_empty()) {
        (true, false) => ParsedLine::Directives(directives),
        _ => ParsedLine::Message {
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
    Directive(InlineDirective),
    Shortcut(&'static SlashCommand),
}

/// What stands at the start of `text`, and what is left after it.
fn taken(text: &str) -> Option<(Taken, &str)> {
    let (name, _) = command_word(text)?;
    let command = find(name)?;
    let after_name = text.get(1 + name.len()..).unwrap_or_default();
    let after_colon = after_name.strip_prefix(':').unwrap_or(after_name);
    match command.kind {
        CommandKind::Standalone => None,
        CommandKind::Shortcut => Some((Taken::Shortcut(command), after_name)),
        CommandKind::Directive => {
            let argument = after_colon.trim_start_matches([' ', '\t']);
            let end = argument.find(char::is_whitespace).unwrap_or(argument.len());
            let (word, left) = argument.split_at(end);
            let is_value = match command.id {
                CommandId::Model => !word.is_empty(),
                id => levels::level(id, word).is_some(),
            };
            if is_value {
                let directive = InlineDirective {
                    command,
                    value: Some(word.to_owned()),
                };
                return Some((Taken::Directive(directive), left));
            }
            // A question about itself, or a word that is no level: alone that is worth an answer.
            let alone = InlineDirective {
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
