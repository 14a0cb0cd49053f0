//! What the pages and the help texts show is what the program takes.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use super::{Cli, parse_typed};

/// The pages people read, with their texts.
fn pages() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let book = std::fs::read_dir(root.join("docs/book")).unwrap().flatten();
    let mut files: Vec<PathBuf> = book
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    files.sort();
    assert!(files.len() >= 8, "{files:?}");
    files.extend(["README.md", "SECURITY.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

/// The lines of the blocks that a reader types.
fn typed_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut block: Option<&str> = None;
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            block = match block {
                None => Some(language),
                Some(_) => None,
            };
            continue;
        }
        match block {
            Some("sh" | "bash") => lines.push(line.to_owned()),
            // In a transcript only what follows a prompt was typed.
            Some("console") => lines.extend(line.strip_prefix("$ ").map(str::to_owned)),
            _ => {}
        }
    }
    lines
}

/// The commands of a line as a shell takes it apart: words without quotes, up to what is no
/// argument any more.
fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let letters = line.chars();
    let end_word = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(last)) = (word.take(), commands.last_mut()) {
            last.push(word);
        }
    };
    for letter in letters {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | ';' | '&' | '>' | '<') => {
                end_word(&mut word, &mut commands);
                let target = matches!(letter, '>' | '<');
                // Where output goes is no argument; nor is what follows it.
                commands.push(match target {
                    true => vec!["(redirection)".to_owned()],
                    false => Vec::new(),
                });
            }
            (None, ' ') => end_word(&mut word, &mut commands),
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    end_word(&mut word, &mut commands);
    commands
}

fn refusal(words: &[String]) -> Option<String> {
    match parse_typed(words.iter().map(Into::into).collect()) {
        Ok(_) => None,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            ) =>
        {
            None
        }
        Err(error) => Some(
            error
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        ),
    }
}

#[test]
fn every_command_of_the_pages_can_be_typed() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, text) in pages() {
        for line in typed_lines(&text) {
            for words in simple_commands(&line) {
                if words.first().is_none_or(|word| word != "chela") {
                    continue;
                }
                seen += 1;
                if let Some(why) = refusal(&words) {
                    wrong.push(format!("{}: {line}\n    {why}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 100, "only {seen} commands were found");
}

#[test]
fn every_command_named_in_a_sentence_exists() {
    let cli = Cli::command();
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        for span in text.split('`').skip(1).step_by(2) {
            let words: Vec<&str> = span.split_whitespace().collect();
            let Some(("chela", named)) = words.split_first().map(|(first, rest)| (*first, rest))
            else {
                continue;
            };
            if let Some(unknown) = unknown_word(&cli, named) {
                wrong.push(format!("{}: `{span}`: {unknown}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn is_called(arg: &clap::Arg, name: &str) -> bool {
    let aliases = arg.get_all_aliases().unwrap_or_default();
    arg.get_long() == Some(name) || aliases.contains(&name)
}

/// The first word that ought to be a command or an option, and is none.
fn unknown_word(cli: &Command, named: &[&str]) -> Option<String> {
    let mut at = cli.clone();
    at.build();
    for word in named {
        if let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) {
            // Without a command the options are those of the chat; `--resume` is one more.
            let chat = (at.get_name() == "chela").then(|| at.find_subcommand("chat"));
            let of_chat = chat.flatten().into_iter().flat_map(Command::get_arguments);
            let mut known = at.get_arguments().chain(of_chat);
            if name == "resume" {
                return None;
            }
            match known.find(|arg| is_called(arg, name)) {
                None => return Some(format!("no option --{name}")),
                // What follows is its value.
                Some(option) if option.get_action().takes_values() => return None,
                Some(_) => {}
            }
        } else if at.get_name() == "chela" && word.starts_with('-') {
            // An option of the chat, and what is said with it.
            return None;
        } else if word.chars().any(|c| !c.is_ascii_lowercase() && c != '-') {
            // Something that stands for something else.
            return None;
        } else if let Some(inner) = at.find_subcommand(word).cloned() {
            at = inner;
        } else if at.has_subcommands() && at.get_positionals().next().is_none() {
            return Some(format!("no command {word}"));
        } else if !word.starts_with('-') {
            return None;
        }
    }
    None
}

#[test]
fn every_example_of_the_help_can_be_typed() {
    let mut wrong = Vec::new();
    visit(&Cli::command(), &mut |command| {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        for line in help.lines().filter(|line| line.starts_with("  ")) {
            // What an example does stands in a second column.
            let example = line.trim().split("  ").next().unwrap_or_default();
            for words in simple_commands(example) {
                let is_ours = words.first().is_some_and(|word| word == "chela");
                if let Some(why) = refusal(&words).filter(|_| is_ours) {
                    wrong.push(format!("{}: {example}\n    {why}", command.get_name()));
                }
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn visit(command: &Command, look: &mut impl FnMut(&Command)) {
    look(command);
    for inner in command.get_subcommands() {
        visit(inner, look);
    }
}

/// `chela docs` and readers rely on it: a title, then a summary in one line.
#[test]
fn every_page_of_the_book_has_a_title_a_summary_and_links_that_lead_somewhere() {
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        let is_book = path.parent().is_some_and(|folder| folder.ends_with("book"));
        let mut lines = text.lines();
        let head = (lines.next(), lines.next(), lines.next(), lines.next());
        let has_head = matches!(head, (Some(title), Some(""), Some(summary), Some(""))
            if title.starts_with("# ") && !summary.is_empty());
        if is_book && !has_head {
            wrong.push(format!("{}: no title and one-line summary", path.display()));
        }
        for link in text.split("](").skip(1) {
            let place = link.split([')', '#']).next().unwrap_or_default();
            let outside = place.is_empty() || place.contains("://");
            if !outside && !path.with_file_name(place).exists() {
                wrong.push(format!("{}: {place} leads nowhere", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
