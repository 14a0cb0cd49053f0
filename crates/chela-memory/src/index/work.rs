//! Which files are read again, and reading them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use chela_core::ContentHash;
use chela_core::secret::Redactor;

use super::batch::{self, PreparedFile};
use super::{SyncDepth, SyncOutcome, SyncProgress, SyncReport, SyncRequest, merge};
use crate::source::{self, FileSource, FoundFile, FoundFiles};
use crate::store::{IndexStore, StoreError};
use crate::{forgotten, transcript};

/// A batch ends after this many chunks or bytes of text, so memory stays bounded.
const BATCH_CHUNKS: usize = 4096;
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// A file changed so shortly before it was read may have changed again within the same tick.
const RACY_NANOS: i64 = 2_000_000_000;

/// What the index knows of a file.
#[derive(Debug, Clone)]
pub struct IndexedFile {
    pub id: i64,
    pub size: u64,
    pub modified: i64,
    pub hash: Vec<u8>,
    pub cut: String,
    pub indexed_at: i64,
    pub trust: String,
}

pub fn known_files(store: &IndexStore) -> Result<HashMap<String, IndexedFile>, StoreError> {
    let read = || {
        let mut statement = store
            .connection()
            .prepare("SELECT label, id, size, modified, hash, cut, indexed_at, trust FROM files")?;
        let rows = statement.query_map([], |row| {
            Ok((
                row.get(0)?,
                IndexedFile {
                    id: row.get(1)?,
                    size: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(u64::MAX),
                    modified: row.get(3)?,
                    hash: row.get(4)?,
                    cut: row.get(5)?,
                    indexed_at: row.get(6)?,
                    trust: row.get(7)?,
                },
            ))
        })?;
        rows.collect::<rusqlite::Result<_>>()
    };
    read().map_err(|error| store.explain(error))
}

/// Whether a transcript has grown too little to be read again. Deltas are counted in bytes; a
/// message is taken for a thousandth of the byte limit's share.
fn too_little_new(
    file: &FoundFile,
    known: Option<&IndexedFile>,
    request: &SyncRequest<'_>,
) -> bool {
    let Some(known) = known.filter(|_| file.source == FileSource::Sessions) else {
        return false;
    };
    let sync = &request.settings.sync;
    if file.page.is_some() {
        // A page is measured in messages. What is new is taken once there is enough of it.
        let new = file.size.saturating_sub(known.size);
        return request.depth == SyncDepth::Quick && new > 0 && new < sync.session_delta_messages;
    }
    let per_message = 2_000;
    let enough = sync
        .session_delta_bytes
        .min(sync.session_delta_messages.saturating_mul(per_message));
    request.depth == SyncDepth::Quick && file.size >= known.size && file.size - known.size < enough
}

/// What a sync has to do.
pub struct SyncWork<'a> {
    todo: Vec<&'a FoundFile>,
    /// Files that are no longer there.
    pub gone: Vec<i64>,
    pub unchanged: usize,
}

impl<'a> SyncWork<'a> {
    pub fn plan(
        found: &'a FoundFiles,
        known: &HashMap<String, IndexedFile>,
        request: &SyncRequest<'_>,
    ) -> Self {
        let cut = request.settings.cut.identity();
        let mut todo = Vec::new();
        let mut unchanged = 0;
        for file in found.files.values() {
            let same = known.get(&file.label).is_some_and(|known| {
                let racy = known.modified.saturating_add(RACY_NANOS)
                    >= known.indexed_at.saturating_mul(1_000_000_000);
                request.depth == SyncDepth::Quick
                    && !racy
                    && known.size == file.size
                    && known.modified == file.modified
                    && known.trust == file.trust.as_str()
                    && (known.cut == cut || file.source == FileSource::Sessions)
            }) || too_little_new(file, known.get(&file.label), request);
            if same {
                unchanged += 1;
            } else {
                todo.push(file);
            }
        }
        let gone = known
            .iter()
            .filter(|(label, _)| !found.files.contains_key(*label) && !found.is_away(label))
            .map(|(_, known)| known.id)
            .collect();
        Self {
            todo,
            gone,
            unchanged,
        }
    }

