//! Why nothing can be written to a disk, whoever asks: no owner and no permission is to blame.

use std::path::Path;

use rustix::fs::StatVfsMountFlags;

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
    let disk = rustix::fs::statvfs(there).ok()?;
    let room = disk.f_bavail.saturating_mul(disk.f_frsize);
    match disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        true => Some(DiskBar::MountedReadOnly),
        false => (room < AS_GOOD_AS_FULL).then_some(DiskBar::Full),
    }
}
