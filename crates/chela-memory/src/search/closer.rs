//! A closer look at the best candidates: their words, one by one.

#![expect(
    clippy::indexing_slicing,
    reason = "words are numbered by the lists they index"
)]

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::feedback::WordFeedback;
use super::keyword::TermCounts;
use super::soft::SoftMatch;
use super::{RankWeights, RankedChunk, SearchRequest};
use crate::language::Language;
use crate::query::{ParsedQuery, QueryKind};
use crate::settings::QueryMode;
use crate::snapshot::IndexSnapshot;
use crate::words::{TermKind, TermReader};

/// Adds to the scores of the first `closer` candidates.
pub fn look(
    connection: &Connection,
    snapshot: &IndexSnapshot,
    mut question: QuestionWords,
    request: &SearchRequest<'_>,
    ranked: &mut [RankedChunk],
    terms: &mut TermReader,
) -> rusqlite::Result<()> {
    let weights = request.weights;
    let subject = question.subject;
    let count = ranked.len().min(weights.looked_at(subject));
    let (near, far) = ranked.split_at_mut(count);
    let mut statement =
        connection.prepare_cached("SELECT text, body_at FROM chunks WHERE id = ?1")?;
    let mut feedback = WordFeedback::default();
    let mut lowest_soft = f32::INFINITY;
    let mut highest_soft = f32::NEG_INFINITY;
    let mut looks: Vec<(usize, Seen)> = Vec::with_capacity(near.len());
    for (number, one) in near.iter_mut().enumerate() {
        let Some((text, body_at)) = statement
            .query([one.chunk])?
            .next()?
            .map(|row| {
                Ok::<_, rusqlite::Error>((row.get::<_, String>(0)?, row.get::<_, usize>(1)?))
            })
            .transpose()?
        else {
            feedback.end_text();
            continue;
        };
        let body = text.get(body_at..).unwrap_or(&text);
        let read = ReadChunk {
            text: &text,
            body,
            language: one.language,
        };
        let seen = question.compare(&read, terms, &mut feedback);
        one.explain.coverage = seen.coverage;
        lowest_soft = lowest_soft.min(seen.soft);
        highest_soft = highest_soft.max(seen.soft);
        looks.push((number, seen));
    }
    let spread = (highest_soft - lowest_soft).max(1e-6);
    let shares = weights.shares(super::meaning::grasp(request));
    let look = match question.kind {
        QueryKind::Code => shares.look_at_code,
        QueryKind::Prose | QueryKind::Names => 1.0,
    };
    let between = |fact: f32, about: f32| fact + subject * (about - fact);
    let coverage = between(weights.coverage, weights.coverage_subject);
    let soft = question.soft_weight;
    for (number, seen) in &looks {
        let points = &mut near[*number].explain.points;
        if request.settings.mode != QueryMode::Vector {
            points.coverage = look * coverage * seen.coverage;
            points.pairs = look * weights.pairs * seen.pairs;
            points.phrase = weights.phrase * seen.phrase;
            points.close = subject * weights.close * seen.close;
            points.title = subject * weights.title * seen.title;
        }
        points.soft = look * soft * (seen.soft - lowest_soft) / spread;
    }
    for one in near.iter_mut() {
        one.score = one.explain.points.total();
    }
    if subject > 0.0 {
        let agreements = feedback.judge(snapshot, near);
        for (one, agreement) in near.iter_mut().zip(agreements) {
            let (words, meaning) = match request.settings.mode {
                QueryMode::Keyword => (weights.agreed_words, 0.0),
                QueryMode::Vector => (0.0, weights.agreed_meaning),
                _ => (weights.agreed_words, weights.agreed_meaning),
            };
            let agreed = words * agreement.words + meaning * agreement.meaning;
            one.explain.points.agreed = subject * agreed;
            one.score = one.explain.points.total();
        }
    }
    // What was not looked at stays behind what was.
    let least = near
        .iter()
        .map(|one| one.score)
        .fold(f32::INFINITY, f32::min);
    if let Some(first) = far.first().map(|one| one.score) {
        let down = (first - least).max(0.0) + 1e-3;
        for one in far {
            one.explain.points.behind -= down;
            one.score -= down;
        }
    }
    Ok(())
}

/// How much like words count.
pub fn soft_weight(weights: &RankWeights, kind: QueryKind, pages: bool, subject: f32) -> f32 {
    match kind {
        QueryKind::Code => weights.soft,
        QueryKind::Prose | QueryKind::Names => {
            let usual = if pages {
                weights.soft_pages
            } else {
                weights.soft_prose
            };
            usual + subject * (weights.soft_subject - usual)
        }
    }
}

/// A chunk as it is looked at.
struct ReadChunk<'a> {
    text: &'a str,
    body: &'a str,
    language: Language,
}

/// A question word by word.
pub struct QuestionWords {
    /// The number of each term of the question.
    numbers: HashMap<String, usize>,
    /// Each term's share of the question's weight.
    shares: Vec<f32>,
    /// Terms that stand next to each other in the question.
    pairs: HashSet<(usize, usize)>,
    /// What all terms near each other would be worth.
    all_close: f32,
    phrases: Vec<String>,
    /// Where like words count.
    soft: Option<SoftMatch>,
    kind: QueryKind,
    /// How far it asks for a subject; see [`ParsedQuery::subject`].
    pub subject: f32,
    /// How much like words count.
    pub soft_weight: f32,
    /// The share of its words that stand anywhere, and the keyword score a text would have that
    /// said all of them often.
    pub known: f32,
    pub possible: f32,
}

