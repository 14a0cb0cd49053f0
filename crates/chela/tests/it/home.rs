//! A home folder of its own for each test, and the real binary to run in it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub struct Home {
    dir: TempDir,
    env: Vec<(String, String)>,
    /// A program and its arguments, to start the binary through.
    through: Vec<String>,
}

/// What a command printed, with the paths of the test taken out.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Home {
    /// Nothing in it: the machine of a newcomer.
    pub fn empty() -> Self {
        Self {
            dir: TempDir::new().unwrap(),
            env: Vec::new(),
            through: Vec::new(),
        }
    }

    /// After the first run.
    pub fn ready() -> Self {
        let home = Self::empty();
        home.run(&["init"]).ok();
        home
    }

    pub fn with_config(config: &str) -> Self {
        let home = Self::empty();
        home.write(".chela/chela.json", config);
        home
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the binary through another program, which gets it as its last arguments.
    pub fn through(mut self, words: &[&str]) -> Self {
        self.through = words.iter().map(ToString::to_string).collect();
        self
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    pub fn write(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, relative: &str) -> String {
        std::fs::read_to_string(self.path(relative)).unwrap()
    }

    pub fn exists(&self, relative: &str) -> bool {
        self.path(relative).exists()
    }

    pub fn run(&self, args: &[&str]) -> Run {
        self.run_with_input(args, "")
    }

    pub fn run_with_input(&self, args: &[&str], input: &str) -> Run {
        use std::io::Write;
        let mut child = self
            .command()
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        Run {
            code: output.status.code().unwrap_or(-1),
            out: self.neutral(&String::from_utf8_lossy(&output.stdout)),
            err: self.neutral(&String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Output byte for byte, with the paths of the test in it.
    pub fn exact(&self, args: &[&str]) -> String {
        String::from_utf8(self.command().args(args).output().unwrap().stdout).unwrap()
    }

    /// The binary in this home, with nothing of the machine's own settings.
    pub fn command(&self) -> Command {
        let chela = env!("CARGO_BIN_EXE_chela");
        let Some((first, words)) = self.through.split_first() else {
            return self.command_of(chela);
        };
        let mut command = self.command_of(first);
        command.args(words).arg(chela);
        command
    }

    /// Any program, as if it was started in this home.
    pub fn command_of(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SHELL", "/bin/bash")
            .env("TZ", "Europe/Berlin")
            .env("COLUMNS", "80")
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.dir.path());
        command
    }

    /// Output without what differs from run to run.
    fn neutral(&self, text: &str) -> String {
        let real = std::fs::canonicalize(self.dir.path()).unwrap();
        text.replace(&*real.to_string_lossy(), "~")
            .replace(&*self.dir.path().to_string_lossy(), "~")
    }
}

impl Run {
    /// Must have worked; gives the output.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.out, self.err);
        self.out
    }

    /// Must have ended with this code; gives what was said on standard error.
    #[track_caller]
    pub fn fails(self, code: i32) -> String {
        assert_eq!(
            self.code, code,
            "stdout: {}\nstderr: {}",
            self.out, self.err
        );
        self.err
    }

    /// Output with every run of blanks as one: wrapped lines read as sentences.
    pub fn flat(&self) -> String {
        self.out.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok()).unwrap()
    }
}

/// A path as text, for arguments.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
