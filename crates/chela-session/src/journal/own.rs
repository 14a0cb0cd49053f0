//! Which versions of files somebody answers for.
//!
//! A file is the agent's own when a turn that had read nothing foreign wrote this very version, a
//! command did that could reach nothing foreign, or the owner said yes to it. Whatever else lies in
//! reach is foreign: nothing has to be noticed for that.

use std::path::{Path, PathBuf};

use chela_core::ContentHash;
use chela_files::{FileStamp, ReadVersion};
use chela_store::OwnVersion;

use super::foreign::read_to_compare;
use super::{FileJournal, JournalError};

/// Who answers for files, and how that came about.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredBy<'a> {
    pub writer: FileWriter,
    pub how: &'a str,
    /// Empty where there was none.
    pub turn: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileWriter {
    Owner,
    Agent,
}

/// A file as it was looked at.
#[derive(Debug, Clone)]
pub struct LookedAtFile {
    pub path: PathBuf,
    pub stamp: FileStamp,
    /// `None` where it was not read.
    pub hash: Option<ContentHash>,
}

impl FileWriter {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Agent => "agent",
        }
    }
}

impl FileJournal {
    /// Who answers for a file as it is now; `None` when nobody does. A folder is answered for when
    /// something in it is, or ever was: whoever wrote there knew its name.
    pub fn author_of(&self, path: &Path) -> Result<Option<OwnVersion>, JournalError> {
        let (Ok(name), Ok(facts)) = (self.name_of(path), std::fs::symlink_metadata(path)) else {
            return Ok(None);
        };
        if facts.is_dir() {
            let below = format!("{name}/");
            let known = self.look(|journal| journal.own_below(&below))?;
            let below = known.and_then(|known| known.into_iter().next());
            let itself = self.look(|journal| journal.own_versions(&name))?;
            let itself = itself.and_then(|versions| versions.into_iter().next());
            return Ok(itself.or(below.map(|(_, version)| version)));
        }
        let versions = self
            .look(|journal| journal.own_versions(&name))?
            .unwrap_or_default();
        if versions.is_empty() {
            return Ok(None);
        }
        let stamp = FileStamp::of(&facts).to_string();
        if let Some(known) = versions.iter().find(|version| version.stamp == stamp) {
            return Ok(Some(known.clone()));
        }
        if !facts.is_file() || facts.len() > chela_tools::MOST_FILE_BYTES {
            return Ok(None);
        }
        let Some(content) = read_to_compare(path) else {
            return Ok(None);
        };
        let hash = *ContentHash::of(content).as_bytes();
        Ok(versions
            .into_iter()
            .find(|version| version.hash == Some(hash)))
    }

    /// Everything below a folder that somebody answers for, by where it lies.
    pub fn own_below(&self, folder: &Path) -> Result<Vec<(PathBuf, OwnVersion)>, JournalError> {
        let below = match self.name_of(folder)? {
            name if name.is_empty() => name,
            name => format!("{name}/"),
        };
        let found = self
            .look(|journal| journal.own_below(&below))?
            .unwrap_or_default();
        let home = self.home();
        Ok(found
            .into_iter()
            .map(|(name, version)| (home.join(name), version))
            .collect())
    }

    /// Who answers for the version of a file that was read, whatever lies there by now.
    pub fn author_of_version(
        &self,
        path: &Path,
        read: &ReadVersion,
    ) -> Result<Option<OwnVersion>, JournalError> {
        let Ok(name) = self.name_of(path) else {
            return Ok(None);
        };
        let versions = self
            .look(|journal| journal.own_versions(&name))?
            .unwrap_or_default();
        let stamp = read
            .facts
            .as_ref()
            .map(|facts| FileStamp::of(facts).to_string());
        let hash = read.hash.map(|hash| *hash.as_bytes());
        let is_it = |version: &OwnVersion| {
            stamp.as_ref() == Some(&version.stamp) || hash.is_some() && version.hash == hash
        };
        Ok(versions.into_iter().find(is_it))
    }

    /// Somebody answers for files as they were looked at.
    pub fn note_own(
        &self,
        files: &[LookedAtFile],
        by: &AnsweredBy<'_>,
    ) -> Result<(), JournalError> {
        let at = self.host.unix_millis();
        let versions = files
            .iter()
            .map(|file| {
                let version = OwnVersion {
                    hash: file.hash.map(|hash| *hash.as_bytes()),
                    stamp: file.stamp.to_string(),
                    writer: by.writer.as_str().to_owned(),
                    how: by.how.to_owned(),
                    turn: by.turn.to_owned(),
                    at,
                };
                Ok((self.name_of(&file.path)?, version))
            })
            .collect::<Result<Vec<_>, JournalError>>()?;
        match versions.is_empty() {
            true => Ok(()),
            false => self.write(|journal| journal.note_own(versions)),
        }
    }

    /// Somebody answers for files as they are now; those that are not there are left out.
    pub fn note_own_files(
        &self,
        paths: impl IntoIterator<Item = PathBuf>,
        by: &AnsweredBy<'_>,
    ) -> Result<(), JournalError> {
        let looked = paths.into_iter().filter_map(|path| {
            let facts = path.symlink_metadata().ok()?;
            let hash = match facts.is_file() && facts.len() <= chela_tools::MOST_FILE_BYTES {
                true => read_to_compare(&path).map(ContentHash::of),
                false => None,
            };
            Some(LookedAtFile {
                stamp: FileStamp::of(&facts),
                hash,
                path,
            })
        });
        self.note_own(&looked.collect::<Vec<_>>(), by)
    }

    /// Versions that were known by what they hold are known by their stamps, too.
    pub fn note_stamps(&self, files: Vec<(LookedAtFile, OwnVersion)>) -> Result<(), JournalError> {
        let versions = files
            .into_iter()
            .map(|(file, version)| {
                let stamp = file.stamp.to_string();
                Ok((self.name_of(&file.path)?, OwnVersion { stamp, ..version }))
            })
            .collect::<Result<Vec<_>, JournalError>>()?;
        match versions.is_empty() {
            true => Ok(()),
            false => self.write(|journal| journal.note_own(versions)),
        }
    }

    /// Nobody answers any more for a file, or for what lies in a folder.
    pub fn disown(&self, path: &Path) -> Result<(), JournalError> {
        let name = self.name_of(path)?;
        let name = match path.is_dir() {
            true => format!("{name}/"),
            false => name,
        };
        match self.existing()? {
            Some(_) => self.write(|journal| journal.disown(&name)),
            None => Ok(()),
        }
    }
}
