//! Where file tools may go.
//!
//! A path from a model is never handed to the system as it is. [`FilePlaces::locate`] walks it one
//! name at a time, each opened relative to the folder before it and never through a link: links
//! are read and walked like the rest of the path. So what was checked is what is opened, however
//! the tree is changed meanwhile, and the result, a [`OpenPlace`], is a folder that is held open and
//! the name of one entry in it.
//!
//! The walk is done here and not by `openat2`, so that it is the same on every system and sees
//! every folder on the way: the folder with the config and the sessions stays closed even when
//! the workspace is a parent of it.

mod error;
mod spot;
mod start_folder;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::Trust;
use chela_files::ReadVersion;

pub use error::PlaceError;
pub(crate) use spot::list;
pub use spot::{EntryKind, OpenPlace, PlaceEntry};
pub(crate) use start_folder::start_of;
pub(crate) use walk::{ClosedPart, ClosedPlaces};

/// What may be done in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceAccess {
    Read,
    Write,
}

/// How far file tools reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileReach {
    /// The workspace and the folders granted.
    Granted,
    /// The whole file system, without what is protected. (`tools.fs.workspaceOnly: false`)
    Everything,
}

/// How far a file is trusted, by its real path: its name, or the version of it that was read.
pub type TrustOf = Arc<dyn Fn(&Path, Option<&ReadVersion>) -> Trust + Send + Sync>;

/// A folder that file tools may enter.
#[derive(Clone)]
pub struct PlaceRoot {
    pub path: PathBuf,
    pub access: PlaceAccess,
    pub trust: TrustOf,
}

impl PlaceRoot {
    pub fn new(path: impl Into<PathBuf>, access: PlaceAccess, trust: Trust) -> Self {
        Self {
            path: path.into(),
            access,
            trust: Arc::new(move |_, _| trust),
        }
    }
}

impl std::fmt::Debug for PlaceRoot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Root")
            .field("path", &self.path)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// Everything that decides where file tools may go.
#[derive(Debug, Clone)]
pub struct FilePlaces {
    /// Relative paths start here where nothing else is said.
    workspace: PlaceRoot,
    /// Other folders: granted ones, skills, the session's spool.
    granted: Vec<PlaceRoot>,
    reach: FileReach,
    /// Never entered, unless a root lies inside.
    protected: Vec<PathBuf>,
    user_home: PathBuf,
    /// The folder the user started the agent in: paths without a folder begin there.
    started_in: Option<PlaceRoot>,
    missing: walk::MissingFolder,
}

/// What [`FilePlaces`] are made of.
#[derive(Debug, Clone)]
pub struct PlacesSettings {
    pub workspace: PlaceRoot,
    pub granted: Vec<PlaceRoot>,
    pub reach: FileReach,
    /// Folders and files that stay closed: the state folder, the config file.
    pub protected: Vec<PathBuf>,
    /// For `~`.
    pub user_home: PathBuf,
    /// One of the granted folders: relative paths begin there, but for the agent's own files.
    pub started_in: Option<PathBuf>,
}

impl FilePlaces {
    pub fn new(settings: PlacesSettings) -> Self {
        let started_in = settings.started_in.and_then(|folder| {
            let mut granted = settings.granted.iter();
            granted.find(|root| root.path == folder).cloned()
        });
        Self {
            started_in,
            workspace: settings.workspace,
            granted: settings.granted,
            reach: settings.reach,
            protected: settings.protected,
            user_home: settings.user_home,
            missing: walk::MissingFolder::IsMade,
        }
    }

    /// The same places for looking ahead: [`FilePlaces::locate_new`] makes no folder, and what it
    /// finds in one that is missing cannot be written.
    #[must_use]
    pub fn imagined(&self) -> Self {
        Self {
            missing: walk::MissingFolder::IsImagined,
            ..self.clone()
        }
    }

    /// The workspace folder, as configured.
    pub fn workspace(&self) -> &Path {
        &self.workspace.path
    }

    pub fn reach(&self) -> FileReach {
        self.reach
    }

    /// The same places without the rest of the file system.
    #[must_use]
    pub fn granted_only(&self) -> Self {
        Self {
            reach: FileReach::Granted,
            ..self.clone()
        }
    }

    /// Finds what a path names. With [`PlaceAccess::Write`] missing folders on the way are not made
    /// yet: see [`FilePlaces::locate_new`].
    pub fn locate(&self, path: &str, access: PlaceAccess) -> Result<OpenPlace, PlaceError> {
        walk::walk(self, path, access, walk::MissingFolder::Fails)
    }

    /// The same for a file about to be written: missing folders on the way are made.
    pub fn locate_new(&self, path: &str) -> Result<OpenPlace, PlaceError> {
        walk::walk(self, path, PlaceAccess::Write, self.missing)
    }

    /// All roots, the workspace first.
    fn roots(&self) -> impl Iterator<Item = &PlaceRoot> {
        std::iter::once(&self.workspace).chain(&self.granted)
    }

    fn root(&self, index: usize) -> Option<&PlaceRoot> {
        self.roots().nth(index)
    }
}

#[cfg(test)]
mod race;
#[cfg(test)]
mod tests;
