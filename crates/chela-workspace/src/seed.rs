//! Setting up a workspace: a few short files, a record of what was written, a git repository.

use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Host};
use chela_files::{ExpectedContent, FileDraft, FileMode, Placement, create_file};
use serde::Serialize;

use crate::core_file::CoreFile;
use crate::disk::DiskError;
use crate::git::CommitId;
use crate::history::{Author, History, HistoryError, Snapshot};
use crate::markdown::strip_front_matter;
use crate::record::{Condition, Stage, WorkspaceRecord};
use crate::trust::record_seeded;

/// What to set up.
#[derive(Debug, Clone)]
pub struct SeedOptions {
    pub mode: SeedMode,
    /// `agents.defaults.skipOptionalBootstrapFiles`: SOUL.md, USER.md, IDENTITY.md may be left out.
    pub skip_optional: Vec<String>,
    pub repository: RepositoryWish,
}

/// How much may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SeedMode {
    /// What a start does: only a workspace that never was gets files.
    IfNew,
    /// What `chela init` does: missing files are written too.
    Fill,
    /// What the owner asks for by name: even a workspace that lost its files is filled again.
    Reseed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepositoryWish {
    Create,
    Leave,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeedReport {
    pub dir: PathBuf,
    /// What the workspace was before.
    #[serde(flatten)]
    pub before: Condition,
    pub created: Vec<CoreFile>,
    /// Already there, and left as they are.
    pub kept: Vec<CoreFile>,
    pub repository: Repository,
}

/// What became of the wish for a git repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum Repository {
    Created {
        commit: Option<CommitId>,
    },
    /// It was there; `commit` holds what was written now.
    Present {
        commit: Option<CommitId>,
    },
    /// The workspace lies inside another repository, in which Chela does not commit.
    InsideOther {
        root: PathBuf,
    },
    NoGit,
    Failed {
        why: String,
    },
    NotAsked,
}

/// Why a workspace could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("{} is not a folder; move it away or set another `workspace`", .0.display())]
    NotAFolder(PathBuf),
    #[error(
        "the workspace {} was set up before and its files are gone; mount or restore it, or run `chela init --reseed` to start afresh",
        dir.display()
    )]
    Lost { dir: PathBuf, since: u64 },
}

/// The files a workspace is given, in the order they are written.
const SEEDED: [CoreFile; 7] = [
    CoreFile::Agents,
    CoreFile::Soul,
    CoreFile::Tools,
    CoreFile::Identity,
    CoreFile::User,
    CoreFile::Heartbeat,
    CoreFile::Bootstrap,
];

/// Sets up the workspace at `dir` as far as `options` allow. Nothing that exists is overwritten.
pub fn seed(host: &Host, dir: &Path, options: &SeedOptions) -> Result<SeedReport, SeedError> {
    let dir: PathBuf = host.cwd.join(dir).components().collect();
    let before = Condition::of(host, &dir);
    let mut report = SeedReport {
        dir: dir.clone(),
        before,
        created: Vec::new(),
        kept: Vec::new(),
        repository: Repository::NotAsked,
    };
    let is_new = match (before, options.mode) {
        (Condition::New | Condition::Unfinished, _) => true,
        (Condition::Lost { .. }, SeedMode::Reseed) => true,
        (Condition::Lost { since }, SeedMode::Fill) => return Err(SeedError::Lost { dir, since }),
        (_, SeedMode::IfNew) => {
            WorkspaceRecord::settle(host, &dir)?;
            return Ok(report);
        }
        (_, SeedMode::Fill | SeedMode::Reseed) => false,
    };
    create_folder(&dir)?;
    let mut record = WorkspaceRecord::begin(host, &dir, before);
    if is_new {
        record.write(host)?;
    }
    for file in SEEDED {
        let is_wanted = match file {
            CoreFile::Bootstrap => is_new,
            CoreFile::Soul | CoreFile::User | CoreFile::Identity => !options
                .skip_optional
                .iter()
                .any(|name| file.name().eq_ignore_ascii_case(name.trim())),
            _ => true,
        };
        let Some(text) = template(file).filter(|_| is_wanted) else {
            continue;
        };
        let path = dir.join(file.name());
        let was_seeded = record.seeded.contains_key(file.name());
        let mut made =
            create_file(&path, text.as_bytes(), FileMode::KeepOrUsual).map_err(DiskError::from)?;
        if made == Placement::Changed && !was_seeded && is_empty_file(&path) {
            made = fill(&path, text)?;
        }
        match made {
            Placement::Placed => {
                record
                    .seeded
                    .insert(file.name().to_owned(), ContentHash::of(text));
                report.created.push(file);
            }
            Placement::Changed => report.kept.push(file),
        }
    }
    let is_first_run = is_new || before == Condition::FirstRun;
    if is_first_run {
        record.stage = Stage::FirstRun;
        record.settled_at = None;
    } else {
        record.stage = Stage::Settled;
        record.settled_at.get_or_insert_with(|| host.unix_time());
    }
    record.write(host)?;
    record_seeded(host, &dir, &report.created);
    if options.repository == RepositoryWish::Create {
        report.repository = repository(host, &dir, &report.created);
    }
    Ok(report)
}

