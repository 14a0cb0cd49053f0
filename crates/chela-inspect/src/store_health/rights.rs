//! Whether whoever runs this may read and write a file.

use std::fs::Metadata;
use std::path::Path;

use chela_files::{DiskBar, FileFacts as _, disk_bar, may_read, may_write, this_user};

/// What an owner needs.
const NEEDED: u32 = 0o600;

/// What is wrong with the rights of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RightsTrouble {
    pub readable: bool,
    /// The rights as they are.
    pub mode: u32,
    /// Whoever runs this may change them.
    pub ours: bool,
}

impl RightsTrouble {
    /// What keeps the file from being used, if anything does. A disk nothing can be written to is
    /// not a matter of rights.
    pub fn of(path: &Path, file: &Metadata) -> Option<Self> {
        let mode = file.permission_bits() & 0o777;
        let me = this_user().map(|me| me.user);
        let ours = me == Some(0) || file.owner().map(|owner| owner.user) == me;
        let readable = may_read(path);
        let writable = may_write(path) || disk_bar(path) == Some(DiskBar::MountedReadOnly);
        // An administrator may do everything; whoever the file belongs to may not.
        let lacking = ours && mode & NEEDED != NEEDED;
        (!readable || !writable || lacking).then_some(Self {
            readable: readable && (!lacking || mode & 0o400 != 0),
            mode,
            ours,
        })
    }

    /// What goes on after the name of the file.
    pub fn words(&self) -> String {
        let what = match self.readable {
            true => "written",
            false => "read",
        };
        let whose = match self.ours {
            true => "",
            false => " and it belongs to another user",
        };
        format!(
            "cannot be {what}: its permissions are {:03o}{whose}",
            self.mode
        )
    }

    pub fn next(&self, shown: &str) -> String {
        match self.ours {
            true => format!("chmod 600 {shown}"),
            false => format!("make it yours: sudo chown \"$USER\" {shown}"),
        }
    }

    /// The rights that would mend it.
    pub fn mended(&self) -> Option<u32> {
        self.ours.then_some(self.mode | NEEDED)
    }
}

/// Whether nobody can write to the disk a file lies on.
pub fn is_on_read_only_disk(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    !may_write(folder) && disk_bar(folder) == Some(DiskBar::MountedReadOnly)
}
