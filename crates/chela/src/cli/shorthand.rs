//! What is typed without a command: habits from other programs mean `chat` or `resume`.
//!
//! The rule is one that can be told in a sentence: a text in quotes is a message, several words are
//! one unless they begin like a command, and one unknown word is a mistake. So a mistyped command
//! is not sent to a model.

use std::ffi::{OsStr, OsString};

use chela_core::suggest::nearest;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Parser};

use super::Cli;

/// Words people know from elsewhere, and what does that here.
const KNOWN_ELSEWHERE: &[(&str, &str)] = &[
    ("cost", "chela usage"),
    ("export", "chela sessions export"),
    ("forget", "chela memory forget"),
    ("history", "chela sessions list"),
    ("key", "chela auth list"),
    ("keys", "chela auth list"),
    ("login", "chela auth login"),
    ("persona", "chela workspace edit SOUL.md"),
    ("upgrade", "chela update"),
    ("version", "chela --version"),
];

/// Takes the arguments as they were typed; an error suggests only what is near.
pub fn parse_typed(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let error = match Cli::try_parse_from(&args) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    if !matches!(
        error.kind(),
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument
    ) {
        return Err(error);
    }
    let mut command = Cli::command();
    command.build();
    let typed = TypedWords::sort(&command, &args);
    match typed.meant(&command) {
        Some(meant) => Cli::try_parse_from(args.into_iter().take(1).chain(meant)),
        None => Err(with_near_suggestions(error, typed.words.as_slice())),
    }
}

/// What the arguments begin with, besides options of every command.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beginning {
    #[default]
    Words,
    /// Options of the chat, which other commands may have as well.
    ChatOptions,
    /// `-p`, `-c`, `-r` or `-m`: nothing but a conversation can be meant.
    Talk,
}

/// Arguments without a command, sorted into what they can be.
#[derive(Debug, Default)]
struct TypedWords {
    /// Options, with their values; `--resume` and `--print` are not among them.
    options: Vec<OsString>,
    words: Vec<OsString>,
    /// `--resume`, with what stood behind it.
    resume: Option<Option<OsString>>,
    print: bool,
    /// What stands before every word.
    beginning: Beginning,
}

impl TypedWords {
    fn sort(command: &Command, args: &[OsString]) -> Self {
        let mut sorted = Self::default();
        let mut rest = args.iter().skip(1).peekable();
        while let Some(arg) = rest.next() {
            let text = arg.to_string_lossy();
            let is_value = |next: &&OsString| !next.to_string_lossy().starts_with('-');
            if text == "--" {
                sorted.words.extend(rest.by_ref().cloned());
            } else if text == "-r" || text == "--resume" {
                sorted.begin(Beginning::Talk);
                sorted.resume = Some(rest.next_if(is_value).cloned());
            } else if let Some(id) = text.strip_prefix("--resume=") {
                sorted.begin(Beginning::Talk);
                sorted.resume = Some(Some(id.into()));
            } else if text == "-p" || text == "--print" {
                sorted.begin(Beginning::Talk);
                sorted.print = true;
            } else if text.starts_with('-') && text.len() > 1 {
                let option = KnownOption::find(command, &text);
                if option.is_of_chat() {
                    sorted.begin(match begins_talk(&text) {
                        true => Beginning::Talk,
                        false => Beginning::ChatOptions,
                    });
                }
                sorted.options.push(arg.clone());
                if option.wants_next() {
                    sorted.options.extend(rest.next().cloned());
                }
            } else {
                sorted.words.push(arg.clone());
            }
        }
        sorted
    }

    fn begin(&mut self, with: Beginning) {
        if self.words.is_empty() {
            self.beginning = self.beginning.max(with);
        }
    }

    /// The arguments that say it in full; `None` where it cannot be meant.
    fn meant(&self, command: &Command) -> Option<Vec<OsString>> {
        if !self.is_said(command) {
            return None;
        }
        let mut meant: Vec<OsString> = Vec::new();
        match &self.resume {
            Some(which) => {
                meant.push("resume".into());
                meant.extend(self.options.iter().cloned());
                if !self.words.is_empty() {
                    meant.extend(["-m".into(), self.words.join(OsStr::new(" "))]);
                }
                meant.extend(which.iter().flat_map(|id| ["--".into(), id.clone()]));
            }
            None => {
                meant.push("chat".into());
                meant.extend(self.print.then(|| "--print".into()));
                meant.extend(self.options.iter().cloned());
                if !self.words.is_empty() {
                    meant.push("--".into());
                    meant.extend(self.words.iter().cloned());
                }
            }
        }
        Some(meant)
    }

