//! The history of an agent's core files, kept in the workspace's own git repository.
//!
//! Only the core files and `memory/*.md` are committed, by their names, whatever else lies in
//! the folder or is staged there. Commits are built from plumbing commands beside the user's
//! index; afterwards the index learns of exactly the committed files, unless the user had staged
//! something else for them. In the middle of a merge or rebase nothing is committed.

mod commit;
mod past;

use std::path::{Path, PathBuf};

use chela_core::{AgentId, Host, ok_or_warn};
use serde::Serialize;

use crate::core_file::CoreFile;
use crate::disk::DiskError;
use crate::git::{CommitId, GitCall, GitError, GitProgram};

/// The history of one workspace.
#[derive(Debug, Clone)]
pub struct WorkspaceHistory {
    git: GitProgram,
    host: Host,
    dir: PathBuf,
    git_dir: PathBuf,
}

/// Who made a change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CommitAuthor {
    /// Chela itself, or nobody it knows of.
    Runtime,
    Owner,
    Agent(AgentId),
    /// Somebody who committed by hand, by the name git gives.
    Other(String),
}

/// What a look at the core files came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "snapshot", rename_all = "camelCase")]
pub enum HistorySnapshot {
    Unchanged,
    Committed {
        id: CommitId,
        files: Vec<String>,
    },
    /// Changes there may be, but this is not the moment to commit them.
    Paused(HistoryPause),
}

/// Why nothing is committed just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "reason", rename_all = "camelCase")]
pub enum HistoryPause {
    /// A merge, rebase, cherry-pick, revert or bisect is under way.
    Operation,
    /// No branch is checked out; a commit would belong to nothing.
    DetachedHead,
    /// Another git command is at work.
    Locked,
}

/// One version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryEntry {
    pub id: CommitId,
    /// Seconds since 1970.
    pub when: u64,
    pub who: CommitAuthor,
    pub why: String,
    pub added: usize,
    pub removed: usize,
}

/// What restoring a file did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreReport {
    pub file: String,
    pub path: PathBuf,
    /// The version it now has.
    pub restored: CommitId,
    /// The version to restore in order to undo this.
    pub before: Option<CommitId>,
    /// The commit that records the restoring; `None` when the file already was like that.
    pub commit: Option<CommitId>,
}

