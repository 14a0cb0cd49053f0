//! Whether what an installation keeps can be used.
//!
//! Every store is opened and checked: the files of records, the memory index, the documents of
//! trust and approvals, with their rights and what lies beside them; and the disks they lie on.
//! Nothing is changed; every finding says what it is, where, and what to do next.

mod database;
mod disk;
mod document;
mod rights;

use std::path::{Path, PathBuf};

use chela_core::{AgentId, Host, Severity};
use chela_store::StoreError;
use serde::Serialize;

pub use disk::{DiskRoom, check_disks, judge_room};

/// What is kept in a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    Sessions,
    Journal,
    Ledger,
    /// Derived: it can be made again at any time.
    MemoryIndex,
    TrustRecord,
    ExecApprovals,
}

/// What is wrong with a store or its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreTrouble {
    Damaged,
    NotADatabase,
    NewerFormat,
    FolderInPlace,
    WrongRights,
    /// What lies beside a file keeps it from being used.
    SideFile,
    HeadWithoutLedger,
    HeadMismatch,
    Empty,
    Gone,
    /// Another process is at it.
    Busy,
    /// It cannot be opened for another reason.
    Unusable,
    DiskLow,
    DiskFull,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreFinding {
    pub trouble: StoreTrouble,
    pub severity: Severity,
    /// The file or folder it is about.
    pub path: PathBuf,
    pub message: String,
    /// What to do.
    pub next: String,
    /// The rights `path` ought to have, where giving them to it mends this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// A database of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFile {
    pub kind: StoreKind,
    pub agent: AgentId,
    pub path: PathBuf,
    /// Something else speaks of it: it had been there.
    pub had_been: bool,
}

/// Opens a store as an agent does. This room does not know how.
pub trait StoreOpener: std::fmt::Debug {
    /// Says why it cannot be used.
    fn open(&self, file: &DatabaseFile) -> Result<(), StoreError>;
}

/// What is looked at.
#[derive(Debug)]
pub struct StoreHealthInput<'a> {
    pub host: &'a Host,
    pub databases: Vec<DatabaseFile>,
    /// Folders that are written to, each on its disk.
    pub folders: Vec<PathBuf>,
    /// Something beside the ledger speaks of it: it had been there.
    pub ledger_had_been: bool,
    pub opener: Box<dyn StoreOpener + 'a>,
}

/// Looks at every store.
pub fn check_stores(ground: &StoreHealthInput<'_>) -> Vec<StoreFinding> {
    let mut findings: Vec<StoreFinding> = ground
        .databases
        .iter()
        .flat_map(|file| database::check_agent_file(ground, file))
        .collect();
    findings.extend(database::check_ledger(ground));
    findings.extend(document::check_trust(ground.host));
    findings.extend(document::check_approvals(ground.host));
    findings
}

impl StoreKind {
    /// As a sentence names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sessions => "the session file",
            Self::Journal => "the journal",
            Self::Ledger => "the ledger",
            Self::MemoryIndex => "the memory index",
            Self::TrustRecord => "the trust record",
            Self::ExecApprovals => "the approvals file",
        }
    }

    /// How much it matters that it cannot be used.
    fn severity(self) -> Severity {
        match self {
            Self::MemoryIndex => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

impl StoreTrouble {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::NotADatabase => "not-a-database",
            Self::NewerFormat => "newer-format",
            Self::FolderInPlace => "folder-in-place",
            Self::WrongRights => "wrong-rights",
            Self::SideFile => "side-file",
            Self::HeadWithoutLedger => "head-without-ledger",
            Self::HeadMismatch => "head-mismatch",
            Self::Empty => "empty",
            Self::Gone => "gone",
            Self::Busy => "busy",
            Self::Unusable => "unusable",
            Self::DiskLow => "disk-low",
            Self::DiskFull => "disk-full",
        }
    }
}

/// A store where it lies, as findings about it name it.
#[derive(Debug, Clone, Copy)]
struct StorePlace<'a> {
    host: &'a Host,
    kind: StoreKind,
    path: &'a Path,
}

impl StorePlace<'_> {
    /// "the ledger ~/.chela/state/ledger.sqlite"
    fn named(&self) -> String {
        format!("{} {}", self.kind.name(), self.host.compact(self.path))
    }

    /// A finding about this store; `what` goes on after its name.
    fn finding(&self, trouble: StoreTrouble, what: &str, next: impl Into<String>) -> StoreFinding {
        StoreFinding {
            trouble,
            severity: self.kind.severity(),
            path: self.path.to_owned(),
            message: format!("{} {what}", self.named()),
            next: next.into(),
            mode: None,
        }
    }

    fn folder_in_place(&self) -> StoreFinding {
        let next = "move that folder away; the file is created again when needed";
        self.finding(StoreTrouble::FolderInPlace, "is a folder, not a file", next)
    }
}

#[cfg(test)]
mod tests;
