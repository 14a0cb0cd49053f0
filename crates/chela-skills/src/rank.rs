//! Which skills fit a message: BM25 over name, description and headings, with what was used
//! before counting a little.
//!
//! People do not speak like descriptions. Words are reduced to their stems, and a small table of
//! everyday synonyms (`rank/synonyms.txt`) lets "mail" find a skill that says "e-mail". Both are
//! cheap, work without a model and give the same answer every time.

mod words;

use std::collections::HashMap;

use crate::skill::Skill;
use crate::uses::SkillUses;
use words::{KinWords, terms};

/// How many skills are described for a message.
pub const DESCRIBED_PER_MESSAGE: usize = 5;

/// Weights of the fields a word stands in.
const NAME: f32 = 3.0;
const DESCRIPTION: f32 = 1.0;
const HEADING: f32 = 0.35;
/// A synonym counts this much of the word itself, and more when no skill has the word.
const SYNONYM: f32 = 0.45;
const SYNONYM_OF_UNKNOWN: f32 = 0.85;
/// BM25: how fast repeating a word stops helping, and how much long texts are held back.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.5;
/// How much use raises a score: a skill used ten times lately gains about a quarter.
const USE: f64 = 0.1;

/// Skills, ready to be asked about.
#[derive(Debug, Clone, Default)]
pub struct RankIndex {
    names: Vec<String>,
    lengths: Vec<f32>,
    average: f32,
    /// For each stem the skills that have it, and how strongly.
    postings: HashMap<String, Vec<(u32, f32)>>,
}

/// A skill and how well it fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedSkill {
    /// Position among the skills the index was made of.
    pub at: usize,
    pub score: f64,
}

impl RankIndex {
    pub fn new<'a>(skills: impl IntoIterator<Item = &'a Skill>) -> Self {
        let mut index = Self::default();
        for skill in skills {
            index.add(skill);
        }
        #[allow(clippy::cast_precision_loss, reason = "counts of skills are small")]
        let count = index.lengths.len().max(1) as f32;
        index.average = (index.lengths.iter().sum::<f32>() / count).max(1.0);
        index
    }

    fn add(&mut self, skill: &Skill) {
        let at = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let mut weights: HashMap<String, f32> = HashMap::new();
        let mut length = 0.0;
        let headings = skill
            .headings
            .iter()
            .map(|heading| (heading.as_str(), HEADING));
        let fields = [
            (skill.name.as_str(), NAME),
            (skill.description.as_str(), DESCRIPTION),
        ];
        for (text, weight) in fields.into_iter().chain(headings) {
            for term in terms(text) {
                *weights.entry(term).or_default() += weight;
                length += weight;
            }
        }
        for (term, weight) in weights {
            self.postings.entry(term).or_default().push((at, weight));
        }
        self.names.push(skill.name.clone());
        self.lengths.push(length);
    }

    /// The skills that fit a message, best first; those that share no word with it are not there.
    pub fn rank(&self, message: &str, uses: &SkillUses, now: u64) -> Vec<RankedSkill> {
        let mut scores: HashMap<u32, f64> = HashMap::new();
        for (term, weight) in self.query(message) {
            let Some(postings) = self.postings.get(&term) else {
                continue;
            };
            let rarity = self.rarity(postings.len());
            for (at, strength) in postings {
                let Some(length) = self.lengths.get(*at as usize) else {
                    continue;
                };
                let length = length / self.average;
                let held_back = SATURATION * (1.0 - LENGTH + LENGTH * length);
                let gain = rarity * strength * (SATURATION + 1.0) / (strength + held_back);
                *scores.entry(*at).or_default() += f64::from(gain * weight);
            }
        }
        let mut ranked: Vec<RankedSkill> = scores
            .into_iter()
            .map(|(at, score)| {
                let at = at as usize;
                let used = self
                    .names
                    .get(at)
                    .map_or(0.0, |name| uses.weight(name, now));
                RankedSkill {
                    at,
                    score: score * (1.0 + USE * (1.0 + used).ln()),
                }
            })
            .collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.at.cmp(&b.at)));
        ranked
    }

    /// The stems of a message and their synonyms, each with its weight.
    fn query(&self, message: &str) -> Vec<(String, f32)> {
        /// Enough of a long message to know what it is about.
        const MAX_TERMS: usize = 200;
        let mut weights: Vec<(String, f32)> = Vec::new();
        let mut raise =
            |term: &str, weight: f32| match weights.iter_mut().find(|(known, _)| known == term) {
                Some((_, known)) => *known = known.max(weight),
                None => weights.push((term.to_owned(), weight)),
            };
        for term in terms(message).into_iter().take(MAX_TERMS) {
            let known = self.postings.contains_key(&term);
            raise(&term, 1.0);
            for kin in KinWords::of(&term) {
                raise(kin, if known { SYNONYM } else { SYNONYM_OF_UNKNOWN });
            }
        }
        weights
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of skills are small")]
    fn rarity(&self, having: usize) -> f32 {
        let (all, having) = (self.names.len() as f32, having as f32);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }
}

#[cfg(test)]
mod tests;
