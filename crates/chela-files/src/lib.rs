//! How is a file changed? Whole or not at all, by one at a time, and shown line by line.
//!
//! - [`write_file`] and [`FileDraft`]: a new version is written beside the old one, brought to the
//!   disk and renamed into place, and the folder is brought to the disk as well.
//! - [`LockFile`] and [`PathLocks`]: one writer at a time, across threads and processes, with a
//!   limit on every wait.
//! - [`unified_diff`] and [`line_changes`]: what changed between two texts.
//! - [`open_plain`]: nothing but a plain file is opened, whatever lies there by now.
//! - [`HeldFolder`] and [`RootedFolder`]: act in and below a folder whose names others change
//!   meanwhile.
//! - [`FileFacts`]: what the system says of a file, on every system.
//! - [`read_version`]: what was read, and which version of the file that was.
//! - [`leftovers_below`]: drafts of processes that died are found by their names.
//! - [`announce_write`] and [`WriteWitness`]: whoever writes a file that another process watches
//!   says so, and is known by the kernel's word.
//! - [`disk_bar`]: whether a whole disk is in the way, because it is full or mounted read-only.
//! - [`is_process_alive`]: whether whoever holds something is still there to give it back.
//!
//! This crate knows nothing of what is in a file, and of records in databases.

#[cfg_attr(not(target_os = "linux"), path = "unannounced.rs")]
mod announced;
mod diff;
mod disk;
mod draft;
mod facts;
mod folder;
mod held;
mod leftovers;
mod lock;
mod plain;
mod process;
mod rooted;
mod version;

pub use announced::{AnnouncedWrite, MayWrite, WriteWitness, announce_elsewhere, announce_write};
pub use diff::{DiffLabels, LineChange, line_changes, unified_diff};
pub use disk::{DiskBar, DiskSpace, disk_bar, disk_space};
pub use draft::{
    DraftPlacement, ExpectedContent, FileDraft, FileMode, WriteError, create_file, write_file,
};
pub use facts::{
    FileFacts, FileIdentity, FileOwner, FileRights, FileStamp, create_link, is_link_loop, may_read,
    may_write, name_of_bytes, restrict_to_owner, set_permission_bits, this_user,
};
pub use folder::{create_private_folder, make_private};
pub use held::{EntryFacts, FolderEntry, FolderEntryKind, HeldFolder};
pub use leftovers::{is_leftover, leftovers_below};
pub use lock::{LockError, LockFile, PathLocks};
pub use plain::{name_of_kind, open_plain, open_without_waiting, read_if_there};
pub use process::{is_process_alive, this_boot};
pub use rooted::RootedFolder;
pub use version::{ReadVersion, read_version, read_version_at};
