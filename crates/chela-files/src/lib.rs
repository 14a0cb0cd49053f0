//! How is a file changed? Whole or not at all, by one at a time, and shown line by line.
//!
//! - [`write_file`] and [`FileDraft`]: a new version is written beside the old one, brought to the
//!   disk and renamed into place, and the folder is brought to the disk as well.
//! - [`LockFile`] and [`PathLocks`]: one writer at a time, across threads and processes, with a
//!   limit on every wait.
//! - [`unified_diff`] and [`line_changes`]: what changed between two texts.
//! - [`leftovers_below`]: drafts of processes that died are found by their names.
//!
//! This crate knows nothing of what is in a file, and of records in databases.

mod diff;
mod draft;
mod folder;
mod leftovers;
mod lock;

pub use diff::{DiffLabels, LineChange, line_changes, unified_diff};
pub use draft::{
    ExpectedContent, FileDraft, FileMode, Placement, WriteError, create_file, write_file,
};
pub use folder::{create_private_folder, make_private};
pub use leftovers::{is_leftover, leftovers_below};
pub use lock::{LockError, LockFile, PathLocks};
