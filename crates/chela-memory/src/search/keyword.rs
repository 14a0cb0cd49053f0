//! The keyword leg: BM25 over units and over sections.

#![expect(
    clippy::indexing_slicing,
    reason = "slots and rows are numbered by the snapshot they index"
)]

use std::collections::HashMap;
use std::ops::Range;

use super::weights::RankWeights;
use crate::query::{ParsedQuery, QueryTerm};
use crate::segment::ChunkFlags;
use crate::snapshot::{IndexSnapshot, SnapshotPart};

/// In how many current chunks a term stands.
#[derive(Debug, Default)]
pub struct TermCounts(HashMap<String, usize>);

impl TermCounts {
    pub fn of(&self, term: &str) -> Option<usize> {
        self.0.get(term).copied()
    }
}

/// Scores every chunk and every section.
pub fn score(
    snapshot: &IndexSnapshot,
    query: &ParsedQuery,
    weights: &RankWeights,
    units: &mut Vec<f32>,
    sections: &mut Vec<f32>,
) -> TermCounts {
    units.clear();
    units.resize(snapshot.slots(), 0.0);
    sections.clear();
    sections.resize(snapshot.sections, 0.0);
    let mut counts = TermCounts::default();
    let mut scorer = Scorer::new(snapshot, weights, units, sections);
    for term in &query.terms {
        let found = scorer.add(term);
        counts.0.insert(term.text().to_owned(), found);
    }
    spread(snapshot, weights, units);
    counts
}

struct Scorer<'a> {
    snapshot: &'a IndexSnapshot,
    units: &'a mut [f32],
    sections: &'a mut [f32],
    /// `k1 * (1 - b)` and `k1 * b / average length`, for units and sections.
    unit_norm: (f32, f32),
    section_norm: (f32, f32),
    k1: f32,
    /// Chunks of a term and how much of it stands there, part after part.
    hits: Vec<(u32, f32)>,
}

impl<'a> Scorer<'a> {
    fn new(
        snapshot: &'a IndexSnapshot,
        weights: &'a RankWeights,
        units: &'a mut [f32],
        sections: &'a mut [f32],
    ) -> Self {
        let average = |count: usize| (snapshot.live_terms as f32 / count.max(1) as f32).max(1.0);
        let unit = average(snapshot.live);
        let (k1, unit_b) = if snapshot.has_pages() {
            (weights.k1_long, weights.b_long)
        } else {
            (weights.k1, weights.b)
        };
        let norm = |b: f32, average: f32| (k1 * (1.0 - b), k1 * b / average);
        Self {
            unit_norm: norm(unit_b, unit),
            section_norm: norm(weights.b, average(snapshot.sections)),
            k1,
            snapshot,
            units,
            sections,
            hits: Vec::new(),
        }
    }

    /// Adds one term; returns in how many current chunks it stands, in any of its forms.
    fn add(&mut self, term: &QueryTerm) -> usize {
        self.hits.clear();
        let mut ends = Vec::with_capacity(self.snapshot.parts.len());
        let mut sections = 0;
        for part in &self.snapshot.parts {
            let from = self.hits.len();
            for form in &term.forms {
                let postings = part.segment.postings(&form.text).into_iter().flatten();
                let alive = postings
                    .filter(|(doc, _)| part.alive.get(*doc as usize).copied().unwrap_or_default())
                    .map(|(doc, count)| (doc, count as f32 * form.weight));
                self.hits.extend(alive);
            }
            if term.forms.len() > 1 {
                self.join_forms(from);
            }
            let parents = &part.segment.parents;
            let mut last = u32::MAX;
            for (doc, _) in &self.hits[from..] {
                let parent = parents[*doc as usize];
                sections += usize::from(parent != last);
                last = parent;
            }
            ends.push(self.hits.len());
        }
        let chunks = self.hits.len();
        let unit_idf = idf(self.snapshot.live, chunks) * term.weight;
        let section_idf = idf(self.snapshot.sections, sections) * term.weight;
        let mut start = 0;
        for (part, end) in self.snapshot.parts.iter().zip(ends) {
            self.add_part(part, start..end, unit_idf, section_idf);
            start = end;
        }
        chunks
    }

