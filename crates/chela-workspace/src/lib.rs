//! Who the agent is: its workspace folder, the files in it that shape every session, how they
//! come into being and how a bad edit is undone.
//!
//! This crate fills a new folder ([`seed`]), loads the
//! context files of a session with an account of every one ([`load_context`]) and keeps their
//! [`WorkspaceHistory`] in git. It does not know what a prompt looks like, and takes its settings as plain
//! values rather than reading a config.

// This crate reads what others wrote: no text of theirs may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod budget;
mod context_file;
mod core_file;
pub mod custody;
mod decode;
mod disk;
mod extension;
mod git;
mod glob;
mod history;
mod load;
mod markdown;
mod notice;
mod pins;
mod read;
mod record;
mod report;
mod seed;
mod settings;
mod source;
mod spelling;
pub mod trust;
mod workspace;

pub use context_file::ContextFile;
pub use core_file::{BOOT_FILE, CoreFile, FileNeed, PromptOrder, SessionScope};
pub use disk::{DiskError, replace_file};
pub use extension::{BootstrapContext, BootstrapExtension};
pub use git::CommitId;
pub use history::{
    CommitAuthor, HistoryEntry, HistoryError, HistoryPause, HistorySnapshot, RestoreReport,
    WorkspaceHistory,
};
pub use load::{ExecutionFolder, LoadRequest, LoadedContext, TurnPosition, load_context};
pub use notice::{NoticeStore, OwnerNotice, PromptNotice, owner_notices};
pub use record::{
    WorkspaceAge, WorkspaceBeginning, WorkspaceCondition, WorkspaceRecord, WorkspaceStage,
};
pub use report::{
    CutBudget, DroppedLines, ExtensionAction, ExtensionChange, FileRemark, FileReport, FileStatus,
    limit_in_words,
};
pub use seed::{
    RepositoryMode, RepositoryOutcome, SeedError, SeedMode, SeedOptions, SeedReport, seed,
    seed_folder, unfilled_files,
};
pub use settings::{BootstrapSettings, ContextInjection, HeartbeatFile, TruncationWarning};
pub use spelling::CoreSpelling;
pub use workspace::{OpenError, Workspace};
