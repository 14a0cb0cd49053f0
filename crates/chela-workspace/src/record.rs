//! What Chela remembers about a workspace it has set up.
//!
//! The record lies in the state folder, not in the workspace: a workspace that lost its files
//! (a disk that is not mounted, a sync that went wrong) would lose a record inside it too, and
//! would silently be filled with blank forms again. It also cannot be forged by whoever can write
//! to the workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Host, ok_or_warn};
use serde::{Deserialize, Serialize};

use crate::core_file::CoreFile;
use crate::disk::{DiskError, write_document};

/// The record of one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceRecord {
    pub version: u32,
    pub dir: PathBuf,
    /// Seconds since 1970.
    pub created_at: u64,
    pub stage: WorkspaceStage,
    /// When the first conversation was over.
    pub settled_at: Option<u64>,
    #[serde(default)]
    pub beginning: WorkspaceBeginning,
    /// The files Chela wrote, with the hash of what it wrote.
    pub seeded: BTreeMap<String, ContentHash>,
}

/// Whose files a workspace began with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkspaceBeginning {
    /// Chela wrote them.
    #[default]
    Made,
    /// They were there before: a folder of the owner's, or somebody's repository.
    Adopted,
}

/// How far a workspace has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkspaceStage {
    /// Files are being written; seen later, it means that this was interrupted.
    Seeding,
    /// BOOTSTRAP.md waits for the first conversation.
    FirstRun,
    Settled,
}

/// What a workspace folder is, seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "condition", rename_all = "camelCase")]
pub enum WorkspaceCondition {
    /// Never set up, and nothing of an agent's is in it.
    New,
    /// Setting it up was interrupted.
    Unfinished,
    /// Set up; the first conversation is still to come.
    FirstRun,
    Settled,
    /// It has an agent's files that Chela did not write.
    Adopted,
    /// It was set up, and now none of its files is there.
    Lost {
        since: u64,
    },
}

/// Whether the first conversation is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkspaceAge {
    BrandNew,
    Settled,
}

impl WorkspaceCondition {
    pub fn of(host: &Host, dir: &Path) -> Self {
        let has_files = has_core_files(dir);
        match read(host, dir) {
            Recorded::Nothing if has_files => Self::Adopted,
            Recorded::Nothing => Self::New,
            Recorded::Known(record) if record.stage == WorkspaceStage::Seeding => Self::Unfinished,
            Recorded::Known(record) if !has_files => Self::Lost {
                since: record.created_at,
            },
            Recorded::Known(record)
                if record.stage == WorkspaceStage::FirstRun && has_bootstrap(dir) =>
            {
                Self::FirstRun
            }
            Recorded::Known(_) => Self::Settled,
            Recorded::Broken if has_files => Self::Settled,
            Recorded::Broken => Self::Lost { since: 0 },
        }
    }

    /// Whether BOOTSTRAP.md is read.
    pub fn age(self) -> WorkspaceAge {
        match self {
            Self::FirstRun => WorkspaceAge::BrandNew,
            _ => WorkspaceAge::Settled,
        }
    }
}

enum Recorded {
    Nothing,
    /// There is a record, so the workspace was set up, but it cannot be read.
    Broken,
    Known(WorkspaceRecord),
}

impl WorkspaceRecord {
    pub fn read(host: &Host, dir: &Path) -> Option<Self> {
        match read(host, dir) {
            Recorded::Known(record) => Some(record),
            Recorded::Nothing | Recorded::Broken => None,
        }
    }

    /// Notes that the first conversation is over once BOOTSTRAP.md is gone. From then on a file
    /// of that name is not read again.
    pub fn settle(host: &Host, dir: &Path) -> Result<(), DiskError> {
        match read(host, dir) {
            Recorded::Known(mut record)
                if record.stage == WorkspaceStage::FirstRun && !has_bootstrap(dir) =>
            {
                record.stage = WorkspaceStage::Settled;
                record.settled_at = Some(host.unix_time());
                tracing::info!(dir = %dir.display(), "the first conversation of a workspace is over");
                record.write(host)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn begin(host: &Host, dir: &Path, before: WorkspaceCondition) -> Self {
        let known = Self::read(host, dir);
        let beginning = match before {
            WorkspaceCondition::Adopted => WorkspaceBeginning::Adopted,
            _ => known
                .as_ref()
                .map(|known| known.beginning)
                .unwrap_or_default(),
        };
        Self {
            beginning,
            version: 1,
            dir: host.cwd.join(dir),
            created_at: known
                .as_ref()
                .map_or_else(|| host.unix_time(), |known| known.created_at),
            stage: WorkspaceStage::Seeding,
            settled_at: known.as_ref().and_then(|known| known.settled_at),
            seeded: known.map(|known| known.seeded).unwrap_or_default(),
        }
    }

    pub(crate) fn write(&self, host: &Host) -> Result<(), DiskError> {
        write_document(&file_of(host, &self.dir), self)
    }
}

fn read(host: &Host, dir: &Path) -> Recorded {
    let path = file_of(host, dir);
    let record = match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map_err(std::io::Error::from),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Recorded::Nothing,
        Err(error) => Err(error),
    };
    ok_or_warn!(record, "the record of a workspace cannot be read", path = %path.display())
        .map_or(Recorded::Broken, Recorded::Known)
}

fn file_of(host: &Host, dir: &Path) -> PathBuf {
    let dir: PathBuf = host.cwd.join(dir).components().collect();
    let name = ContentHash::of(dir.as_os_str().as_encoded_bytes()).short();
    host.state_dir()
        .join("state")
        .join("workspaces")
        .join(format!("{name}.json"))
}

fn has_bootstrap(dir: &Path) -> bool {
    std::fs::symlink_metadata(dir.join(CoreFile::Bootstrap.name())).is_ok()
}

pub(crate) fn has_core_files(dir: &Path) -> bool {
    CoreFile::names()
        .chain(["memory"])
        .any(|name| std::fs::symlink_metadata(dir.join(name)).is_ok())
}
