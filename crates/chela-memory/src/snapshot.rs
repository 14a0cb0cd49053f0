//! The index as a search sees it: segments held in memory, read again only where they changed.

use std::collections::HashMap;
use std::sync::Arc;

use chela_core::Audience;
use rusqlite::{Connection, OptionalExtension, params};

use crate::language::Language;
use crate::segment::{ChunkFlags, DocFacts, IndexSegment};
use crate::vector::VectorMatrix;

/// Words of a question are looked for in the forms of so many languages.
const MOST_LANGUAGES: usize = 6;
/// From this average of terms on, chunks are pages.
const PAGE_TERMS: u64 = 50;

/// A consistent view of the index.
#[derive(Debug)]
pub struct IndexSnapshot {
    pub generation: i64,
    pub parts: Vec<SnapshotPart>,
    /// Chunks that are current.
    pub live: usize,
    pub live_terms: u64,
    /// Chunks that someone said.
    pub spoken: usize,
    /// The languages of current chunks, those of most chunks first.
    pub languages: Vec<Language>,
    /// Sections with something current in them.
    pub sections: usize,
    /// The model the vectors are of.
    pub model: String,
    /// For whom: what others may not be shown counts as gone.
    pub audience: Audience,
}

/// One segment, its vectors and what of it is current.
#[derive(Debug)]
pub struct SnapshotPart {
    pub id: i64,
    pub segment: Arc<IndexSegment>,
    /// `None` until the model has seen this segment.
    pub matrix: Option<Arc<VectorMatrix>>,
    pub alive: Vec<bool>,
    /// Number of the first chunk and section in arrays over all parts.
    pub base: usize,
    pub section_base: usize,
}

impl IndexSnapshot {
    /// The current view, reusing what `old` has read. Call within a read transaction.
    pub fn load(
        connection: &Connection,
        model: &str,
        audience: Audience,
        old: Option<Self>,
    ) -> rusqlite::Result<Self> {
        let generation = generation(connection)?;
        let mut kept: HashMap<i64, (Arc<IndexSegment>, Option<Arc<VectorMatrix>>)> = HashMap::new();
        if let Some(old) = old {
            if old.generation == generation && old.model == model && old.audience == audience {
                return Ok(old);
            }
            let same = old.model == model;
            for part in old.parts {
                kept.insert(part.id, (part.segment, part.matrix.filter(|_| same)));
            }
        }
        let homes: HashMap<i64, i64> = connection
            .prepare_cached("SELECT id, segment FROM files")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let ids: Vec<i64> = connection
            .prepare_cached("SELECT id FROM segments ORDER BY id")?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let mut this = Self {
            generation,
            parts: Vec::new(),
            live: 0,
            live_terms: 0,
            spoken: 0,
            languages: Vec::new(),
            sections: 0,
            model: model.to_owned(),
            audience,
        };
        let mut base = 0;
        let mut by_language: HashMap<Language, usize> = HashMap::new();
        for id in ids {
            let (segment, matrix) = match kept.remove(&id) {
                Some((segment, Some(matrix))) => (segment, Some(matrix)),
                Some((segment, None)) => {
                    let matrix = load_matrix(connection, id, model, segment.docs.len())?;
                    (segment, matrix)
                }
                None => {
                    let Some(segment) = load_segment(connection, id)? else {
                        continue;
                    };
                    let matrix = load_matrix(connection, id, model, segment.docs.len())?;
                    (Arc::new(segment), matrix)
                }
            };
            let section_base = this.sections;
            let alive = alive(id, &segment, &homes, audience);
            let part = SnapshotPart {
                id,
                segment,
                matrix,
                alive,
                base,
                section_base,
            };
            base += part.segment.docs.len();
            this.sections += part.segment.parent_lengths.len();
            let live = || {
                part.segment
                    .docs
                    .iter()
                    .zip(&part.alive)
                    .filter(|(_, alive)| **alive)
            };
            for (doc, _) in live() {
                this.live += 1;
                *by_language.entry(doc.language).or_default() += 1;
            }
            this.spoken += live()
                .filter(|(doc, _)| doc.flags.has(ChunkFlags::SPOKEN))
                .count();
            this.live_terms += part
                .alive
                .iter()
                .zip(&part.segment.lengths)
                .filter(|(alive, _)| **alive)
                .map(|(_, length)| u64::from(*length))
                .sum::<u64>();
            this.parts.push(part);
        }
        let mut languages: Vec<(usize, Language)> = by_language
            .into_iter()
            .map(|(language, chunks)| (chunks, language))
            .collect();
        languages.sort_unstable_by(|a, b| b.cmp(a));
        languages.truncate(MOST_LANGUAGES);
        this.languages = languages
            .into_iter()
            .map(|(_, language)| language)
            .collect();
        Ok(this)
    }

    /// Whether chunks are pages rather than entries, on the whole.
    pub fn has_pages(&self) -> bool {
        self.live_terms > PAGE_TERMS * self.live as u64
    }

    /// Whether it is conversations, on the whole, rather than texts about something.
    pub fn is_spoken(&self) -> bool {
        self.spoken * 3 > self.live
    }

    /// Chunks in all parts, dead ones included.
    pub fn slots(&self) -> usize {
        self.parts
            .last()
            .map_or(0, |part| part.base + part.segment.docs.len())
    }

    /// The part a slot is in, and its place there.
    pub fn locate(&self, slot: usize) -> Option<(&SnapshotPart, usize)> {
        let at = self
            .parts
            .partition_point(|part| part.base <= slot)
            .checked_sub(1)?;
        let part = self.parts.get(at)?;
        Some((part, slot - part.base))
    }

    /// Whether every current chunk has a vector of the model.
    pub fn has_vectors(&self) -> bool {
        self.parts.iter().all(|part| part.matrix.is_some())
    }
}

/// Which chunks of a segment are current and may be shown.
fn alive(
    id: i64,
    segment: &IndexSegment,
    homes: &HashMap<i64, i64>,
    audience: Audience,
) -> Vec<bool> {
    // Chunks of a file lie together, so the answer is looked up once per file.
    let mut last = (i64::MIN, false);
    let current = |doc: &DocFacts| {
        if doc.file != last.0 {
            last = (doc.file, homes.get(&doc.file) == Some(&id));
        }
        last.1 && (audience == Audience::Private || doc.flags.has(ChunkFlags::SHARED))
    };
    segment.docs.iter().map(current).collect()
}

fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    let value: Option<String> = connection
        .prepare_cached("SELECT value FROM meta WHERE key = 'generation'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
}

fn load_segment(connection: &Connection, id: i64) -> rusqlite::Result<Option<IndexSegment>> {
    connection
        .prepare_cached("SELECT data FROM segments WHERE id = ?1")?
        .query_row([id], |row| {
            Ok(row
                .get_ref(0)?
                .as_blob()
                .ok()
                .and_then(IndexSegment::from_bytes))
        })
}

fn load_matrix(
    connection: &Connection,
    id: i64,
    model: &str,
    rows: usize,
) -> rusqlite::Result<Option<Arc<VectorMatrix>>> {
    let data: Option<Vec<u8>> = connection
        .prepare_cached("SELECT data FROM vectors WHERE segment = ?1 AND model = ?2")?
        .query_row(params![id, model], |row| row.get(0))
        .optional()?;
    Ok(data
        .and_then(|data| VectorMatrix::from_bytes(data, rows))
        .map(Arc::new))
}
