//! Which files are read again, and reading them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use chela_core::ContentHash;
use chela_core::secret::Redactor;

use super::batch::{self, Prepared};
use super::{Depth, Progress, SyncOutcome, SyncReport, SyncRequest, merge};
use crate::source::{self, FileSource, Found, FoundFile};
use crate::store::{Store, StoreError};
use crate::{forget, transcript};

/// A batch ends after this many chunks or bytes of text, so memory stays bounded.
const BATCH_CHUNKS: usize = 4096;
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// A file changed so shortly before it was read may have changed again within the same tick.
const RACY_NANOS: i64 = 2_000_000_000;

/// What the index knows of a file.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub id: i64,
    pub size: u64,
    pub modified: i64,
    pub hash: Vec<u8>,
    pub cut: String,
    pub indexed_at: i64,
    pub trust: String,
}

pub fn known_files(store: &Store) -> Result<HashMap<String, Known>, StoreError> {
    let read = || {
        let mut statement = store
            .connection()
            .prepare("SELECT label, id, size, modified, hash, cut, indexed_at, trust FROM files")?;
        let rows = statement.query_map([], |row| {
            Ok((
                row.get(0)?,
                Known {
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

/// What a sync has to do.
pub struct Work<'a> {
    todo: Vec<&'a FoundFile>,
    /// Files that are no longer there.
    pub gone: Vec<i64>,
    pub unchanged: usize,
}

impl<'a> Work<'a> {
    pub fn plan(
        found: &'a Found,
        known: &HashMap<String, Known>,
        request: &SyncRequest<'_>,
    ) -> Self {
        let cut = request.settings.cut.identity();
        let mut todo = Vec::new();
        let mut unchanged = 0;
        for file in found.files.values() {
            let same = known.get(&file.label).is_some_and(|known| {
                let racy = known.modified.saturating_add(RACY_NANOS)
                    >= known.indexed_at.saturating_mul(1_000_000_000);
                request.depth == Depth::Quick
                    && !racy
                    && known.size == file.size
                    && known.modified == file.modified
                    && known.trust == file.trust.as_str()
                    && (known.cut == cut || file.source == FileSource::Sessions)
            }) || transcript::too_little_new(file, known.get(&file.label), request);
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
        store: &mut Store,
        request: &SyncRequest<'_>,
        known: &HashMap<String, Known>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        report: &mut SyncReport,
    ) -> Result<(), StoreError> {
        let now = i64::try_from(request.host.unix_time()).unwrap_or(0);
        let redactor = Redactor::default();
        let mut state = Progress {
            files_total: self.todo.len(),
            bytes_total: self.todo.iter().map(|file| file.size).sum(),
            ..Progress::default()
        };
        let forgotten = forget::list(store.path());
        let mut batch: Vec<Prepared<'_>> = Vec::new();
        let (mut chunks, mut bytes, mut batches) = (0, 0, 0);
        for file in &self.todo {
            if progress(state).is_break() {
                report.outcome = SyncOutcome::Stopped;
                break;
            }
            state.files_done += 1;
            state.bytes_done += file.size;
            let content = match source::content(file, request.transcripts) {
                Ok(content) => content,
                Err(problem) => {
                    // Gone between listing and reading, or not ours to read.
                    report
                        .problems
                        .push(format!("{} cannot be read: {problem}", file.label));
                    continue;
                }
            };
            if file.page.is_none() && request.places.ceiling.of(&file.path) < file.trust {
                // Written again after it was listed: the next sync knows what to think of it.
                continue;
            }
            let hash = ContentHash::of(&content);
            let known = known.get(&file.label);
            let cut = request.settings.cut.identity();
            let same = known.is_some_and(|known| known.hash == hash.as_bytes() && known.cut == cut);
            if same && request.depth != Depth::Rebuild {
                batch.push(Prepared::Seen { file, now });
                report.unchanged += 1;
                continue;
            }
            let text = String::from_utf8_lossy(&content);
            let mut units = match file.source {
                FileSource::Sessions => transcript::cut(&text, file.page.as_ref()),
                _ => request.settings.cut.markdown(&file.label, &text),
            };
            for unit in &mut units {
                // Neither the index nor whoever makes vectors of it needs a key someone noted.
                if let Cow::Owned(clean) = redactor.redact(&unit.text) {
                    unit.text = clean;
                }
            }
            if !forgotten.is_empty() {
                units.retain(|unit| !forgotten.contains(&ContentHash::of(&unit.text)));
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
            batch.push(Prepared::Content {
                file,
                hash,
                cut,
                units,
                audience: source::audience_of(file, &text),
                now,
            });
            if chunks >= BATCH_CHUNKS || bytes >= BATCH_BYTES {
                batch::write(store, request, &batch)?;
                batch.clear();
                (chunks, bytes) = (0, 0);
                batches += 1;
                if batches % 8 == 0 {
                    merge::tidy(store)?;
                }
            }
        }
        batch::write(store, request, &batch)?;
        let _ = progress(state);
        Ok(())
    }
}
