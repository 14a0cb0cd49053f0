//! What is typed without a command: habits from other programs mean `chat` or `resume`.
//!
//! The rule is one that can be told in a sentence: a text in quotes is a message, several words are
//! one unless they begin like a command, and one unknown word is a mistake. So a mistyped command
//! is not sent to a model.

mod known_elsewhere;
mod mcp_add;

use std::ffi::{OsStr, OsString};

use chela_core::suggest::nearest;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches};

use super::Cli;
use known_elsewhere::{is_command_elsewhere, known_argument, known_word, with_habits};

/// Takes the arguments as they were typed; an error suggests only what is near.
pub fn parse_typed(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let error = match parse_strictly(&args) {
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
    if let Some(meant) = mcp_add::with_program_apart(&command, &args) {
        return parse_strictly(&meant).map_err(|error| with_near_suggestions(error, &command, &[]));
    }
    let typed = TypedWords::sort(&command, &args).without_habit();
    match typed.meant(&command) {
        Some(meant) => {
            let full: Vec<OsString> = args.into_iter().take(1).chain(meant).collect();
            parse_strictly(&full).map_err(|error| with_near_suggestions(error, &command, &[]))
        }
        None => Err(with_near_suggestions(
            error,
            &command,
            typed.words.as_slice(),
        )),
    }
}

/// A command and its options, under the names other programs give them as well.
fn parse_strictly(args: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = with_habits(Cli::command());
    let mut matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
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

    /// `agent --message TEXT`, as the reference has it: the word says nothing that the option does
    /// not.
    fn without_habit(mut self) -> Self {
        let is_habit = matches!(self.words.as_slice(), [word] if word == "agent");
        let mut options = self.options.iter().map(|option| option.to_string_lossy());
        if is_habit && options.any(|option| begins_talk(&option)) {
            self.words.clear();
            self.beginning = Beginning::Talk;
        }
        self
    }

    /// The arguments that say it in full; `None` where it cannot be meant.
    fn meant(&self, command: &Command) -> Option<Vec<OsString>> {
        let is_alone = self.beginning == Beginning::Words && self.options.is_empty();
        if is_alone && matches!(self.words.as_slice(), [word] if word == "version") {
            return Some(vec!["--version".into()]);
        }
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
        if is_command_elsewhere(&self.words) {
            return true;
        }
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
/// stays, what other programs call it is named, and a word that may have been meant for the agent
/// is told how to get there.
fn with_near_suggestions(
    mut error: clap::Error,
    command: &Command,
    words: &[OsString],
) -> clap::Error {
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg)
        && let Some(here) = known_argument(&UnknownPlace::find(command, words, typed).path, typed)
    {
        error.remove(ContextKind::SuggestedArg);
        let tips = ContextValue::StyledStrs(vec![StyledStr::from(here)]);
        error.insert(ContextKind::Suggested, tips);
        return error;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else {
        // `use '-- --in'` helps nobody who mistyped an option.
        if error.kind() == ErrorKind::UnknownArgument {
            error.remove(ContextKind::Suggested);
        }
        return error;
    };
    let given = given.clone();
    let place = UnknownPlace::find(command, words, &given);
    let mut tips = Vec::new();
    if let Some(here) = known_word(&place.path, &given) {
        error.remove(ContextKind::SuggestedSubcommand);
        tips.push(format!("that is `{here}` here"));
    } else {
        let near = nearest(&given, command_names(place.command)).map(str::to_owned);
        error.remove(ContextKind::SuggestedSubcommand);
        match near {
            Some(near) => {
                let near = ContextValue::String(near);
                error.insert(ContextKind::SuggestedSubcommand, near);
            }
            None if !place.path.is_empty() => {
                let names = command_names(place.command).filter(|name| *name != "help");
                let names: Vec<&str> = names.collect();
                tips.push(format!("`chela {}` has {}", place.path, names.join(", ")));
            }
            None => {}
        }
    }
    let said: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let said = match place.path.is_empty() {
        true => Some(said.join(" ")),
        // Nobody puts a command in quotes.
        false => given.contains(' ').then_some(given),
    };
    if let Some(said) = said {
        let said = said.replace('\'', "'\\''");
        tips.push(format!(
            "to say it to the agent: chela chat -m '{said}', or chela -p '{said}'"
        ));
    }
    error.remove(ContextKind::Suggested);
    if !tips.is_empty() {
        let tips = tips.into_iter().map(StyledStr::from).collect();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Where a word stood that is no command there.
struct UnknownPlace<'c> {
    command: &'c Command,
    /// The words before it; empty behind `chela` itself.
    path: String,
}

impl<'c> UnknownPlace<'c> {
    fn find(command: &'c Command, words: &[OsString], given: &str) -> Self {
        let mut place = Self {
            command,
            path: String::new(),
        };
        for word in words {
            let word = word.to_string_lossy();
            let Some(inner) = place.command.find_subcommand(&*word) else {
                break;
            };
            if word == given {
                break;
            }
            let gap = if place.path.is_empty() { "" } else { " " };
            place.path.push_str(gap);
            place.path.push_str(inner.get_name());
            place.command = inner;
        }
        place
    }
}

#[cfg(test)]
mod tests;
