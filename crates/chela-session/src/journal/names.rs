//! What files are called in the journal: relative to the home where they lie in it, so that a copied
//! or moved home speaks of its own files, and by their absolute path elsewhere.

use std::path::{Path, PathBuf};

use chela_store::{JournalStore, block_on};

use super::{FileJournal, JournalError};

impl FileJournal {
    /// The home as it really is: the paths of the journal are real ones.
    pub(super) fn home(&self) -> PathBuf {
        let home = self.host.state_dir();
        let not_made_yet = || Some(home.parent()?.canonicalize().ok()?.join(home.file_name()?));
        home.canonicalize()
            .ok()
            .or_else(not_made_yet)
            .unwrap_or(home)
    }

    pub(super) fn name_of(&self, path: &Path) -> Result<String, JournalError> {
        let home = self.home();
        let name = path.strip_prefix(&home).unwrap_or(path);
        name.to_str()
            .map(str::to_owned)
            .ok_or_else(|| JournalError::Name {
                path: path.to_owned(),
            })
    }

    /// The opposite of [`Self::name_of`]: an absolute name stays what it is.
    pub(super) fn path_of(&self, name: impl AsRef<Path>) -> PathBuf {
        self.home().join(name)
    }

    /// Whether a change was made where another home is, or was: this journal came with a copy.
    pub(super) fn is_elsewhere(&self, name: &Path, home: Option<&str>) -> bool {
        match home {
            _ if name.is_relative() => false,
            Some(home) => self.home() != Path::new(home),
            // Older entries do not say where they were made.
            None => !self
                .workspace
                .as_ref()
                .is_some_and(|own| name.starts_with(own)),
        }
    }

    /// Gives what an older version noted in this home the names it would have today.
    pub(super) fn adopt_names(&self, journal: &dyn JournalStore) -> Result<(), JournalError> {
        match self.home().to_str() {
            Some(home) => Ok(block_on(journal.adopt_names(home))?),
            None => Ok(()),
        }
    }
}
