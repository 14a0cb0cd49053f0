//! A closer look at the best candidates: their words, one by one.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::feedback::Feedback;
use super::keyword::Counts;
use super::{Ranked, SearchRequest};
use crate::embed::table::{DIMENSIONS, Table};
use crate::query::Query;
use crate::settings::QueryMode;
use crate::snapshot::Snapshot;
use crate::words::Terms;

/// Adds to the scores of the first `closer` candidates.
pub fn look(
    connection: &Connection,
    snapshot: &Snapshot,
    mut question: Question,
    request: &SearchRequest<'_>,
    ranked: &mut [Ranked],
    terms: &mut Terms,
) -> rusqlite::Result<()> {
    let weights = request.weights;
    let subject = question.subject;
    let count = ranked.len().min(weights.looked_at(subject));
    let (near, far) = ranked.split_at_mut(count);
    let mut statement =
        connection.prepare_cached("SELECT text, body_at FROM chunks WHERE id = ?1")?;
    let mut feedback = Feedback::default();
    let mut lowest_soft = f32::INFINITY;
    let mut highest_soft = f32::NEG_INFINITY;
    for one in near.iter_mut() {
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
        let seen = question.compare(&text, body, terms, &mut feedback);
        one.explain.coverage = seen.coverage;
        one.explain.pairs = seen.pairs;
        one.explain.soft = seen.soft;
        one.explain.phrase = seen.phrase;
        one.explain.close = seen.close;
        one.explain.title = seen.title;
        lowest_soft = lowest_soft.min(seen.soft);
        highest_soft = highest_soft.max(seen.soft);
    }
    let spread = (highest_soft - lowest_soft).max(1e-6);
    for one in near.iter_mut() {
        if request.settings.mode != QueryMode::Vector {
            one.score +=
                weights.coverage * one.explain.coverage + weights.pairs * one.explain.pairs;
            one.score += weights.phrase * one.explain.phrase;
            one.score +=
                subject * (weights.close * one.explain.close + weights.title * one.explain.title);
        }
        one.score += weights.soft * (one.explain.soft - lowest_soft) / spread;
    }
    if subject > 0.0 {
        let agreements = feedback.judge(snapshot, near);
        for (one, agreement) in near.iter_mut().zip(agreements) {
            let (words, meaning) = match request.settings.mode {
                QueryMode::Keyword => (weights.agreed_words, 0.0),
                QueryMode::Vector => (0.0, weights.agreed_meaning),
                _ => (weights.agreed_words, weights.agreed_meaning),
            };
            one.explain.agreed = subject * (words * agreement.words + meaning * agreement.meaning);
            one.score += one.explain.agreed;
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
            one.score -= down;
        }
    }
    Ok(())
}

/// A question word by word.
pub struct Question {
    /// The number of each term of the question.
    numbers: HashMap<String, usize>,
    /// Each term's share of the question's weight.
    shares: Vec<f32>,
    /// Terms that stand next to each other in the question.
    pairs: HashSet<(usize, usize)>,
    /// What all terms near each other would be worth.
    all_close: f32,
    phrases: Vec<String>,
    soft: Soft,
    /// How far it asks for a subject; see [`Query::subject`].
    pub subject: f32,
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

/// Words at most this far apart are near each other.
const NEAR: usize = 6;
/// A longer first line is no title.
const LONGEST_TITLE: usize = 200;

impl Question {
    /// `live` is the number of chunks, `meant` the text whose meaning counts.
    pub fn new(
        live: usize,
        query: &Query,
        counts: &Counts,
        meant: &str,
        terms: &mut Terms,
    ) -> Self {
        let all = live as f32;
        let mut numbers = HashMap::new();
        let mut shares = Vec::new();
        for (number, term) in query.terms.iter().enumerate() {
            let df = counts.of(&term.text).unwrap_or(0) as f32;
            shares.push((1.0 + ((all - df).max(0.0) + 0.5) / (df + 0.5)).ln() * term.weight);
            numbers.insert(term.text.clone(), number);
        }
        let total: f32 = shares.iter().sum::<f32>().max(1e-6);
        shares.iter_mut().for_each(|share| *share /= total);
        let mut order = Vec::new();
        terms.each(&query.text, |term| order.extend(numbers.get(term).copied()));
        let pairs = order.windows(2).map(|pair| (pair[0], pair[1])).collect();
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
            soft: Soft::new(meant),
            subject: 0.0,
        }
    }

