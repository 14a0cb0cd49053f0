//! A command as it would run: everything an approval is about.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chela_core::ContentHash;
use chela_sandbox::becomes_other_user;
use serde::Serialize;

use super::carrying::{is_carrier, is_interpreter};
use super::program::{ProgramError, ProgramFile};
use super::shell::{self, NotUnderstood, ShellScript};
use super::show::typed;

/// The shell that runs what needs one.
const SHELL: &str = "/bin/sh";

/// Built into the shell, without effect outside it. Everything else built in can change what
/// later words mean.
const HARMLESS_BUILTINS: &[&str] = &["echo", "printf", "true", "false", "test", "[", "pwd", ":"];

/// Built into the shell: no file of that name would run.
const BUILTINS: &[&str] = &[
    ".", "alias", "bg", "break", "builtin", "cd", "command", "continue", "eval", "exec", "exit",
    "export", "fc", "fg", "getopts", "hash", "jobs", "kill", "let", "local", "read", "readonly",
    "return", "set", "shift", "source", "times", "trap", "type", "typeset", "declare", "ulimit",
    "umask", "unalias", "unset", "wait", "shopt", "enable", "mapfile", "pushd", "popd",
];

/// A command, where it runs and with which variables.
#[derive(Debug, Clone)]
pub struct PlannedCommand {
    pub form: PlannedForm,
    pub folder: PathBuf,
    /// The usual variables.
    env: BTreeMap<String, String>,
    /// Variables the call sets besides them.
    set: BTreeMap<String, String>,
    /// The file that is started.
    pub program: ProgramFile,
    /// Programs and scripts that would be read, by their content.
    files: Vec<ProgramFile>,
    pub segments: Result<Vec<CommandSegment>, NotUnderstood>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum PlannedForm {
    /// A program and its arguments; no shell looks at them.
    Direct(Vec<String>),
    /// Text for the shell.
    Shell(String),
}

/// One command of a chain, as far as it is known before it runs.
#[derive(Debug, Clone)]
pub struct CommandSegment {
    pub runs: SegmentTarget,
    /// What follows the program's name; `None` when not all of it is known.
    pub arguments: Option<Vec<String>>,
    /// The name as written.
    pub name: String,
    pub reads_file: bool,
    /// Why no list can allow it.
    pub beyond: Option<&'static str>,
    pub script: Option<ProgramFile>,
}

/// What a segment would start.
#[derive(Debug, Clone)]
pub enum SegmentTarget {
    Program(ProgramFile),
    /// Something harmless of the shell's own.
    Builtin,
    /// Not known before it runs, or not there.
    Unknown,
}

impl CommandSegment {
    /// Whether what it does stands in files around it. A program of the workspace counts: what it
    /// loads cannot be known.
    fn interprets(&self, workspace: &std::path::Path) -> bool {
        let name = self.name.as_str();
        let file = match &self.runs {
            SegmentTarget::Program(program) => Some(&program.real),
            SegmentTarget::Builtin | SegmentTarget::Unknown => None,
        };
        let real = file.and_then(|file| file.file_name()?.to_str());
        let mut words = self.arguments.iter().flatten();
        let carried = is_carrier(name) && words.any(|word| is_interpreter(word));
        is_interpreter(name)
            || carried
            || real.is_some_and(is_interpreter)
            || file.is_some_and(|file| file.starts_with(workspace))
    }
}

impl PlannedCommand {
    /// Reads a command line. One that is a plain command needs no shell.
    pub fn line(
        text: &str,
        folder: PathBuf,
        env: BTreeMap<String, String>,
    ) -> Result<Self, ProgramError> {
        let script = shell::parse(text);
        if let Ok(script) = &script
            && let Some(words) = script.plain_arguments()
            && !words
                .first()
                .is_some_and(|name| BUILTINS.contains(name) || *name == ":" || *name == "[")
        {
            let words = words.into_iter().map(str::to_owned).collect();
            return Self::direct(words, folder, env);
        }
        let program = ProgramFile::find(SHELL, &folder, "")?;
        let segments = script.map(|script| segments(&script, &folder, path(&env)));
        let mut files = vec![program.clone()];
        if let Ok(segments) = &segments {
            for segment in segments {
                if let SegmentTarget::Program(program) = &segment.runs {
                    files.push(program.clone());
                }
                files.extend(segment.script.clone());
            }
        }
        Ok(Self {
            form: PlannedForm::Shell(text.to_owned()),
            folder,
            env,
            set: BTreeMap::new(),
            program,
            files,
            segments,
        })
    }

    /// Whether it names a program that becomes another user.
    pub fn becomes_other_user(&self) -> bool {
        let name = match &self.form {
            PlannedForm::Direct(words) => words.first().map(String::as_str),
            PlannedForm::Shell(_) => None,
        };
        let segments = self.segments.as_deref().unwrap_or_default();
        let mut names = segments.iter().map(|segment| segment.name.as_str());
        name.is_some_and(becomes_other_user) || names.any(becomes_other_user)
    }

    /// A program and its arguments.
    pub fn direct(
        words: Vec<String>,
        folder: PathBuf,
        env: BTreeMap<String, String>,
    ) -> Result<Self, ProgramError> {
        let name = words.first().cloned().unwrap_or_default();
        let program = ProgramFile::find(&name, &folder, path(&env))?;
        let arguments = words.get(1..).unwrap_or_default().to_vec();
        let script = ProgramFile::script(&arguments, &folder);
        let mut files = vec![program.clone()];
        files.extend(script.clone());
        let segment = CommandSegment {
            runs: SegmentTarget::Program(program.clone()),
            arguments: Some(arguments),
            name,
            reads_file: false,
            beyond: None,
            script,
        };
        Ok(Self {
            form: PlannedForm::Direct(words),
            folder,
            env,
            set: BTreeMap::new(),
            program,
            files,
            segments: Ok(vec![segment]),
        })
    }

