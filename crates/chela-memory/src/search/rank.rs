//! Scores of different kinds made comparable, and added.

#![expect(
    clippy::indexing_slicing,
    reason = "slots and rows are numbered by the snapshot they index"
)]

use super::points::{ScoreParts, ScorePoints};
use super::scope::ScopeMask;
use super::{RankWeights, RankedChunk, ScoreScratch, SearchRequest};
use crate::day::DaySpan;
use crate::query::{AnswerKind, ParsedQuery, QueryKind};
use crate::segment::{ChunkFlags, DocFacts};
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
    pub fn rank(&self, legs: &ScoreScratch, ask: &RankAsk<'_>) -> Vec<RankedChunk> {
        let weights = ask.request.weights;
        let keep = ask.request.hits.max(weights.looked_at(ask.subject)).max(1);
        let keyword_scale = (1.0 - ask.share) / self.best_keyword.max(1e-6);
        // Sections are scored by words.
        let by_words = ask.request.settings.mode != QueryMode::Vector;
        let section = if by_words { weights.section } else { 0.0 };
        let section_scale = section / self.best_section.max(1e-6);
        let vectors = ask.share > 0.0 && self.best_cosine > -1.0;
        let priors = ChunkPriors::of(ask);
        let most_prior = priors.most();
        let mut best = Best::new(keep);
        for part in &ask.snapshot.parts {
            let docs = &part.segment.docs;
            let range = part.base..part.base + docs.len();
            let keywords = &legs.keyword[range.clone()];
            let cosines = &legs.cosine[range];
            let sections = legs.section.get(part.section_base..).unwrap_or_default();
            let rows = keywords.iter().zip(cosines).zip(&part.segment.parents);
            for (at, ((keyword, cosine), parent)) in rows.enumerate() {
                let section = sections[*parent as usize];
                let mut score = keyword * keyword_scale + section * section_scale;
                if vectors {
                    score += ask.share * self.vector(*cosine);
                }
                if score + most_prior <= best.least
                    || !ask.mask.allows(part.base + at, part.alive[at])
                {
                    continue;
                }
                score += priors.points(&docs[at]).total();
                best.offer(part.base + at, score);
            }
        }
        let mut ranked: Vec<RankedChunk> = Vec::with_capacity(keep);
        for (rank, (score, slot)) in (1..).zip(best.sorted()) {
            let Some((part, at)) = ask.snapshot.locate(slot) else {
                continue;
            };
            let doc = part.segment.docs[at];
            let section = legs.section[part.section_base + part.segment.parents[at] as usize];
            let vector = match vectors {
                true => self.vector(legs.cosine[slot]),
                false => 0.0,
            };
            let points = ScorePoints {
                words: legs.keyword[slot] * keyword_scale,
                meaning: ask.share * vector,
                section: section * section_scale,
                ..priors.points(&doc)
            };
            ranked.push(RankedChunk {
                slot,
                chunk: doc.chunk,
                file: doc.file,
                language: doc.language,
                score,
                explain: ScoreParts {
                    points,
                    bm25: legs.keyword[slot],
                    keyword: legs.keyword[slot] / self.best_keyword.max(1e-6),
                    cosine: legs.cosine[slot],
                    vector,
                    first_rank: rank,
                    ..ScoreParts::default()
                },
            });
        }
        ranked
    }
}

/// What is ranked, and for which question.
pub struct RankAsk<'a> {
    pub snapshot: &'a IndexSnapshot,
    pub query: &'a ParsedQuery,
    pub request: &'a SearchRequest<'a>,
    /// Which chunks may be in the answer.
    pub mask: &'a ScopeMask,
    /// Chunks of these days are meant.
    pub days: Option<DaySpan>,
    /// The share of the vectors.
    pub share: f32,
    /// How far a subject is asked for; see [`ParsedQuery::subject`].
    pub subject: f32,
}

/// What speaks for a chunk before its words are read.
struct ChunkPriors<'a> {
    weights: &'a RankWeights,
    named: &'a [u32],
    wants: AnswerKind,
    days: Option<DaySpan>,
    today: i32,
    recency: f32,
    half_life: f32,
    /// Priors are for notes and talk, not for code.
    counts: bool,
}

impl<'a> ChunkPriors<'a> {
    fn of(ask: &RankAsk<'a>) -> Self {
        let recency = ask.request.settings.recency;
        Self {
            weights: ask.request.weights,
            // A page says what several people say.
            named: match ask.snapshot.has_pages() {
                true => &[],
                false => &ask.query.named,
            },
            wants: ask.query.wants,
            days: ask.days,
            today: ask.request.today.0,
            recency: match ask.query.wants_newest {
                true => recency.weight * 6.0,
                false => recency.weight,
            },
            half_life: recency.half_life_days.max(0.1),
            counts: ask.query.kind != QueryKind::Code,
        }
    }

    /// The most they may be: where that is not enough, they need not be asked for.
    fn most(&self) -> f32 {
        let weights = self.weights;
        let of_days = self.days.map_or(0.0, |_| weights.asked_day);
        [
            weights.said_by_user,
            weights.named_speaker,
            weights.wish,
            weights.core,
            weights.tells_time.max(weights.tells_number),
            weights.importance,
            self.recency,
            of_days,
        ]
        .iter()
        .map(|weight| weight.max(0.0))
        .sum()
    }

    fn points(&self, doc: &DocFacts) -> ScorePoints {
        let weights = self.weights;
        let flags = doc.flags;
        let mut points = ScorePoints {
            importance: weights.importance * doc.importance.share(),
            ..ScorePoints::default()
        };
        if flags.has(ChunkFlags::ROLES) && flags.has(ChunkFlags::SAID_BY_USER) {
            points.role = weights.said_by_user;
            if flags.has(ChunkFlags::WISH) {
                points.wish = weights.wish;
            }
        }
        if self.counts {
            if flags.has(ChunkFlags::CORE) {
                points.core = weights.core;
            }
            if doc.speaker != 0 && self.named.binary_search(&doc.speaker).is_ok() {
                points.speaker = weights.named_speaker;
            }
            points.answers = match self.wants {
                AnswerKind::Time if flags.has(ChunkFlags::TELLS_TIME) => weights.tells_time,
                AnswerKind::Number if flags.has(ChunkFlags::TELLS_NUMBER) => weights.tells_number,
                _ => 0.0,
            };
            if flags.has(ChunkFlags::ONLY_ASKS) {
                points.answers += weights.only_asks;
            }
        }
        if let Some(day) = doc.date {
            if flags.has(ChunkFlags::DATED_NOTE) || flags.has(ChunkFlags::TRANSCRIPT) {
                let age = (self.today - day.0).max(0) as f32;
                points.recency = self.recency * (-age / self.half_life).exp2();
            }
            if self.days.is_some_and(|span| span.contains(day)) {
                points.date = weights.asked_day;
            }
        }
        points
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
