//! The config file on disk: changed by one at a time, whole or not at all.
//!
//! An edit takes a lock, reads the file again, makes and checks the new text, keeps the old one
//! as a backup and puts the new one in place by a rename. Whoever reads meanwhile sees the old
//! file or the new one, never half of one.

mod backup;
mod last_good;
mod write;

pub use last_good::LastGood;

use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::Host;
use chela_files::{DraftPlacement, ExpectedContent, LockError, LockFile, announce_write};

use crate::diagnostic::{ConfigDiagnostic, Severity};
use crate::sources::{ReadProblem, read_text};
use crate::text::edit::EditError;

/// How long an edit waits for another one to finish.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// How often an edit starts over because something else than Chela wrote the file meanwhile.
const ATTEMPTS: usize = 5;

/// The config file of one host.
#[derive(Debug, Clone)]
pub struct ConfigStore {
    host: Host,
    lock_wait: Duration,
}

/// What an edit came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditOutcome {
    pub changed: ConfigChanged,
    /// The copy of the text before the edit.
    pub backup: Option<PathBuf>,
    /// The file written; the target, where the config is a symlink.
    pub path: PathBuf,
    /// Warnings about the new text.
    pub diagnostics: Vec<ConfigDiagnostic>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigChanged {
    Yes,
    /// The file already said so; nothing was written.
    No,
}

/// Why the config file stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("{} would not be valid after this change, so it was not written:{}", .path.display(), listed(.diagnostics))]
    Invalid {
        path: PathBuf,
        diagnostics: Vec<ConfigDiagnostic>,
    },
    #[error("{} {words} ({hint})", .path.display())]
    Unreadable {
        path: PathBuf,
        words: String,
        hint: &'static str,
    },
    #[error("{} is write-protected; make it writable with `chmod u+w`, or edit the file it is \
        generated from", .path.display())]
    WriteProtected { path: PathBuf },
    #[error("another process has been editing {} for more than {waited:?}; try again, or find out what holds {}", .path.display(), .lock.display())]
    Busy {
        path: PathBuf,
        lock: PathBuf,
        waited: Duration,
    },
    #[error("{} keeps being changed by something else; close it in other editors and try again", .path.display())]
    KeepsChanging { path: PathBuf },
    #[error("cannot {what} {}: {source}{}", .path.display(), what_to_do(.source))]
    Io {
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
}

fn listed(diagnostics: &[ConfigDiagnostic]) -> String {
    diagnostics
        .iter()
        .map(|diagnostic| format!("\n  {diagnostic}"))
        .collect()
}

fn what_to_do(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as NodeKind;
    match error.kind() {
        NodeKind::PermissionDenied => " (check the owner and the permissions of the folder)",
        NodeKind::ReadOnlyFilesystem => " (the file system is mounted read-only)",
        NodeKind::StorageFull | NodeKind::QuotaExceeded => {
            " (free some space; nothing was changed)"
        }
        NodeKind::ResourceBusy => " (the file is a mount of its own: mount its folder instead)",
        NodeKind::AlreadyExists => " (a file has that name; move it away)",
        NodeKind::NotADirectory => " (something on the way there is not a folder)",
        _ => "",
    }
}

impl ConfigStore {
    pub fn new(host: &Host) -> Self {
        Self {
            host: host.clone(),
            lock_wait: LOCK_WAIT,
        }
    }

    /// The same, with another patience.
    #[must_use]
    pub fn with_lock_wait(mut self, lock_wait: Duration) -> Self {
        self.lock_wait = lock_wait;
        self
    }

    /// The config file as named; it may be a symlink.
    pub fn path(&self) -> PathBuf {
        self.host.config_file()
    }

    /// Changes the config file. `change` makes the new text out of the old one - empty if there
    /// is no file yet - and may be called again if the file changes under it. `validate` looks at
    /// the new text, and any error it reports keeps it from being written.
    pub fn edit(
        &self,
        change: impl Fn(&str) -> Result<String, EditError>,
        validate: impl Fn(&str) -> Vec<ConfigDiagnostic>,
    ) -> Result<EditOutcome, StoreError> {
        let path = write::real_target(&self.path())?;
        write::make_folder_of(&path)?;
        let _lock = self.lock(&path)?;
        for _ in 0..ATTEMPTS {
            let old = current(&path)?;
            let new = change(old.as_deref().unwrap_or_default())?;
            if old.as_deref() == Some(new.as_str()) || (old.is_none() && new.is_empty()) {
                let diagnostics = Vec::new();
                return Ok(EditOutcome {
                    changed: ConfigChanged::No,
                    backup: None,
                    path,
                    diagnostics,
                });
            }
            let (errors, diagnostics): (Vec<_>, Vec<_>) = validate(&new)
                .into_iter()
                .partition(|found| found.severity == Severity::Error);
            if !errors.is_empty() {
                return Err(StoreError::Invalid {
                    path,
                    diagnostics: errors,
                });
            }
            let ready = write::prepare(&path, &new)?;
            if current(&path)? != old {
                continue;
            }
            let backup = old
                .as_ref()
                .map(|old| backup::keep(&path, old))
                .transpose()?;
            let expected = ExpectedContent::of(old.as_deref().map(str::as_bytes));
            let announced = announce_write(&self.host.state_dir(), &self.path());
            if ready.put_if(expected)? == DraftPlacement::Changed {
                continue;
            }
            announced.finish(new.as_bytes());
            return Ok(EditOutcome {
                changed: ConfigChanged::Yes,
                backup,
                path,
                diagnostics,
            });
        }
        Err(StoreError::KeepsChanging { path })
    }

    /// Keeps a text that was refused beside the config file, so that the work in it is not lost.
    pub fn save_rejected(&self, text: &str) -> Result<PathBuf, StoreError> {
        let path = write::real_target(&self.path())?;
        write::make_folder_of(&path)?;
        let time = self.host.unix_time();
        let first = write::with_suffix(&path, &format!(".rejected.{time}"));
        let free = (1..100)
            .map(|number| write::with_suffix(&path, &format!(".rejected.{time}-{number}")))
            .fold(first, |free, next| if free.exists() { next } else { free });
        write::prepare(&free, text)?.put_in_place()?;
        Ok(free)
    }

    /// Waits until no other process edits the file, but not for ever.
    fn lock(&self, path: &Path) -> Result<LockFile, StoreError> {
        let lock = write::with_suffix(path, ".lock");
        LockFile::take(&lock, self.lock_wait).map_err(|error| match error {
            LockError::Busy { waited, .. } => StoreError::Busy {
                path: path.to_owned(),
                lock: lock.clone(),
                waited,
            },
            LockError::Io { path, source } => StoreError::Io {
                what: "lock",
                path,
                source,
            },
        })
    }
}

/// The text of the config file, if there is a file, and if it may be changed.
fn current(path: &Path) -> Result<Option<String>, StoreError> {
    let text = match read_text(path) {
        Ok(text) => text,
        Err(ReadProblem::Missing) => return Ok(None),
        Err(problem) => {
            let (words, hint) = problem.words();
            return Err(StoreError::Unreadable {
                path: path.to_owned(),
                words,
                hint,
            });
        }
    };
    if write::is_write_protected(path) {
        return Err(StoreError::WriteProtected {
            path: path.to_owned(),
        });
    }
    Ok(Some(text))
}
