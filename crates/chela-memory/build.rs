//! Packs the table of word vectors and the words of other languages.
//!
//! The table of vectors: `data/table.bin` has six bits for each number, the program has a third as
//! many numbers, and fewer bits for those that occur often. Read by `word_table`, row by row.

#[path = "src/letters.rs"]
#[allow(
    dead_code,
    reason = "the program asks more of letters than the build script"
)]
mod letters;
#[path = "src/word_table/row_code.rs"]
mod row_code;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use rust_stemmers::Stemmer;

use row_code::{
    CodeLengths, DIMENSIONS, GROUP, GROUPS, LONGEST_CODE, PADDING, STRIDE, SYMBOLS, codes,
    symbol_of,
};

const TABLE: &str = "data/table.bin";
const GLOSSES: &str = "data/glosses.gz";
const LANGUAGES: &str = "text/languages";
const HEADER: usize = 20;
const ROW_BYTES: usize = 3 * GROUP;

/// In the file, the number that stands for zero.
const ZERO: u8 = 32;

/// The symbols of a row.
type Row = [u8; DIMENSIONS];

fn main() -> Result<(), Box<dyn Error>> {
    for input in [
        TABLE,
        GLOSSES,
        LANGUAGES,
        "src/word_table/row_code.rs",
        "src/letters.rs",
        "build.rs",
    ] {
        println!("cargo::rerun-if-changed={input}");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let file = std::fs::read(TABLE)?;
    let (header, rest) = file.split_at_checked(HEADER).ok_or("no header")?;
    let number = |at: usize| -> Result<usize, Box<dyn Error>> {
        Ok(u32::from_le_bytes(header[at..at + 4].try_into()?).try_into()?)
    };
    let (rows, dimensions, words) = (number(8)?, number(12)?, number(16)?);
    if !header.starts_with(b"CHTABLE2") || dimensions != DIMENSIONS {
        return Err(format!("{TABLE} is no table of {DIMENSIONS} dimensions").into());
    }
    let short = || format!("{TABLE} ends too soon");
    let (scales, rest) = rest.split_at_checked(4 * rows).ok_or_else(short)?;
    let (packed, rest) = rest.split_at_checked(rows * ROW_BYTES).ok_or_else(short)?;
    let words = rest.get(..words).ok_or_else(short)?;

    let rows: Vec<Row> = packed.as_chunks().0.iter().map(unpack).collect();
    let lengths = code_lengths(&rows);
    let words = std::str::from_utf8(words)?;
    let coded = CodedRows::of(&rows, words, &lengths)?;
    for (name, bytes) in [
        ("table.codes", lengths.concat()),
        ("table.rows", coded.bytes),
        ("table.lengths", coded.lengths),
        ("table.starts", coded.starts),
        ("table.scales", scales.to_vec()),
        ("table.words", words.into()),
    ] {
        std::fs::write(out.join(name), bytes)?;
    }
    write_glosses(&out, words)
}

/// Entries in a bucket, about.
const BUCKET: usize = 8;

/// The words of each language by the hash of their stems, with the English words they mean; read by
/// `gloss`.
fn write_glosses(out: &Path, vocabulary: &str) -> Result<(), Box<dyn Error>> {
    let english: HashMap<&str, u16> = vocabulary.lines().zip(0..).collect();
    let mut all = String::new();
    GzDecoder::new(std::fs::File::open(GLOSSES)?).read_to_string(&mut all)?;
    let mut tables = String::from("static GLOSSES: &[GlossTable] = &[\n");
    for section in all.split('[').skip(1) {
        let (code, words) = section
            .split_once("]\n")
            .ok_or("a section without its words")?;
        let language = std::fs::read_to_string(format!("{LANGUAGES}/{code}.txt"))?;
        let named = language
            .lines()
            .find_map(|line| line.strip_prefix("stemmer = "));
        let stemmer = named.and_then(stemmer_named);
        let mut meanings: BTreeSet<(String, u16)> = BTreeSet::new();
        for line in words.lines() {
            let (word, glosses) = line.split_once('\t').ok_or("a word without its meaning")?;
            let word = letters::folded(word);
            let stem = match &stemmer {
                Some(stemmer) => stemmer.stem(&word).into_owned(),
                None => word,
            };
            for gloss in glosses.split(' ') {
                let id = english
                    .get(gloss)
                    .ok_or_else(|| format!("{gloss} is no word of the table"))?;
                meanings.insert((stem.clone(), *id));
            }
        }
        let buckets = (meanings.len() / BUCKET).max(1);
        let mut entries: Vec<(usize, u16, u16)> = meanings
            .iter()
            .map(|(stem, id)| {
                let hash = fnv(stem.as_bytes());
                (
                    (hash & 0xffff_ffff) as usize % buckets,
                    (hash >> 48) as u16,
                    *id,
                )
            })
            .collect();
        entries.sort_unstable();
        let mut starts = Vec::new();
        for bucket in 0..=buckets {
            let start = entries.partition_point(|(of, ..)| *of < bucket);
            starts.extend(u16::try_from(start)?.to_le_bytes());
        }
        let bytes: Vec<u8> = entries
            .iter()
            .flat_map(|(_, fingerprint, id)| [fingerprint.to_le_bytes(), id.to_le_bytes()])
            .flatten()
            .collect();
        for (kind, bytes) in [("starts", starts), ("entries", bytes)] {
            std::fs::write(out.join(format!("gloss.{code}.{kind}")), bytes)?;
        }
        let include = |kind: &str| {
            format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/gloss.{code}.{kind}\"))")
        };
        tables.push_str(&format!(
            "    GlossTable {{ code: \"{code}\", starts: {}, entries: {} }},\n",
            include("starts"),
            include("entries")
        ));
    }
    tables.push_str("];\n");
    std::fs::write(out.join("glosses.rs"), tables)?;
    Ok(())
}

