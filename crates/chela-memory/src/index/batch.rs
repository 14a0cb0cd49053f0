//! One batch of files, written in one transaction.

use chela_core::{Audience, ContentHash};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::embed_text;
use crate::chunk::{MessageSpeaker, NoteChunk};
use crate::day::CalendarDay;
use crate::embed::{EmbedCost, EmbedRole, Embedder};
use crate::language::TextSigns;
use crate::segment::{ChunkFlags, DocFacts, SegmentBuilder, speaker_number};
use crate::source::{FileSource, FoundFile, is_core};
use crate::store::{IndexStore, StoreError, touch};
use crate::vector::{QuantisedVector, VectorMatrix};
use crate::when;
use crate::words::{TermKind, TermReader};

/// A file ready to be written.
#[derive(Debug)]
pub enum PreparedFile<'a> {
    /// The content is what the index has; only the time of change or the trust is new.
    Seen { file: &'a FoundFile, now: i64 },
    Content {
        file: &'a FoundFile,
        hash: ContentHash,
        cut: String,
        units: Vec<NoteChunk>,
        /// Who may be shown what is in it.
        audience: Audience,
        now: i64,
    },
}

pub fn write(
    store: &mut IndexStore,
    embedder: Option<&dyn Embedder>,
    batch: &[PreparedFile<'_>],
) -> Result<(), StoreError> {
    if batch.is_empty() {
        return Ok(());
    }
    // Vectors first: they need no lock.
    let mut vectors = embedder
        .into_iter()
        .flat_map(|embedder| [Some(embedder), embedder.stand_in()])
        .flatten()
        .find(|e| e.cost() == EmbedCost::Instant)
        .map(|embedder| (embedder.id().to_string(), VectorMatrix::new(0), embedder));
    let mut run = |store: &mut IndexStore| {
        let transaction = store
            .connection_mut()
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let segment: i64 =
            transaction.query_row("SELECT coalesce(max(id), 0) + 1 FROM segments", [], |row| {
                row.get(0)
            })?;
        let mut builder = SegmentBuilder::default();
        let mut terms = TermReader::default();
        for prepared in batch {
            match prepared {
                PreparedFile::Seen { file, now } => seen(&transaction, file, *now)?,
                PreparedFile::Content {
                    file,
                    hash,
                    cut,
                    units,
                    audience,
                    now,
                } => {
                    let row = FileRow {
                        file,
                        audience: *audience,
                        hash,
                        cut,
                        chunks: units.len(),
                        now: *now,
                        segment,
                    };
                    let Some(id) = row.write(&transaction)? else {
                        continue;
                    };
                    let mut writer = ChunkWriter {
                        connection: &transaction,
                        file,
                        audience: *audience,
                        id,
                        terms: &mut terms,
                    };
                    writer.write(units, &mut builder)?;
                    if let Some((_, matrix, embedder)) = &mut vectors {
                        embed(*embedder, units, matrix);
                    }
                }
            }
        }
        if builder.docs() > 0 {
            let built = builder.finish();
            transaction.execute(
                "INSERT INTO segments (id, docs, data) VALUES (?1, ?2, ?3)",
                params![segment, built.docs.len(), built.to_bytes()],
            )?;
            if let Some((model, matrix, _)) = &vectors {
                transaction.execute(
                    "INSERT OR REPLACE INTO vectors (segment, model, data) VALUES (?1, ?2, ?3)",
                    params![segment, model, matrix.to_bytes()],
                )?;
            }
        }
        touch(&transaction)?;
        transaction.commit()
    };
    run(store).map_err(|error| store.explain(error))
}

/// Forgets the chunks of a file; what segments hold of it is dead once its row says so.
pub fn drop_chunks(connection: &Connection, file: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM chunks_fts WHERE rowid IN (SELECT id FROM chunks WHERE file = ?1)",
        )?
        .execute([file])?;
    connection
        .prepare_cached("DELETE FROM chunks WHERE file = ?1")?
        .execute([file])?;
    Ok(())
}

fn seen(connection: &Connection, file: &FoundFile, now: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE files SET size = ?2, modified = ?3, indexed_at = ?4, trust = ?5 WHERE label = ?1",
        )?
        .execute(params![
            file.label,
            file.size,
            file.modified,
            now,
            file.trust.as_str()
        ])
        .map(drop)
}

struct FileRow<'a> {
    file: &'a FoundFile,
    audience: Audience,
    hash: &'a ContentHash,
    cut: &'a str,
    chunks: usize,
    now: i64,
    segment: i64,
}

impl FileRow<'_> {
    /// Its id, with the old chunks gone.
    fn write(&self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let file = self.file;
        let known: Option<i64> = connection
            .prepare_cached("SELECT id FROM files WHERE label = ?1")?
            .query_row([&file.label], |row| row.get(0))
            .optional()?;
        if let Some(id) = known {
            drop_chunks(connection, id)?;
        }
        connection
            .prepare_cached(
                "INSERT INTO files (label, path, source, size, modified, hash, cut, segment, \
                 chunks, trust, audience, indexed_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
                 ON CONFLICT (label) DO UPDATE SET path = ?2, source = ?3, size = ?4, \
                 modified = ?5, hash = ?6, cut = ?7, segment = ?8, chunks = ?9, trust = ?10, \
                 audience = ?11, indexed_at = ?12 RETURNING id",
            )?
            .query_row(
                params![
                    file.label,
                    file.path.to_string_lossy(),
                    file.source.as_str(),
                    file.size,
                    file.modified,
                    self.hash.as_bytes(),
                    self.cut,
                    self.segment,
                    self.chunks,
                    file.trust.as_str(),
                    self.audience.as_str(),
                    self.now,
                ],
                |row| row.get(0),
            )
            .map(Some)
    }
}

