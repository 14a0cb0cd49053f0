//! An agent's folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::{Clock, Host};

use crate::core_file::CoreFile;
use crate::markdown::heartbeat_body;
use crate::read::{PathLook, look};
use crate::source::ReadFiles;

/// A workspace folder that was found. Keep it between turns: it remembers what it has read.
pub struct Workspace {
    /// As the person knows it.
    dir: PathBuf,
    /// With links resolved; nothing outside is read.
    pub(crate) root: PathBuf,
    pub(crate) sources: ReadFiles,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Why a folder cannot serve as a workspace.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("there is no workspace at {}; `chela init` creates one", .0.display())]
    Absent(PathBuf),
    #[error("{} is not a folder; move it away or set another `workspace`", .0.display())]
    NotAFolder(PathBuf),
    #[error("cannot open the workspace {}: {source}", dir.display())]
    Unreadable {
        dir: PathBuf,
        source: std::io::Error,
    },
}

impl Workspace {
    pub fn open(host: &Host, dir: &Path) -> Result<Self, OpenError> {
        let root = std::fs::canonicalize(dir).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => OpenError::Absent(dir.to_owned()),
            std::io::ErrorKind::NotADirectory => OpenError::NotAFolder(dir.to_owned()),
            _ => OpenError::Unreadable {
                dir: dir.to_owned(),
                source,
            },
        })?;
        if !root.is_dir() {
            return Err(OpenError::NotAFolder(dir.to_owned()));
        }
        Ok(Self {
            dir: host.cwd.join(dir),
            root,
            sources: ReadFiles::default(),
            clock: Arc::clone(&host.clock),
        })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What HEARTBEAT.md says, without front matter and comments; `None` where there is none or it
    /// cannot be read.
    pub fn heartbeat_body(&self) -> Option<String> {
        let path = self.root.join(CoreFile::Heartbeat.name());
        let PathLook::Found(located) = look(&self.root, &path) else {
            return None;
        };
        match self.sources.get(&located, self.clock.now()) {
            Ok(source) => Some(heartbeat_body(&source.text())),
            Err(status) => {
                tracing::warn!(%status, "HEARTBEAT.md is not read");
                None
            }
        }
    }
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}
