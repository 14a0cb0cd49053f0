//! What a shell command would run, without running it.
//!
//! A reader of the POSIX shell language that is only as clever as it must be: it finds every
//! simple command in chains, pipes, subshells and substitutions, and says of each word whether
//! its value is known before the shell runs it. What it does not understand fully is an error,
//! never a guess: such a command cannot be matched against a list.

mod reader;

/// The commands of a script, in the order they are written, those in substitutions included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellScript {
    pub commands: Vec<SimpleCommand>,
    /// Whether there is nothing but one simple command: no chain, pipe, subshell or background.
    pub is_single: bool,
}

/// One command with its words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleCommand {
    pub words: Vec<ShellWord>,
    /// `NAME=value` in front of it.
    pub assignments: usize,
    pub redirections: Vec<ShellRedirection>,
}

/// One word after quotes are taken off.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellWord {
    pub text: String,
    pub value: WordValue,
}

/// Whether the value of a word is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WordValue {
    /// The text is what the program gets.
    #[default]
    Literal,
    /// Variables, globs, substitutions: known only when it runs.
    Expands,
}

/// Where input comes from or output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellRedirection {
    /// Nowhere, or to another descriptor of the command.
    Harmless,
    /// From a file or text that stands in the script.
    Input,
    /// To a file.
    Output(ShellWord),
}

/// Why a script cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotUnderstood {
    #[error("a quote or parenthesis is not closed")]
    Unclosed,
    #[error("`{0}` is more than this check reads")]
    Syntax(&'static str),
    #[error("`{0}` starts a compound command")]
    Keyword(String),
    #[error("it is too long or too deeply nested")]
    TooLarge,
}

/// Reads a script.
pub fn parse(text: &str) -> Result<ShellScript, NotUnderstood> {
    reader::read(text)
}

impl ShellScript {
    /// The arguments of a script that needs no shell: one command, every word known.
    pub fn plain_arguments(&self) -> Option<Vec<&str>> {
        let [command] = self.commands.as_slice() else {
            return None;
        };
        let plain = self.is_single
            && command.assignments == 0
            && command.redirections.is_empty()
            && !command.words.is_empty();
        plain.then_some(())?;
        command.literal_words()
    }
}

impl SimpleCommand {
    /// All words, when every one of them is known.
    pub fn literal_words(&self) -> Option<Vec<&str>> {
        self.words
            .iter()
            .map(|word| (word.value == WordValue::Literal).then_some(word.text.as_str()))
            .collect()
    }
}

#[cfg(test)]
mod tests;
