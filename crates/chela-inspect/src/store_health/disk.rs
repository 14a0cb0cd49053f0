//! Room on the disks that are written to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chela_core::{Host, Severity};
use chela_files::{FileIdentity, disk_space};

use super::{StoreFinding, StoreTrouble};

/// Below this something is worth saying.
const LOW: u64 = 200_000_000;
/// Below this the next message may not be kept.
const FULL: u64 = 10_000_000;

/// How much room there is where a folder lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskRoom {
    pub folder: PathBuf,
    /// Bytes that whoever runs this may still write.
    pub free: u64,
}

/// Looks at the disk of each folder, at each disk once.
pub fn check_disks(host: &Host, folders: &[PathBuf]) -> Vec<StoreFinding> {
    let mut disks = BTreeSet::new();
    folders
        .iter()
        .filter_map(|folder| there(folder))
        .filter(|folder| FileIdentity::at(folder).is_ok_and(|found| disks.insert(found.device)))
        .filter_map(room_of)
        .filter_map(|room| judge_room(host, &room))
        .collect()
}

/// What is to be said about the room on a disk.
pub fn judge_room(host: &Host, room: &DiskRoom) -> Option<StoreFinding> {
    let (trouble, severity) = match room.free {
        ..FULL => (StoreTrouble::DiskFull, Severity::Error),
        FULL..LOW => (StoreTrouble::DiskLow, Severity::Note),
        LOW.. => return None,
    };
    let shown = host.compact(&room.folder);
    let left = match room.free / 1_000_000 {
        0 => format!("{} kB", room.free / 1_000),
        millions => format!("{millions} MB"),
    };
    let what = match trouble {
        StoreTrouble::DiskFull => format!(
            "the disk of {shown} is full ({left} left): nothing more can be saved, and without a \
             record agents can only read"
        ),
        _ => format!("the disk of {shown} has {left} left"),
    };
    Some(StoreFinding {
        trouble,
        severity,
        path: room.folder.clone(),
        message: what,
        next: "free some space on that disk, or move Chela's home to another one (CHELA_HOME)"
            .to_owned(),
        mode: None,
    })
}

fn room_of(folder: PathBuf) -> Option<DiskRoom> {
    let free = disk_space(&folder)?.free;
    Some(DiskRoom { folder, free })
}

/// The folder, or the nearest one above it that is there: where it would be made.
fn there(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .find(|folder| folder.is_dir())
        .map(Path::to_owned)
}
