//! What a command can print and write, as far as its words say.
//!
//! Most programs read and run whatever they like. A few print only what they are told, or only the
//! files they are given, and a few change only the files they name; of those it can be known
//! beforehand whose text comes out, and where it ends up.

mod writers;

use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::Chars;

use serde_json::{Map, Value};

/// Programs that print their own arguments, or a fact about the machine.
const PRINT_WORDS: &[&str] = &[
    "arch", "basename", "cal", "dirname", "echo", "expr", "false", "id", "nproc", "printf", "pwd",
    "seq", "sleep", "test", "true", "tty", "uname", "uptime", "whoami",
];

/// Programs that read the files they are given, or what is piped into them, and nothing else - with
/// the options that leave it so: letters alone, and letters that a value follows.
const READ_GIVEN: &[(&str, &str, &str)] = &[
    ("base64", "di", "w"),
    ("cat", "AbeEnstTuv", ""),
    ("cksum", "", ""),
    ("cmp", "bls", "in"),
    ("column", "tx", "cs"),
    ("comm", "123", ""),
    ("cut", "ns", "bcdf"),
    ("diff", "uciwbByNatpqse", "UC"),
    ("expand", "i", "t"),
    ("fmt", "ucst", "w"),
    ("fold", "bs", "w"),
    ("grep", "ivnclLoqshHwxEFGPaz", "ABCme"),
    ("head", "qvz", "cn"),
    ("hexdump", "bcCdovx", "ns"),
    ("join", "iz", "12aejotv"),
    ("md5sum", "btz", ""),
    ("nl", "p", "bdfhilnsvw"),
    ("od", "abcdfhilosxv", "AjNtw"),
    ("paste", "sz", "d"),
    ("rev", "", ""),
    ("sha1sum", "btz", ""),
    ("sha256sum", "btz", ""),
    ("sort", "bdfgiMhnRrVucCmsz", "ktS"),
    ("stat", "Lft", "c"),
    ("strings", "afw", "nte"),
    ("tac", "br", "s"),
    ("tail", "qvz", "cn"),
    ("tr", "cCdst", ""),
    ("uniq", "cdDuiz", "fsw"),
    ("wc", "cmlLw", ""),
    ("xxd", "abCeEipu", "cgls"),
];

/// Letters of `ls` with which it prints the names in the folders it is given, and no others.
const LIST_LETTERS: &str = "1aAbcdFghiklmnNopqQrsStuUvxX";

/// What a command can print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandReach {
    /// Its own words, and the text of these files and the names in these folders.
    Named(Vec<ReadTarget>),
    /// Nobody can tell.
    Anything,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadTarget {
    Text(PathBuf),
    /// The names of what lies in it; of a file its own.
    Names(PathBuf),
}

/// A command as its words say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandWords {
    pub reach: CommandReach,
    /// The files it changes; what lies below them, where one is a folder.
    pub writes: Vec<PathBuf>,
    /// The programs it runs, by the names it has for them.
    pub programs: Vec<String>,
    /// The folders git is started in: it obeys the config of its repository.
    pub repositories: Vec<PathBuf>,
}

/// What is known of a line while it is read.
#[derive(Default)]
struct LineReading {
    targets: Vec<ReadTarget>,
    writes: Vec<PathBuf>,
    programs: Vec<String>,
    repositories: Vec<PathBuf>,
}

impl CommandWords {
    /// The command a call names, which starts in this folder; `None` where it names none.
    pub(crate) fn of_call(arguments: &Map<String, Value>, start: &Path) -> Option<Self> {
        // What the environment makes of a program is not told by its words.
        let changes_env = arguments.get("env").is_some_and(|env| match env {
            Value::Object(names) => !names.is_empty(),
            _ => true,
        });
        let words = match (arguments.get("command"), arguments.get("argv")) {
            (Some(Value::String(line)), _) => Self::of_line(line, start),
            (None, Some(Value::Array(words))) => {
                let words: Option<Vec<String>> = words
                    .iter()
                    .map(|word| word.as_str().map(str::to_owned))
                    .collect();
                let read = words.and_then(|words| {
                    let mut line = LineReading::default();
                    line.read_program(&words, start)?;
                    Some(line.into())
                });
                read.unwrap_or_else(Self::anything)
            }
            _ => return None,
        };
        Some(match changes_env {
            true => Self::anything(),
            false => words,
        })
    }

