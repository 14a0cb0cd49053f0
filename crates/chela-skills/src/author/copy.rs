//! Copying a skill without what does not belong in one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chela_files::set_permission_bits;

use crate::disk;
use crate::tree::{self, EntryKind, FolderListing, GENERATED};

/// Bounds of what is taken over, against archives that unpack without end.
pub(super) const MAX_FILES: usize = 4_096;
pub(super) const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What was copied, and what was left behind and why.
#[derive(Debug, Default)]
pub(super) struct CopiedFiles {
    pub files: usize,
    pub bytes: u64,
    pub left_behind: Vec<String>,
}

/// Copies plain files and folders. Links, pipes and what tools generate stay behind: a link could
/// lead anywhere, and compiled caches could differ from the source shown.
pub(super) fn copy_tree(from: &Path, to: &Path) -> io::Result<CopiedFiles> {
    let mut copied = CopiedFiles::default();
    folder(from, to, &PathBuf::new(), &mut copied)?;
    Ok(copied)
}

fn folder(from: &Path, to: &Path, relative: &Path, copied: &mut CopiedFiles) -> io::Result<()> {
    disk::create_dir(&to.join(relative))?;
    for entry in FolderListing::read(from.join(relative))?.entries {
        let path = relative.join(&entry.name);
        let generated = GENERATED.contains(&entry.name.as_str()) || entry.name.ends_with(".pyc");
        if generated && entry.name == ".git" {
            continue;
        }
        match entry.kind {
            _ if generated => copied
                .left_behind
                .push(format!("{} (generated)", path.display())),
            EntryKind::Dir => folder(from, to, &path, copied)?,
            EntryKind::File => file(from, to, &path, copied)?,
            EntryKind::Link => copied
                .left_behind
                .push(format!("{} (a link)", path.display())),
            EntryKind::Special => copied
                .left_behind
                .push(format!("{} (not a file)", path.display())),
        }
    }
    Ok(())
}

fn file(from: &Path, to: &Path, path: &Path, copied: &mut CopiedFiles) -> io::Result<()> {
    let content = tree::read_file(&from.join(path), MAX_BYTES.saturating_sub(copied.bytes))?;
    copied.files += 1;
    copied.bytes += content.bytes.len() as u64;
    if copied.files > MAX_FILES {
        return Err(io::Error::other(format!("more than {MAX_FILES} files")));
    }
    let target = to.join(path);
    fs::write(&target, &content.bytes)?;
    let mode = if content.mode & 0o111 == 0 {
        0o644
    } else {
        0o755
    };
    set_permission_bits(&target, mode)
}