    /// Whether the words are said to the agent rather than a command that was mistyped.
    fn is_said(&self, command: &Command) -> bool {
        let Some(first) = self.words.first().map(|word| word.to_string_lossy()) else {
            return self.beginning > Beginning::Words;
        };
        if self.beginning == Beginning::Talk || first.contains(char::is_whitespace) {
            return true;
        }
        let is_alone = self.beginning == Beginning::Words && self.words.len() == 1;
        !is_alone && !self.looks_like_command(command, &first)
    }

    /// Whether the words begin like a command, mistyped or not. Nobody mistypes the first letter
    /// of one as easily as they begin a sentence with `what`, which is one letter from `chat`.
    fn looks_like_command(&self, command: &Command, first: &str) -> bool {
        let Some(near) = nearest(first, command_names(command)) else {
            return false;
        };
        let second = self.words.get(1).and_then(|word| word.to_str());
        let goes_on = command
            .find_subcommand(near)
            .zip(second)
            .is_some_and(|(near, second)| near.find_subcommand(second).is_some());
        goes_on || near.chars().next() == first.chars().next()
    }
}

fn command_names(command: &Command) -> impl Iterator<Item = &str> {
    command
        .get_subcommands()
        .flat_map(Command::get_name_and_visible_aliases)
}

/// An option as it was typed, looked up.
enum KnownOption {
    /// Of every command; whether what follows is its value.
    Global(bool),
    OfChat(bool),
    Unknown,
}

impl KnownOption {
    fn find(command: &Command, typed: &str) -> Self {
        let global = |arg: &&Arg| arg.is_global_set();
        if let Some(wants) = wants_next(
            &command.get_arguments().filter(global).collect::<Vec<_>>(),
            typed,
        ) {
            return Self::Global(wants);
        }
        let chat = command.find_subcommand("chat");
        match chat.and_then(|chat| wants_next(&chat.get_arguments().collect::<Vec<_>>(), typed)) {
            Some(wants) => Self::OfChat(wants),
            None => Self::Unknown,
        }
    }

    fn is_of_chat(&self) -> bool {
        matches!(self, Self::OfChat(_))
    }

    fn wants_next(&self) -> bool {
        matches!(self, Self::Global(true) | Self::OfChat(true))
    }
}

fn begins_talk(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or(option);
    let starts = |short: &str| name.starts_with(short) && !name.starts_with("--");
    matches!(name, "--continue" | "--message") || ["-c", "-m", "-p"].into_iter().any(starts)
}

/// Whether the next argument is the value of an option; `None` where there is no such option.
fn wants_next(known: &[&Arg], typed: &str) -> Option<bool> {
    let takes = |arg: &Arg| arg.get_action().takes_values();
    if let Some(long) = typed.strip_prefix("--") {
        let (name, value) = long
            .split_once('=')
            .map_or((long, None), |(name, value)| (name, Some(value)));
        let arg = known.iter().find(|arg| arg.get_long() == Some(name))?;
        return Some(value.is_none() && takes(arg));
    }
    let mut letters = typed.chars().skip(1);
    while let Some(letter) = letters.next() {
        let arg = known.iter().find(|arg| arg.get_short() == Some(letter))?;
        if takes(arg) {
            return Some(letters.next().is_none());
        }
    }
    Some(false)
}

/// What looks alike to a measure of letters and is something else misleads: only what is near
/// stays, and a word that may have been meant for the agent is told how to get there.
fn with_near_suggestions(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let given = given.clone();
    let suggested = match error.remove(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::String(one)) => vec![one],
        Some(ContextValue::Strings(many)) => many,
        _ => Vec::new(),
    };
    let near = nearest(&given, suggested.iter().map(String::as_str)).map(str::to_owned);
    let is_first = words.first().is_some_and(|word| *word == *given);
    let mut tips = Vec::new();
    if let Some(near) = near {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(near));
    } else if let Some((_, here)) = KNOWN_ELSEWHERE
        .iter()
        .find(|(word, _)| is_first && given.eq_ignore_ascii_case(word))
    {
        tips.push(StyledStr::from(format!("that is `{here}` here")));
    }
    if is_first {
        let said: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let said = said.join(" ").replace('\'', "'\\''");
        let tip = format!("to say it to the agent: chela chat -m '{said}'");
        tips.push(StyledStr::from(tip));
    }
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

#[cfg(test)]
mod tests;
