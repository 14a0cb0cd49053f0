//! The file: appended to by several processes, a few generations, never larger than it may be.
//!
//! A line is one write to a file opened for appending, so lines of several processes do not mix.
//! Whoever finds the file full renames it under a lock; the others notice that the name leads to
//! another file and follow. A lock that cannot be had in time makes the file a little larger, and
//! loses nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chela_files::{
    FileFacts as _, LockError, LockFile, create_private_folder, open_plain, restrict_to_owner,
};

/// Files before the present one.
pub const GENERATIONS: usize = 3;
/// Longest wait for the lock.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long a lock that could not be had is let be.
const PAUSE: Duration = Duration::from_secs(5);

/// A log file that is written to.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    most: u64,
    open: Option<File>,
    /// When the lock could not be had.
    busy: Option<Instant>,
}

impl LogFile {
    /// Nothing is opened before the first line.
    pub fn new(path: PathBuf, most: u64) -> Self {
        Self {
            path,
            most,
            open: None,
            busy: None,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one line; `line` is without its end.
    pub fn append(&mut self, line: &str) -> io::Result<()> {
        let mut text = String::with_capacity(line.len() + 1);
        text.push_str(line);
        text.push('\n');
        let size = self.follow_name()?;
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if size > 0 && size.saturating_add(length) > self.most {
            self.rotate(length)?;
        }
        match &mut self.open {
            Some(file) => file.write_all(text.as_bytes()),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    /// Sees to it that the open file is the one the name leads to; gives its size.
    fn follow_name(&mut self) -> io::Result<u64> {
        if let Some(file) = &self.open
            && let Ok(named) = self.path.symlink_metadata()
            && is_same(&file.metadata()?, &named)
        {
            return Ok(named.len());
        }
        let file = open_private(&self.path)?;
        let size = file.metadata()?.len();
        self.open = Some(file);
        Ok(size)
    }

    /// Makes room for a line, unless another process has just done so or is about to.
    fn rotate(&mut self, length: u64) -> io::Result<()> {
        if self.busy.is_some_and(|since| since.elapsed() < PAUSE) {
            return Ok(());
        }
        let _lock = match LockFile::take(&with_end(&self.path, "lock"), PATIENCE) {
            Ok(lock) => lock,
            Err(LockError::Busy { .. }) => {
                self.busy = Some(Instant::now());
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        self.busy = None;
        if self.follow_name()?.saturating_add(length) <= self.most {
            return Ok(());
        }
        for older in (1..GENERATIONS).rev() {
            rename_if_there(
                &generation(&self.path, older),
                &generation(&self.path, older + 1),
            )?;
        }
        rename_if_there(&self.path, &generation(&self.path, 1))?;
        self.follow_name().map(drop)
    }
}

/// The name of an older file: 1 is the one before the present one, 0 the present one.
pub fn generation(path: &Path, older: usize) -> PathBuf {
    match older {
        0 => path.to_owned(),
        older => with_end(path, &older.to_string()),
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    PathBuf::from(name)
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Opens a file for appending that nobody else may read, in a folder nobody else may enter.
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    restrict_to_owner(&mut options);
    match open_plain(path, &mut options) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_private_folder(path)?;
            open_plain(path, &mut options)
        }
        opened => opened,
    }
}

pub(crate) fn make_private_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    create_private_folder(folder)
}

pub(crate) fn is_same(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    one.stamp().identity == other.stamp().identity
}

#[cfg(test)]
mod tests;