    fn compare(
        &mut self,
        text: &str,
        body: &str,
        terms: &mut Terms,
        feedback: &mut Feedback,
    ) -> Seen {
        let mut present = vec![false; self.shares.len()];
        let mut in_row: HashSet<(usize, usize)> = HashSet::new();
        let mut close: HashSet<(usize, usize)> = HashSet::new();
        let mut last = None;
        // Where each term of the question was met last.
        let mut met: Vec<Option<usize>> = vec![None; self.shares.len()];
        let mut at = 0;
        terms.each(text, |term| {
            if self.subject > 0.0 {
                feedback.word(term);
            }
            let number = self.numbers.get(term).copied();
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
                terms.each(first, |term| {
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
            soft: self.soft.compare(body),
            phrase,
            close,
            title,
        }
    }
}

/// How well each word piece of the question is met by the piece most like it.
struct Soft {
    /// Direction and weight of each piece of the question.
    pieces: Vec<(Vec<f32>, f32)>,
    /// Where the likenesses of a piece that was met before are kept.
    known: HashMap<u16, usize>,
    likenesses: Vec<f32>,
    ids: Vec<u16>,
}

impl Soft {
    fn new(meaning: &str) -> Self {
        let table = Table::built_in();
        let mut ids = table.encode(meaning);
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(MOST_PIECES);
        let mut pieces: Vec<(Vec<f32>, f32)> = ids
            .into_iter()
            .map(|id| {
                let (row, scale) = table.row(id);
                let vector: Vec<f32> = row.iter().map(|v| f32::from(*v as i8)).collect();
                let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-6);
                (vector.iter().map(|v| v / length).collect(), length * scale)
            })
            .collect();
        let total: f32 = pieces
            .iter()
            .map(|(_, weight)| weight)
            .sum::<f32>()
            .max(1e-6);
        pieces.iter_mut().for_each(|(_, weight)| *weight /= total);
        Self {
            pieces,
            known: HashMap::new(),
            likenesses: Vec::new(),
            ids: Vec::new(),
        }
    }

    fn compare(&mut self, body: &str) -> f32 {
        let count = self.pieces.len();
        let mut best = vec![0.0_f32; count];
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        Table::built_in().encode_into(body, &mut ids);
        for id in &ids {
            let from = self.likeness(*id);
            for (best, like) in best.iter_mut().zip(&self.likenesses[from..from + count]) {
                *best = best.max(*like);
            }
        }
        self.ids = ids;
        self.pieces
            .iter()
            .zip(best)
            .map(|((_, weight), best)| weight * best)
            .sum()
    }

    fn likeness(&mut self, id: u16) -> usize {
        if let Some(at) = self.known.get(&id) {
            return *at;
        }
        let at = self.likenesses.len();
        let (row, _) = Table::built_in().row(id);
        let wide = row.map(|value| f32::from(value as i8));
        let scale = 1.0 / dot(&wide, &wide).sqrt().max(1e-6);
        self.likenesses.extend(
            self.pieces
                .iter()
                .map(|(vector, _)| dot(vector, &wide) * scale),
        );
        self.known.insert(id, at);
        at
    }
}

/// A question longer than this is compared by its first pieces.
const MOST_PIECES: usize = 64;

/// In eight lanes, which is how the compiler makes vectors of it.
fn dot(a: &[f32], b: &[f32; DIMENSIONS]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (a, _) = a.as_chunks::<8>();
    let (b, _) = b.as_chunks::<8>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    lanes.iter().sum()
}
