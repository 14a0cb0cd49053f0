//! Vectors of slow or paid providers: made after the keyword index, in batches, through the cache.
//!
//! Every batch that comes back is kept at once, so nothing is asked for twice: a kill, a failing
//! provider or a change back to an earlier model costs no second run.

use std::collections::HashMap;
use std::ops::ControlFlow;

use rusqlite::{OptionalExtension, params};

use crate::embed::{EmbedCost, EmbedError, EmbedPrice, EmbedRole, EmbedText, Embedder};
use crate::language::Language;
use crate::segment::IndexSegment;
use crate::settings::CacheSettings;
use crate::store::{IndexStore, StoreError, touch};
use crate::vector::{QuantisedVector, VectorMatrix};

/// What making the missing vectors would take.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct VectorQuote {
    pub chunks: usize,
    pub tokens: usize,
    pub seconds: f64,
    pub price: EmbedPrice,
}

/// How much is missing, before anything is spent.
pub fn quote(store: &IndexStore, embedder: &dyn Embedder) -> Result<VectorQuote, StoreError> {
    let model = embedder.id().to_string();
    let read = || {
        let mut quote = VectorQuote::default();
        for segment in missing(store, &model)? {
            for unit in units(store, &segment)?.into_iter().flatten() {
                if cached(store, &model, &unit.hash)?.is_none() {
                    quote.chunks += 1;
                    quote.tokens += (unit.text.len() + unit.context.len()).div_ceil(4);
                }
            }
        }
        Ok(quote)
    };
    let mut quote = read().map_err(|error| store.explain(error))?;
    if let EmbedCost::PerBatch {
        price,
        tokens_per_second,
        ..
    } = embedder.cost()
    {
        quote.seconds = quote.tokens as f64 / tokens_per_second.max(1.0);
        quote.price = price.times(quote.tokens);
    }
    Ok(quote)
}

/// How many chunks have a vector of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VectorCoverage {
    pub chunks: usize,
    pub missing: usize,
}

impl VectorCoverage {
    /// Whether a search with these vectors finds what is there: a note or two may be on their way.
    pub fn answers(self) -> bool {
        self.missing * 20 <= self.chunks
    }
}

/// Counts without reading a text.
pub fn coverage(store: &IndexStore, model: &str) -> Result<VectorCoverage, StoreError> {
    store
        .connection()
        .query_row(
            "SELECT coalesce(sum(f.chunks), 0), \
             coalesce(sum(CASE WHEN v.segment IS NULL THEN f.chunks ELSE 0 END), 0) \
             FROM files f LEFT JOIN vectors v ON v.segment = f.segment AND v.model = ?1",
            [model],
            |row| {
                Ok(VectorCoverage {
                    chunks: row.get(0)?,
                    missing: row.get(1)?,
                })
            },
        )
        .map_err(|error| store.explain(error))
}

/// How much may be made without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillLimit {
    /// What a few changed notes need; more waits for [`FillLimit::All`].
    Little,
    All,
}

/// Chunks that are made without asking.
const LITTLE: usize = 256;

/// How making vectors ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FillOutcome {
    Complete,
    /// Too many are missing to make them unasked.
    Waiting {
        chunks: usize,
    },
    /// The caller asked to stop; what was made is kept.
    Stopped,
    Failed {
        problem: EmbedError,
    },
}

/// How vectors are made.
#[derive(Debug, Clone, Copy)]
pub struct FillRules<'a> {
    pub cache: &'a CacheSettings,
    /// Seconds since 1970.
    pub now: u64,
    pub spend: FillLimit,
}

/// Chunks made and chunks to be made.
pub type FillStep<'a> = &'a mut dyn FnMut(usize, usize) -> ControlFlow<()>;

