//! How surely an answer is one.

use super::closer::QuestionWords;
use super::{HitConfidence, RankedChunk};

/// What speaks for it that the best hits are what was asked for. All between 0 and 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AnswerEvidence {
    /// The share of the question's words that stand anywhere, by their weight.
    pub known: f32,
    /// The most of the question's words in one hit, and in the third best.
    pub coverage: f32,
    pub third_coverage: f32,
    /// How near the best of the first few is to what the question means.
    pub cosine: f32,
    /// The best keyword score beside what all words together could give.
    pub keyword: f32,
    /// Words of the question in a row, in the best of the first few.
    pub pairs: f32,
}

/// The first few are looked at.
const FEW: usize = 5;

impl AnswerEvidence {
    /// `share` is the share of the vectors in the scores.
    pub(super) fn of(ranked: &[RankedChunk], question: &QuestionWords, share: f32) -> Self {
        let first = || ranked.iter().take(FEW);
        let most = |of: fn(&RankedChunk) -> f32| first().map(of).fold(0.0, f32::max);
        let mut coverages: Vec<f32> = first().map(|one| one.explain.coverage).collect();
        coverages.sort_by(|a, b| b.total_cmp(a));
        Self {
            known: question.known,
            coverage: coverages.first().copied().unwrap_or(0.0),
            third_coverage: coverages.get(2).copied().unwrap_or(0.0),
            cosine: match share > 0.0 {
                true => most(|one| one.explain.cosine),
                false => NO_COSINE,
            },
            keyword: most(|one| one.explain.bm25) / question.possible.max(1e-6),
            pairs: most(|one| one.explain.points.pairs),
        }
    }

    /// How likely it is that the answer is among the hits.
    pub fn likelihood(&self) -> f32 {
        let sum = BASE
            + KNOWN * self.known
            + COVERAGE * self.coverage
            + THIRD * self.third_coverage
            + COSINE * self.cosine
            + KEYWORD * self.keyword
            + PAIRS * self.pairs;
        1.0 / (1.0 + (-sum).exp())
    }

    pub fn confidence(&self) -> HitConfidence {
        match self.likelihood() {
            likely if likely >= LIKELY => HitConfidence::High,
            likely if likely >= UNLIKELY => HitConfidence::Low,
            _ => HitConfidence::Unlikely,
        }
    }
}

// Fitted to questions asked of the right and of the wrong notes, on half of the groups of two sets:
// `docs/RETRIEVAL-BENCH.md`.
const BASE: f32 = -4.82;
const KNOWN: f32 = 2.56;
const COVERAGE: f32 = 3.28;
const THIRD: f32 = 1.56;
const COSINE: f32 = 2.79;
const KEYWORD: f32 = 1.76;
const PAIRS: f32 = 0.8;
/// What a cosine is taken for where there are no vectors.
const NO_COSINE: f32 = 0.42;
const LIKELY: f32 = 0.5;
const UNLIKELY: f32 = 0.2;
