//! The tokenizer of the built-in table: lower case, no accents, words cut into known pieces.

#![expect(
    clippy::indexing_slicing,
    reason = "the table is part of the program, its slots a power of two"
)]

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Words longer than this become one unknown piece.
const LONGEST_WORD: usize = 100;
const SLOTS: usize = 1 << 17;
const EMPTY: u16 = u16::MAX;

/// The vocabulary, with a hash table of its own: it is consulted several times per word.
pub struct WordPiece {
    words: &'static str,
    starts: Vec<u32>,
    slots: Vec<u16>,
    unknown: u16,
}

impl std::fmt::Debug for WordPiece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WordPiece")
            .field("words", &self.starts.len())
            .finish_non_exhaustive()
    }
}

impl WordPiece {
    /// From words separated by line ends; the row of a word is its id.
    pub fn new(words: &'static str) -> Self {
        let mut starts = vec![0_u32];
        starts.extend(
            words
                .bytes()
                .enumerate()
                .filter(|(_, b)| *b == b'\n')
                .map(|(i, _)| i as u32 + 1),
        );
        starts.push(words.len() as u32 + 1);
        let mut this = Self {
            words,
            starts,
            slots: vec![EMPTY; SLOTS],
            unknown: 0,
        };
        for id in 0..this.starts.len() - 1 {
            let mut slot = hash(false, this.word(id as u16).as_bytes());
            while this.slots[slot] != EMPTY {
                slot = (slot + 1) % SLOTS;
            }
            this.slots[slot] = id as u16;
        }
        this.unknown = this.find(false, b"[UNK]").unwrap_or(0);
        this
    }

    /// All of them, one per line.
    #[cfg(any(test, feature = "minilm"))]
    pub fn words(&self) -> &'static str {
        self.words
    }

    /// Appends the ids of the pieces of `text`.
    pub fn encode(&self, text: &str, ids: &mut Vec<u16>) {
        let mut word = String::new();
        for c in text.chars() {
            if c.is_ascii_alphanumeric() {
                word.push(c.to_ascii_lowercase());
            } else if c.is_ascii() {
                self.end_word(&mut word, ids);
                if c.is_ascii_punctuation() {
                    word.push(c);
                    self.end_word(&mut word, ids);
                }
            } else if c.is_whitespace() {
                self.end_word(&mut word, ids);
            } else if stands_alone(c) {
                self.end_word(&mut word, ids);
                word.push(c);
                self.end_word(&mut word, ids);
            } else if !c.is_control() && c != '\u{fffd}' {
                for part in std::iter::once(c)
                    .nfd()
                    .filter(|part| !is_combining_mark(*part))
                {
                    word.extend(part.to_lowercase());
                }
            }
        }
        self.end_word(&mut word, ids);
    }

    fn end_word(&self, word: &mut String, ids: &mut Vec<u16>) {
        if word.is_empty() {
            return;
        }
        let bytes = word.as_bytes();
        let first = ids.len();
        let mut start = 0;
        while start < bytes.len() {
            let mut end = if bytes.len() > LONGEST_WORD {
                start
            } else {
                bytes.len()
            };
            let found = loop {
                if end <= start {
                    break None;
                }
                if word.is_char_boundary(end)
                    && let Some(id) =
                        self.find(start > 0, bytes.get(start..end).unwrap_or_default())
                {
                    break Some(id);
                }
                end -= 1;
            };
            match found {
                Some(id) => {
                    ids.push(id);
                    start = end;
                }
                None => {
                    ids.truncate(first);
                    ids.push(self.unknown);
                    break;
                }
            }
        }
        word.clear();
    }

    /// The id of a word that is one piece.
    pub fn whole(&self, word: &str) -> Option<u16> {
        self.find(false, word.as_bytes())
    }

    pub fn word(&self, id: u16) -> &'static str {
        let id = usize::from(id);
        match (self.starts.get(id), self.starts.get(id + 1)) {
            (Some(from), Some(to)) => {
                let range = *from as usize..*to as usize - 1;
                self.words.get(range).unwrap_or_default()
            }
            _ => "",
        }
    }

    fn find(&self, inside: bool, piece: &[u8]) -> Option<u16> {
        let mut slot = hash(inside, piece);
        loop {
            let id = self.slots[slot];
            if id == EMPTY {
                return None;
            }
            let word = self.word(id).as_bytes();
            let equal = match inside {
                true => word.strip_prefix(b"##").is_some_and(|rest| rest == piece),
                false => word == piece,
            };
            if equal {
                return Some(id);
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

/// FNV over the word as the vocabulary writes it: `##` before a piece inside a word.
fn hash(inside: bool, piece: &[u8]) -> usize {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let mark: &[u8] = if inside { b"##" } else { b"" };
    for byte in mark.iter().chain(piece) {
        state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (state ^ (state >> 29)) as usize % SLOTS
}

/// Characters that are words by themselves: CJK ideographs and punctuation of all scripts.
fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2ceaf}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}'
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{a1}' | '\u{a7}' | '\u{ab}'
        | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}' | '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}')
}
