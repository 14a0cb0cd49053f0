//! What Tab offers.

use super::command_context::CommandContext;
use super::table::{COMMANDS, CommandId, find};

/// One way to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCompletion {
    /// The whole line with this choice made.
    pub line: String,
    /// What is shown: the word chosen.
    pub word: String,
    /// What it is, in a few words.
    pub about: String,
}

/// The ways to go on with a line that begins with a slash, best first. Empty for plain text.
pub fn complete(talk: &impl CommandContext, line: &str) -> Vec<CommandCompletion> {
    let Some(rest) = line.strip_prefix('/') else {
        return Vec::new();
    };
    match rest.split_once(char::is_whitespace) {
        None => names(talk, rest),
        Some((name, typed)) if !typed.trim_start().contains(char::is_whitespace) => {
            arguments(talk, name.trim_end_matches(':'), typed.trim_start())
        }
        Some(_) => Vec::new(),
    }
}

fn names(talk: &impl CommandContext, typed: &str) -> Vec<CommandCompletion> {
    let wanted = typed.to_ascii_lowercase();
    let candidate = |name: &str, about: &str, more: bool| CommandCompletion {
        line: format!("/{name}{}", if more { " " } else { "" }),
        word: format!("/{name}"),
        about: about.to_owned(),
    };
    let own = COMMANDS
        .iter()
        .filter(|command| {
            command.name.starts_with(&wanted)
                || (!wanted.is_empty() && command.aliases.iter().any(|alias| *alias == wanted))
        })
        .map(|command| candidate(command.name, command.help, !command.args.is_empty()));
    let skills = talk.skills();
    let skills = skills
        .iter()
        .filter(|skill| skill.command.starts_with(&wanted) && find(&skill.command).is_none())
        .map(|skill| match &skill.hint {
            Some(hint) => {
                let about = format!("{hint} · {}", skill.description);
                candidate(&skill.command, &about, true)
            }
            None => candidate(&skill.command, &skill.description, true),
        });
    own.chain(skills).collect()
}

fn arguments(talk: &impl CommandContext, name: &str, typed: &str) -> Vec<CommandCompletion> {
    let Some(command) = find(name) else {
        return Vec::new();
    };
    let wanted = typed.to_ascii_lowercase();
    let mut words: Vec<(String, String)> = command
        .words
        .iter()
        .map(|word| ((*word).to_owned(), String::new()))
        .collect();
    match command.id {
        CommandId::Model | CommandId::New => words.extend(talk.models().into_iter().map(|row| {
            let about = row.alias.or(row.note).unwrap_or_default();
            (row.name, about)
        })),
        CommandId::Skill => words.extend(
            talk.skills()
                .into_iter()
                .map(|skill| (skill.name, skill.description)),
        ),
        CommandId::Help => words.extend(
            COMMANDS
                .iter()
                .map(|command| (command.name.to_owned(), command.help.to_owned())),
        ),
        _ => {}
    }
    // A model is also found by what follows its provider.
    let fits = |word: &str| {
        let word = word.to_ascii_lowercase();
        word.starts_with(&wanted)
            || word
                .split_once('/')
                .is_some_and(|(_, model)| model.starts_with(&wanted))
    };
    words
        .into_iter()
        .filter(|(word, _)| fits(word))
        .map(|(word, about)| CommandCompletion {
            line: format!("/{name} {word}"),
            word,
            about,
        })
        .collect()
}
