//! The reference's ranking, for those who want results to stay as they were.
//!
//! Score = 0.7 x cosine + 0.3 x r / (1 + r), where r is FTS5's rank with its sign turned and every
//! word of the question must stand in the chunk; what is below 0.35 goes. A chunk that only one
//! leg found has 0 for the other.

#![expect(
    clippy::indexing_slicing,
    reason = "slots and rows are numbered by the snapshot they index"
)]

use std::collections::HashMap;

use chela_core::Audience;
use rusqlite::Connection;

use super::{RankedChunk, ScoreParts, SearchRequest};
use crate::snapshot::IndexSnapshot;

const VECTOR_WEIGHT: f32 = 0.7;
const TEXT_WEIGHT: f32 = 0.3;
const MIN_SCORE: f32 = 0.35;

pub fn rank(
    connection: &Connection,
    snapshot: &IndexSnapshot,
    request: &SearchRequest<'_>,
    cosines: &[f32],
    has_vector: bool,
) -> rusqlite::Result<Vec<RankedChunk>> {
    let settings = request.settings;
    let candidates = request.hits * settings.candidate_multiplier.max(1);
    let mut found: HashMap<usize, ScoreParts> = HashMap::new();
    let slots: HashMap<i64, usize> = snapshot
        .parts
        .iter()
        .flat_map(|part| {
            part.segment
                .docs
                .iter()
                .enumerate()
                .filter(|(at, _)| part.alive[*at])
                .map(move |(at, doc)| (doc.chunk, part.base + at))
        })
        .collect();
    if has_vector {
        let mut order: Vec<usize> = slots.values().copied().collect();
        order.sort_unstable_by(|a, b| cosines[*b].total_cmp(&cosines[*a]).then(a.cmp(b)));
        for slot in order.into_iter().take(candidates) {
            found.entry(slot).or_default().cosine = cosines[slot];
        }
    }
    // FTS5 does not know who may see what: where that matters, nothing is cut off before.
    let limit = match request.audience {
        Audience::Private => candidates,
        Audience::Shared => snapshot.slots(),
    };
    let reachable = words(connection, request.question, limit)?
        .into_iter()
        .filter(|(chunk, _)| slots.contains_key(chunk))
        .take(candidates);
    for (chunk, rank) in reachable {
        if let Some(slot) = slots.get(&chunk) {
            let rank = (-rank).max(0.0) as f32;
            let explain = found.entry(*slot).or_default();
            explain.bm25 = rank;
            explain.keyword = rank / (1.0 + rank);
        }
    }
    let vector_weight = settings.vector_weight.unwrap_or(VECTOR_WEIGHT);
    let text_weight = settings.text_weight.unwrap_or(TEXT_WEIGHT);
    let least = settings.min_score.unwrap_or(MIN_SCORE);
    let mut ranked: Vec<RankedChunk> = found
        .into_iter()
        .filter_map(|(slot, mut explain)| {
            explain.vector = explain.cosine;
            explain.points.meaning = vector_weight * explain.cosine;
            explain.points.words = text_weight * explain.keyword;
            let score = explain.points.total();
            let (part, at) = snapshot.locate(slot)?;
            let doc = part.segment.docs[at];
            (score >= least).then_some(RankedChunk {
                slot,
                chunk: doc.chunk,
                file: doc.file,
                language: doc.language,
                score,
                explain,
            })
        })
        .collect();
    ranked.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
    for (rank, one) in (1..).zip(&mut ranked) {
        one.explain.first_rank = rank;
    }
    Ok(ranked)
}

/// Chunks with every word of the question, best first, with FTS5's rank.
fn words(
    connection: &Connection,
    question: &str,
    limit: usize,
) -> rusqlite::Result<Vec<(i64, f64)>> {
    let quoted: Vec<String> = question
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .map(|word| format!("\"{word}\""))
        .collect();
    if quoted.is_empty() {
        return Ok(Vec::new());
    }
    connection
        .prepare_cached(
            "SELECT rowid, bm25(chunks_fts) AS r FROM chunks_fts WHERE chunks_fts MATCH ?1 \
             ORDER BY r, rowid LIMIT ?2",
        )?
        .query_map(rusqlite::params![quoted.join(" AND "), limit], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect()
}

#[cfg(test)]
mod tests;
