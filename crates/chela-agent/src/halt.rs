//! The kill switch: one file that stops every agent of this home.
//!
//! It is looked at before every effect and every model call, and while one runs. A file works
//! across processes and needs nobody to be reachable.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use chela_core::{Host, ok_or_debug};
use chela_files::{FileMode, LockFile, create_file, write_file};
use serde::{Deserialize, Serialize};

/// How often a running call looks at it.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(200);

/// That everything is stopped, since when and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HaltNotice {
    /// Milliseconds since 1970.
    pub at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("{} cannot be {what}: {error}", path.display())]
pub struct HaltError {
    path: PathBuf,
    what: &'static str,
    error: std::io::Error,
}

impl HaltError {
    /// What to do about it.
    pub fn next_step(&self) -> &'static str {
        match self.error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                "free some space, or stop Chela's processes yourself"
            }
            std::io::ErrorKind::ReadOnlyFilesystem => {
                "the disk cannot be written to: stop Chela's processes yourself"
            }
            _ => "check the permissions of the state folder",
        }
    }
}

impl HaltNotice {
    /// What whoever wants to work is told.
    pub fn in_words(&self) -> String {
        let why = self
            .reason
            .as_ref()
            .map_or(String::new(), |reason| format!(" ({reason})"));
        format!("Every agent is stopped{why}. `chela stop --lift` lets them work again.")
    }

    fn path(host: &Host) -> PathBuf {
        host.state_dir().join("stopped.json")
    }

    /// Whether everything is stopped. A file that cannot be read stops too.
    pub fn is_set(host: &Host) -> bool {
        Self::path(host).exists()
    }

    pub fn look(host: &Host) -> Option<Self> {
        let path = Self::path(host);
        path.exists().then(|| {
            let read = std::fs::read_to_string(&path)
                .and_then(|text| Ok(serde_json::from_str::<Self>(&text)?));
            let read = ok_or_debug!(read, "why everything is stopped cannot be read");
            read.unwrap_or_else(|| Self {
                at: changed_at(&path),
                reason: None,
            })
        })
    }

    /// Stops everything, from now on. Where nothing more can be written an empty file does it: the
    /// reason is lost then.
    pub fn set(host: &Host, reason: Option<String>) -> Result<(), HaltError> {
        let path = Self::path(host);
        let halt = Self {
            at: host.unix_millis(),
            reason,
        };
        let text = serde_json::to_string(&halt).unwrap_or_default();
        let text = text + "\n";
        let Err(error) = write_file(&path, text.as_bytes(), FileMode::Private) else {
            return Ok(());
        };
        let made = create_file(&path, b"", FileMode::Private);
        match ok_or_debug!(made, "the file that stops everything cannot be made").is_some() {
            true => Ok(()),
            false => Err(HaltError {
                path,
                what: "written",
                error: error.source,
            }),
        }
    }

    /// Lets agents work again. Says whether they were stopped.
    pub fn lift(host: &Host) -> Result<bool, HaltError> {
        let path = Self::path(host);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(HaltError {
                path,
                what: "removed",
                error,
            }),
        }
    }
}

/// How many turns run in this home now, in whatever process. Where locks cannot be had, none is seen.
pub fn running_turns(host: &Host) -> usize {
    let spool = host.state_dir().join("state").join("spool");
    let folders = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let lanes = folders(&spool)
        .into_iter()
        .flat_map(|agent| folders(&agent))
        .map(|session| session.join(LANE_FILE))
        .filter(|lane| lane.exists());
    lanes
        .filter(|lane| matches!(LockFile::try_take(lane), Ok(None)))
        .count()
}

/// The file in a session's folder that is locked while a turn runs in it.
pub(crate) const LANE_FILE: &str = ".lane";

/// When a file was last changed, in milliseconds since 1970.
fn changed_at(path: &Path) -> u64 {
    let changed = std::fs::metadata(path).and_then(|file| file.modified());
    ok_or_debug!(changed, "since when everything is stopped is not known")
        .and_then(|changed| changed.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}
