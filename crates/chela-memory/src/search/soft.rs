//! Words compared by meaning, one by one.

#![expect(
    clippy::indexing_slicing,
    reason = "lanes of arrays whose length is known"
)]

use std::collections::HashMap;

use crate::word_table::{DIMENSIONS, WordTable};

/// How well each word piece of the question is met by the piece most like it.
pub struct SoftMatch {
    /// Direction and weight of each piece of the question.
    pieces: Vec<(Vec<f32>, f32)>,
    /// Where the likenesses of a piece that was met before are kept.
    known: HashMap<u16, usize>,
    likenesses: Vec<f32>,
    ids: Vec<u16>,
}

impl SoftMatch {
    pub fn new(meaning: &str) -> Self {
        let table = WordTable::built_in();
        let mut ids = table.encode(meaning);
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(MOST_PIECES);
        let mut pieces: Vec<(Vec<f32>, f32)> = ids
            .into_iter()
            .map(|id| {
                let (vector, scale) = table.row(id);
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

    pub fn compare(&mut self, body: &str) -> f32 {
        let count = self.pieces.len();
        let mut best = vec![0.0_f32; count];
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        WordTable::built_in().encode_into(body, &mut ids);
        for id in &ids {
            let from = self.likeness(*id);
            for (best, like) in best
                .iter_mut()
                .zip(self.likenesses.get(from..from + count).unwrap_or_default())
            {
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
        let (wide, _) = WordTable::built_in().row(id);
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