    pub(crate) fn of_line(line: &str, folder: &Path) -> Self {
        let mut read = LineReading::default();
        match read.read_line(line, folder) {
            Some(()) => read.into(),
            None => Self::anything(),
        }
    }

    fn anything() -> Self {
        Self {
            reach: CommandReach::Anything,
            writes: Vec::new(),
            programs: Vec::new(),
            repositories: Vec::new(),
        }
    }
}

impl From<LineReading> for CommandWords {
    fn from(line: LineReading) -> Self {
        Self {
            reach: CommandReach::Named(line.targets),
            writes: line.writes,
            programs: line.programs,
            repositories: line.repositories,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum LineToken {
    Word(String),
    /// `|`, `&&`, `||`, `;`, a new line.
    Next,
    /// `>`, or `>>`, which keeps what is there.
    Into(KeepsText),
    /// `<`
    From,
}

impl LineReading {
    fn read_line(&mut self, line: &str, folder: &Path) -> Option<()> {
        let mut words = Vec::new();
        let mut tokens = tokens_of(line)?.into_iter();
        loop {
            match tokens.next() {
                Some(LineToken::Word(word)) => words.push(word),
                Some(LineToken::Into(keeps)) => match tokens.next()? {
                    LineToken::Word(file) if file == "/dev/null" => {}
                    LineToken::Word(file) => self.write_into(folder.join(file), keeps),
                    _ => return None,
                },
                Some(LineToken::From) => match tokens.next()? {
                    LineToken::Word(file) => self.targets.push(ReadTarget::Text(folder.join(file))),
                    _ => return None,
                },
                end => {
                    // A line may end with a semicolon.
                    if !words.is_empty() {
                        self.read_program(&words, folder)?;
                    }
                    words.clear();
                    if end.is_none() {
                        return Some(());
                    }
                }
            }
        }
    }

    /// What is added to a file vouches for nothing that stands in it: that counts as read.
    fn write_into(&mut self, file: PathBuf, keeps: KeepsText) {
        if keeps == KeepsText::Yes {
            self.targets.push(ReadTarget::Text(file.clone()));
        }
        self.writes.push(file);
    }

    /// What one program reads and writes; `None` where its words do not say.
    fn read_program(&mut self, words: &[String], folder: &Path) -> Option<()> {
        let (program, arguments) = words.split_first()?;
        self.programs.push(program.clone());
        if PRINT_WORDS.contains(&program.as_str()) {
            return Some(());
        }
        if program == "date" {
            let is_plain = |word: &String| word.starts_with('+') || word == "-u" || word == "-R";
            return arguments.iter().all(is_plain).then_some(());
        }
        if program == "hostname" {
            return arguments.is_empty().then_some(());
        }
        let row = READ_GIVEN.iter().find(|(name, ..)| name == program);
        match (program.as_str(), row) {
            ("ls", _) => self.read_names(arguments, folder),
            (_, Some((name, plain, valued))) => {
                let given = given_words(arguments, plain, valued)?;
                self.read_given(name, &given, folder)
            }
            (name, None) => self.read_writer(name, arguments, folder),
        }
    }

    fn read_names(&mut self, arguments: &[String], folder: &Path) -> Option<()> {
        let given = given_words(arguments, LIST_LETTERS, "")?;
        match given.is_empty() {
            true => self.targets.push(ReadTarget::Names(folder.to_owned())),
            false => {
                let names = given
                    .iter()
                    .map(|word| ReadTarget::Names(folder.join(word)));
                self.targets.extend(names);
            }
        }
        Some(())
    }

    fn read_given(&mut self, program: &str, given: &[&String], folder: &Path) -> Option<()> {
        // A second file is written, or a file of options read.
        let names_more = match program {
            "uniq" | "xxd" => given.len() > 1,
            "strings" => given.iter().any(|word| word.starts_with('@')),
            _ => false,
        };
        if names_more {
            return None;
        }
        let given = given.iter().filter(|word| word.as_str() != "-");
        self.targets
            .extend(given.map(|word| ReadTarget::Text(folder.join(word))));
        Some(())
    }
}

/// Whether a file keeps what stood in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeepsText {
    No,
    Yes,
}

/// The words that are no options; `None` where an option is none of these letters. Options in words
/// can be shortened, and so are not read.
fn given_words<'w>(arguments: &'w [String], plain: &str, valued: &str) -> Option<Vec<&'w String>> {
    let mut given = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            Some("-") => {
                given.extend(words);
                break;
            }
            None | Some("") => given.push(word),
            Some(letters) => {
                for letter in letters.chars() {
                    if valued.contains(letter) {
                        // What follows is its value, in this word or in the next.
                        break;
                    }
                    (plain.contains(letter) || letter.is_ascii_digit()).then_some(())?;
                }
            }
        }
    }
    Some(given)
}

