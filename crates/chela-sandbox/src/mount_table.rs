//! What is mounted where, as the kernel's table says.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What is mounted where, the newest last.
#[derive(Debug)]
pub(crate) struct MountTable {
    pub(crate) rows: Vec<MountRow>,
}

#[derive(Debug)]
pub(crate) struct MountRow {
    pub(crate) id: Vec<u8>,
    pub(crate) parent: Vec<u8>,
    /// The number of the file system.
    device: Vec<u8>,
    /// What of the file system is seen.
    root: PathBuf,
    pub(crate) point: PathBuf,
}

impl MountTable {
    pub(crate) fn read() -> io::Result<Self> {
        let table = std::fs::read("/proc/self/mountinfo")?;
        let rows = table.split(|byte| *byte == b'\n').filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ');
            Some(MountRow {
                id: fields.next()?.to_owned(),
                parent: fields.next()?.to_owned(),
                device: fields.next()?.to_owned(),
                root: plain(fields.next()?),
                point: plain(fields.next()?),
            })
        });
        Ok(Self {
            rows: rows.collect(),
        })
    }

    /// Where the same file or folder is seen besides.
    pub(crate) fn other_names(&self, path: &Path) -> Vec<PathBuf> {
        let around = self.rows.iter().filter(|row| path.starts_with(&row.point));
        // The newest of those that are nearest.
        let Some(row) = around.max_by_key(|row| row.point.as_os_str().len()) else {
            return Vec::new();
        };
        let below = path.strip_prefix(&row.point).unwrap_or(Path::new(""));
        let place = joined(&row.root, below);
        let is_same = |other: &Path| {
            let facts = path.metadata().ok().zip(other.metadata().ok());
            facts.is_some_and(|(one, other)| (one.dev(), one.ino()) == (other.dev(), other.ino()))
        };
        let others = self.rows.iter().filter(|other| other.device == row.device);
        let others = others.filter_map(|other| {
            let below = place.strip_prefix(&other.root).ok()?;
            Some(joined(&other.point, below))
        });
        let others: BTreeSet<PathBuf> = others
            .filter(|other| other != path && is_same(other))
            .collect();
        others.into_iter().collect()
    }
}

/// Without a stroke at its end, where nothing is added.
fn joined(path: &Path, below: &Path) -> PathBuf {
    match below.as_os_str().is_empty() {
        true => path.to_owned(),
        false => path.join(below),
    }
}

/// A path without the escapes of the table: `\040` for a blank.
fn plain(field: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .split_at_checked(3)
            .filter(|_| *first == b'\\')
            .and_then(|(digits, behind)| {
                let digits = std::str::from_utf8(digits).ok()?;
                Some((u8::from_str_radix(digits, 8).ok()?, behind))
            });
        match code {
            Some((byte, behind)) => {
                path.push(byte);
                rest = behind;
            }
            None => {
                path.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn escapes_of_the_table_are_read() {
        assert_eq!(
            super::plain(br"/home/my\040files\134x"),
            Path::new(r"/home/my files\x")
        );
        assert_eq!(super::plain(br"/a\9"), Path::new(r"/a\9"));
    }
}