/// Files of a workspace that were made and never filled, because setting it up was killed.
pub fn unfilled_files(host: &Host, dir: &Path) -> Vec<CoreFile> {
    let record = WorkspaceRecord::read(host, dir);
    let was_seeded = |file: &CoreFile| {
        record
            .as_ref()
            .is_some_and(|record| record.seeded.contains_key(file.name()))
    };
    SEEDED
        .into_iter()
        .filter(|file| *file != CoreFile::Bootstrap)
        .filter(|file| template(*file).is_some_and(|text| !text.is_empty()))
        .filter(|file| !was_seeded(file) && is_empty_file(&dir.join(file.name())))
        .collect()
}

/// A plain file without a byte. Nobody was ever given one: a set-up that was killed left it.
fn is_empty_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

fn fill(path: &Path, text: &str) -> Result<Placement, DiskError> {
    let draft = FileDraft::beside(path, text.as_bytes(), FileMode::KeepOrUsual)?;
    Ok(draft.put_if(ExpectedContent::Bytes(b""))?)
}

/// What a new workspace's file says; `None` for files that are not written for it.
pub fn template(file: CoreFile) -> Option<&'static str> {
    let text = match file {
        CoreFile::Agents => include_str!("../templates/AGENTS.md"),
        CoreFile::Soul => include_str!("../templates/SOUL.md"),
        CoreFile::Tools => include_str!("../templates/TOOLS.md"),
        CoreFile::Identity => include_str!("../templates/IDENTITY.md"),
        CoreFile::User => include_str!("../templates/USER.md"),
        CoreFile::Heartbeat => include_str!("../templates/HEARTBEAT.md"),
        CoreFile::Bootstrap => include_str!("../templates/BOOTSTRAP.md"),
        CoreFile::Memory => return None,
    };
    Some(strip_front_matter(text))
}

/// Makes the workspace a repository of its own. Inside another repository that is done only in
/// the state folder: there nobody else works, while a workspace in a project belongs to it.
fn repository(host: &Host, dir: &Path, created: &[CoreFile]) -> Repository {
    let (history, is_new) = match History::open(host, dir) {
        Ok(history) => (Ok(history), false),
        Err(HistoryError::NoRepository { .. }) => (History::init(host, dir), true),
        Err(HistoryError::InsideOther { .. }) if dir.starts_with(host.state_dir()) => {
            (History::init(host, dir), true)
        }
        Err(error) => (Err(error), false),
    };
    let outcome = history.and_then(|history| {
        if !is_new && created.is_empty() {
            return Ok(None);
        }
        match history.snapshot(&Author::Runtime, "Set up the workspace")? {
            Snapshot::Committed { id, .. } => Ok(Some(id)),
            Snapshot::Unchanged | Snapshot::Paused(_) => Ok(None),
        }
    });
    match outcome {
        Ok(commit) if is_new => Repository::Created { commit },
        Ok(commit) => Repository::Present { commit },
        Err(HistoryError::NoGit) => Repository::NoGit,
        Err(HistoryError::InsideOther { root, .. }) => Repository::InsideOther { root },
        Err(error) => Repository::Failed {
            why: error.to_string(),
        },
    }
}

fn create_folder(dir: &Path) -> Result<(), SeedError> {
    if dir.is_dir() {
        return Ok(());
    }
    if std::fs::symlink_metadata(dir).is_ok() {
        return Err(SeedError::NotAFolder(dir.to_owned()));
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    // An agent's memory is nobody else's business on a shared machine.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    Ok(builder
        .create(dir)
        .map_err(DiskError::new("create folder", dir))?)
}
