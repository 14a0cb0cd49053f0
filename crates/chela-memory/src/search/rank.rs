//! Scores of different kinds made comparable, and added.

#![expect(
    clippy::indexing_slicing,
    reason = "slots and rows are numbered by the snapshot they index"
)]

use super::{RankedChunk, ScoreParts, ScoreScratch, SearchRequest};
use crate::query::ParsedQuery;
use crate::segment::ChunkFlags;
use crate::settings::QueryMode;
use crate::snapshot::IndexSnapshot;

/// How the scores of each leg lie, so that they can be compared.
pub struct ScoreLegs {
    best_keyword: f32,
    best_section: f32,
    best_cosine: f32,
    /// The hundredth best cosine: what is below it says nothing.
    floor_cosine: f32,
}

/// The cosine at this rank counts as nothing.
const FLOOR_RANK: usize = 100;

impl ScoreLegs {
    pub fn measure(scratch: &ScoreScratch, snapshot: &IndexSnapshot) -> Self {
        let mut legs = Self {
            best_keyword: 0.0,
            best_section: scratch.section.iter().copied().fold(0.0, f32::max),
            best_cosine: -1.0,
            floor_cosine: -1.0,
        };
        // The best and the first that is not among the hundred.
        let mut nearest = Best::new(FLOOR_RANK + 1);
        let mut lowest = f32::INFINITY;
        for part in &snapshot.parts {
            let range = part.base..part.base + part.segment.docs.len();
            let cosines = &scratch.cosine[range.clone()];
            let keywords = &scratch.keyword[range];
            for (at, (cosine, keyword)) in cosines.iter().zip(keywords).enumerate() {
                if part.alive[at] {
                    legs.best_keyword = legs.best_keyword.max(*keyword);
                    lowest = lowest.min(*cosine);
                    nearest.offer(part.base + at, *cosine);
                }
            }
        }
        let nearest = nearest.sorted();
        legs.best_cosine = nearest.first().map_or(-1.0, |(cosine, _)| *cosine);
        legs.floor_cosine = match nearest.get(FLOOR_RANK) {
            Some((cosine, _)) => *cosine,
            None => lowest.min(legs.best_cosine),
        };
        legs
    }

    fn vector(&self, cosine: f32) -> f32 {
        ((cosine - self.floor_cosine) / (self.best_cosine - self.floor_cosine).max(1e-6))
            .clamp(-1.0, 1.0)
    }

