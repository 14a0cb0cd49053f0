//! What is indexed, by what, how fresh, and what failed.

use std::collections::BTreeMap;

use crate::embed::Embedder;
use crate::memory::Memory;
use crate::source::{self, FileSource};
use crate::store::{IndexAccess, StoreError};

/// A report on an index.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct IndexStatus {
    pub path: String,
    pub writable: bool,
    pub bytes: u64,
    pub files: usize,
    pub chunks: usize,
    pub segments: usize,
    /// Files and chunks by source.
    pub sources: BTreeMap<String, SourceStatus>,
    /// The model searched with, and how many chunks have a vector of it.
    pub model: Option<String>,
    pub embedded: usize,
    /// Models with vectors in the file.
    pub models: BTreeMap<String, usize>,
    pub cached_vectors: usize,
    /// When a file was last written to the index, in seconds since 1970.
    pub indexed_at: Option<i64>,
    /// Files on disk that are new or changed, and files of the index that are gone.
    pub pending: usize,
    pub gone: usize,
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct SourceStatus {
    pub files: usize,
    pub chunks: usize,
}

impl Memory<'_> {
    /// Looks at index and files; changes nothing.
    pub fn status(&self) -> Result<IndexStatus, StoreError> {
        let store = self.store();
        let read = || {
            let connection = store.connection();
            let mut sources: BTreeMap<String, SourceStatus> = BTreeMap::new();
            let mut known: BTreeMap<String, (u64, i64)> = BTreeMap::new();
            let mut indexed_at = None;
            let mut statement = connection
                .prepare("SELECT label, source, chunks, size, modified, indexed_at FROM files")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let source: String = row.get(1)?;
                let entry = sources.entry(source).or_default();
                entry.files += 1;
                entry.chunks += row.get::<_, usize>(2)?;
                let size = u64::try_from(row.get::<_, i64>(3)?).unwrap_or(u64::MAX);
                known.insert(row.get(0)?, (size, row.get(4)?));
                indexed_at = indexed_at.max(Some(row.get::<_, i64>(5)?));
            }
            let models: BTreeMap<String, usize> = connection
                .prepare(
                    "SELECT v.model, sum(f.chunks) FROM vectors v JOIN files f ON f.segment = v.segment \
                     GROUP BY v.model",
                )?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, usize>(0));
            Ok(Read {
                segments: count("SELECT count(*) FROM segments")?,
                cached: count("SELECT count(*) FROM embedding_cache")?,
                bytes: count(
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
                )? as u64,
                sources,
                known,
                indexed_at,
                models,
            })
        };
        let read = read().map_err(|error| store.explain(error))?;
        let mut found = source::find(self.host(), self.places(), self.settings());
        found.add_sessions(self.transcripts(), self.settings());
        let changed = |file: &&source::FoundFile| {
            read.known.get(&file.label) != Some(&(file.size, file.modified))
        };
        let pending = found.files.values().filter(changed).count();
        let gone = read
            .known
            .keys()
            .filter(|label| !found.files.contains_key(*label) && !found.is_away(label))
            .count();
        let model = self.embedder().map(Embedder::id).map(|id| id.to_string());
        let mut problems = found.problems;
        problems.extend(self.notices().iter().map(ToString::to_string));
        Ok(IndexStatus {
            path: self.host().compact(store.path()),
            writable: store.access() == IndexAccess::Write,
            bytes: read.bytes,
            files: read.known.len(),
            chunks: read.sources.values().map(|source| source.chunks).sum(),
            segments: read.segments,
            embedded: model
                .as_ref()
                .and_then(|model| read.models.get(model))
                .copied()
                .unwrap_or(0),
            sources: read.sources,
            model,
            models: read.models,
            cached_vectors: read.cached,
            indexed_at: read.indexed_at,
            pending,
            gone,
            problems,
        })
    }
}

struct Read {
    segments: usize,
    cached: usize,
    bytes: u64,
    sources: BTreeMap<String, SourceStatus>,
    known: BTreeMap<String, (u64, i64)>,
    indexed_at: Option<i64>,
    models: BTreeMap<String, usize>,
}

impl FileSource {
    /// All of them, in the order they are shown.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Extra, Self::Sessions];
}
