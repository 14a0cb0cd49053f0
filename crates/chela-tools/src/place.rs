//! Where file tools may go.
//!
//! A path from a model is never handed to the system as it is. [`Places::locate`] walks it one
//! name at a time, each opened relative to the folder before it and never through a link: links
//! are read and walked like the rest of the path. So what was checked is what is opened, however
//! the tree is changed meanwhile, and the result, a [`Spot`], is a folder that is held open and
//! the name of one entry in it.
//!
//! The walk is done here and not by `openat2`, so that it is the same on every system and sees
//! every folder on the way: the folder with the config and the sessions stays closed even when
//! the workspace is a parent of it.

mod error;
mod spot;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::Trust;

pub use error::PlaceError;
pub use spot::{Entry, EntryKind, Spot};
pub(crate) use spot::{list, open_file, open_folder};
pub(crate) use walk::{Closed, Fence};

/// What may be done in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    Read,
    Write,
}

/// How far file tools reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The workspace and the folders granted.
    Granted,
    /// The whole file system, without what is protected. (`tools.fs.workspaceOnly: false`)
    Everything,
}

/// How far the text of a file is trusted, by its real path.
pub type TrustOf = Arc<dyn Fn(&Path) -> Trust + Send + Sync>;

/// A folder that file tools may enter.
#[derive(Clone)]
pub struct Root {
    pub path: PathBuf,
    pub access: Access,
    pub trust: TrustOf,
}

impl Root {
    pub fn new(path: impl Into<PathBuf>, access: Access, trust: Trust) -> Self {
        Self {
            path: path.into(),
            access,
            trust: Arc::new(move |_| trust),
        }
    }
}

impl std::fmt::Debug for Root {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Root")
            .field("path", &self.path)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// Everything that decides where file tools may go.
#[derive(Debug, Clone)]
pub struct Places {
    /// Relative paths start here.
    workspace: Root,
    /// Other folders: granted ones, skills, the session's spool.
    granted: Vec<Root>,
    reach: Reach,
    /// Never entered, unless a root lies inside.
    protected: Vec<PathBuf>,
    user_home: PathBuf,
    missing: walk::Missing,
}

/// What [`Places`] are made of.
#[derive(Debug, Clone)]
pub struct PlacesSettings {
    pub workspace: Root,
    pub granted: Vec<Root>,
    pub reach: Reach,
    /// Folders and files that stay closed: the state folder, the config file.
    pub protected: Vec<PathBuf>,
    /// For `~`.
    pub user_home: PathBuf,
}

impl Places {
    pub fn new(settings: PlacesSettings) -> Self {
        Self {
            workspace: settings.workspace,
            granted: settings.granted,
            reach: settings.reach,
            protected: settings.protected,
            user_home: settings.user_home,
            missing: walk::Missing::IsMade,
        }
    }

    /// The same places for looking ahead: [`Places::locate_new`] makes no folder, and what it
    /// finds in one that is missing cannot be written.
    #[must_use]
    pub fn imagined(&self) -> Self {
        Self {
            missing: walk::Missing::IsImagined,
            ..self.clone()
        }
    }

    /// The workspace folder, as configured.
    pub fn workspace(&self) -> &Path {
        &self.workspace.path
    }

    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// The same places without the rest of the file system.
    #[must_use]
    pub fn granted_only(&self) -> Self {
        Self {
            reach: Reach::Granted,
            ..self.clone()
        }
    }

    /// Finds what a path names. With [`Access::Write`] missing folders on the way are not made
    /// yet: see [`Places::locate_new`].
    pub fn locate(&self, path: &str, access: Access) -> Result<Spot, PlaceError> {
        walk::walk(self, path, access, walk::Missing::Fails)
    }

    /// The same for a file about to be written: missing folders on the way are made.
    pub fn locate_new(&self, path: &str) -> Result<Spot, PlaceError> {
        walk::walk(self, path, Access::Write, self.missing)
    }

    /// All roots, the workspace first.
    fn roots(&self) -> impl Iterator<Item = &Root> {
        std::iter::once(&self.workspace).chain(&self.granted)
    }

    fn root(&self, index: usize) -> Option<&Root> {
        self.roots().nth(index)
    }
}

#[cfg(test)]
mod race;
#[cfg(test)]
mod tests;
