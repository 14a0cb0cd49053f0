//! Whether a command is on the list: every part of it must be.

use chela_config::model::Exec;
use chela_core::{ContentHash, Host};
use globset::GlobBuilder;
use regex::Regex;

use super::document::Entry;
use super::planned::{Planned, Runs, Segment};
use super::program::Program;

/// Marks an argument pattern that is a hash.
const EXACT: &str = "sha256:";

/// Programs that run other programs: an entry for one would be an entry for all. Only exactly
/// approved arguments count for them.
const CARRIERS: &[&str] = &[
    "ash", "awk", "bash", "busybox", "chroot", "csh", "dash", "doas", "entr", "env", "expect",
    "find", "fish", "flock", "gawk", "gdb", "ionice", "ksh", "ltrace", "make", "mawk", "nice",
    "nohup", "nsenter", "parallel", "script", "setsid", "sh", "ssh", "stdbuf", "strace", "su",
    "sudo", "taskset", "tcsh", "time", "timeout", "toybox", "unshare", "vi", "vim", "watch",
    "xargs", "zsh",
];

/// Programs that take a script as an argument, and the options that introduce it.
const INLINE: &[(&str, &[&str])] = &[
    ("python", &["-c"]),
    ("pypy", &["-c"]),
    ("node", &["-e", "--eval", "-p", "--print"]),
    ("bun", &["-e", "--eval", "-p", "--print"]),
    ("deno", &["eval"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("php", &["-r"]),
    ("lua", &["-e"]),
    ("osascript", &["-e"]),
    ("Rscript", &["-e"]),
];

/// What the list says of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// By the entries of these ids.
    Yes(Vec<String>),
    /// Why not.
    No(String),
}

/// What is compared: the list, and what the config says of safe programs.
#[derive(Clone, Copy)]
pub struct List<'a> {
    pub entries: &'a [&'a Entry],
    pub config: &'a Exec,
    pub host: &'a Host,
}

impl List<'_> {
    pub fn has(&self, planned: &Planned) -> Listed {
        if let Some(entry) = self.exactly(planned) {
            return Listed::Yes(vec![entry.id.clone()]);
        }
        if planned.sets_variables() {
            return Listed::No("the call sets variables".to_owned());
        }
        let segments = match &planned.segments {
            Ok(segments) => segments,
            Err(why) => return Listed::No(format!("the command cannot be checked: {why}")),
        };
        let mut by = Vec::new();
        for segment in segments {
            match self.allows(segment) {
                Ok(entry) => by.extend(entry.map(|entry| entry.id.clone())),
                Err(why) => return Listed::No(why),
            }
        }
        Listed::Yes(by)
    }

    /// The entry for exactly this command as a whole.
    fn exactly(&self, planned: &Planned) -> Option<&Entry> {
        let wanted = exact_entry(planned);
        self.entries.iter().copied().find(|entry| {
            entry.arg_pattern == wanted.arg_pattern
                && entry.pattern == wanted.pattern
                && entry.sha256 == wanted.sha256
        })
    }

    /// The entry that allows one part, or nothing where none is needed.
    fn allows(&self, segment: &Segment) -> Result<Option<&Entry>, String> {
        let name = super::show::shown(&segment.name);
        if let Some(beyond) = segment.beyond {
            return Err(format!("no list can allow `{name}`: {beyond}"));
        }
        let program = match &segment.runs {
            Runs::Builtin => return Ok(None),
            Runs::Unknown => return Err(format!("`{name}` was not found")),
            Runs::Program(program) => program,
        };
        if self.config.strict_inline_eval && is_inline(segment) {
            return Err(format!("`{name}` is given a script to run"));
        }
        if self.is_safe(segment, program) {
            return Ok(None);
        }
        self.entries
            .iter()
            .copied()
            .find(|entry| self.matches(entry, segment, program))
            .map(Some)
            .ok_or_else(|| format!("`{name}` is not on the list"))
    }

    fn matches(&self, entry: &Entry, segment: &Segment, program: &Program) -> bool {
        if !self.names(&entry.pattern, segment, program) || !is_unchanged(entry, segment, program) {
            return false;
        }
        let arguments = segment.arguments.as_deref();
        match entry.arg_pattern.as_deref() {
            Some(pattern) if pattern.starts_with(EXACT) => {
                arguments.is_some_and(|arguments| pattern == exact(arguments))
            }
            _ if is_carrier(program) => false,
            None => true,
            Some(pattern) => arguments.is_some_and(|arguments| {
                whole(pattern).is_ok_and(|pattern| pattern.is_match(&arguments.join(" ")))
            }),
        }
    }

    /// Whether the pattern means this program. A bare name means only what PATH finds; a path
    /// must be that of the file itself or of where it was found.
    fn names(&self, pattern: &str, segment: &Segment, program: &Program) -> bool {
        if !pattern.contains('/') {
            return pattern == segment.name;
        }
        let pattern = self.host.expand(pattern);
        let Some(pattern) = pattern.to_str() else {
            return false;
        };
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        glob.is_ok_and(|glob| {
            let glob = glob.compile_matcher();
            glob.is_match(&program.real)
                || (glob.is_match(&program.found) && program.is_of_the_system())
        })
    }

    /// Whether it is a program that only reads standard input: named as such by the operator, in
    /// a folder that is trusted, with no argument that could be a file or name another program.
    fn is_safe(&self, segment: &Segment, program: &Program) -> bool {
        let named = !segment.name.contains('/') && self.config.safe_bins.contains(&segment.name);
        let trusted = self
            .config
            .safe_bin_trusted_dirs
            .iter()
            .any(|folder| program.real.parent() == Some(&self.host.expand(folder)));
        let harmless = segment
            .arguments
            .as_ref()
            .is_some_and(|arguments| arguments.iter().all(|argument| is_short_option(argument)));
        named && trusted && harmless && !segment.reads_file && !is_carrier(program)
    }
}

