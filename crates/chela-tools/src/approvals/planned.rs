//! A command as it would run: everything an approval is about.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chela_core::ContentHash;
use serde::Serialize;

use super::program::{Program, ProgramError};
use super::shell::{self, NotUnderstood, Script};
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
pub struct Planned {
    pub form: Form,
    pub folder: PathBuf,
    /// The usual variables.
    env: BTreeMap<String, String>,
    /// Variables the call sets besides them.
    set: BTreeMap<String, String>,
    /// The file that is started.
    pub program: Program,
    /// Programs and scripts that would be read, by their content.
    files: Vec<Program>,
    pub segments: Result<Vec<Segment>, NotUnderstood>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Form {
    /// A program and its arguments; no shell looks at them.
    Direct(Vec<String>),
    /// Text for the shell.
    Shell(String),
}

/// One command of a chain, as far as it is known before it runs.
#[derive(Debug, Clone)]
pub struct Segment {
    pub runs: Runs,
    /// What follows the program's name; `None` when not all of it is known.
    pub arguments: Option<Vec<String>>,
    /// The name as written.
    pub name: String,
    pub reads_file: bool,
    /// Why no list can allow it.
    pub beyond: Option<&'static str>,
    pub script: Option<Program>,
}

/// What a segment would start.
#[derive(Debug, Clone)]
pub enum Runs {
    Program(Program),
    /// Something harmless of the shell's own.
    Builtin,
    /// Not known before it runs, or not there.
    Unknown,
}

impl Planned {
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
        let program = Program::find(SHELL, &folder, "")?;
        let segments = script.map(|script| segments(&script, &folder, path(&env)));
        let mut files = vec![program.clone()];
        if let Ok(segments) = &segments {
            for segment in segments {
                if let Runs::Program(program) = &segment.runs {
                    files.push(program.clone());
                }
                files.extend(segment.script.clone());
            }
        }
        Ok(Self {
            form: Form::Shell(text.to_owned()),
            folder,
            env,
            set: BTreeMap::new(),
            program,
            files,
            segments,
        })
    }

    /// A program and its arguments.
    pub fn direct(
        words: Vec<String>,
        folder: PathBuf,
        env: BTreeMap<String, String>,
    ) -> Result<Self, ProgramError> {
        let name = words.first().cloned().unwrap_or_default();
        let program = Program::find(&name, &folder, path(&env))?;
        let arguments = words.get(1..).unwrap_or_default().to_vec();
        let script = Program::script(&arguments, &folder);
        let mut files = vec![program.clone()];
        files.extend(script.clone());
        let segment = Segment {
            runs: Runs::Program(program.clone()),
            arguments: Some(arguments),
            name,
            reads_file: false,
            beyond: None,
            script,
        };
        Ok(Self {
            form: Form::Direct(words),
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
            Form::Direct(words) => {
                // Where it was found, so that programs that go by their name know it.
                let name = self.program.found.display().to_string();
                (name, words.get(1..).unwrap_or_default().to_vec())
            }
            Form::Shell(text) => ("sh".to_owned(), vec!["-c".to_owned(), text.clone()]),
        }
    }

    /// As people read it; not yet safe to print.
    pub fn text(&self) -> String {
        let set = self.set.iter();
        let mut text: String = set
            .map(|(name, value)| format!("{name}={} ", typed(std::slice::from_ref(value))))
            .collect();
        match &self.form {
            Form::Direct(words) => text.push_str(&typed(words)),
            Form::Shell(script) => text.push_str(script),
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
            Form::Direct(words) => Self::direct(words.clone(), folder, env),
            Form::Shell(text) => Self::line(text, folder, env),
        };
        Ok(again?.with_variables(self.set.clone()))
    }

    /// What makes this command the same as another, besides the files it runs: its arguments,
    /// the variables it sets, and for a script the folder it runs in.
    pub fn shape(&self) -> Vec<String> {
        let (_, mut shape) = self.arguments();
        if let Form::Shell(_) = &self.form {
            shape.push(self.folder.display().to_string());
        }
        shape.extend(
            self.set
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        shape
    }

    /// Files the agent could change between an approval for always and the next run.
    pub fn changeable(&self) -> impl Iterator<Item = &Program> {
        self.files.iter().filter(|file| !file.is_of_the_system())
    }
}

fn path(env: &BTreeMap<String, String>) -> &str {
    env.get("PATH").map_or("/usr/bin:/bin", String::as_str)
}

fn segments(script: &Script, folder: &std::path::Path, path: &str) -> Vec<Segment> {
    let mut moved = false;
    let mut segments = Vec::new();
    for command in &script.commands {
        use shell::{Redirection, Value};
        let first = command.words.first();
        let name = first.map(|word| word.text.clone()).unwrap_or_default();
        let known = first.is_some_and(|word| word.value == Value::Literal);
        let mut beyond = None;
        if command.assignments > 0 {
            beyond = Some("it sets variables");
        }
        if command
            .redirections
            .iter()
            .any(|redirection| matches!(redirection, Redirection::Output(_)))
        {
            beyond = Some("it writes to a file");
        }
        let runs = if first.is_none() {
            Runs::Builtin
        } else if !known {
            beyond = Some("which program it runs is known only when it runs");
            Runs::Unknown
        } else if HARMLESS_BUILTINS.contains(&name.as_str()) {
            Runs::Builtin
        } else if name == "cd" {
            moved = true;
            Runs::Builtin
        } else if BUILTINS.contains(&name.as_str()) {
            beyond = Some("it uses a command of the shell that can change the others");
            Runs::Unknown
        } else if moved && name.contains('/') && !name.starts_with('/') {
            beyond = Some("it runs a program of a folder it changes to");
            Runs::Unknown
        } else {
            match Program::find(&name, folder, path) {
                Ok(program) => Runs::Program(program),
                Err(_) => Runs::Unknown,
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
            (Runs::Program(_), Some(arguments)) if !moved => Program::script(arguments, folder),
            _ => None,
        };
        segments.push(Segment {
            runs,
            arguments,
            name,
            reads_file: command.redirections.contains(&Redirection::Input),
            beyond,
            script,
        });
    }
    segments
}
