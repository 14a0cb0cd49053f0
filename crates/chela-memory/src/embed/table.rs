//! The embedding that is always there: a table of word vectors inside the binary.
//!
//! A text's vector is the sum of the vectors of its word pieces. No model runs, nothing is
//! downloaded, and a core embeds tens of thousands of chunks in a second.

#![expect(clippy::indexing_slicing, reason = "the table is part of the program")]

use std::sync::LazyLock;

use super::wordpiece::WordPiece;

/// See `data/pack.py` for the layout and `data/README.md` for where the numbers come from.
static FILE: &[u8] = include_bytes!("../../data/table.bin");
const HEADER: usize = 20;

/// Dimensions of the built-in vectors.
pub const DIMENSIONS: usize = 256;
/// Numbers are kept in quarters of a row: three of them in bytes, six bits each, and the fourth in
/// the two bits those leave over.
const QUARTER: usize = DIMENSIONS / 4;
const ROW_BYTES: usize = 3 * QUARTER;
/// What stands for zero.
const MIDDLE: f32 = 32.0;

static TABLE: LazyLock<WordTable> = LazyLock::new(WordTable::open);

/// The table, laid out for look-up.
#[derive(Debug)]
pub struct WordTable {
    scales: &'static [u8],
    rows: &'static [u8],
    pieces: WordPiece,
}

impl WordTable {
    /// The one inside the binary.
    pub fn built_in() -> &'static Self {
        &TABLE
    }

    fn open() -> Self {
        let number = |at: usize| {
            FILE[at..at + 4]
                .iter()
                .rev()
                .fold(0_usize, |n, byte| n << 8 | usize::from(*byte))
        };
        let (rows, words) = (number(8), number(16));
        let scales_end = HEADER + 4 * rows;
        let rows_end = scales_end + rows * ROW_BYTES;
        Self {
            scales: FILE.get(HEADER..scales_end).unwrap_or_default(),
            rows: FILE.get(scales_end..rows_end).unwrap_or_default(),
            pieces: WordPiece::new(
                std::str::from_utf8(FILE.get(rows_end..rows_end + words).unwrap_or_default())
                    .unwrap_or_default(),
            ),
        }
    }

    /// The word pieces, one per line; the line is the id.
    pub fn vocabulary(&self) -> &'static str {
        self.pieces.words()
    }

    /// The ids of the word pieces of a text.
    pub fn encode(&self, text: &str) -> Vec<u16> {
        let mut ids = Vec::with_capacity(text.len() / 4);
        self.encode_into(text, &mut ids);
        ids
    }

    /// Like [`WordTable::encode`], into a list that is used again.
    pub fn encode_into(&self, text: &str, ids: &mut Vec<u16>) {
        self.pieces.encode(text, ids);
    }

    /// Adds the vectors of `ids`, each `weight` times, to `sum`.
    pub fn add(&self, ids: &[u16], weight: f32, sum: &mut [f32; DIMENSIONS]) {
        for id in ids {
            let (row, scale) = self.row(*id);
            let scale = scale * weight;
            for (sum, value) in sum.iter_mut().zip(row) {
                *sum += value * scale;
            }
        }
    }

    /// The row of one piece and what a step of it is worth.
    pub fn row(&self, id: u16) -> ([f32; DIMENSIONS], f32) {
        let id = usize::from(id);
        let (rows, _) = self.rows.as_chunks::<ROW_BYTES>();
        let (scales, _) = self.scales.as_chunks::<4>();
        (unpacked(&rows[id]), f32::from_le_bytes(scales[id]))
    }
}

fn unpacked(packed: &[u8; ROW_BYTES]) -> [f32; DIMENSIONS] {
    let mut row = [0.0; DIMENSIONS];
    for at in 0..QUARTER {
        let [a, b, c] = [packed[at], packed[QUARTER + at], packed[2 * QUARTER + at]];
        let last = a >> 6 | b >> 6 << 2 | c >> 6 << 4;
        row[at] = f32::from(a & 63) - MIDDLE;
        row[QUARTER + at] = f32::from(b & 63) - MIDDLE;
        row[2 * QUARTER + at] = f32::from(c & 63) - MIDDLE;
        row[3 * QUARTER + at] = f32::from(last) - MIDDLE;
    }
    row
}
