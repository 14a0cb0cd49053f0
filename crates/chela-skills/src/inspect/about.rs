//! Whether a line does something or speaks of it: skills that teach security quote attacks.

use super::tables::rule_lists;

rule_lists! { "about.txt": TOPICS, WARNINGS, SIGNS, COMMANDS }

/// How a line stands to what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LineStance {
    /// It does what it says.
    Nothing,
    /// It says what not to do. An order to hide something is written the same way.
    Warns,
    /// It teaches, lists signs of attacks, or is a pattern to search for.
    Speaks,
}

/// What a line of prose, a comment or a heading is about.
pub(super) fn of(line: &str) -> LineStance {
    let line = &without_names(line);
    if TOPICS.iter().any(|sign| line.contains(sign)) {
        LineStance::Speaks
    } else if WARNINGS.iter().any(|sign| line.contains(sign)) {
        LineStance::Warns
    } else {
        LineStance::Nothing
    }
}

/// Without addresses and names of files: what those are called says nothing about the line.
pub(super) fn without_names(line: &str) -> String {
    let is_name = |word: &&str| {
        word.contains("://")
            || word.contains('@')
            || word.split_once('.').is_some_and(|(before, after)| {
                before.ends_with(|c: char| c.is_ascii_alphanumeric())
                    && after.starts_with(|c: char| c.is_ascii_alphabetic())
            })
    };
    let words: Vec<&str> = line.split(' ').filter(|word| !is_name(word)).collect();
    words.join(" ")
}

/// Whether a line is a pattern to search for rather than a command.
pub(super) fn is_pattern(line: &str) -> bool {
    let searches = ["grep ", "rg ", "egrep "]
        .iter()
        .any(|tool| line.starts_with(tool));
    let runs = COMMANDS.iter().any(|command| line.starts_with(command));
    searches || (!runs && SIGNS.iter().any(|sign| line.contains(sign)))
}