    /// A chunk that has several forms of a word has the word once, as often as the best says.
    fn join_forms(&mut self, from: usize) {
        self.hits[from..].sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut kept = from;
        for at in from..self.hits.len() {
            if at == from || self.hits[at].0 != self.hits[kept - 1].0 {
                self.hits[kept] = self.hits[at];
                kept += 1;
            }
        }
        self.hits.truncate(kept);
    }

    fn add_part(
        &mut self,
        part: &SnapshotPart,
        hits: Range<usize>,
        unit_idf: f32,
        section_idf: f32,
    ) {
        let k = self.k1 + 1.0;
        let hits = &self.hits[hits];
        for (doc, count) in hits {
            let length = part.segment.lengths[*doc as usize] as f32;
            let norm = self.unit_norm.0 + self.unit_norm.1 * length;
            self.units[part.base + *doc as usize] += unit_idf * count * k / (count + norm);
        }
        let parents = &part.segment.parents;
        for run in hits.chunk_by(|a, b| parents[a.0 as usize] == parents[b.0 as usize]) {
            let parent = parents[run[0].0 as usize] as usize;
            let count: f32 = run.iter().map(|(_, count)| count).sum();
            let length = part.segment.parent_lengths[parent] as f32;
            let norm = self.section_norm.0 + self.section_norm.1 * length;
            self.sections[part.section_base + parent] += section_idf * count * k / (count + norm);
        }
    }
}

fn idf(all: usize, with: usize) -> f32 {
    let (all, with) = (all as f32, with as f32);
    (1.0 + ((all - with).max(0.0) + 0.5) / (with + 0.5)).ln()
}

/// Lets each unit share in what its neighbours in the same file say.
fn spread(snapshot: &IndexSnapshot, weights: &RankWeights, units: &mut [f32]) {
    if weights.before == 0.0 && weights.after == 0.0 {
        return;
    }
    for part in &snapshot.parts {
        let docs = &part.segment.docs;
        let scores = &mut units[part.base..part.base + docs.len()];
        let mut before = 0.0;
        for at in 0..docs.len() {
            let own = scores[at];
            let after = scores.get(at + 1).copied().unwrap_or_default();
            if own == 0.0 && before == 0.0 && after == 0.0 {
                continue;
            }
            let next = match docs.get(at + 1) {
                Some(next) if next.file == docs[at].file => after,
                _ => 0.0,
            };
            let previous = match at.checked_sub(1).map(|last| &docs[last]) {
                Some(last) if last.file == docs[at].file => {
                    let asked = last.flags.has(ChunkFlags::ENDS_ASKING);
                    before
                        * if asked {
                            weights.before_answer
                        } else {
                            weights.before
                        }
                }
                _ => 0.0,
            };
            scores[at] = own + previous + weights.after * next;
            before = own;
        }
    }
}

/// The same for how near each unit is to what the question means.
pub fn spread_meaning(snapshot: &IndexSnapshot, weights: &RankWeights, cosines: &mut [f32]) {
    if weights.meant_before == 0.0 && weights.meant_after == 0.0 {
        return;
    }
    for part in &snapshot.parts {
        let docs = &part.segment.docs;
        let scores = &mut cosines[part.base..part.base + docs.len()];
        let mut before = 0.0;
        for at in 0..docs.len() {
            let own = scores[at];
            let next = match docs.get(at + 1) {
                Some(next) if next.file == docs[at].file => scores[at + 1],
                _ => own,
            };
            let previous = match at.checked_sub(1) {
                Some(last) if docs[last].file == docs[at].file => before,
                _ => own,
            };
            scores[at] = own * (1.0 - weights.meant_before - weights.meant_after)
                + weights.meant_before * previous
                + weights.meant_after * next;
            before = own;
        }
    }
}
