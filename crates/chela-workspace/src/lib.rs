//! Who the agent is: its workspace folder, the files in it that shape every session, how they
//! come into being and how a bad edit is undone.
//!
//! This crate fills a new folder ([`seed`]), loads the
//! context files of a session with an account of every one ([`Workspace::load`]) and keeps their
//! [`History`] in git. It does not know what a prompt looks like, and takes its settings as plain
//! values rather than reading a config.

mod budget;
mod context_file;
mod core_file;
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
pub mod trust;
mod workspace;

pub use context_file::ContextFile;
pub use core_file::{CoreFile, Need, PromptOrder};
pub use disk::{DiskError, write_atomically as replace_file};
pub use extension::{BootstrapContext, BootstrapExtension};
pub use git::CommitId;
pub use history::{Author, History, HistoryEntry, HistoryError, Pause, RestoreReport, Snapshot};
pub use load::{ExecutionFolder, LoadRequest, LoadedContext, SessionScope, Turn, WorkspaceAge};
pub use markdown::{heartbeat_has_work, strip_front_matter};
pub use notice::{NoticeStore, OwnerNotice, PromptNotice, owner_notices, prompt_notice};
pub use record::{Beginning, Condition, Stage, WorkspaceRecord};
pub use report::{
    Budget, Dropped, ExtensionAction, ExtensionChange, FileReport, FileStatus, Remark,
    limit_in_words,
};
pub use seed::{
    Repository, RepositoryWish, SeedError, SeedMode, SeedOptions, SeedReport, seed, template,
    unfilled_files,
};
pub use settings::{BootstrapSettings, ContextInjection, TruncationWarning};
pub use workspace::{HeartbeatTasks, OpenError, Workspace};
