//! Whether a command is on the list: every part of it must be.

use std::path::Path;

use chela_config::model::Exec;
use chela_core::{ContentHash, Host};
use chela_guard::flow::{SessionTaint, ShelvedWhy};
use globset::GlobBuilder;
use regex::Regex;

use super::carrying::{carried, has_carrying_options, is_carrier, is_inline};
use super::circumstances::{CommandCircumstances, FolderDoubts, RunPlace};
use super::document::ApprovalEntry;
use super::planned_command::{CommandSegment, PlannedCommand, SegmentTarget};
use super::program::ProgramFile;
use super::read_only::is_plain_repository;
use super::skill_grant::SKILL_GRANT;

/// Marks an argument pattern that is a hash.
const EXACT: &str = "sha256:";
/// The source of an entry that was an answer to a question.
const ALLOWED_ALWAYS: &str = "allow-always";

/// What the list says of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListMatch {
    /// By the entries of these ids.
    Yes(Vec<String>),
    /// It has it, and why that does not count here.
    Shelved(ShelvedWhy, String),
    /// Why not.
    No(String),
}

/// Why no entry covers a part of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
enum UncoveredPart {
    Unlisted(String),
    Shelved(ShelvedWhy, String),
}

impl From<UncoveredPart> for ListMatch {
    fn from(part: UncoveredPart) -> Self {
        match part {
            UncoveredPart::Unlisted(why) => Self::No(why),
            UncoveredPart::Shelved(by, why) => Self::Shelved(by, why),
        }
    }
}

/// What is compared: the list, what the config says of safe programs, and what happened since a
/// yes was given.
#[derive(Clone, Copy)]
pub struct ComparedList<'a> {
    pub entries: &'a [&'a ApprovalEntry],
    pub config: &'a Exec,
    pub host: &'a Host,
    pub workspace: &'a Path,
    pub doubts: &'a dyn FolderDoubts,
    pub circumstances: CommandCircumstances<'a>,
}