/// Options of one dash: letters and digits. Long options can be abbreviated in ways that name
/// files and programs (`sort --compress-prog`), and so can letters that take a value.
fn is_short_option(argument: &str) -> bool {
    const TAKES_A_VALUE: [char; 6] = ['o', 'f', 'T', 'S', 'i', 'e'];
    argument.strip_prefix('-').is_some_and(|letters| {
        letters.len() <= 8
            && letters.chars().all(|c| c.is_ascii_alphanumeric())
            && !letters.contains(TAKES_A_VALUE)
    })
}

fn is_carrier(program: &Program) -> bool {
    [&program.real, &program.found].iter().any(|file| {
        file.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| CARRIERS.contains(&name))
    })
}

fn is_inline(segment: &Segment) -> bool {
    let name = segment.name.rsplit('/').next().unwrap_or_default();
    let version = |c: char| c.is_ascii_digit() || c == '.';
    let name = name.trim_end_matches(version);
    INLINE
        .iter()
        .filter(|(program, _)| *program == name)
        .any(|(_, options)| match &segment.arguments {
            None => true,
            Some(arguments) => arguments.iter().any(|argument| {
                options.iter().any(|option| {
                    argument == option
                        || (!option.starts_with("--") && argument.starts_with(option))
                        || argument.starts_with(&format!("{option}="))
                })
            }),
        })
}

/// Whether a program or script the agent could change is still what was approved.
fn is_unchanged(entry: &Entry, segment: &Segment, program: &Program) -> bool {
    let Some(approved) = &entry.sha256 else {
        return true;
    };
    let script = segment.script.iter();
    let files = std::iter::once(program).chain(script);
    *approved == combined(files.filter(|file| !file.is_of_the_system()))
}

/// The entry that allows exactly this command from now on.
pub fn exact_entry(planned: &Planned) -> Entry {
    let mut changeable = planned.changeable().peekable();
    let sha256 = changeable.peek().is_some().then(|| combined(changeable));
    Entry {
        pattern: planned.program.real.display().to_string(),
        arg_pattern: Some(exact(&planned.shape())),
        sha256,
        source: Some("allow-always".to_owned()),
        command: Some(super::show::shown(&planned.text())),
        last_resolved_path: Some(planned.program.real.display().to_string()),
        ..Entry::default()
    }
}

fn combined<'a>(files: impl Iterator<Item = &'a Program>) -> String {
    let hashes: Vec<String> = files.map(|file| file.hash.to_string()).collect();
    ContentHash::of(hashes.join("\n")).to_string()
}

/// A pattern for all arguments, from the first to the last character.
fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(&format!(r"\A(?:{pattern})\z"))
}

/// Why a pattern for arguments is none.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    whole(pattern).map(drop).map_err(|error| error.to_string())
}

/// The pattern for exactly these arguments.
pub fn exact(arguments: &[String]) -> String {
    format!("{EXACT}{}", ContentHash::of(arguments.join("\0")))
}
