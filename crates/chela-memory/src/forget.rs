//! Forgetting: out of the files, the index, the cache and the index of transcripts.
//!
//! Notes are changed on disk, with a copy of what they were kept aside; transcripts are records
//! and stay as they are, but what was forgotten is not searched any more, also not after the index
//! was deleted and made again.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

use chela_core::{ContentHash, ok_or_warn};
use chela_files::{DraftPlacement, ExpectedContent, FileDraft, FileMode, PathLocks, write_file};

use crate::chunk::{ChunkCut, NoteChunk};
use crate::forgotten;
use crate::index::SyncDepth;
use crate::memory::Memory;
use crate::source::{self, FileSource};
use crate::store::StoreError;
use crate::transcript;

/// Where the index says that something is being forgotten.
const FORGETTING: &str = "forgetting";

#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    #[error("{} could not be changed; nothing more was forgotten", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgetTarget {
    /// Every entry that contains these words, whatever their case.
    Text(String),
    /// Entries of a file that touch these lines.
    Lines {
        label: String,
        first: u32,
        last: u32,
    },
}

/// An entry that would go.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ForgetCandidate {
    pub label: String,
    pub start_line: u32,
    pub end_line: u32,
    pub text: String,
    /// Taken out of the file, or out of the index alone.
    pub from_file: bool,
}

/// What was forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ForgottenEntries {
    pub entries: Vec<ForgetCandidate>,
    /// Where the files are kept as they were.
    pub copies: Vec<PathBuf>,
}

impl Memory<'_> {
    /// The entries that would go. Changes nothing.
    pub fn find_to_forget(&self, what: &ForgetTarget) -> Vec<ForgetCandidate> {
        let mut found = source::find(self.host(), self.places(), self.settings());
        found.add_sessions(self.transcripts(), self.settings());
        let wanted = match what {
            ForgetTarget::Text(text) => text.trim().to_lowercase(),
            ForgetTarget::Lines { .. } => String::new(),
        };
        let mut doomed = Vec::new();
        for file in found.files.values() {
            if matches!(what, ForgetTarget::Lines { label, .. } if *label != file.label) {
                continue;
            }
            let content = source::content(file, self.transcripts());
            let Some((content, _)) = ok_or_warn!(
                content,
                "what is in a note is not forgotten",
                label = file.label
            ) else {
                continue;
            };
            let content = String::from_utf8_lossy(&content);
            let units: Vec<NoteChunk> = match file.source {
                FileSource::Sessions => {
                    transcript::cut(&content, file.page.as_ref(), &self.places().zone)
                }
                _ => ChunkCut::default().markdown(&file.label, &content),
            };
            let hit = |unit: &NoteChunk| match what {
                ForgetTarget::Text(_) => {
                    !wanted.is_empty() && unit.text.to_lowercase().contains(&wanted)
                }
                ForgetTarget::Lines { first, last, .. } => {
                    unit.start_line <= *last && unit.end_line >= *first
                }
            };
            doomed.extend(units.into_iter().filter(hit).map(|unit| ForgetCandidate {
                label: file.label.clone(),
                start_line: unit.start_line,
                end_line: unit.end_line,
                text: unit.text,
                from_file: file.source != FileSource::Sessions,
            }));
        }
        doomed
    }

    /// Forgets these entries, as [`Memory::find_to_forget`] named them.
    pub fn forget(
        &mut self,
        entries: Vec<ForgetCandidate>,
    ) -> Result<ForgottenEntries, ForgetError> {
        let mut forgotten = ForgottenEntries {
            copies: Vec::new(),
            entries,
        };
        self.store().set_meta(FORGETTING, "1")?;
        let found = source::find(self.host(), self.places(), self.settings());
        let labels: HashSet<String> = forgotten
            .entries
            .iter()
            .filter(|e| e.from_file)
            .map(|e| e.label.clone())
            .collect();
        for label in labels {
            let Some(file) = found.files.get(&label) else {
                continue;
            };
            let fail = |source| ForgetError::Write {
                path: file.path.clone(),
                source,
            };
            // A session that changes the note meanwhile must not lose what it wrote.
            let real = file.path.canonicalize().map_err(fail)?;
            let _held = PathLocks::of(self.host())
                .hold([real.as_path()])
                .map_err(|error| fail(error.into()))?;
            let content = std::fs::read(&file.path).map_err(fail)?;
            let copy = self.keep_copy(&label, &content).map_err(fail)?;
            forgotten.copies.push(copy);
            let text = String::from_utf8_lossy(&content);
            let goes = |number: u32| {
                forgotten.entries.iter().any(|entry| {
                    entry.label == label && (entry.start_line..=entry.end_line).contains(&number)
                })
            };
            let kept: String = (1..)
                .zip(text.split_inclusive('\n'))
                .filter(|(number, _)| !goes(*number))
                .map(|(_, line)| line)
                .collect();
            let placed = FileDraft::beside(&file.path, kept.as_bytes(), FileMode::KeepOrPrivate)
                .and_then(|draft| draft.put_if(ExpectedContent::Bytes(&content)))
                .map_err(|error| fail(error.source))?;
            if placed == DraftPlacement::Changed {
                let why = "it was changed just now; try again";
                return Err(fail(std::io::Error::other(why)));
            }
        }
        let index_only = forgotten.entries.iter().filter(|entry| !entry.from_file);
        let hashes: Vec<ContentHash> = index_only
            .map(|entry| ContentHash::of(&entry.text))
            .collect();
        if !hashes.is_empty() {
            let path = forgotten::list_file(self.store().path());
            forgotten::append(&path, &hashes)
                .map_err(|source| ForgetError::Write { path, source })?;
        }
        self.forget_in_index(&forgotten.entries)?;
        Ok(forgotten)
    }

    fn forget_in_index(&mut self, entries: &[ForgetCandidate]) -> Result<(), ForgetError> {
        let drop_rows = |store: &crate::store::IndexStore| {
            let connection = store.connection();
            for entry in entries {
                // The time of change may be the same; a size that cannot be makes it new.
                connection.execute(
                    "UPDATE files SET size = -1, hash = x'00' WHERE label = ?1",
                    [&entry.label],
                )?;
            }
            connection
                .execute("DELETE FROM embedding_cache", [])
                .map(drop)
        };
        drop_rows(self.store()).map_err(|error| self.store().explain(error))?;
        self.sync(SyncDepth::Verify, &mut |_| ControlFlow::Continue(()))?;
        let compact = |store: &crate::store::IndexStore| {
            let connection = store.connection();
            connection.execute(
                "INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')",
                [],
            )?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        compact(self.store()).map_err(|error| self.store().explain(error))?;
        Ok(self.store().set_meta(FORGETTING, "")?)
    }

    /// Ends what was begun by a process that died: the words may be out of the notes and still in
    /// the index. Says whether there was something to end.
    pub fn finish_forgetting(&mut self) -> Result<bool, ForgetError> {
        match self.store().meta(FORGETTING)? {
            Some(mark) if !mark.is_empty() => self.forget_in_index(&[]).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Keeps a file as it was, beside the index.
    fn keep_copy(&self, label: &str, content: &[u8]) -> std::io::Result<PathBuf> {
        let folder = self.store().path().with_extension("history");
        let name = label.replace(['/', '\\'], "__");
        let path = folder.join(format!("{}-{name}", self.host().unix_time()));
        write_file(&path, content, FileMode::Private)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests;
