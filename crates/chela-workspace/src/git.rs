//! Running the `git` program as a tool that does what it is told and nothing else.
//!
//! The repository's own config counts as untrusted: whoever can write to the workspace could put
//! commands there. So hooks, filters, pagers, editors, file-system monitors, signing and helpers
//! are off, the environment is empty but for a few values, and every call has a deadline.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use chela_core::{Host, ok_or_debug};
use serde::Serialize;

const DEADLINE: Duration = Duration::from_secs(20);
const MOST_OUTPUT: u64 = 64 << 20;
const MOST_COMPLAINT: u64 = 16 << 10;

/// Settings that win over whatever the repository says.
const SAFE: [&str; 11] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=true",
    "core.attributesFile=/dev/null",
    "core.untrackedCache=false",
    "core.quotePath=false",
    "protocol.allow=never",
    "gc.auto=0",
    "log.showSignature=false",
];

/// The hex name of a commit, possibly shortened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct CommitId(String);

impl CommitId {
    /// Accepts 4 to 64 hex digits and nothing else, so that it is always safe as an argument.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        ((4..=64).contains(&text.len()) && is_hex).then(|| Self(text.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 8 digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }
}

impl std::fmt::Display for CommitId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The commit a checkout stands at, as its own files say; no program is run for that.
pub(crate) fn head_of(folder: &Path) -> Option<String> {
    let git = folder.join(".git");
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let head = head.trim();
    let Some(name) = head.strip_prefix("ref: ") else {
        return CommitId::parse(head).map(|commit| commit.0);
    };
    let is_plain = name.starts_with("refs/") && !name.contains("..");
    let loose = is_plain
        .then(|| std::fs::read_to_string(git.join(name)).ok())
        .flatten();
    let packed = || {
        let packed = std::fs::read_to_string(git.join("packed-refs")).ok()?;
        let line = packed
            .lines()
            .find(|line| line.split(' ').nth(1) == Some(name))?;
        line.split(' ').next().map(str::to_owned)
    };
    CommitId::parse(&loose.or_else(packed)?).map(|commit| commit.0)
}

/// Why a call of git gave nothing.
#[derive(Debug)]
pub(crate) enum GitError {
    /// It ended with this code and this complaint.
    Status {
        code: Option<i32>,
        complaint: String,
    },
    TimedOut,
    Io(std::io::Error),
}

/// The git program, ready to work in one folder.
#[derive(Debug, Clone)]
pub(crate) struct GitProgram {
    program: PathBuf,
    dir: PathBuf,
    env: Vec<(OsString, OsString)>,
}

/// One call.
#[derive(Debug, Default)]
pub(crate) struct GitCall<'a> {
    pub(crate) args: Vec<&'a OsStr>,
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) env: Vec<(&'static str, OsString)>,
}

impl GitProgram {
    /// Finds git on the host's `PATH`.
    pub(crate) fn find(host: &Host, dir: &Path) -> Option<Self> {
        let path = host.var("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
        let name = format!("git{}", std::env::consts::EXE_SUFFIX);
        let program = std::env::split_paths(path)
            .map(|folder| folder.join(&name))
            .find(|p| p.is_file())?;
        let mut env: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), path.into()),
            ("HOME".into(), host.user_home.clone().into()),
            ("LC_ALL".into(), "C".into()),
            ("GIT_TERMINAL_PROMPT".into(), "0".into()),
            ("GIT_OPTIONAL_LOCKS".into(), "0".into()),
            ("GIT_LITERAL_PATHSPECS".into(), "1".into()),
            ("GIT_NO_REPLACE_OBJECTS".into(), "1".into()),
        ];
        for name in ["XDG_CONFIG_HOME", "SystemRoot"] {
            env.extend(host.var(name).map(|value| (name.into(), value.into())));
        }
        // A broken `.git` here must not make git look for a repository further up.
        env.extend(
            dir.parent()
                .map(|up| ("GIT_CEILING_DIRECTORIES".into(), up.into())),
        );
        Some(Self {
            program,
            dir: dir.to_owned(),
            env,
        })
    }

    pub(crate) fn run(&self, call: GitCall<'_>) -> Result<Vec<u8>, GitError> {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command.envs(call.env).current_dir(&self.dir);
        command.arg("--no-pager");
        command
            .args(SAFE.iter().flat_map(|setting| ["-c", setting]))
            .args(call.args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if call.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        let mut child = command.spawn().map_err(GitError::Io)?;

        if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), call.stdin) {
            // Writing here could block while git waits for its output to be read.
            std::thread::spawn(move || pipe.write_all(&bytes));
        }
        let output = collect(child.stdout.take(), MOST_OUTPUT);
        let complaint = collect(child.stderr.take(), MOST_COMPLAINT);
        let Ok(output) = output.recv_timeout(DEADLINE) else {
            tracing::warn!(dir = %self.dir.display(), "git did not end in time");
            ok_or_debug!(child.kill(), "git could not be ended");
            ok_or_debug!(child.wait(), "git was not waited for");
            return Err(GitError::TimedOut);
        };
        let status = child.wait().map_err(GitError::Io)?;
        if status.success() {
            return output.map_err(GitError::Io);
        }
        let said = ok_or_debug!(complaint.recv_timeout(DEADLINE), "git says nothing in time");
        let said = said.and_then(|said| ok_or_debug!(said, "what git says cannot be read"));
        let complaint = String::from_utf8_lossy(&said.unwrap_or_default())
            .trim()
            .to_owned();
        Err(GitError::Status {
            code: status.code(),
            complaint,
        })
    }
}

/// Reads a pipe to its end on a thread of its own.
fn collect<R: Read + Send + 'static>(
    pipe: Option<R>,
    most: u64,
) -> mpsc::Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |mut pipe| {
            let read = (&mut pipe).take(most).read_to_end(&mut bytes);
            // The rest is read and dropped, so that git does not stall on a full pipe.
            let rest = std::io::copy(&mut pipe, &mut std::io::sink());
            if ok_or_debug!(rest, "the output of git broke off").is_some_and(|rest| rest > 0) {
                tracing::warn!(most, "the output of git is cut: it is too long");
            }
            read
        });
        // Whoever waited for it may have given up.
        ok_or_debug!(
            sender.send(read.map(|_| bytes)),
            "nobody reads the output of git"
        );
    });
    receiver
}