/// The same as in `gloss`.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |state, byte| {
        (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn stemmer_named(name: &str) -> Option<Stemmer> {
    use rust_stemmers::Algorithm;
    Some(Stemmer::create(match name {
        "danish" => Algorithm::Danish,
        "dutch" => Algorithm::Dutch,
        "finnish" => Algorithm::Finnish,
        "french" => Algorithm::French,
        "german" => Algorithm::German,
        "greek" => Algorithm::Greek,
        "italian" => Algorithm::Italian,
        "norwegian" => Algorithm::Norwegian,
        "portuguese" => Algorithm::Portuguese,
        "russian" => Algorithm::Russian,
        "spanish" => Algorithm::Spanish,
        "swedish" => Algorithm::Swedish,
        _ => return None,
    }))
}

/// Three quarters of a row lie in the low bits of a byte each, the last one in the two bits those
/// leave over.
fn unpack(packed: &[u8; ROW_BYTES]) -> Row {
    let mut row = [0; DIMENSIONS];
    for (at, byte) in packed.iter().enumerate() {
        let (part, lane) = (at / GROUP, at % GROUP);
        row[at] = byte & 63;
        row[3 * GROUP + lane] |= byte >> 6 << (2 * part);
    }
    row.map(|number| symbol_of(number.wrapping_sub(ZERO).cast_signed()))
}

/// Places the vocabulary keeps for words that it does not have: no text leads to them, and their
/// rows are left out.
const PLACEHOLDER: &str = "[unused";

struct CodedRows {
    bytes: Vec<u8>,
    /// Bytes of each row.
    lengths: Vec<u8>,
    /// Where every sixteenth row begins.
    starts: Vec<u8>,
}

impl CodedRows {
    fn of(
        rows: &[Row],
        words: &str,
        lengths: &[CodeLengths; GROUPS],
    ) -> Result<Self, Box<dyn Error>> {
        let codes = lengths.map(|lengths| codes(&lengths));
        let mut coded = Self {
            bytes: Vec::new(),
            lengths: Vec::new(),
            starts: Vec::new(),
        };
        for (number, (row, word)) in rows.iter().zip(words.lines()).enumerate() {
            let start = coded.bytes.len();
            if number % STRIDE == 0 {
                coded.starts.extend(u32::try_from(start)?.to_le_bytes());
            }
            if word.starts_with(PLACEHOLDER) {
                coded.lengths.push(0);
                continue;
            }
            let (mut held, mut bits) = (0_u32, 0);
            for (at, symbol) in row.iter().enumerate() {
                let (group, symbol) = (at / GROUP, usize::from(*symbol));
                let length = u32::from(lengths[group][symbol]);
                held = held << length | u32::from(codes[group][symbol]);
                bits += length;
                while bits >= 8 {
                    bits -= 8;
                    coded.bytes.push((held >> bits & 0xFF) as u8);
                }
            }
            if bits > 0 {
                coded.bytes.push((held << (8 - bits) & 0xFF) as u8);
            }
            coded.lengths.push((coded.bytes.len() - start).try_into()?);
        }
        coded.bytes.extend([0; PADDING]);
        Ok(coded)
    }
}

fn code_lengths(rows: &[Row]) -> [CodeLengths; GROUPS] {
    let mut counts = [[0_u64; SYMBOLS]; GROUPS];
    for row in rows {
        for (at, symbol) in row.iter().enumerate() {
            counts[at / GROUP][usize::from(*symbol)] += 1;
        }
    }
    counts.map(|mut counts| {
        loop {
            let lengths = huffman(&counts);
            if lengths.iter().all(|of| u32::from(*of) <= LONGEST_CODE) {
                return lengths;
            }
            // What is rare counts for more, so that its code gets shorter.
            for count in counts.iter_mut().filter(|count| **count > 0) {
                *count = *count / 2 + 1;
            }
        }
    })
}

/// How deep each symbol lies when the two rarest are joined again and again.
fn huffman(counts: &[u64; SYMBOLS]) -> CodeLengths {
    let mut lengths = [0; SYMBOLS];
    let mut heap: BinaryHeap<Reverse<(u64, Vec<usize>)>> = (counts.iter().enumerate())
        .filter(|(_, count)| **count > 0)
        .map(|(symbol, count)| Reverse((*count, vec![symbol])))
        .collect();
    while let Some(Reverse((count, mut symbols))) = heap.pop() {
        let Some(Reverse((other, more))) = heap.pop() else {
            break;
        };
        symbols.extend(more);
        for symbol in &symbols {
            lengths[*symbol] += 1;
        }
        heap.push(Reverse((count + other, symbols)));
    }
    lengths
}
