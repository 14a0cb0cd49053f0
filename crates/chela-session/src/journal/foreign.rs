//! Which files hold text from outside.
//!
//! A file that was written in a turn that had read foreign text is foreign, until it is written
//! anew in one that had not, taken back, or vouched for by the owner. Somebody else's edit does
//! not change that: what they left standing is still there. And a copy is known by its content,
//! wherever it lies.

use std::path::{Path, PathBuf};

use chela_core::{ContentHash, ok_or_debug};
use chela_files::ReadVersion;
use chela_store::{ForeignQuery, TextMark};

use super::keep::text_mark;
use super::{FileJournal, JournalError};

/// Texts shorter than this are not known again elsewhere: too many files say `ok`.
pub(super) const SHORTEST: u64 = 16;
/// Larger files are not compared with what was written.
const LARGEST: u64 = chela_tools::MOST_FILE_BYTES;

impl FileJournal {
    /// Whether a file holds text that was written in a turn that had read foreign text.
    pub fn is_foreign(&self, path: &Path) -> Result<bool, JournalError> {
        // No change to a file whose name is no text was ever kept.
        let Ok(name) = self.name_of(path) else {
            return Ok(false);
        };
        if self.knows(ForeignQuery::Path(name))? {
            return Ok(true);
        }
        let size = std::fs::metadata(path).map_or(0, |facts| facts.len());
        if size > LARGEST || !self.knows(ForeignQuery::Size(size))? {
            return Ok(false);
        }
        match read_to_compare(path) {
            Some(content) => self.knows(ForeignQuery::Text(*ContentHash::of(content).as_bytes())),
            None => Ok(false),
        }
    }

    /// Whether the version of a file that was read is foreign, whatever lies there by now.
    pub fn is_foreign_version(
        &self,
        path: &Path,
        read: &ReadVersion,
    ) -> Result<bool, JournalError> {
        let Ok(name) = self.name_of(path) else {
            return Ok(false);
        };
        if self.knows(ForeignQuery::Path(name))? {
            return Ok(true);
        }
        match read.hash {
            Some(hash) => self.knows(ForeignQuery::Text(*hash.as_bytes())),
            None => Ok(false),
        }
    }

    fn knows(&self, what: ForeignQuery) -> Result<bool, JournalError> {
        Ok(self
            .look(|journal| journal.is_foreign(what))?
            .unwrap_or(false))
    }

    /// The files that hold foreign text, by where they lie.
    pub fn foreign_files(&self) -> Result<Vec<PathBuf>, JournalError> {
        let found = self.look(|journal| journal.foreign_files())?;
        let names = found.unwrap_or_default().into_iter();
        Ok(names.map(|name| self.path_of(name)).collect())
    }

    /// Notes that a file the runtime itself wrote holds foreign text.
    pub fn mark_foreign(&self, path: &Path) -> Result<(), JournalError> {
        let text = read_to_compare(path).map(|content| text_mark(&content));
        let known = text.filter(|text| text.size >= SHORTEST);
        let name = self.name_of(path)?;
        self.write(|journal| journal.mark_foreign(&name, known))
    }

    /// The owner has read a file and stands for it is. Says whether it was foreign.
    pub fn vouch(&self, path: &Path) -> Result<bool, JournalError> {
        if !self.is_foreign(path)? {
            return Ok(false);
        }
        let hash = read_to_compare(path).map(ContentHash::of);
        let name = self.name_of(path)?;
        self.write(|journal| journal.vouch(&name, hash.map(|hash| *hash.as_bytes())))?;
        Ok(true)
    }
}

/// What a file holds, where it is small enough to be compared.
pub(super) fn text_on_disk(path: &Path) -> Option<TextMark> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > LARGEST {
        return None;
    }
    read_to_compare(path).map(|content| text_mark(&content))
}

pub(super) fn read_to_compare(path: &Path) -> Option<Vec<u8>> {
    ok_or_debug!(
        std::fs::read(path),
        "a file is not compared with what was written",
        path = %path.display()
    )
}
