//! A folder that is acted on while it is held open.
//!
//! Whoever may change names below a folder can put a link where a folder was, between a look and a
//! deed. Below a [`RootedFolder`] no link is followed and nothing outside is reached, whatever the
//! names lead to by then.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{FileDraft, FileMode, FolderEntry, HeldFolder};

/// A folder, held open, and its path.
#[derive(Debug)]
pub struct RootedFolder {
    path: PathBuf,
    folder: HeldFolder,
}

impl RootedFolder {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            folder: HeldFolder::open(path)?,
            path: path.to_owned(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in one of its folders; the empty path is the folder itself.
    pub fn entries(&self, inner: &Path) -> io::Result<Vec<FolderEntry>> {
        self.folder.folder_beneath(inner)?.entries()
    }

    /// Of a name itself, not of what it leads to.
    pub fn metadata(&self, inner: &Path) -> io::Result<Metadata> {
        self.folder.metadata_beneath(inner)
    }

    /// The bytes of a plain file that has no more than this many.
    pub fn read_plain(&self, inner: &Path, most: u64) -> io::Result<Vec<u8>> {
        self.folder.read_beneath(inner, most)
    }

    /// Gives a file another name in the folder it is in.
    pub fn rename(&self, inner: &Path, name: &OsStr) -> io::Result<()> {
        let (folder, old) = self.folder_of(inner)?;
        folder.rename(old, name)
    }

    /// Puts a file in place as a whole; a link of that name is replaced, not followed.
    pub fn put(&self, inner: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
        let (folder, name) = self.folder_of(inner)?;
        let draft = FileDraft::in_folder(Arc::new(folder), name, bytes, mode);
        draft
            .and_then(FileDraft::put_in_place)
            .map_err(|error| error.source)
    }

    fn folder_of<'p>(&self, inner: &'p Path) -> io::Result<(HeldFolder, &'p OsStr)> {
        let name = inner.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let folder = inner.parent().unwrap_or(Path::new(""));
        Ok((self.folder.folder_beneath(folder)?, name))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::FolderEntryKind;

    #[test]
    fn nothing_outside_is_reached() {
        let home = tempfile::tempdir().unwrap();
        let (root, outside) = (home.path().join("root"), home.path().join("outside"));
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(root.join("a/b/file"), "mine").unwrap();
        std::fs::write(outside.join("file"), "theirs").unwrap();
        symlink(&outside, root.join("a/link")).unwrap();
        symlink(outside.join("file"), root.join("a/leads")).unwrap();
        let rooted = RootedFolder::open(&root).unwrap();
        let read = |inner: &str| rooted.read_plain(Path::new(inner), 100);
        assert_eq!(read("a/b/file").unwrap(), b"mine");
        for inner in ["a/link/file", "a/leads", "../outside/file", "/etc/passwd"] {
            assert!(read(inner).is_err(), "{inner}");
            assert!(
                rooted
                    .put(Path::new(inner), b"evil", FileMode::Private)
                    .is_err()
                    || inner == "a/leads"
            );
        }
        assert!(rooted.entries(Path::new("a/link")).is_err());
        assert!(
            rooted
                .rename(Path::new("a/link/file"), OsStr::new("x"))
                .is_err()
        );
        // A link that is in the way is replaced.
        assert_eq!(std::fs::read(outside.join("file")).unwrap(), b"theirs");
        assert_eq!(read("a/leads").unwrap(), b"evil");
        let mut names: Vec<_> = rooted.entries(Path::new("a")).unwrap();
        names.sort_by(|one, other| one.name.cmp(&other.name));
        let kinds: Vec<_> = names.iter().map(|entry| entry.kind).collect();
        assert_eq!(
            kinds,
            [
                FolderEntryKind::Folder,
                FolderEntryKind::File,
                FolderEntryKind::Link
            ]
        );
    }
}
