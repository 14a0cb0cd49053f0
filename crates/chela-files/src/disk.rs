//! Why nothing can be written to a disk, whoever asks: no owner and no permission is to blame.

use std::path::Path;

/// Below this nothing useful can be written any more.
const AS_GOOD_AS_FULL: u64 = 64 << 10;

/// What keeps a whole disk from being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskBar {
    MountedReadOnly,
    Full,
}

/// Looks at the disk a file is on, or would be. `None`: the disk is not what is in the way.
pub fn disk_bar(path: &Path) -> Option<DiskBar> {
    let there = path.ancestors().find(|above| above.exists())?;
    let disk = disk_space(there)?;
    match disk.is_read_only {
        true => Some(DiskBar::MountedReadOnly),
        false => (disk.free < AS_GOOD_AS_FULL).then_some(DiskBar::Full),
    }
}

/// What is left of a disk, for whoever may not use what is kept for root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    pub free: u64,
    pub is_read_only: bool,
}

/// Of the disk a folder is on. `None` where the system does not say.
#[cfg(unix)]
pub fn disk_space(folder: &Path) -> Option<DiskSpace> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(DiskSpace {
        free: disk.f_bavail.saturating_mul(disk.f_frsize),
        is_read_only: disk.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
    })
}

#[cfg(not(unix))]
pub fn disk_space(_: &Path) -> Option<DiskSpace> {
    None
}
