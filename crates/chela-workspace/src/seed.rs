//! Setting up a workspace: a few short files, a record of what was written, a git repository.

use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Host, Trust, ok_or_warn};
use chela_files::{
    DraftPlacement, ExpectedContent, FileDraft, FileMode, create_file, create_private_folder,
};
use serde::Serialize;

use crate::core_file::CoreFile;
use crate::disk::DiskError;
use crate::git::CommitId;
use crate::history::{CommitAuthor, HistoryError, HistorySnapshot, WorkspaceHistory};
use crate::record::{WorkspaceCondition, WorkspaceRecord, WorkspaceStage};
use crate::spelling::CoreSpelling;
use crate::trust::{TrustRecords, VersionWriter, WrittenVersion};

/// What to set up.
#[derive(Debug, Clone)]
pub struct SeedOptions {
    pub mode: SeedMode,
    /// `agents.defaults.skipOptionalBootstrapFiles`: SOUL.md, USER.md, IDENTITY.md may be left out.
    pub skip_optional: Vec<String>,
    pub repository: RepositoryMode,
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
pub enum RepositoryMode {
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
    pub before: WorkspaceCondition,
    pub created: Vec<CoreFile>,
    /// Already there, and left as they are.
    pub kept: Vec<CoreFile>,
    pub repository: RepositoryOutcome,
}

/// What became of the wish for a git repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum RepositoryOutcome {
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
        "the workspace {} was set up before and its files are gone; mount or restore it, or run \
            `chela init --reseed` to start over",
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
    let before = WorkspaceCondition::of(host, &dir);
    let mut report = SeedReport {
        dir: dir.clone(),
        before,
        created: Vec::new(),
        kept: Vec::new(),
        repository: RepositoryOutcome::NotAsked,
    };
    tracing::debug!(dir = %dir.display(), ?before, mode = ?options.mode, "a workspace is looked at");
    let is_new = match (before, options.mode) {
        (WorkspaceCondition::New | WorkspaceCondition::Unfinished, _) => true,
        (WorkspaceCondition::Lost { .. }, SeedMode::Reseed) => true,
        (WorkspaceCondition::Lost { since }, SeedMode::Fill) => {
            return Err(SeedError::Lost { dir, since });
        }
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
    let spelling = CoreSpelling::of(&dir);
    for file in SEEDED {
        let is_wanted = match file {
            CoreFile::Bootstrap => is_new,
            CoreFile::Soul | CoreFile::User | CoreFile::Identity => !options
                .skip_optional
                .iter()
                .any(|name| file.name().eq_ignore_ascii_case(name.trim())),
            _ => true,
        };
        let Some(text) = file.template().filter(|_| is_wanted) else {
            continue;
        };
        let path = dir.join(spelling.name(file));
        let was_seeded = record.seeded.contains_key(file.name());
        let mut made = create_file(&path, text.as_bytes(), FileMode::KeepOrOwnersToChange)
            .map_err(DiskError::from)?;
        if made == DraftPlacement::Changed && !was_seeded && is_empty_file(&path) {
            made = fill(&path, text)?;
        }
        match made {
            DraftPlacement::Placed => {
                record
                    .seeded
                    .insert(file.name().to_owned(), ContentHash::of(text));
                report.created.push(file);
            }
            DraftPlacement::Changed => report.kept.push(file),
        }
    }
    let is_first_run = is_new || before == WorkspaceCondition::FirstRun;
    if is_first_run {
        record.stage = WorkspaceStage::FirstRun;
        record.settled_at = None;
    } else {
        record.stage = WorkspaceStage::Settled;
        record.settled_at.get_or_insert_with(|| host.unix_time());
    }
    record.write(host)?;
    tracing::info!(dir = %dir.display(), created = ?report.created, kept = ?report.kept, "a workspace is set up");
    record_seeded(host, &dir, &report.created);
    if options.repository == RepositoryMode::Create {
        report.repository = repository(host, &dir, &report.created);
    }
    Ok(report)
}

/// Makes the folder of a workspace that is to have no files, and a repository in it. Nothing is
/// noted down about it: it is filled like a new one once files are wanted.
pub fn seed_folder(host: &Host, dir: &Path, mode: SeedMode) -> Result<SeedReport, SeedError> {
    let dir: PathBuf = host.cwd.join(dir).components().collect();
    let before = WorkspaceCondition::of(host, &dir);
    let is_there = dir.is_dir();
    create_folder(&dir)?;
    tracing::info!(dir = %dir.display(), is_there, "a workspace without files is set up");
    Ok(SeedReport {
        repository: match mode {
            SeedMode::IfNew if is_there => RepositoryOutcome::NotAsked,
            _ => repository(host, &dir, &[]),
        },
        dir,
        before,
        created: Vec::new(),
        kept: Vec::new(),
    })
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
        .filter(|file| file.template().is_some_and(|text| !text.is_empty()))
        .filter(|file| !was_seeded(file) && is_empty_file(&dir.join(file.name())))
        .collect()
}

/// A plain file without a byte. Nobody was ever given one: a set-up that was killed left it.
fn is_empty_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

fn fill(path: &Path, text: &str) -> Result<DraftPlacement, DiskError> {
    let draft = FileDraft::beside(path, text.as_bytes(), FileMode::KeepOrOwnersToChange)?;
    Ok(draft.put_if(ExpectedContent::Bytes(b""))?)
}

/// What Chela wrote when it set a workspace up is on record from the start. Failing to note it is
/// no failure: the text is known from the build.
fn record_seeded(host: &Host, dir: &Path, files: &[CoreFile]) {
    let Some(root) = ok_or_warn!(
        std::fs::canonicalize(dir),
        "a workspace that was just set up cannot be found"
    ) else {
        return;
    };
    let texts: Vec<(PathBuf, &str)> = files
        .iter()
        .filter_map(|file| Some((root.join(file.name()), file.template()?)))
        .collect();
    let wrote: Vec<WrittenVersion<'_>> = texts
        .iter()
        .map(|(path, text)| WrittenVersion {
            path,
            bytes: text.as_bytes(),
            writer: &VersionWriter::Chela,
            how: "set up the workspace",
            trust: Trust::Owner,
        })
        .collect();
    ok_or_warn!(
        TrustRecords::record(host, &wrote, |_| None),
        "the files of a new workspace are not on record"
    );
}

/// Makes the workspace a repository of its own. Inside another repository that is done only in
/// the state folder: there nobody else works, while a workspace in a project belongs to it.
fn repository(host: &Host, dir: &Path, created: &[CoreFile]) -> RepositoryOutcome {
    let (history, is_new) = match WorkspaceHistory::open(host, dir) {
        Ok(history) => (Ok(history), false),
        Err(HistoryError::NoRepository { .. }) => (WorkspaceHistory::init(host, dir), true),
        Err(HistoryError::InsideOther { .. }) if dir.starts_with(host.state_dir()) => {
            (WorkspaceHistory::init(host, dir), true)
        }
        Err(error) => (Err(error), false),
    };
    let outcome = history.and_then(|history| {
        if !is_new && created.is_empty() {
            return Ok(None);
        }
        match history.snapshot(&CommitAuthor::Runtime, "Set up the workspace")? {
            HistorySnapshot::Committed { id, .. } => Ok(Some(id)),
            HistorySnapshot::Unchanged | HistorySnapshot::Paused(_) => Ok(None),
        }
    });
    match outcome {
        Ok(commit) if is_new => RepositoryOutcome::Created { commit },
        Ok(commit) => RepositoryOutcome::Present { commit },
        Err(HistoryError::NoGit) => RepositoryOutcome::NoGit,
        Err(HistoryError::InsideOther { root, .. }) => RepositoryOutcome::InsideOther { root },
        Err(error) => {
            tracing::warn!(%error, "a new workspace has no history");
            RepositoryOutcome::Failed {
                why: error.to_string(),
            }
        }
    }
}

fn create_folder(dir: &Path) -> Result<(), SeedError> {
    if dir.is_dir() {
        return Ok(());
    }
    if std::fs::symlink_metadata(dir).is_ok() {
        return Err(SeedError::NotAFolder(dir.to_owned()));
    }
    // An agent's memory is nobody else's business on a shared machine.
    Ok(create_private_folder(dir).map_err(DiskError::new("create folder", dir))?)
}
