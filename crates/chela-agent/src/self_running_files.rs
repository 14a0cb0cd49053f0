//! The files of a workspace that programs run by themselves, before and after a command.
//!
//! A file tool names what it writes and is asked about beforehand. A command writes what it likes,
//! so the workspace is looked through around it: whatever way leads to such a file, through folders
//! nobody keeps own files in, links, or a repository that was not there before.

mod walk;

use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use chela_core::ok_or_warn;
use chela_guard::RunsWhen;
use chela_session::journal::FileJournal;

/// Larger files are not kept to be put back.
const MOST_BYTES: u64 = 256 * 1024;
/// The end of the name of a file that was set aside.
const HELD: &str = "held";

/// The files of a workspace that programs run by themselves, as they were.
#[derive(Debug, Default)]
pub(crate) struct SelfRunningFiles {
    /// Where they were looked for.
    folders: Vec<PathBuf>,
    files: BTreeMap<PathBuf, KnownFile>,
    /// There are more than were looked at.
    pub is_cut: bool,
}

#[derive(Debug)]
struct KnownFile {
    when: RunsWhen,
    /// Of itself, and of what it leads to.
    stamp: (FileStamp, Option<FileStamp>),
    /// What it held, where it might have to be put back.
    text: Option<Vec<u8>>,
    /// It is a config of git that says nothing but what a plain clone says.
    is_harmless: bool,
    /// The link that makes it one of these.
    via: Option<PathBuf>,
}

/// Changes with every write: size, inode, and the time that cannot be set back.
type FileStamp = (u64, u64, i64, i64);

/// A file that was written while a command ran.
#[derive(Debug)]
pub(crate) struct WrittenFile {
    pub path: PathBuf,
    pub when: RunsWhen,
    /// What it held before.
    pub before: Option<Vec<u8>>,
}

impl SelfRunningFiles {
    pub(crate) fn look(folders: Vec<PathBuf>) -> Self {
        let mut seen = Self::default();
        for folder in &folders {
            let (files, is_cut) = walk::look(folder);
            seen.files.extend(files);
            seen.is_cut |= is_cut;
        }
        seen.folders = folders;
        seen
    }

    /// What was written since, and how everything is now.
    pub(crate) fn written(mut self) -> (Vec<WrittenFile>, Self) {
        let now = Self::look(std::mem::take(&mut self.folders));
        let mut written = Vec::new();
        let mut vias = Vec::new();
        for (path, file) in &now.files {
            let before = self.files.remove(path);
            let is_same = before.as_ref().is_some_and(|was| was.stamp == file.stamp);
            if !is_same && !file.is_harmless {
                vias.push(file.via.as_ref());
                written.push(WrittenFile {
                    path: path.clone(),
                    when: file.when,
                    before: before.and_then(|before| before.text),
                });
            }
        }
        // Behind a new link is what was there before: the link alone makes it run.
        let links: HashSet<PathBuf> = written.iter().map(|file| file.path.clone()).collect();
        let written = written.into_iter().zip(vias);
        let written = written
            .filter(|(_, via)| via.is_none_or(|via| !links.contains(via)))
            .map(|(file, _)| file)
            .collect();
        (written, now)
    }

    /// A file was set aside: it is gone, or as it was before.
    pub(crate) fn look_again(&mut self, path: &Path) {
        if let Some(known) = self.files.remove(path)
            && let Some(now) = KnownFile::read(path, known.when)
        {
            self.files.insert(path.to_owned(), now);
        }
    }
}

/// The names by which links of a workspace lead to a file that is or will be there.
pub(crate) fn other_names(workspace: &Path, file: &Path) -> Vec<PathBuf> {
    walk::other_names(workspace, file)
}

impl KnownFile {
    fn read(path: &Path, when: RunsWhen) -> Option<Self> {
        let found = path.symlink_metadata().ok()?;
        let stamp = |found: &std::fs::Metadata| {
            (found.len(), found.ino(), found.ctime(), found.ctime_nsec())
        };
        let leads_to = match found.is_symlink() {
            true => path.metadata().ok().filter(std::fs::Metadata::is_file),
            false => None,
        };
        let keeps = when == RunsWhen::Opened && found.is_file() && found.len() <= MOST_BYTES;
        Some(Self {
            when,
            stamp: (stamp(&found), leads_to.as_ref().map(stamp)),
            text: keeps.then(|| std::fs::read(path).ok()).flatten(),
            is_harmless: false,
            via: None,
        })
    }
}

impl WrittenFile {
    /// Moves it to a name that nothing runs, and puts back what was there. Gives the name.
    pub(crate) fn set_aside(&self, journal: &FileJournal) -> Option<PathBuf> {
        let held = ok_or_warn!(
            set_aside(&self.path, self.before.as_deref()),
            "a file that programs run stays where a command wrote it",
            path = %self.path.display()
        );
        self.mark(held.as_ref().unwrap_or(&self.path), journal);
        held
    }

    /// It counts as foreign from now on.
    pub(crate) fn mark_foreign(&self, journal: &FileJournal) {
        self.mark(&self.path, journal);
    }

    fn mark(&self, path: &Path, journal: &FileJournal) {
        ok_or_warn!(
            journal.mark_foreign(path),
            "a file a command wrote is not marked as foreign"
        );
    }
}

fn set_aside(path: &Path, before: Option<&[u8]>) -> std::io::Result<PathBuf> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{HELD}"));
    let held = path.with_file_name(name);
    std::fs::rename(path, &held)?;
    if let Some(text) = before {
        std::fs::write(path, text)?;
    }
    Ok(held)
}

#[cfg(test)]
mod tests;
