//! What was said later goes before what it replaces.

use super::SearchHit;
use crate::facts::{self, StatedFact};
use crate::words::TermReader;

/// So many of the best are compared.
const LOOKED_AT: usize = 40;
/// How far what is replaced stays behind what replaces it, in points.
const BEHIND: f32 = 0.01;

/// Where two hits give the same thing different values, the newer takes the better place of the two
/// and the older is marked with it.
pub fn put_newer_first(hits: &mut [SearchHit], terms: &mut TermReader) {
    let facts: Vec<(usize, StatedFact)> = hits
        .iter()
        .take(LOOKED_AT)
        .enumerate()
        .filter(|(_, hit)| hit.said_by.is_empty())
        .flat_map(|(at, hit)| {
            let body = hit.text.get(hit.body_at..).unwrap_or(&hit.text);
            let stated = facts::stated(&hit.heading, body, hit.date.is_some(), terms);
            stated.into_iter().map(move |fact| (at, fact))
        })
        .collect();
    let mut changed = false;
    for (at, fact) in &facts {
        let replaces = facts
            .iter()
            .filter(|(other, said)| other != at && said.differs(fact))
            .filter(|(other, said)| is_newer(hits, (*other, said), (*at, fact)))
            .max_by_key(|(other, _)| hits.get(*other).and_then(|hit| hit.date));
        if let Some((newer, _)) = replaces {
            changed |= mark(hits, *newer, *at);
        }
    }
    if changed {
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
}

/// By its day; beside an entry without one, by what it says of itself.
fn is_newer(
    hits: &[SearchHit],
    (other, said): (usize, &StatedFact),
    (at, fact): (usize, &StatedFact),
) -> bool {
    let day = |at: usize| hits.get(at).and_then(|hit| hit.date);
    match (day(other), day(at)) {
        (Some(other), Some(at)) => other > at,
        _ => said.says_newer && !fact.says_newer,
    }
}

/// Marks the hit at `older`, and gives the one at `newer` its place where that is better.
fn mark(hits: &mut [SearchHit], newer: usize, older: usize) -> bool {
    let Some(replacing) = hits.get(newer) else {
        return false;
    };
    let cited = replacing.citation();
    let (newer_points, newer_score) = (replacing.explain.points.total(), replacing.score);
    let Some(replaced) = hits.get_mut(older) else {
        return false;
    };
    replaced.replaced_by = Some(cited);
    let gain = replaced.explain.points.total() - newer_points;
    let score = replaced.score;
    if score < newer_score {
        return false;
    }
    replaced.explain.points.behind -= BEHIND;
    replaced.score -= BEHIND;
    if let Some(replacing) = hits.get_mut(newer) {
        replacing.explain.points.newer += gain;
        replacing.score = score;
    }
    true
}