/// Why there is no history, or no answer from it.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("git is not installed (or not on PATH); only the history of core files needs it")]
    NoGit,
    #[error("{} is not a git repository; `chela init` creates one", dir.display())]
    NoRepository { dir: PathBuf },
    #[error(
        "{} is inside the repository {}; Chela keeps history only in the workspace's own \
            repository (create one with `git init` there)",
        dir.display(), root.display()
    )]
    InsideOther { dir: PathBuf, root: PathBuf },
    #[error(
        "`{0}` is not a core file; choose AGENTS.md, SOUL.md, IDENTITY.md, USER.md, TOOLS.md, HEARTBEAT.md, BOOTSTRAP.md, MEMORY.md or memory/NAME.md"
    )]
    NotACoreFile(String),
    #[error("there is no version {id} of {file}; `chela workspace history {file}` lists them")]
    NoVersion { file: String, id: String },
    #[error("{file} was not restored: {}", pause_in_words(*.pause))]
    CannotSave { file: String, pause: HistoryPause },
    #[error("{} is {what}; move it away and try again", path.display())]
    NotReplaceable { path: PathBuf, what: &'static str },
    #[error("git {what} failed in {}: {complaint}", dir.display())]
    Failed {
        what: String,
        dir: PathBuf,
        complaint: String,
    },
    #[error("git {what} in {} timed out and was stopped", dir.display())]
    TimedOut { what: String, dir: PathBuf },
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// Whether `git init` was killed in this folder before it was done: without a head, a folder of
/// objects and one of references git takes it for no repository.
fn is_half_made(dir: &Path) -> bool {
    let git = dir.join(".git");
    git.is_dir()
        && ["HEAD", "objects", "refs"]
            .iter()
            .any(|part| !git.join(part).exists())
}

impl WorkspaceHistory {
    pub fn open(host: &Host, dir: &Path) -> Result<Self, HistoryError> {
        let dir = std::fs::canonicalize(dir).map_err(DiskError::new("open", dir))?;
        let root = dir
            .ancestors()
            .find(|folder| folder.join(".git").exists() && !is_half_made(folder));
        match root {
            // Without git none can be made either.
            None if GitProgram::find(host, &dir).is_none() => Err(HistoryError::NoGit),
            None => Err(HistoryError::NoRepository { dir }),
            Some(root) if root != dir => {
                let root = root.to_owned();
                Err(HistoryError::InsideOther { dir, root })
            }
            Some(_) => Self::with_git(host, dir),
        }
    }

    /// Makes the folder a repository, without taking part in the user's templates and hooks.
    /// A repository that is there is opened and not touched.
    pub fn init(host: &Host, dir: &Path) -> Result<Self, HistoryError> {
        let dir = std::fs::canonicalize(dir).map_err(DiskError::new("open", dir))?;
        // On what a killed `git init` left, it does what is missing.
        if !dir.join(".git").exists() || is_half_made(&dir) {
            let git = GitProgram::find(host, &dir).ok_or(HistoryError::NoGit)?;
            tracing::info!(dir = %dir.display(), "a workspace becomes a repository");
            let args = ["init", "--quiet", "--template=", "--initial-branch=main"];
            run(
                &git,
                &dir,
                GitCall {
                    args: args.iter().map(AsRef::as_ref).collect(),
                    ..GitCall::default()
                },
            )?;
        }
        Self::with_git(host, dir)
    }

    fn with_git(host: &Host, dir: PathBuf) -> Result<Self, HistoryError> {
        let git = GitProgram::find(host, &dir).ok_or(HistoryError::NoGit)?;
        let mut history = Self {
            git,
            host: host.clone(),
            dir,
            git_dir: PathBuf::new(),
        };
        history.git_dir = history.line(&["rev-parse", "--absolute-git-dir"])?.into();
        Ok(history)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Runs git and gives its output.
    fn call(&self, call: GitCall<'_>) -> Result<Vec<u8>, HistoryError> {
        run(&self.git, &self.dir, call)
    }

    fn output(&self, args: &[&str]) -> Result<Vec<u8>, HistoryError> {
        let args = args.iter().map(AsRef::as_ref).collect();
        self.call(GitCall {
            args,
            ..GitCall::default()
        })
    }

    fn text(&self, args: &[&str]) -> Result<String, HistoryError> {
        let output = self.output(args)?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// The first line of the output.
    fn line(&self, args: &[&str]) -> Result<String, HistoryError> {
        let text = self.text(args)?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    /// Like [`Self::line`], for commands that say "no" with exit code 1.
    fn line_if_any(&self, args: &[&str]) -> Result<Option<String>, HistoryError> {
        let args: Vec<_> = args.iter().map(AsRef::as_ref).collect();
        match self.git.run(GitCall {
            args: args.clone(),
            ..GitCall::default()
        }) {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output);
                Ok(text.lines().next().map(str::to_owned))
            }
            Err(GitError::Status { code: Some(1), .. }) => Ok(None),
            Err(error) => Err(failed(&self.dir, &args, error)),
        }
    }
}

fn run(git: &GitProgram, dir: &Path, call: GitCall<'_>) -> Result<Vec<u8>, HistoryError> {
    let args = call.args.clone();
    git.run(call).map_err(|error| failed(dir, &args, error))
}

fn failed(dir: &Path, args: &[&std::ffi::OsStr], error: GitError) -> HistoryError {
    let what = args
        .first()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let dir = dir.to_owned();
    match error {
        GitError::TimedOut => HistoryError::TimedOut { what, dir },
        GitError::Io(error) => HistoryError::Failed {
            what,
            dir,
            complaint: error.to_string(),
        },
        GitError::Status { code, complaint } if complaint.is_empty() => {
            let complaint = format!("exit code {}", code.unwrap_or(-1));
            HistoryError::Failed {
                what,
                dir,
                complaint,
            }
        }
        GitError::Status { complaint, .. } => HistoryError::Failed {
            what,
            dir,
            complaint,
        },
    }
}

/// Paths of the core files that are there, relative to the workspace. Symlinks and whatever is
/// not a regular file have no history.
fn present_files(dir: &Path) -> Vec<String> {
    let is_file = |path: &str| {
        std::fs::symlink_metadata(dir.join(path)).is_ok_and(|metadata| metadata.is_file())
    };
    let names = CoreFile::ALL.into_iter().map(CoreFile::name);
    let mut files: Vec<String> = names
        .filter(|name| is_file(name))
        .map(str::to_owned)
        .collect();
    let notes = dir.join("memory");
    if std::fs::symlink_metadata(&notes).is_ok_and(|metadata| metadata.is_dir())
        && let Some(entries) = ok_or_warn!(
            std::fs::read_dir(&notes),
            "the history leaves the notes out: their folder cannot be read"
        )
    {
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let paths = names.map(|name| format!("memory/{name}"));
        files.extend(paths.filter(|path| is_core_path(path) && is_file(path)));
    }
    files.sort();
    files
}

/// Whether a path, relative to the workspace, has history.
fn is_core_path(path: &str) -> bool {
    let is_note = |name: &str| !name.contains('/') && name.ends_with(".md") && name != ".md";
    CoreFile::ALL.iter().any(|file| file.name() == path)
        || path.strip_prefix("memory/").is_some_and(is_note)
}

/// The path of a core file from what a person typed.
fn core_path(typed: &str) -> Result<String, HistoryError> {
    let tidy = typed.trim().replace('\\', "/");
    let tidy = tidy.strip_prefix("./").unwrap_or(&tidy);
    let known = CoreFile::ALL
        .iter()
        .find(|file| file.name().eq_ignore_ascii_case(tidy));
    match known {
        Some(file) => Ok(file.name().to_owned()),
        None if is_core_path(tidy) => Ok(tidy.to_owned()),
        None => Err(HistoryError::NotACoreFile(typed.to_owned())),
    }
}

fn pause_in_words(pause: HistoryPause) -> &'static str {
    match pause {
        HistoryPause::Operation => {
            "a merge or rebase is in progress in the workspace, so its current version cannot be \
                saved first; finish that, then try again"
        }
        HistoryPause::DetachedHead => {
            "no branch is checked out in the workspace, so its current version cannot be saved \
                first; check one out, then try again"
        }
        HistoryPause::Locked => "another git command is running in the workspace; try again",
    }
}

impl std::fmt::Display for HistoryPause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Operation => "a merge or rebase is in progress",
            Self::DetachedHead => "no branch is checked out",
            Self::Locked => "another git command is running",
        })
    }
}

impl std::fmt::Display for CommitAuthor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Runtime => f.write_str("chela"),
            Self::Owner => f.write_str("owner"),
            Self::Agent(id) => write!(f, "agent:{id}"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl Serialize for CommitAuthor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