/// Makes the vectors that are missing under a model. The index answers all the while, and what
/// was made stays when this is cut short.
pub fn fill(
    store: &mut IndexStore,
    embedder: &dyn Embedder,
    rules: FillRules<'_>,
    step: FillStep<'_>,
) -> Result<FillOutcome, StoreError> {
    let model = embedder.id().to_string();
    let now = i64::try_from(rules.now).unwrap_or(0);
    let batch = match embedder.cost() {
        EmbedCost::Instant => 1024,
        EmbedCost::PerBatch { texts, .. } => texts.max(1),
    };
    let caches = rules.cache.enabled && embedder.cost() != EmbedCost::Instant;
    let covered = coverage(store, &model)?;
    let total = covered.missing;
    let much = match embedder.cost() {
        EmbedCost::Instant => false,
        // The first vectors say that the operator wants to pay what they cost.
        EmbedCost::PerBatch {
            price: EmbedPrice::Unknown,
            ..
        } if total == covered.chunks => total > 0,
        EmbedCost::PerBatch { .. } => total > LITTLE,
    };
    if rules.spend == FillLimit::Little && much {
        return Ok(FillOutcome::Waiting { chunks: total });
    }
    let mut done = 0;
    let segments = missing(store, &model).map_err(|error| store.explain(error))?;
    for segment in segments {
        let units = units(store, &segment).map_err(|error| store.explain(error))?;
        let mut vectors: HashMap<Vec<u8>, QuantisedVector> = HashMap::new();
        let mut wanted: Vec<&Unit> = Vec::new();
        for unit in units.iter().flatten() {
            match cached(store, &model, &unit.hash).map_err(|error| store.explain(error))? {
                Some(vector) => drop(vectors.insert(unit.hash.clone(), vector)),
                None => wanted.push(unit),
            }
        }
        done += vectors.len();
        for some in wanted.chunks(batch) {
            if step(done, total).is_break() {
                return Ok(FillOutcome::Stopped);
            }
            let texts: Vec<EmbedText<'_>> = some
                .iter()
                .map(|unit| EmbedText {
                    text: &unit.text,
                    context: &unit.context,
                    language: unit.language,
                })
                .collect();
            let made = match embedder.embed(&texts, EmbedRole::Document) {
                Ok(made) => made,
                Err(problem) => return Ok(FillOutcome::Failed { problem }),
            };
            let mut keep = |store: &mut IndexStore| {
                let transaction = store.connection_mut().transaction()?;
                for (unit, vector) in some.iter().zip(&made) {
                    let vector = QuantisedVector::of(vector);
                    if caches {
                        transaction.execute(
                            "INSERT OR REPLACE INTO embedding_cache (model, hash, vector, used_at) VALUES (?1, ?2, ?3, ?4)",
                            params![model, unit.hash, bytes(&vector), now],
                        )?;
                    }
                    vectors.insert(unit.hash.clone(), vector);
                }
                transaction.commit()
            };
            keep(store).map_err(|error| store.explain(error))?;
            done += some.len();
        }
        let dimensions = vectors
            .values()
            .next()
            .map_or(0, |vector| vector.values.len());
        let mut matrix = VectorMatrix::new(dimensions);
        let empty = QuantisedVector {
            scale: 0.0,
            values: Vec::new(),
        };
        for unit in &units {
            matrix.push(
                unit.as_ref()
                    .and_then(|unit| vectors.get(&unit.hash))
                    .unwrap_or(&empty),
            );
        }
        let write = |store: &mut IndexStore| {
            let transaction = store.connection_mut().transaction()?;
            transaction.execute(
                "INSERT OR REPLACE INTO vectors (segment, model, data) \
                 SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM segments WHERE id = ?1)",
                params![segment.id, model, matrix.to_bytes()],
            )?;
            touch(&transaction)?;
            transaction.commit()
        };
        write(store).map_err(|error| store.explain(error))?;
    }
    trim(store, rules.cache.max_entries).map_err(|error| store.explain(error))?;
    Ok(FillOutcome::Complete)
}

struct Missing {
    id: i64,
    segment: IndexSegment,
}

struct Unit {
    text: String,
    context: String,
    language: Language,
    hash: Vec<u8>,
}

fn missing(store: &IndexStore, model: &str) -> rusqlite::Result<Vec<Missing>> {
    let mut statement = store.connection().prepare(
        "SELECT id, data FROM segments s WHERE NOT EXISTS \
         (SELECT 1 FROM vectors v WHERE v.segment = s.id AND v.model = ?1)",
    )?;
    let rows = statement.query_map([model], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)))?;
    let mut missing = Vec::new();
    for row in rows {
        let (id, data) = row?;
        if let Some(segment) = IndexSegment::from_bytes(&data) {
            missing.push(Missing { id, segment });
        }
    }
    Ok(missing)
}

/// The texts of a segment's chunks, in order; `None` for those that are gone.
fn units(store: &IndexStore, missing: &Missing) -> rusqlite::Result<Vec<Option<Unit>>> {
    let mut statement = store
        .connection()
        .prepare_cached("SELECT text, body_at, language FROM chunks WHERE id = ?1")?;
    let mut before: (i64, u32, String) = (i64::MIN, 0, String::new());
    let mut units = Vec::with_capacity(missing.segment.docs.len());
    for doc in &missing.segment.docs {
        let row: Option<(String, usize, u8)> = statement
            .query_row([doc.chunk], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()?;
        units.push(row.map(|(text, body_at, language)| {
            let body = text.get(body_at..).unwrap_or(&text).to_owned();
            let context = match before.0 == doc.file && before.1 == doc.section {
                true => before.2.clone(),
                false => String::new(),
            };
            before = (doc.file, doc.section, body.clone());
            let hash = chela_core::ContentHash::of(format!("{context}\0{body}"));
            Unit {
                text: body,
                context,
                language: Language::from_number(language),
                hash: hash.as_bytes().to_vec(),
            }
        }));
    }
    Ok(units)
}

fn cached(
    store: &IndexStore,
    model: &str,
    hash: &[u8],
) -> rusqlite::Result<Option<QuantisedVector>> {
    let data: Option<Vec<u8>> = store
        .connection()
        .prepare_cached("SELECT vector FROM embedding_cache WHERE model = ?1 AND hash = ?2")?
        .query_row(params![model, hash], |row| row.get(0))
        .optional()?;
    Ok(data.and_then(|data| {
        let (scale, values) = data.split_first_chunk::<4>()?;
        let values = values.iter().map(|value| *value as i8).collect();
        Some(QuantisedVector {
            scale: f32::from_le_bytes(*scale),
            values,
        })
    }))
}

fn bytes(vector: &QuantisedVector) -> Vec<u8> {
    let mut bytes = vector.scale.to_le_bytes().to_vec();
    bytes.extend(vector.values.iter().map(|value| *value as u8));
    bytes
}

/// Keeps the newest entries of the cache.
fn trim(store: &IndexStore, most: usize) -> rusqlite::Result<()> {
    store
        .connection()
        .execute(
            "DELETE FROM embedding_cache WHERE (model, hash) IN (SELECT model, hash FROM \
             embedding_cache ORDER BY used_at DESC LIMIT -1 OFFSET ?1)",
            [most],
        )
        .map(drop)
}

#[cfg(test)]
mod tests;