/// The words of a line, as a shell would take them; `None` for anything a shell would fill in.
fn tokens_of(line: &str) -> Option<Vec<LineToken>> {
    let mut tokens = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.trim().chars().peekable();
    let end_word = |word: &mut Option<String>, tokens: &mut Vec<LineToken>| {
        if let Some(word) = word.take() {
            tokens.push(LineToken::Word(word));
        }
    };
    let mut here_texts: Vec<HereText> = Vec::new();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => text.push(c),
                    }
                }
            }
            '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' | '\\' | '!' => return None,
                        c => text.push(c),
                    }
                }
            }
            ' ' | '\t' => end_word(&mut word, &mut tokens),
            '\n' | ';' => {
                end_word(&mut word, &mut tokens);
                tokens.push(LineToken::Next);
                if c == '\n' {
                    for text in here_texts.drain(..) {
                        text.pass_over(&mut chars)?;
                    }
                }
            }
            '|' => {
                end_word(&mut word, &mut tokens);
                chars.next_if_eq(&'|');
                tokens.push(LineToken::Next);
            }
            '&' => {
                end_word(&mut word, &mut tokens);
                chars.next_if_eq(&'&')?;
                tokens.push(LineToken::Next);
            }
            '>' => {
                // `2>&1` says where errors go; they are the program's, too.
                if word.as_deref() == Some("2") || word.as_deref() == Some("1") {
                    word = None;
                }
                end_word(&mut word, &mut tokens);
                if chars.next_if_eq(&'&').is_some() {
                    chars.next_if(|c| matches!(c, '1' | '2'))?;
                    continue;
                }
                let keeps = match chars.next_if_eq(&'>') {
                    Some(_) => KeepsText::Yes,
                    None => KeepsText::No,
                };
                tokens.push(LineToken::Into(keeps));
            }
            '<' => {
                end_word(&mut word, &mut tokens);
                if chars.next_if_eq(&'<').is_some() {
                    here_texts.push(HereText::read(&mut chars)?);
                    continue;
                }
                if matches!(chars.peek(), Some('(' | '&' | '>')) {
                    return None;
                }
                tokens.push(LineToken::From);
            }
            '$' | '`' | '\\' | '*' | '?' | '[' | ']' | '{' | '}' | '(' | ')' | '~' | '!' | '#' => {
                return None;
            }
            // A variable for one program.
            '=' if word.is_some()
                && tokens
                    .last()
                    .is_none_or(|last| !matches!(last, LineToken::Word(_))) =>
            {
                return None;
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut word, &mut tokens);
    here_texts.is_empty().then_some(tokens)
}

/// A text that stands in the script itself, up to a line that ends it.
struct HereText {
    end: String,
    /// The shell fills nothing in.
    is_literal: bool,
    drops_tabs: bool,
}

impl HereText {
    fn read(chars: &mut Peekable<Chars<'_>>) -> Option<Self> {
        let drops_tabs = chars.next_if_eq(&'-').is_some();
        while chars.next_if_eq(&' ').is_some() {}
        let quote = chars.next_if(|c| matches!(c, '\'' | '"'));
        let mut end = String::new();
        while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            end.push(c);
        }
        if let Some(quote) = quote {
            chars.next_if_eq(&quote)?;
        }
        // A word that goes on is more than this reads.
        let is_whole = chars
            .peek()
            .is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&' | '>'));
        (is_whole && !end.is_empty()).then_some(Self {
            end,
            is_literal: quote.is_some(),
            drops_tabs,
        })
    }

    fn pass_over(&self, chars: &mut Peekable<Chars<'_>>) -> Option<()> {
        loop {
            chars.peek()?;
            let mut line = String::new();
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                line.push(c);
            }
            let text = match self.drops_tabs {
                true => line.trim_start_matches('\t'),
                false => &line,
            };
            if text == self.end {
                return Some(());
            }
            if !self.is_literal && text.contains(['$', '`', '\\']) {
                return None;
            }
            chars.next_if_eq(&'\n')?;
        }
    }
}

#[cfg(test)]
mod tests;
