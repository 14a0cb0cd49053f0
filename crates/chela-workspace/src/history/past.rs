//! Looking back at a core file, and going back to an earlier version of it.

use std::ffi::OsStr;

use chela_core::AgentId;
use chela_files::{DiffLabels, unified_diff};

use super::{
    CommitAuthor, HistoryEntry, HistoryError, HistorySnapshot, RestoreReport, WorkspaceHistory,
    core_path,
};
use crate::disk::{DiskError, replace_file};
use crate::git::{CommitId, GitCall};
use crate::read::{PathLook, look};
use crate::report::FileStatus;

const FIELD: char = '\u{1f}';
const RECORD: char = '\u{1e}';

impl WorkspaceHistory {
    /// The versions of a core file, newest first, at most `most` of them.
    pub fn entries(&self, file: &str, most: usize) -> Result<Vec<HistoryEntry>, HistoryError> {
        let path = core_path(file)?;
        if self.head()?.is_none() {
            return Ok(Vec::new());
        }
        let count = format!("--max-count={most}");
        let format = "--format=tformat:%x1e%H%x1f%ct%x1f%an%x1f%s%x1f%(trailers:key=Chela-By,valueonly,separator=%x2C)%x1f";
        let args = [
            "log",
            "-z",
            "--numstat",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--text",
            &count,
            format,
            "--",
            &path,
        ];
        let output = self.text(&args)?;
        Ok(output.split(RECORD).filter_map(entry).collect())
    }

    /// What changed in a core file from one version to another, as a unified diff; empty when
    /// nothing did. Without `from`, the last version committed; without `to`, the file on disk.
    pub fn diff(
        &self,
        file: &str,
        from: Option<&CommitId>,
        to: Option<&CommitId>,
    ) -> Result<String, HistoryError> {
        let path = core_path(file)?;
        let old = match from {
            Some(id) => Version {
                name: id.short().to_owned(),
                blob: self.blob(&path, id)?,
            },
            None => Version {
                name: "last commit".to_owned(),
                blob: match self.head()? {
                    Some(head) => self.blob(&path, &head)?,
                    None => None,
                },
            },
        };
        let before = self.text_of(&old)?;
        let (name, after) = match to {
            Some(id) => {
                let new = Version {
                    name: id.short().to_owned(),
                    blob: self.blob(&path, id)?,
                };
                let text = self.text_of(&new)?;
                (new.name, text)
            }
            None => ("on disk".to_owned(), self.text_on_disk(&path)?),
        };
        if before == after {
            return Ok(String::new());
        }
        let labels = DiffLabels {
            old: &format!("{path} ({})", old.name),
            new: &format!("{path} ({name})"),
        };
        Ok(unified_diff(labels, &before, &after, 3))
    }

    /// Puts an earlier version of a core file back. The present one is committed first, so that
    /// this too can be undone.
    pub fn restore(&self, file: &str, id: &CommitId) -> Result<RestoreReport, HistoryError> {
        let path = core_path(file)?;
        let restored = self.full_id(&path, id)?;
        let Some(blob) = self.blob(&path, &restored)? else {
            return Err(HistoryError::NoVersion {
                file: path,
                id: id.to_string(),
            });
        };
        let target = self.replaceable(&path)?;
        let saved = self.snapshot(
            &CommitAuthor::Runtime,
            &format!("Keep {path} before restoring it"),
        )?;
        if let HistorySnapshot::Paused(pause) = saved {
            return Err(HistoryError::CannotSave { file: path, pause });
        }
        let before = match self.head()? {
            Some(head) if self.blob(&path, &head)?.is_some() => Some(head),
            _ => None,
        };
        let args = ["cat-file", "blob", &blob].map(OsStr::new).to_vec();
        let bytes = self.call(GitCall {
            args,
            ..GitCall::default()
        })?;
        replace_file(&target, &bytes)?;
        let why = format!("Restore {path} as of {}", restored.short());
        let commit = match self.snapshot(&CommitAuthor::Owner, &why)? {
            HistorySnapshot::Committed { id, .. } => Some(id),
            HistorySnapshot::Unchanged | HistorySnapshot::Paused(_) => None,
        };
        Ok(RestoreReport {
            file: path,
            path: target,
            restored,
            before,
            commit,
        })
    }

    /// Where a restored file is written: its own path, or where its link leads in the workspace.
    fn replaceable(&self, path: &str) -> Result<std::path::PathBuf, HistoryError> {
        let path = self.dir.join(path);
        match look(&self.dir, &path) {
            PathLook::Absent => Ok(path),
            PathLook::Found(located) => Ok(located.resolved),
            PathLook::Refused(status) => {
                let what = match status {
                    FileStatus::NotAFile { kind } => kind,
                    FileStatus::OutsideWorkspace { .. } => "a symlink out of the workspace",
                    _ => "not readable",
                };
                Err(HistoryError::NotReplaceable { path, what })
            }
        }
    }

    fn full_id(&self, path: &str, id: &CommitId) -> Result<CommitId, HistoryError> {
        let spec = format!("{id}^{{commit}}");
        let line = self.line_if_any(&[
            "rev-parse",
            "--quiet",
            "--verify",
            "--end-of-options",
            &spec,
        ])?;
        let full = line.as_deref().and_then(CommitId::parse);
        full.ok_or_else(|| HistoryError::NoVersion {
            file: path.to_owned(),
            id: id.to_string(),
        })
    }

    /// The blob of a path in a commit; `None` when it was not there.
    fn blob(&self, path: &str, id: &CommitId) -> Result<Option<String>, HistoryError> {
        let id = self.full_id(path, id)?;
        Ok(self.tree_entries(&id)?.remove(path).map(|(_, blob)| blob))
    }

    /// Read as it lies there: looking stores nothing, so it works where nothing can be written.
    fn text_on_disk(&self, path: &str) -> Result<String, HistoryError> {
        match look(&self.dir, &self.dir.join(path)) {
            PathLook::Found(located) => {
                let bytes = std::fs::read(&located.resolved)
                    .map_err(DiskError::new("read", &located.resolved))?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            PathLook::Absent | PathLook::Refused(_) => Ok(String::new()),
        }
    }

    /// What a version holds; a file that was not there holds nothing.
    fn text_of(&self, version: &Version) -> Result<String, HistoryError> {
        match &version.blob {
            Some(blob) => self.text(&["cat-file", "blob", blob]),
            None => Ok(String::new()),
        }
    }
}

struct Version {
    name: String,
    blob: Option<String>,
}

/// One record of the log: id, time, author, subject, trailer, then lines added and removed.
fn entry(record: &str) -> Option<HistoryEntry> {
    let mut fields = record.splitn(6, FIELD);
    let id = CommitId::parse(fields.next()?)?;
    let when = fields.next()?.parse().ok()?;
    let author = fields.next()?;
    let why = fields.next()?.to_owned();
    let who = who(fields.next()?.trim(), author);
    let mut counts = fields.next()?.trim_matches(['\0', '\n']).split('\t');
    let mut count = || {
        counts
            .next()
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or(0)
    };
    Some(HistoryEntry {
        id,
        when,
        who,
        why,
        added: count(),
        removed: count(),
    })
}

fn who(trailer: &str, author: &str) -> CommitAuthor {
    match trailer {
        "chela" => CommitAuthor::Runtime,
        "owner" => CommitAuthor::Owner,
        _ => match trailer.strip_prefix("agent:").map(AgentId::parse) {
            Some(Ok(id)) => CommitAuthor::Agent(id),
            _ => CommitAuthor::Other(author.to_owned()),
        },
    }
}
