//! Hits that say the same: dropped, or kept apart.

use std::collections::HashSet;

use super::SearchHit;
use crate::words::TermReader;

/// Copies are looked for among the hits that are likely to be shown.
const COMPARED: usize = 24;

/// Drops hits that nearly repeat a better one.
pub fn drop_copies(hits: &mut Vec<SearchHit>, above: f32, terms: &mut TermReader) {
    let mut kept: Vec<HashSet<String>> = Vec::new();
    hits.retain(|hit| {
        if kept.len() >= COMPARED {
            return true;
        }
        let words: HashSet<String> = terms.of(&hit.text).into_iter().collect();
        let copy = kept.iter().any(|other| jaccard(&words, other) > above);
        if !copy {
            kept.push(words);
        }
        !copy
    });
}

/// Maximal marginal relevance: each next hit is good and unlike those before it.
pub fn diversify(hits: &mut Vec<SearchHit>, lambda: f32, terms: &mut TermReader) {
    let mut rest: Vec<(HashSet<String>, SearchHit)> = hits
        .drain(..)
        .map(|hit| (terms.of(&hit.text).into_iter().collect(), hit))
        .collect();
    let mut chosen: Vec<HashSet<String>> = Vec::new();
    while !rest.is_empty() {
        let value = |(words, hit): &(HashSet<String>, SearchHit)| {
            let like = chosen
                .iter()
                .map(|other| jaccard(words, other))
                .fold(0.0, f32::max);
            lambda * hit.score - (1.0 - lambda) * like
        };
        let mut best = 0;
        let mut most = f32::NEG_INFINITY;
        for (at, one) in rest.iter().enumerate() {
            let value = value(one);
            if at == 0 || value > most {
                (best, most) = (at, value);
            }
        }
        let (words, hit) = rest.remove(best);
        chosen.push(words);
        hits.push(hit);
    }
}

fn jaccard(a: &HashSet<String>, b: &HashSet<String>) -> f32 {
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let common = a.intersection(b).count() as f32;
    common / ((a.len() + b.len()) as f32 - common)
}