#[derive(Debug, Default)]
struct Seen {
    coverage: f32,
    pairs: f32,
    soft: f32,
    phrase: f32,
    close: f32,
    title: f32,
}

/// Who asks, or is asked, says little of what is asked, however seldom notes say it.
const PERSONS: [&str; 12] = [
    "i", "me", "my", "mine", "we", "us", "our", "ours", "you", "your", "yours", "myself",
];
/// Words at most this far apart are near each other.
const NEAR: usize = 6;
/// A longer first line is no title.
const LONGEST_TITLE: usize = 200;

impl QuestionWords {
    /// `live` is the number of chunks.
    pub fn new(live: usize, query: &ParsedQuery, counts: &TermCounts) -> Self {
        let all = live as f32;
        let mut numbers = HashMap::new();
        let mut shares = Vec::new();
        let (mut known, mut possible) = (0.0, 0.0);
        for (number, term) in query.terms.iter().enumerate() {
            let df = counts.of(term.text()).unwrap_or(0) as f32;
            let is_person = PERSONS.contains(&term.text());
            let usual = if is_person { df.max(all / 2.0) } else { df };
            let share = (1.0 + ((all - usual).max(0.0) + 0.5) / (usual + 0.5)).ln() * term.weight;
            shares.push(share);
            if df > 0.0 {
                known += share;
            }
            possible += share * 2.2;
            for form in &term.forms {
                numbers.entry(form.text.clone()).or_insert(number);
            }
        }
        let total: f32 = shares.iter().sum::<f32>().max(1e-6);
        shares.iter_mut().for_each(|share| *share /= total);
        let pairs = query
            .order
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .collect();
        let phrases = query
            .phrases
            .iter()
            .map(|phrase| phrase.to_lowercase())
            .collect();
        let squares: f32 = shares.iter().map(|share| share * share).sum();
        Self {
            numbers,
            all_close: (1.0 - squares) / 2.0,
            shares,
            pairs,
            phrases,
            soft: None,
            kind: query.kind,
            subject: 0.0,
            soft_weight: 0.0,
            known: known / total,
            possible,
        }
    }

    /// Has like words looked for, of the text whose meaning counts.
    pub fn look_for_like_words(&mut self, meant: &str) {
        self.soft = Some(SoftMatch::new(meant));
    }

    fn compare(
        &mut self,
        chunk: &ReadChunk<'_>,
        terms: &mut TermReader,
        feedback: &mut WordFeedback,
    ) -> Seen {
        let ReadChunk {
            text,
            body,
            language,
        } = *chunk;
        let mut present = vec![false; self.shares.len()];
        let mut in_row: HashSet<(usize, usize)> = HashSet::new();
        let mut close: HashSet<(usize, usize)> = HashSet::new();
        let mut last = None;
        // Where each term of the question was met last.
        let mut met: Vec<Option<usize>> = vec![None; self.shares.len()];
        let mut at = 0;
        terms.each_wide(language, text, |term, kind| {
            let number = self.numbers.get(term).copied();
            if kind == TermKind::Other {
                if let Some(number) = number {
                    present[number] = true;
                }
                return;
            }
            if self.subject > 0.0 {
                feedback.word(term);
            }
            if let Some(number) = number {
                present[number] = true;
                for (other, seen) in met.iter().enumerate() {
                    if other != number && seen.is_some_and(|seen| at - seen <= NEAR) {
                        close.insert((other.min(number), other.max(number)));
                    }
                }
                met[number] = Some(at);
            }
            if let (Some(last), Some(number)) = (last, number)
                && self.pairs.contains(&(last, number))
            {
                in_row.insert((last, number));
            }
            last = number;
            at += 1;
        });
        feedback.end_text();
        let share = |(a, b): &(usize, usize)| self.shares[*a] * self.shares[*b];
        let close: f32 = close.iter().map(share).sum::<f32>() / self.all_close.max(1e-6);
        let title = match text.split_once('\n') {
            Some((first, _)) if self.subject > 0.0 && first.len() <= LONGEST_TITLE => {
                let mut named = vec![false; self.shares.len()];
                terms.each_in(language, first, |term| {
                    if let Some(number) = self.numbers.get(term) {
                        named[*number] = true;
                    }
                });
                let named = self.shares.iter().zip(&named).filter(|(_, here)| **here);
                named.map(|(share, _)| share).sum()
            }
            _ => 0.0,
        };
        let coverage = self
            .shares
            .iter()
            .zip(&present)
            .filter(|(_, here)| **here)
            .map(|(share, _)| share)
            .sum();
        let pairs = in_row.len() as f32 / self.pairs.len().max(1) as f32;
        let phrase = if self.phrases.is_empty() {
            0.0
        } else {
            let lower = text.to_lowercase();
            let kept = self
                .phrases
                .iter()
                .filter(|phrase| lower.contains(phrase.as_str()))
                .count();
            kept as f32 / self.phrases.len() as f32
        };
        Seen {
            coverage,
            pairs,
            soft: self.soft.as_mut().map_or(0.0, |soft| soft.compare(body)),
            phrase,
            close,
            title,
        }
    }
}
