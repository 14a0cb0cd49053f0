//! The embedding that is always there: a table of word vectors inside the binary.
//!
//! A text's vector is the sum of the vectors of its word pieces. No model runs, nothing is
//! downloaded, and a core embeds tens of thousands of chunks in a second.

#![expect(clippy::indexing_slicing, reason = "the table is part of the program")]

mod row_code;
mod wordpiece;

use std::sync::LazyLock;

use row_code::{CodeLengths, GROUP, GROUPS, LONGEST_CODE, STRIDE, codes, number_of};
use wordpiece::WordPiece;

pub use row_code::DIMENSIONS;

// Where the numbers come from: `data/README.md`. What the build script makes of them lies here and
// is read in place, so that nothing but the rows of a text is ever loaded.
static CODES: &[CodeLengths] = include_bytes!(concat!(env!("OUT_DIR"), "/table.codes"))
    .as_chunks()
    .0;
static ROWS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/table.rows"));
static ROW_LENGTHS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/table.lengths"));
static ROW_STARTS: &[[u8; 4]] = include_bytes!(concat!(env!("OUT_DIR"), "/table.starts"))
    .as_chunks()
    .0;
static SCALES: &[[u8; 4]] = include_bytes!(concat!(env!("OUT_DIR"), "/table.scales"))
    .as_chunks()
    .0;
static WORDS: &str = include_str!(concat!(env!("OUT_DIR"), "/table.words"));

static TABLE: LazyLock<WordTable> = LazyLock::new(WordTable::open);

/// The table, laid out for look-up.
#[derive(Debug)]
pub struct WordTable {
    codes: [GroupCode; GROUPS],
    pieces: WordPiece,
}

impl WordTable {
    /// The one inside the binary.
    pub fn built_in() -> &'static Self {
        &TABLE
    }

    fn open() -> Self {
        Self {
            codes: std::array::from_fn(|group| GroupCode::new(&CODES[group])),
            pieces: WordPiece::new(WORDS),
        }
    }

    /// The word pieces, one per line; the line is the id.
    #[cfg(any(test, feature = "minilm"))]
    pub fn vocabulary(&self) -> &'static str {
        self.pieces.words()
    }

    /// The piece of an id, as the vocabulary writes it.
    pub fn word(&self, id: u16) -> &'static str {
        self.pieces.word(id)
    }

    /// Whether a word, in lower case and without accents, is a piece by itself.
    pub fn has_word(&self, word: &str) -> Option<u16> {
        self.pieces.whole(word)
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
        if ROW_LENGTHS[id] == 0 {
            return ([0.0; DIMENSIONS], 0.0);
        }
        let first = id - id % STRIDE;
        let start = u32::from_le_bytes(ROW_STARTS[id / STRIDE]) as usize;
        let before: usize = ROW_LENGTHS[first..id]
            .iter()
            .copied()
            .map(usize::from)
            .sum();
        (
            self.unpack(&ROWS[start + before..]),
            f32::from_le_bytes(SCALES[id]),
        )
    }

    /// The row that begins these bytes.
    fn unpack(&self, coded: &[u8]) -> [f32; DIMENSIONS] {
        /// So many numbers are sure to be in the bits that one look takes in.
        const AT_ONCE: usize = 4;
        let mut row = [0.0; DIMENSIONS];
        let mut bit = 0;
        for (code, part) in self.codes.iter().zip(row.as_chunks_mut::<GROUP>().0) {
            for values in part.as_chunks_mut::<AT_ONCE>().0 {
                let Some(bytes) = coded.get(bit / 8..).and_then(|rest| rest.first_chunk()) else {
                    return row;
                };
                let mut bits = u64::from_be_bytes(*bytes) << (bit % 8);
                for value in values {
                    let (number, length) = code.first(bits);
                    *value = number;
                    bits <<= length;
                    bit += length;
                }
            }
        }
        row
    }
}

/// The code of one quarter of a row: what the next bits begin with.
struct GroupCode(Vec<CodeSlot>);

#[derive(Debug, Clone, Copy, Default)]
struct CodeSlot {
    number: i8,
    length: u8,
}

impl std::fmt::Debug for GroupCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GroupCode").field(&self.0.len()).finish()
    }
}

impl GroupCode {
    fn new(lengths: &CodeLengths) -> Self {
        let mut slots = vec![CodeSlot::default(); 1 << LONGEST_CODE];
        let known = (0_u8..).zip(codes(lengths)).zip(lengths);
        for ((symbol, code), length) in known.filter(|(_, length)| **length > 0) {
            let spare = LONGEST_CODE - u32::from(*length);
            let from = usize::from(code) << spare;
            slots[from..from + (1 << spare)].fill(CodeSlot {
                number: number_of(symbol),
                length: *length,
            });
        }
        Self(slots)
    }

    /// The number these bits begin with, and how many of them are its code.
    fn first(&self, bits: u64) -> (f32, usize) {
        let slot = self.0[(bits >> (u64::BITS - LONGEST_CODE)) as usize];
        (f32::from(slot.number), usize::from(slot.length))
    }
}

#[cfg(test)]
mod tests {
    use super::{DIMENSIONS, ROW_LENGTHS, WordTable};

    /// What `data/pack.py` wrote, read as it says.
    static PACKED: &[u8] = include_bytes!("../data/table.bin");

    #[test]
    fn every_row_is_the_one_that_was_packed_to_the_nearest_step() {
        const QUARTER: usize = DIMENSIONS / 4;
        let rows = ROW_LENGTHS.len();
        let scales = &PACKED[20..20 + 4 * rows];
        let numbers = &PACKED[20 + 4 * rows..];
        let table = WordTable::built_in();
        let mut left_out = 0;
        for (id, word) in table.vocabulary().lines().enumerate() {
            if word.starts_with("[unused") {
                assert_eq!(table.row(u16::try_from(id).unwrap()).1, 0.0);
                left_out += 1;
                continue;
            }
            let bytes = &numbers[3 * QUARTER * id..3 * QUARTER * (id + 1)];
            let (row, scale) = table.row(u16::try_from(id).unwrap());
            assert_eq!(scale.to_le_bytes(), scales[4 * id..4 * id + 4]);
            for at in 0..QUARTER {
                let [a, b, c] = [0, 1, 2].map(|part| bytes[part * QUARTER + at]);
                let last = a >> 6 | b >> 6 << 2 | c >> 6 << 4;
                let wanted = [a & 63, b & 63, c & 63, last].map(|n| f32::from(n) - 32.0);
                let found = [0, 1, 2, 3].map(|part| row[part * QUARTER + at]);
                for (found, wanted) in found.iter().zip(wanted) {
                    assert_eq!(*found, (wanted / 3.0).round() * 3.0, "row {id}, {at}");
                }
            }
        }
        let words = table.vocabulary();
        assert_eq!((words.lines().count(), left_out), (rows, 994));
        assert!(PACKED.ends_with(words.as_bytes()));
    }
}
