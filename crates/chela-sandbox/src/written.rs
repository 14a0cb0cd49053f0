//! Which files a sandboxed command wrote, by its own system calls.
//!
//! The helper notes them while the command runs (`helper/write_watch`), in a file that no command
//! sees; whoever started the command reads it. A kernel that cannot tell leaves the file empty, and
//! then nothing is known.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use chela_core::{lock, ok_or_debug};
use chela_files::{name_of_bytes, restrict_to_owner};

/// Of a folder that is moved so many entries are noted.
pub(crate) const MOST_MOVED: usize = 20_000;

/// Notes of more bytes are not read.
const MOST_NOTES: u64 = 64 << 20;

/// One thing a command is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteNote {
    /// Calls are noted from here on.
    Began,
    /// Nothing that others wrote is left in this.
    Written(PathBuf),
    /// This keeps what it had when it was last changed.
    Changed { path: PathBuf, changed: i128 },
    Moved {
        from: PathBuf,
        changed: i128,
        to: PathBuf,
    },
}

impl WriteNote {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut word = |word: &[u8]| {
            bytes.extend_from_slice(word);
            bytes.push(0);
        };
        match self {
            Self::Began => word(b"B"),
            Self::Written(path) => {
                word(b"W");
                word(path.as_os_str().as_encoded_bytes());
            }
            Self::Changed { path, changed } => {
                word(b"C");
                word(path.as_os_str().as_encoded_bytes());
                word(changed.to_string().as_bytes());
            }
            Self::Moved { from, changed, to } => {
                word(b"M");
                word(from.as_os_str().as_encoded_bytes());
                word(changed.to_string().as_bytes());
                word(to.as_os_str().as_encoded_bytes());
            }
        }
        bytes
    }

    fn read<'b>(words: &mut impl Iterator<Item = &'b [u8]>) -> Option<Self> {
        let time = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<i128>().ok();
        Some(match words.next()? {
            b"B" => Self::Began,
            b"W" => Self::Written(path_of(words.next()?)),
            b"C" => Self::Changed {
                path: path_of(words.next()?),
                changed: time(words.next()?)?,
            },
            b"M" => Self::Moved {
                from: path_of(words.next()?),
                changed: time(words.next()?)?,
                to: path_of(words.next()?),
            },
            _ => return None,
        })
    }
}

fn path_of(word: &[u8]) -> PathBuf {
    name_of_bytes(word.to_vec()).into()
}

/// The notes on one command.
#[derive(Debug)]
pub struct WriteRecord {
    path: PathBuf,
    file: Mutex<File>,
}

impl WriteRecord {
    /// An empty file in a folder that no command sees.
    pub fn create(folder: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        std::fs::create_dir_all(folder)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{}-{number}", std::process::id()));
        // One that a process with the same number left behind.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = File::options();
        options.read(true).append(true).create_new(true);
        let file = restrict_to_owner(&mut options).open(&path)?;
        Ok(Self {
            path,
            file: Mutex::new(file),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The files that hold nothing but what the command wrote, and what was there unchanged since
    /// `before`, in nanoseconds since 1970. Nothing where the calls were not noted.
    pub fn written_since(&self, before: i128) -> HashSet<PathBuf> {
        let notes = self.notes();
        notes.map_or_else(HashSet::new, |bytes| written_of(&bytes, before))
    }

    /// Everything the command made, changed or moved somewhere. `None` where the calls were not
    /// noted to their end.
    pub fn touched(&self) -> Option<HashSet<PathBuf>> {
        touched_by(&self.notes()?)
    }

    fn notes(&self) -> Option<Vec<u8>> {
        let mut file = lock(&self.file);
        let mut bytes = Vec::new();
        let read = file
            .rewind()
            .and_then(|()| (&mut *file).take(MOST_NOTES).read_to_end(&mut bytes));
        ok_or_debug!(read, "what a command wrote cannot be read")?;
        Some(bytes)
    }
}

impl Drop for WriteRecord {
    fn drop(&mut self) {
        ok_or_debug!(
            std::fs::remove_file(&self.path),
            "the notes on a command are left behind"
        );
    }
}

/// The notes in their order. A word that was not written to its end is none.
fn each_note(bytes: &[u8]) -> impl Iterator<Item = WriteNote> {
    let whole = bytes.iter().rposition(|byte| *byte == 0);
    let whole = whole.and_then(|end| bytes.get(..end)).unwrap_or_default();
    let mut words = whole.split(|byte| *byte == 0);
    std::iter::from_fn(move || WriteNote::read(&mut words))
}

fn touched_by(bytes: &[u8]) -> Option<HashSet<PathBuf>> {
    let mut touched = HashSet::new();
    let mut began = false;
    for note in each_note(bytes) {
        match note {
            WriteNote::Began => began = true,
            WriteNote::Written(path) | WriteNote::Changed { path, .. } => {
                touched.insert(path);
            }
            WriteNote::Moved { to, .. } => {
                touched.insert(to);
            }
        }
    }
    (began && (bytes.len() as u64) < MOST_NOTES).then_some(touched)
}

fn written_of(bytes: &[u8], before: i128) -> HashSet<PathBuf> {
    let mut written = HashSet::new();
    for note in each_note(bytes) {
        match note {
            WriteNote::Began => {}
            WriteNote::Written(path) => drop(written.insert(path)),
            WriteNote::Changed { path, changed } => {
                if changed < before {
                    written.insert(path);
                }
            }
            WriteNote::Moved { from, changed, to } => {
                match changed < before || written.contains(&from) {
                    true => drop(written.insert(to)),
                    false => drop(written.remove(&to)),
                }
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(notes: &[WriteNote]) -> Vec<u8> {
        notes.iter().flat_map(WriteNote::to_bytes).collect()
    }

    #[test]
    fn only_what_the_command_wrote_is_its_own() {
        let changed = |path: &str, changed| WriteNote::Changed {
            path: path.into(),
            changed,
        };
        let moved = |from: &str, changed, to: &str| WriteNote::Moved {
            from: from.into(),
            changed,
            to: to.into(),
        };
        let bytes = notes(&[
            WriteNote::Began,
            WriteNote::Written("/w/made.md".into()),
            // There before, and somebody answers for it.
            changed("/w/old.md", 50),
            // Put there by somebody else meanwhile.
            changed("/w/foreign.md", 150),
            // Added to what the command made itself.
            changed("/w/made.md", 160),
            moved("/w/made.md", 160, "/w/final.md"),
            moved("/w/dropped.md", 150, "/w/taken.md"),
            moved("/w/older.md", 60, "/w/newer.md"),
            WriteNote::Written("/w/lost.md".into()),
            moved("/w/dropped.md", 150, "/w/lost.md"),
        ]);
        let mut written: Vec<PathBuf> = written_of(&bytes, 100).into_iter().collect();
        written.sort();
        let expected =
            ["final.md", "made.md", "newer.md", "old.md"].map(|name| Path::new("/w").join(name));
        assert_eq!(written, expected);
        let touched = touched_by(&bytes).unwrap();
        assert!(touched.contains(Path::new("/w/lost.md")), "{touched:?}");
        assert_eq!(touched.len(), 7, "{touched:?}");
        // Half a note is none, and without the first it is not known what is missing.
        let half = &bytes[..4];
        assert!(written_of(half, 100).is_empty());
        assert_eq!(touched_by(&bytes[2..]), None);
    }
}