    /// The best chunks by the sum of all legs.
    pub fn rank(
        &self,
        scratch: &ScoreScratch,
        snapshot: &IndexSnapshot,
        query: &ParsedQuery,
        request: &SearchRequest<'_>,
        (share, subject): (f32, f32),
    ) -> Vec<RankedChunk> {
        let weights = request.weights;
        let keep = request.hits.max(weights.looked_at(subject)).max(1);
        let keyword_scale = (1.0 - share) / self.best_keyword.max(1e-6);
        // Sections are scored by words.
        let by_words = request.settings.mode != QueryMode::Vector;
        let section = if by_words { weights.section } else { 0.0 };
        let section_scale = section / self.best_section.max(1e-6);
        let vectors = share > 0.0 && self.best_cosine > -1.0;
        let recency = request.settings.recency;
        let recency_weight = if query.wants_newest {
            recency.weight * 6.0
        } else {
            recency.weight
        };
        let newest = |age: i32| (-(age.max(0) as f32) / recency.half_life_days.max(0.1)).exp2();
        // What facts about a chunk can add at most: where that is not enough, they are not read.
        let most_prior = weights.said_by_user.max(0.0)
            + recency_weight.max(0.0)
            + weights.importance.max(0.0)
            + query.span.map_or(0.0, |_| weights.asked_day.max(0.0));
        let mut best = Best::new(keep);
        for part in &snapshot.parts {
            let docs = &part.segment.docs;
            let range = part.base..part.base + docs.len();
            let keywords = &scratch.keyword[range.clone()];
            let cosines = &scratch.cosine[range];
            let sections = scratch.section.get(part.section_base..).unwrap_or_default();
            let legs = keywords.iter().zip(cosines).zip(&part.segment.parents);
            for (at, ((keyword, cosine), parent)) in legs.enumerate() {
                let section = sections[*parent as usize];
                let mut score = keyword * keyword_scale + section * section_scale;
                if vectors {
                    score += share * self.vector(*cosine);
                }
                if score + most_prior <= best.least {
                    continue;
                }
                let doc = &docs[at];
                if !part.alive[at] {
                    continue;
                }
                score += weights.importance * doc.importance.share();
                if doc.flags.has(ChunkFlags::SAID_BY_USER) && doc.flags.has(ChunkFlags::ROLES) {
                    score += weights.said_by_user;
                }
                if let Some(day) = doc.date {
                    if doc.flags.has(ChunkFlags::DATED_NOTE) {
                        score += recency_weight * newest(request.today.0 - day.0);
                    }
                    if query.span.is_some_and(|span| span.contains(day)) {
                        score += weights.asked_day;
                    }
                }
                best.offer(part.base + at, score);
            }
        }
        let mut ranked: Vec<RankedChunk> = Vec::with_capacity(keep);
        for (rank, (score, slot)) in (1..).zip(best.sorted()) {
            let Some((part, at)) = snapshot.locate(slot) else {
                continue;
            };
            let doc = part.segment.docs[at];
            let section = scratch.section[part.section_base + part.segment.parents[at] as usize];
            let dated = doc.date.filter(|_| doc.flags.has(ChunkFlags::DATED_NOTE));
            let explain = ScoreParts {
                bm25: scratch.keyword[slot],
                keyword: scratch.keyword[slot] / self.best_keyword.max(1e-6),
                cosine: scratch.cosine[slot],
                vector: if vectors {
                    self.vector(scratch.cosine[slot])
                } else {
                    0.0
                },
                section: section / self.best_section.max(1e-6),
                recency: dated.map_or(0.0, |day| recency_weight * newest(request.today.0 - day.0)),
                role: if doc.flags.has(ChunkFlags::SAID_BY_USER) && doc.flags.has(ChunkFlags::ROLES)
                {
                    weights.said_by_user
                } else {
                    0.0
                },
                importance: weights.importance * doc.importance.share(),
                date: match (query.span, doc.date) {
                    (Some(span), Some(day)) if span.contains(day) => weights.asked_day,
                    _ => 0.0,
                },
                first_rank: rank,
                ..ScoreParts::default()
            };
            ranked.push(RankedChunk {
                slot,
                chunk: doc.chunk,
                file: doc.file,
                score,
                explain,
            });
        }
        ranked
    }
}

/// The largest of many scores.
struct Best {
    keep: usize,
    least: f32,
    list: Vec<(f32, usize)>,
}

impl Best {
    fn new(keep: usize) -> Self {
        Self {
            keep,
            least: f32::NEG_INFINITY,
            list: Vec::with_capacity(2 * keep),
        }
    }

    #[inline]
    fn offer(&mut self, slot: usize, score: f32) {
        if score > self.least {
            self.list.push((score, slot));
            if self.list.len() >= 2 * self.keep {
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        if self.list.len() > self.keep {
            self.list
                .select_nth_unstable_by(self.keep - 1, |a, b| order(*a, *b));
            self.list.truncate(self.keep);
            self.least = self
                .list
                .iter()
                .map(|(score, _)| *score)
                .fold(f32::INFINITY, f32::min);
        }
    }

    fn sorted(mut self) -> Vec<(f32, usize)> {
        self.shrink();
        self.list.sort_unstable_by(|a, b| order(*a, *b));
        self.list
    }
}

/// Best first; among equals the one that comes first in the index.
fn order(a: (f32, usize), b: (f32, usize)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}
