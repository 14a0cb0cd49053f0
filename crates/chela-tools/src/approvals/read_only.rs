//! Programs that only look.
//!
//! A row names a program, perhaps a command of it, and the options it may have; everything else
//! makes it a command like any other. What it looks at must lie in the workspace. `git` is among
//! them only where the repository's config, which git obeys, says nothing but what a plain clone
//! says. The same goes for `git add` and `git commit`, which put on record what lies there: nothing
//! of the repository may run then, and [`quiet_git`] keeps what the owner set up for all of theirs
//! from running, too.

mod repository;
mod rows;

use std::collections::BTreeMap;
use std::path::Path;

pub use repository::{is_plain as is_plain_repository, says_nothing as is_plain_config};
use rows::{OperandRule, READ_ONLY, RECORDING, ReadOnlyRow};

use super::planned_command::{CommandSegment, PlannedCommand, SegmentTarget};

/// Whether a command only looks, and only at what lies in the workspace.
pub fn only_looks(planned: &PlannedCommand, workspace: &Path) -> bool {
    is_made_of(planned, workspace, |place, segment| {
        place.looks(segment, READ_ONLY)
    })
}

/// Whether a command only puts on record what lies in the workspace, in the one repository there
/// is, and looks besides.
pub fn only_records(planned: &PlannedCommand, workspace: &Path) -> bool {
    let records = |segment: &CommandSegment| {
        let arguments = segment.arguments.as_deref().unwrap_or_default();
        let is_commit = arguments.first().is_some_and(|first| first == "commit");
        // Without a message an editor opens.
        !is_commit || arguments.iter().any(|argument| gives_message(argument))
    };
    is_made_of(planned, workspace, |place, segment| {
        place.looks(segment, READ_ONLY) || place.looks(segment, RECORDING) && records(segment)
    }) && repository::stands_alone(workspace)
}

fn gives_message(argument: &str) -> bool {
    argument.starts_with("--message")
        || argument.starts_with('-') && !argument.starts_with("--") && argument.contains('m')
}

/// Settings for git under which it runs nothing but itself: no hooks, no monitor, no editor, no
/// key of the owner's.
pub fn quiet_git() -> BTreeMap<String, String> {
    const SETTINGS: &[(&str, &str)] = &[
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        ("core.editor", "true"),
        ("core.pager", "cat"),
        ("commit.gpgSign", "false"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("submodule.recurse", "false"),
        ("diff.ignoreSubmodules", "all"),
        ("status.submoduleSummary", "false"),
    ];
    let mut variables = BTreeMap::from([
        ("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()),
        ("GIT_EDITOR".to_owned(), "true".to_owned()),
        ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
    ]);
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        variables.insert(format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned());
        variables.insert(format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned());
    }
    variables
}

/// Whether every part of a command is of a kind, in the workspace.
fn is_made_of(
    planned: &PlannedCommand,
    workspace: &Path,
    is_fine: impl Fn(&LookedAt<'_>, &CommandSegment) -> bool,
) -> bool {
    let root = workspace.canonicalize();
    let root = root.as_deref().unwrap_or(workspace);
    if planned.sets_variables() || !planned.folder.starts_with(root) {
        return false;
    }
    let Ok(segments) = &planned.segments else {
        return false;
    };
    let place = LookedAt {
        folder: &planned.folder,
        root,
    };
    !segments.is_empty() && segments.iter().all(|segment| is_fine(&place, segment))
}

struct LookedAt<'a> {
    folder: &'a Path,
    root: &'a Path,
}

impl LookedAt<'_> {
    fn looks(&self, segment: &CommandSegment, rows: &[ReadOnlyRow]) -> bool {
        if segment.beyond.is_some() || segment.reads_file {
            return false;
        }
        match &segment.runs {
            // After `cd` paths mean something else.
            SegmentTarget::Builtin => segment.name != "cd" && segment.arguments.is_some(),
            SegmentTarget::Unknown => false,
            SegmentTarget::Program(program) => {
                let known = !segment.name.contains('/') && program.is_of_the_system();
                let arguments = segment.arguments.as_deref();
                known
                    && arguments
                        .is_some_and(|arguments| self.allows(&segment.name, arguments, rows))
            }
        }
    }

    fn allows(&self, program: &str, arguments: &[String], rows: &[ReadOnlyRow]) -> bool {
        let rows = rows.iter().filter(|row| row.program == program);
        let safe = rows.into_iter().any(|row| match row.command {
            None => self.fits(row, arguments),
            Some(command) => arguments
                .split_first()
                .is_some_and(|(first, rest)| first == command && self.fits(row, rest)),
        });
        safe && (program != "git" || repository::is_plain(self.folder, self.root))
    }

    fn fits(&self, row: &ReadOnlyRow, arguments: &[String]) -> bool {
        let mut rest = arguments.iter();
        let mut options = true;
        while let Some(argument) = rest.next() {
            // What find is told stands among its operands, after `--` too.
            if row.program == "find" && argument == "--" {
                return false;
            }
            if options && argument == "--" {
                options = false;
            } else if options && argument.len() > 1 && argument.starts_with('-') {
                match is_safe_option(row, argument) {
                    OptionFit::Unsafe => return false,
                    OptionFit::Safe => {}
                    OptionFit::TakesNext => {
                        if !rest.next().is_some_and(|value| self.is_inside(value)) {
                            return false;
                        }
                    }
                }
            } else if !self.operand(row.operands, argument) {
                return false;
            }
        }
        true
    }

    fn operand(&self, rule: OperandRule, argument: &str) -> bool {
        match rule {
            OperandRule::None => false,
            OperandRule::Format => argument.starts_with('+'),
            OperandRule::Inside => self.is_inside(argument),
        }
    }

    /// A word that names nothing, or something in the workspace.
    fn is_inside(&self, word: &str) -> bool {
        if word.starts_with('~') {
            return false;
        }
        // `HEAD:../x` and `main..topic` name nothing here; git keeps to its repository.
        match self.folder.join(word).canonicalize() {
            Ok(real) => real.starts_with(self.root),
            Err(_) => !word.starts_with('/'),
        }
    }
}

enum OptionFit {
    Safe,
    /// The next word is its value.
    TakesNext,
    Unsafe,
}

fn is_safe_option(row: &ReadOnlyRow, argument: &str) -> OptionFit {
    if row.valued.contains(&argument) {
        return OptionFit::TakesNext;
    }
    if let Some(long) = argument.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        let valued = row
            .valued
            .iter()
            .any(|option| option.strip_prefix("--") == Some(name));
        return match valued || row.long.contains(&name) {
            true => OptionFit::Safe,
            false => OptionFit::Unsafe,
        };
    }
    let letters = argument.trim_start_matches('-');
    for (at, letter) in letters.char_indices() {
        let option = format!("-{letter}");
        if row.valued.contains(&option.as_str()) {
            let is_last = at + letter.len_utf8() == letters.len();
            return if is_last {
                OptionFit::TakesNext
            } else {
                OptionFit::Safe
            };
        }
        if !letter.is_ascii_digit() && !row.letters.contains(letter) {
            return OptionFit::Unsafe;
        }
    }
    OptionFit::Safe
}

#[cfg(test)]
mod tests;