struct ChunkWriter<'a> {
    connection: &'a Connection,
    file: &'a FoundFile,
    audience: Audience,
    id: i64,
    terms: &'a mut TermReader,
}

impl ChunkWriter<'_> {
    fn write(&mut self, units: &[NoteChunk], builder: &mut SegmentBuilder) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO chunks (file, start_line, end_line, heading, date, body_at, hash, \
             speaker, language, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?;
        let mut fts = self
            .connection
            .prepare_cached("INSERT INTO chunks_fts (rowid, text) VALUES (?1, ?2)")?;
        let named = self.terms.of(stem_of(&self.file.label));
        let named: Vec<String> = named
            .into_iter()
            .filter(|term| !term.bytes().all(|b| b.is_ascii_digit()))
            .collect();
        let dialogue = units
            .iter()
            .any(|unit| unit.speaker == Some(MessageSpeaker::Assistant));
        let mut heading = (String::new(), Vec::new());
        for unit in units {
            let hash = ContentHash::of(&unit.text);
            insert.execute(params![
                self.id,
                unit.start_line,
                unit.end_line,
                unit.heading,
                unit.date.map(|day| day.0),
                unit.body_at,
                hash.as_bytes(),
                unit.said_by,
                unit.language.number(),
                unit.text,
            ])?;
            let chunk = self.connection.last_insert_rowid();
            fts.execute(params![chunk, unit.text])?;
            if heading.0 != unit.heading {
                heading = (unit.heading.clone(), self.terms.of(&unit.heading));
            }
            let mut found = Vec::new();
            let mut length = 0;
            self.terms
                .each_wide(unit.language, &unit.text, |term, kind| {
                    found.push(term.to_owned());
                    length += u32::from(kind == TermKind::Own);
                });
            // Names of file and headings are found too, and do not make the text longer.
            found.extend(heading.1.iter().chain(&named).cloned());
            let facts = DocFacts {
                chunk,
                file: self.id,
                section: unit.section,
                date: unit.date,
                speaker: speaker_number(&unit.said_by),
                flags: self.flags(unit, dialogue),
                importance: unit.importance,
                language: unit.language,
            };
            builder.push(facts, length, found.iter().map(String::as_str));
            if let Some(day) = unit
                .date
                .filter(|_| facts.flags.has(ChunkFlags::TELLS_TIME))
            {
                builder.mention(&when::days_mentioned(unit.body(), day, unit.language));
            }
        }
        Ok(())
    }

    fn flags(&self, unit: &NoteChunk, dialogue: bool) -> ChunkFlags {
        let file = self.file;
        let is_core = file.source == FileSource::Memory && is_core(&file.label);
        let signs = TextSigns::of(unit.body(), unit.language);
        let mut flags = ChunkFlags::default();
        flags.set(
            ChunkFlags::DATED_NOTE,
            CalendarDay::find(&file.label).is_some(),
        );
        flags.set(ChunkFlags::TRANSCRIPT, file.source == FileSource::Sessions);
        flags.set(ChunkFlags::SHARED, self.audience == Audience::Shared);
        flags.set(ChunkFlags::ROLES, dialogue);
        flags.set(ChunkFlags::SPOKEN, unit.speaker.is_some());
        flags.set(
            ChunkFlags::SAID_BY_USER,
            unit.speaker == Some(MessageSpeaker::User),
        );
        flags.set(ChunkFlags::CORE, is_core);
        let by_assistant = unit.speaker == Some(MessageSpeaker::Assistant);
        flags.set(ChunkFlags::WISH, signs.is_wish && !by_assistant);
        flags.set(ChunkFlags::TELLS_TIME, signs.tells_time);
        flags.set(ChunkFlags::TELLS_NUMBER, signs.tells_number);
        flags.set(ChunkFlags::ONLY_ASKS, signs.only_asks);
        flags.set(ChunkFlags::ENDS_ASKING, signs.ends_asking);
        flags
    }
}

/// `dentist` of `memory/dentist.md`.
fn stem_of(label: &str) -> &str {
    let name = label.rsplit('/').next().unwrap_or(label);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn embed(embedder: &dyn crate::embed::Embedder, units: &[NoteChunk], matrix: &mut VectorMatrix) {
    let texts: Vec<_> = (0..units.len()).map(|at| embed_text(units, at)).collect();
    let vectors = embedder
        .embed(&texts, EmbedRole::Document)
        .unwrap_or_default();
    for at in 0..units.len() {
        let vector = vectors.get(at).map(|vector| QuantisedVector::of(vector));
        let vector = vector.unwrap_or(QuantisedVector {
            scale: 0.0,
            values: Vec::new(),
        });
        if matrix.dimensions == 0 && !vector.values.is_empty() && matrix.rows() == 0 {
            *matrix = VectorMatrix::new(vector.values.len());
        }
        matrix.push(&vector);
    }
}