    /// The same command with variables of the call's own.
    #[must_use]
    pub fn with_variables(self, set: BTreeMap<String, String>) -> Self {
        Self { set, ..self }
    }

    /// Whether the call sets variables.
    pub fn sets_variables(&self) -> bool {
        !self.set.is_empty()
    }

    /// All variables the command gets.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let mut all = self.env.clone();
        all.extend(self.set.clone());
        all
    }

    /// What the started program is told its name and arguments are.
    pub fn arguments(&self) -> (String, Vec<String>) {
        match &self.form {
            PlannedForm::Direct(words) => {
                // Where it was found, so that programs that go by their name know it.
                let name = self.program.found.display().to_string();
                (name, words.get(1..).unwrap_or_default().to_vec())
            }
            PlannedForm::Shell(text) => ("sh".to_owned(), vec!["-c".to_owned(), text.clone()]),
        }
    }

    /// As people read it; not yet safe to print.
    pub fn text(&self) -> String {
        let set = self.set.iter();
        let mut text: String = set
            .map(|(name, value)| format!("{name}={} ", typed(std::slice::from_ref(value))))
            .collect();
        match &self.form {
            PlannedForm::Direct(words) => text.push_str(&typed(words)),
            PlannedForm::Shell(script) => text.push_str(script),
        }
        text
    }

    /// The hash of everything that decides what happens.
    pub fn binds(&self) -> ContentHash {
        let everything = serde_json::json!({
            "form": self.form,
            "folder": self.folder,
            "env": self.env,
            "set": self.set,
            "files": self.files,
        });
        ContentHash::of(everything.to_string())
    }

    /// The same command looked up again: files are found and read anew.
    pub fn again(&self) -> Result<Self, ProgramError> {
        let (folder, env) = (self.folder.clone(), self.env.clone());
        let again = match &self.form {
            PlannedForm::Direct(words) => Self::direct(words.clone(), folder, env),
            PlannedForm::Shell(text) => Self::line(text, folder, env),
        };
        Ok(again?.with_variables(self.set.clone()))
    }

    /// What makes this command the same as another, besides the files it runs: its arguments,
    /// the variables it sets, and for a script the folder it runs in.
    pub fn shape(&self) -> Vec<String> {
        let (_, mut shape) = self.arguments();
        if let PlannedForm::Shell(_) = &self.form {
            shape.push(self.folder.display().to_string());
        }
        shape.extend(
            self.set
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        shape
    }

    /// The program that runs what files say, if one of those it would start does.
    pub fn interpreter(&self, workspace: &std::path::Path) -> Option<&str> {
        let Ok(segments) = &self.segments else {
            return Some("sh");
        };
        segments
            .iter()
            .find(|segment| segment.interprets(workspace))
            .map(|segment| segment.name.as_str())
    }

    /// Files the agent could change between an approval for always and the next run.
    pub fn changeable(&self) -> impl Iterator<Item = &ProgramFile> {
        self.files.iter().filter(|file| !file.is_of_the_system())
    }
}

fn path(env: &BTreeMap<String, String>) -> &str {
    env.get("PATH").map_or("/usr/bin:/bin", String::as_str)
}

fn segments(script: &ShellScript, folder: &std::path::Path, path: &str) -> Vec<CommandSegment> {
    let mut moved = false;
    let mut segments = Vec::new();
    for command in &script.commands {
        use shell::{ShellRedirection, WordValue};
        let first = command.words.first();
        let name = first.map(|word| word.text.clone()).unwrap_or_default();
        let known = first.is_some_and(|word| word.value == WordValue::Literal);
        let mut beyond = None;
        if command.assignments > 0 {
            beyond = Some("it sets variables");
        }
        if command
            .redirections
            .iter()
            .any(|redirection| matches!(redirection, ShellRedirection::Output(_)))
        {
            beyond = Some("it writes to a file");
        }
        let runs = if first.is_none() {
            SegmentTarget::Builtin
        } else if !known {
            beyond = Some("which program it runs is known only when it runs");
            SegmentTarget::Unknown
        } else if HARMLESS_BUILTINS.contains(&name.as_str()) {
            SegmentTarget::Builtin
        } else if name == "cd" {
            moved = true;
            SegmentTarget::Builtin
        } else if BUILTINS.contains(&name.as_str()) {
            beyond = Some("it uses a command of the shell that can change the others");
            SegmentTarget::Unknown
        } else if moved && name.contains('/') && !name.starts_with('/') {
            beyond = Some("it runs a program of a folder it changes to");
            SegmentTarget::Unknown
        } else {
            match ProgramFile::find(&name, folder, path) {
                Ok(program) => SegmentTarget::Program(program),
                Err(_) => SegmentTarget::Unknown,
            }
        };
        let arguments: Option<Vec<String>> = command.literal_words().map(|words| {
            words
                .iter()
                .skip(1)
                .map(|word| (*word).to_owned())
                .collect()
        });
        let script = match (&runs, &arguments) {
            (SegmentTarget::Program(_), Some(arguments)) if !moved => {
                ProgramFile::script(arguments, folder)
            }
            _ => None,
        };
        segments.push(CommandSegment {
            runs,
            arguments,
            name,
            reads_file: command.redirections.contains(&ShellRedirection::Input),
            beyond,
            script,
        });
    }
    segments
}
