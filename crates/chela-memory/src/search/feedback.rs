//! What the best candidates have in common says more about the subject than the question does.
//!
//! The first few are taken to be right; the words and the direction they share are looked for in
//! all candidates. No candidate speaks for itself: what it adds is taken out before it is judged.

#![expect(
    clippy::indexing_slicing,
    reason = "candidates and words are numbered by the lists they index"
)]

use std::collections::HashMap;

use super::RankedChunk;
use crate::snapshot::IndexSnapshot;

/// So many of the best are taken to be right.
const BELIEVED: usize = 10;
/// So many of their words count.
const WORDS: usize = 40;
/// A word said often in one text counts little more than twice.
const SATURATION: f32 = 1.2;

/// The words of the candidates, each known by a number.
#[derive(Debug, Default)]
pub struct WordFeedback {
    numbers: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
    texts: Vec<Text>,
    open: Vec<u32>,
}

#[derive(Debug, Default)]
struct Text {
    /// Words and how often they stand there.
    counts: Vec<(u32, f32)>,
    length: f32,
}

/// How well a candidate agrees with the best ones, between 0 and 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HitAgreement {
    pub words: f32,
    pub meaning: f32,
}

impl WordFeedback {
    /// Adds a word to the text at hand.
    pub fn word(&mut self, term: &str) {
        let number = match self.numbers.get(term) {
            Some(number) => *number,
            None => {
                let number = self.names.len() as u32;
                self.names.push(term.into());
                self.numbers.insert(term.into(), number);
                number
            }
        };
        self.open.push(number);
    }

    /// Ends the text at hand. Texts come in the order of the candidates.
    pub fn end_text(&mut self) {
        self.open.sort_unstable();
        let counts = self
            .open
            .chunk_by(|a, b| a == b)
            .map(|run| (run[0], run.len() as f32))
            .collect();
        self.texts.push(Text {
            counts,
            length: self.open.len().max(1) as f32,
        });
        self.open.clear();
    }

    /// The agreement of each candidate with the best of them by `score`.
    pub fn judge(&self, snapshot: &IndexSnapshot, ranked: &[RankedChunk]) -> Vec<HitAgreement> {
        let mut believed: Vec<usize> = (0..ranked.len().min(self.texts.len())).collect();
        believed.sort_by(|a, b| ranked[*b].score.total_cmp(&ranked[*a].score));
        believed.truncate(BELIEVED);
        let trust = trust(ranked, &believed);
        let words = self.words(snapshot, ranked.len(), &believed, &trust);
        let meaning = meaning(snapshot, ranked, &believed, &trust);
        words
            .into_iter()
            .zip(meaning)
            .map(|(words, meaning)| HitAgreement { words, meaning })
            .collect()
    }

    fn words(
        &self,
        snapshot: &IndexSnapshot,
        candidates: usize,
        believed: &[usize],
        trust: &[f32],
    ) -> Vec<f32> {
        // How much each word is said by those believed, and by how many of them.
        let mut said: HashMap<u32, (f32, usize)> = HashMap::new();
        for (at, trust) in believed.iter().zip(trust) {
            let text = &self.texts[*at];
            for (word, count) in &text.counts {
                let entry = said.entry(*word).or_default();
                entry.0 += trust * count / text.length;
                entry.1 += 1;
            }
        }
        let mut model: Vec<(u32, f32, f32)> = said
            .into_iter()
            .filter(|(_, (_, texts))| *texts > 1)
            .map(|(word, (weight, _))| {
                let rare = rarity(snapshot, &self.names[word as usize]);
                (word, weight, rare)
            })
            .collect();
        model.sort_by(|a, b| (b.1 * b.2).total_cmp(&(a.1 * a.2)).then(a.0.cmp(&b.0)));
        model.truncate(WORDS);
        let model: HashMap<u32, (f32, f32)> = model
            .into_iter()
            .map(|(word, weight, rare)| (word, (weight, rare)))
            .collect();
        let average =
            self.texts.iter().map(|text| text.length).sum::<f32>() / self.texts.len().max(1) as f32;
        let mut scores = vec![0.0; candidates];
        for (at, (score, text)) in scores.iter_mut().zip(&self.texts).enumerate() {
            let own = believed.iter().position(|one| *one == at);
            let own = own.map_or(0.0, |place| trust[place]);
            let rest = (1.0 - own).max(0.05);
            let norm = SATURATION * (0.5 + 0.5 * text.length / average);
            for (word, count) in &text.counts {
                if let Some((weight, rare)) = model.get(word) {
                    let others = (weight - own * count / text.length).max(0.0) / rest;
                    *score += others * rare * count / (count + norm);
                }
            }
        }
        scaled(scores)
    }
}

/// How much each of the believed is believed; all of it is 1.
fn trust(ranked: &[RankedChunk], believed: &[usize]) -> Vec<f32> {
    let total: f32 = believed.iter().map(|at| ranked[*at].score.max(0.0)).sum();
    believed
        .iter()
        .map(|at| ranked[*at].score.max(0.0) / total.max(1e-6))
        .collect()
}

/// How rare a word is in the index, from the size of its postings.
fn rarity(snapshot: &IndexSnapshot, term: &str) -> f32 {
    let size: usize = snapshot
        .parts
        .iter()
        .map(|part| part.segment.postings_size(term))
        .sum();
    (1.0 + snapshot.live as f32 / (size as f32 + 0.5)).ln()
}

/// How near each candidate is to the direction of the believed.
fn meaning(
    snapshot: &IndexSnapshot,
    ranked: &[RankedChunk],
    believed: &[usize],
    trust: &[f32],
) -> Vec<f32> {
    let vector = |at: usize| {
        let (part, row) = snapshot.locate(ranked[at].slot)?;
        part.matrix.as_ref().map(|matrix| matrix.row(row))
    };
    let mut middle: Vec<f32> = Vec::new();
    for (at, trust) in believed.iter().zip(trust) {
        for (place, value) in vector(*at).into_iter().flatten().enumerate() {
            match middle.get_mut(place) {
                Some(sum) => *sum += trust * value,
                None => middle.push(trust * value),
            }
        }
    }
    let mut scores = Vec::with_capacity(ranked.len());
    for at in 0..ranked.len() {
        let own = believed.iter().position(|one| *one == at);
        let own = own.map_or(0.0, |place| trust[place]);
        let (mut dot, mut square) = (0.0, 0.0);
        for (middle, value) in middle.iter().zip(vector(at).into_iter().flatten()) {
            let others = middle - own * value;
            dot += others * value;
            square += others * others;
        }
        scores.push(dot / square.sqrt().max(1e-6));
    }
    scaled(scores)
}

/// The least is 0 and the most is 1.
fn scaled(mut scores: Vec<f32>) -> Vec<f32> {
    let least = scores.iter().copied().fold(f32::INFINITY, f32::min);
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = (most - least).max(1e-6);
    for score in &mut scores {
        *score = (*score - least) / range;
    }
    scores
}