impl ComparedList<'_> {
    pub fn has(&self, planned: &PlannedCommand) -> ListMatch {
        let covered = self.covers(planned);
        match (self.each_run_asks(planned), covered) {
            (None, covered) => covered,
            (Some((_, why)), ListMatch::No(_)) => ListMatch::No(why),
            (Some((by, why)), ListMatch::Yes(_) | ListMatch::Shelved(..)) => {
                ListMatch::Shelved(by, format!("your standing approval does not apply: {why}"))
            }
        }
    }

    fn covers(&self, planned: &PlannedCommand) -> ListMatch {
        if let Some(entry) = self.exactly(planned) {
            return match self.still_holds(entry, planned) {
                Ok(()) => ListMatch::Yes(vec![entry.id.clone()]),
                Err(why) => why.into(),
            };
        }
        if planned.sets_variables() {
            return ListMatch::No("the call sets variables".to_owned());
        }
        let segments = match &planned.segments {
            Ok(segments) => segments,
            Err(why) => return ListMatch::No(format!("the command cannot be checked: {why}")),
        };
        let mut by = Vec::new();
        for segment in segments {
            match self.allows(segment, planned) {
                Ok(entry) => by.extend(entry.map(|entry| entry.id.clone())),
                Err(why) => return why.into(),
            }
        }
        ListMatch::Yes(by)
    }

    /// Why no entry counts: a program that runs what files say is allowed for good inside the
    /// sandbox only, where there is one, and not at all where text from outside was read.
    fn each_run_asks(&self, planned: &PlannedCommand) -> Option<(ShelvedWhy, String)> {
        let name = super::show::shown(planned.interpreter(self.workspace)?);
        match (self.circumstances.place, self.circumstances.taint) {
            (RunPlace::LeftSandbox, _) => Some((
                ShelvedWhy::EachRunAsks,
                format!("`{name}` runs what files say, so outside the sandbox it asks each time"),
            )),
            (RunPlace::Host, SessionTaint::Tainted) => Some((
                ShelvedWhy::Taint,
                format!("`{name}` runs what files say, and untrusted content was read"),
            )),
            (RunPlace::Host, SessionTaint::Clean) | (RunPlace::Sandbox, _) => None,
        }
    }

    /// Whether a yes still covers what would run: nothing it could read was written after text
    /// from outside since it was given.
    fn still_holds(
        &self,
        entry: &ApprovalEntry,
        planned: &PlannedCommand,
    ) -> Result<(), UncoveredPart> {
        if self.circumstances.place == RunPlace::Sandbox {
            return Ok(());
        }
        let folder = self.reach_of(&planned.folder);
        match self
            .doubts
            .written_since(folder, entry.granted_at.unwrap_or(0))
        {
            None => Ok(()),
            Some(file) => Err(UncoveredPart::Shelved(
                ShelvedWhy::WrittenSince,
                format!(
                    "{} was written after untrusted content was read, and after you allowed this",
                    super::show::shown(&self.host.compact(&file))
                ),
            )),
        }
    }

    /// A yes that names no folder is for the owner's own repositories. One that lies inside of the
    /// workspace came from elsewhere: where it makes git run something, that asks. What a skill was
    /// granted covers no such repository anywhere.
    fn runs_nothing_besides(
        &self,
        entry: &ApprovalEntry,
        program: &ProgramFile,
        planned: &PlannedCommand,
    ) -> Result<(), UncoveredPart> {
        let is_git = program_names(program).any(|name| name == "git");
        if !is_git || entry.folder.is_some() || self.circumstances.place == RunPlace::Sandbox {
            return Ok(());
        }
        let workspace = self.workspace.canonicalize();
        let workspace = workspace.as_deref().unwrap_or(self.workspace);
        let is_of_skill = entry.id.starts_with(SKILL_GRANT);
        let is_within = planned.folder.starts_with(workspace);
        let root = match (is_within, is_of_skill) {
            (true, _) => workspace,
            (false, true) => Path::new("/"),
            (false, false) => return Ok(()),
        };
        let names_repository = |folder: &&Path| {
            let marks = [".git", "HEAD"];
            marks
                .iter()
                .any(|mark| folder.join(mark).symlink_metadata().is_ok())
        };
        let repository = planned.folder.ancestors().find(names_repository);
        let is_own =
            repository.is_none_or(|folder| folder == workspace || !folder.starts_with(root));
        if is_own || is_plain_repository(&planned.folder, root) {
            return Ok(());
        }
        Err(UncoveredPart::Shelved(
            ShelvedWhy::EachRunAsks,
            "the repository it runs in makes git run programs, and your approval names no folder"
                .to_owned(),
        ))
    }

    /// What a command of a folder may read as its configuration: the whole workspace, where it
    /// runs in it.
    fn reach_of<'p>(&self, folder: &'p Path) -> &'p Path {
        let within = folder.ancestors().find(|above| *above == self.workspace);
        within.unwrap_or(folder)
    }

    /// The entry for exactly this command as a whole.
    fn exactly(&self, planned: &PlannedCommand) -> Option<&ApprovalEntry> {
        let wanted = exact_entry(planned);
        self.entries.iter().copied().find(|entry| {
            entry.arg_pattern == wanted.arg_pattern
                && entry.pattern == wanted.pattern
                && entry.sha256 == wanted.sha256
                && self.is_of_folder(entry, &planned.folder)
        })
    }

    /// Whether an entry holds in a folder. One that was kept before folders were noted holds in
    /// the workspace itself, where commands start.
    fn is_of_folder(&self, entry: &ApprovalEntry, folder: &Path) -> bool {
        match &entry.folder {
            Some(given) => Path::new(given) == folder,
            None if entry.source.as_deref() == Some(ALLOWED_ALWAYS) => {
                let workspace = self.workspace.canonicalize();
                workspace.as_deref().unwrap_or(self.workspace) == folder
            }
            None => true,
        }
    }

    /// The entry that allows one part, or nothing where none is needed.
    fn allows(
        &self,
        segment: &CommandSegment,
        planned: &PlannedCommand,
    ) -> Result<Option<&ApprovalEntry>, UncoveredPart> {
        let name = super::show::shown(&segment.name);
        let unlisted = |why: String| Err(UncoveredPart::Unlisted(why));
        if let Some(beyond) = segment.beyond {
            return unlisted(format!("`{name}` cannot be pre-approved: {beyond}"));
        }
        let program = match &segment.runs {
            SegmentTarget::Builtin => return Ok(None),
            SegmentTarget::Unknown => return unlisted(format!("`{name}` was not found")),
            SegmentTarget::Program(program) => program,
        };
        if self.config.strict_inline_eval && runs_inline(segment) {
            return unlisted(format!("`{name}` is given a script to run"));
        }
        if self.is_safe(segment, program) {
            return Ok(None);
        }
        let mut found = self
            .entries
            .iter()
            .copied()
            .filter(|entry| self.is_of_folder(entry, &planned.folder))
            .filter(|entry| self.matches(entry, segment, program));
        match found.next() {
            Some(entry) => {
                self.runs_nothing_besides(entry, program, planned)?;
                self.still_holds(entry, planned).map(|()| Some(entry))
            }
            None => unlisted(self.not_listed(segment, program)),
        }
    }

    /// Why no entry covers a part.
    fn not_listed(&self, segment: &CommandSegment, program: &ProgramFile) -> String {
        let name = super::show::shown(&segment.name);
        let named = |entry: &&&ApprovalEntry| self.names(&entry.pattern, segment, program);
        let carried = segment
            .arguments
            .as_deref()
            .and_then(|arguments| carried(&segment.name, arguments));
        match carried {
            Some(argument) if self.entries.iter().any(|entry| named(&entry)) => format!(
                "`{}` makes `{name}` run or write something else, so only exactly this command \
                 can be approved",
                super::show::shown(argument)
            ),
            _ => format!("`{name}` is not pre-approved"),
        }
    }

    fn matches(
        &self,
        entry: &ApprovalEntry,
        segment: &CommandSegment,
        program: &ProgramFile,
    ) -> bool {
        if !self.names(&entry.pattern, segment, program) || !is_unchanged(entry, segment, program) {
            return false;
        }
        let arguments = segment.arguments.as_deref();
        if let Some(pattern) = &entry.arg_pattern
            && pattern.starts_with(EXACT)
        {
            return arguments.is_some_and(|arguments| *pattern == exact(arguments));
        }
        if carries(program) || runs_inline(segment) {
            return false;
        }
        let Some(arguments) = arguments else {
            // What is not known could be an option that runs something else.
            let is_any = entry.arg_pattern.is_none() && entry.prefix.is_none();
            return is_any && !program_names(program).any(has_carrying_options);
        };
        let begins = entry
            .prefix
            .as_ref()
            .is_none_or(|prefix| arguments.starts_with(prefix));
        let fits = entry.arg_pattern.as_ref().is_none_or(|pattern| {
            whole(pattern).is_ok_and(|pattern| pattern.is_match(&arguments.join(" ")))
        });
        begins && fits && program_names(program).all(|name| carried(name, arguments).is_none())
    }

    /// Whether the pattern means this program. A bare name means only what PATH finds; a path
    /// must be that of the file itself or of where it was found.
    fn names(&self, pattern: &str, segment: &CommandSegment, program: &ProgramFile) -> bool {
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
    fn is_safe(&self, segment: &CommandSegment, program: &ProgramFile) -> bool {
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
        named && trusted && harmless && !segment.reads_file && !carries(program)
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

/// The names a program goes by: that of the file, and that of where it was found.
fn program_names(program: &ProgramFile) -> impl Iterator<Item = &str> {
    [&program.real, &program.found]
        .into_iter()
        .filter_map(|file| file.file_name()?.to_str())
}

fn carries(program: &ProgramFile) -> bool {
    program_names(program).any(is_carrier)
}

fn runs_inline(segment: &CommandSegment) -> bool {
    is_inline(&segment.name, segment.arguments.as_deref())
}

/// Whether a program or script the agent could change is still what was approved.
fn is_unchanged(entry: &ApprovalEntry, segment: &CommandSegment, program: &ProgramFile) -> bool {
    let Some(approved) = &entry.sha256 else {
        return true;
    };
    let script = segment.script.iter();
    let files = std::iter::once(program).chain(script);
    *approved == combined(files.filter(|file| !file.is_of_the_system()))
}

/// The entry that allows exactly this command from now on.
pub fn exact_entry(planned: &PlannedCommand) -> ApprovalEntry {
    let mut changeable = planned.changeable().peekable();
    let sha256 = changeable.peek().is_some().then(|| combined(changeable));
    ApprovalEntry {
        pattern: planned.program.real.display().to_string(),
        arg_pattern: Some(exact(&planned.shape())),
        sha256,
        folder: Some(planned.folder.display().to_string()),
        source: Some(ALLOWED_ALWAYS.to_owned()),
        command: Some(super::show::shown(&planned.text())),
        last_resolved_path: Some(planned.program.real.display().to_string()),
        ..ApprovalEntry::default()
    }
}

/// The entry that allows every command with the same program and first word. `None` where that
/// would allow anything.
pub fn prefix_entry(planned: &PlannedCommand) -> Option<ApprovalEntry> {
    let Ok([segment]) = planned.segments.as_deref() else {
        return None;
    };
    let SegmentTarget::Program(program) = &segment.runs else {
        return None;
    };
    let arguments = segment.arguments.as_deref()?;
    let first = arguments.first()?;
    let is_word = first
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        && first.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = is_word
        && program.is_of_the_system()
        && segment.beyond.is_none()
        && !planned.sets_variables()
        && !carries(program)
        && !runs_inline(segment)
        && program_names(program).all(|name| carried(name, arguments).is_none());
    is_plain.then(|| ApprovalEntry {
        pattern: program.real.display().to_string(),
        prefix: Some(vec![first.clone()]),
        folder: Some(planned.folder.display().to_string()),
        source: Some(ALLOWED_ALWAYS.to_owned()),
        command: Some(super::show::shown(&format!("{} {first} …", segment.name))),
        ..ApprovalEntry::default()
    })
}

fn combined<'a>(files: impl Iterator<Item = &'a ProgramFile>) -> String {
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