    pub fn run(
        &mut self,
        store: &mut IndexStore,
        request: &SyncRequest<'_>,
        known: &HashMap<String, IndexedFile>,
        progress: &mut dyn FnMut(SyncProgress) -> ControlFlow<()>,
        report: &mut SyncReport,
    ) -> Result<(), StoreError> {
        let now = i64::try_from(request.host.unix_time()).unwrap_or(0);
        let redactor = Redactor::default();
        let mut state = SyncProgress {
            files_total: self.todo.len(),
            bytes_total: self.todo.iter().map(|file| file.size).sum(),
            ..SyncProgress::default()
        };
        let forgotten = forgotten::list(store.path()).unwrap_or_else(|error| {
            // What must not come back stays out: conversations are left as they are.
            self.todo.retain(|file| file.source != FileSource::Sessions);
            let list = forgotten::list_file(store.path());
            report.problems.push(format!(
                "{} cannot be read: {error}; conversations are not brought up to date",
                list.display()
            ));
            HashSet::new()
        });
        let mut batch: Vec<PreparedFile<'_>> = Vec::new();
        let (mut chunks, mut bytes, mut batches) = (0, 0, 0);
        for file in &self.todo {
            if progress(state).is_break() {
                report.outcome = SyncOutcome::Stopped;
                break;
            }
            state.files_done += 1;
            state.bytes_done += file.size;
            let (content, version) = match source::content(file, request.transcripts) {
                Ok(read) => read,
                Err(problem) => {
                    // Gone between listing and reading, or not ours to read.
                    report
                        .problems
                        .push(format!("{} cannot be read: {problem}", file.label));
                    continue;
                }
            };
            let ceiling = &request.places.ceiling;
            let is_doubted = |version| ceiling.of_read(&file.path, version) < file.trust;
            if version.as_ref().is_some_and(is_doubted) {
                // Written again after it was listed: the next sync knows what to think of it.
                continue;
            }
            let hash = ContentHash::of(&content);
            let known = known.get(&file.label);
            let cut = request.settings.cut.identity();
            let same = known.is_some_and(|known| known.hash == hash.as_bytes() && known.cut == cut);
            if same && request.depth != SyncDepth::Rebuild {
                batch.push(PreparedFile::Seen { file, now });
                report.unchanged += 1;
                continue;
            }
            let text = String::from_utf8_lossy(&content);
            let mut units = match file.source {
                FileSource::Sessions => {
                    transcript::cut(&text, file.page.as_ref(), &request.places.zone)
                }
                _ => request.settings.cut.markdown(&file.label, &text),
            };
            if !forgotten.is_empty() {
                units.retain(|unit| !forgotten.contains(&ContentHash::of(&unit.text)));
            }
            for unit in &mut units {
                // Neither the index nor whoever makes vectors of it needs a key someone noted.
                if let Cow::Owned(clean) = redactor.redact(&unit.text) {
                    unit.text = clean;
                }
            }
            match known {
                Some(_) => report.changed += 1,
                None => report.added += 1,
            }
            chunks += units.len();
            bytes += content.len();
            state.chunks += units.len();
            report.chunks += units.len();
            report.bytes += content.len() as u64;
            batch.push(PreparedFile::Content {
                file,
                hash,
                cut,
                units,
                audience: source::audience_of(file, &text),
                now,
            });
            if chunks >= BATCH_CHUNKS || bytes >= BATCH_BYTES {
                batch::write(store, request.embedder, &batch)?;
                batch.clear();
                (chunks, bytes) = (0, 0);
                batches += 1;
                if batches % 8 == 0 {
                    merge::tidy(store)?;
                }
            }
        }
        batch::write(store, request.embedder, &batch)?;
        // There is nothing left to stop.
        let _ = progress(state);
        Ok(())
    }
}
