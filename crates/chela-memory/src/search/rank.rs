//! Scores of different kinds made comparable, and added.

use chela_core::Audience;

use super::{Explain, Ranked, Scratch, SearchRequest};
use crate::query::Query;
use crate::segment::Flags;
use crate::settings::QueryMode;
use crate::snapshot::Snapshot;

/// How the scores of each leg lie, so that they can be compared.
pub struct Legs {
    best_keyword: f32,
    best_section: f32,
    best_cosine: f32,
    /// The hundredth best cosine: what is below it says nothing.
    floor_cosine: f32,
}

/// The cosine at this rank counts as nothing.
const FLOOR_RANK: usize = 100;
const BINS: usize = 4096;

impl Legs {
    pub fn measure(scratch: &Scratch, snapshot: &Snapshot) -> Self {
        let mut legs = Self {
            best_keyword: 0.0,
            best_section: scratch.section.iter().copied().fold(0.0, f32::max),
            best_cosine: -1.0,
            floor_cosine: -1.0,
        };
        // A histogram finds the hundredth without sorting a million numbers.
        let mut bins = vec![0_u32; BINS];
        for part in &snapshot.parts {
            let range = part.base..part.base + part.segment.docs.len();
            let cosines = &scratch.cosine[range.clone()];
            let keywords = &scratch.keyword[range];
            for ((cosine, keyword), alive) in cosines.iter().zip(keywords).zip(&part.alive) {
                if *alive {
                    legs.best_keyword = legs.best_keyword.max(*keyword);
                    legs.best_cosine = legs.best_cosine.max(*cosine);
                    bins[bin(*cosine)] += 1;
                }
            }
        }
        let mut above = 0;
        for (at, count) in bins.iter().enumerate().rev() {
            above += *count as usize;
            if above > FLOOR_RANK {
                legs.floor_cosine = (at as f32 + 0.5) / BINS as f32 * 2.0 - 1.0;
                break;
            }
        }
        if legs.floor_cosine <= -1.0 {
            let lowest = bins.iter().position(|count| *count > 0).unwrap_or(0);
            legs.floor_cosine = lowest as f32 / BINS as f32 * 2.0 - 1.0;
        }
        legs
    }

    fn vector(&self, cosine: f32) -> f32 {
        ((cosine - self.floor_cosine) / (self.best_cosine - self.floor_cosine).max(1e-6))
            .clamp(-1.0, 1.0)
    }

    /// The best chunks by the sum of all legs.
    pub fn rank(
        &self,
        scratch: &Scratch,
        snapshot: &Snapshot,
        query: &Query,
        request: &SearchRequest<'_>,
        share: f32,
    ) -> Vec<Ranked> {
        let weights = request.weights;
        let keep = request.hits.max(weights.closer).max(1);
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
        let mut best = Best::new(keep);
        for part in &snapshot.parts {
            for (at, doc) in part.segment.docs.iter().enumerate() {
                let reachable =
                    request.audience == Audience::Private || doc.flags.has(Flags::SHARED);
                if !part.alive[at] || !reachable {
                    continue;
                }
                let slot = part.base + at;
                let section =
                    scratch.section[part.section_base + part.segment.parents[at] as usize];
                let mut score = scratch.keyword[slot] * keyword_scale + section * section_scale;
                if vectors {
                    score += share * self.vector(scratch.cosine[slot]);
                }
                if doc.flags.has(Flags::SAID_BY_USER) && doc.flags.has(Flags::ROLES) {
                    score += weights.said_by_user;
                }
                if let Some(day) = doc.date {
                    if doc.flags.has(Flags::DATED_NOTE) {
                        score += recency_weight * newest(request.today.0 - day.0);
                    }
                    if query.span.is_some_and(|span| span.contains(day)) {
                        score += weights.asked_day;
                    }
                }
                best.offer(slot, score);
            }
        }
        let mut ranked: Vec<Ranked> = Vec::with_capacity(keep);
        for (rank, (score, slot)) in (1..).zip(best.sorted()) {
            let Some((part, at)) = snapshot.locate(slot) else {
                continue;
            };
            let doc = part.segment.docs[at];
            let section = scratch.section[part.section_base + part.segment.parents[at] as usize];
            let dated = doc.date.filter(|_| doc.flags.has(Flags::DATED_NOTE));
            let explain = Explain {
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
                role: if doc.flags.has(Flags::SAID_BY_USER) && doc.flags.has(Flags::ROLES) {
                    weights.said_by_user
                } else {
                    0.0
                },
                date: match (query.span, doc.date) {
                    (Some(span), Some(day)) if span.contains(day) => weights.asked_day,
                    _ => 0.0,
                },
                first_rank: rank,
                ..Explain::default()
            };
            ranked.push(Ranked {
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

fn bin(cosine: f32) -> usize {
    (((cosine + 1.0) * 0.5 * BINS as f32) as usize).min(BINS - 1)
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
