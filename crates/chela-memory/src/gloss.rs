//! What words of other languages are in English: the way meaning crosses languages.
//!
//! A table for each language holds stems by their hash, four bytes for each meaning: two tell the
//! stem from others of its bucket, two name the English word by its place in the vocabulary of the
//! built-in table. Where they come from: `data/glosses/README.md`.

#![expect(
    clippy::indexing_slicing,
    reason = "the tables are part of the program"
)]

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::language::Language;
use crate::word_table::WordTable;

include!(concat!(env!("OUT_DIR"), "/glosses.rs"));

/// The words of one language.
#[derive(Debug)]
pub struct GlossTable {
    code: &'static str,
    /// Where each bucket begins among the entries, in twos of bytes.
    starts: &'static [u8],
    /// Fingerprint and word, sorted within a bucket.
    entries: &'static [u8],
}

/// A word of signs is not longer than this.
const LONGEST_SIGNS: usize = 6;

/// The table of a language, where there is one.
pub fn table_of(language: Language) -> Option<&'static GlossTable> {
    static BY_LANGUAGE: LazyLock<HashMap<Language, &'static GlossTable>> = LazyLock::new(|| {
        GLOSSES
            .iter()
            .filter_map(|table| Some((Language::named(table.code)?, table)))
            .collect()
    });
    BY_LANGUAGE.get(&language).copied()
}

impl GlossTable {
    /// Whether a stem is among its words.
    pub fn knows(&self, stem: &str) -> bool {
        self.ids(stem).next().is_some()
    }

    /// The places of the English words for a stem in the vocabulary.
    pub fn ids(&self, stem: &str) -> impl Iterator<Item = u16> + use<> {
        let hash = fnv(stem.as_bytes());
        let buckets = self.starts.len() / 2 - 1;
        let bucket = (hash & 0xffff_ffff) as usize % buckets;
        let fingerprint = (hash >> 48) as u16;
        let start = |at: usize| {
            usize::from(u16::from_le_bytes([
                self.starts[2 * at],
                self.starts[2 * at + 1],
            ]))
        };
        let entries = &self.entries[4 * start(bucket)..4 * start(bucket + 1)];
        let (entries, _) = entries.as_chunks::<4>();
        entries
            .iter()
            .filter(move |entry| u16::from_le_bytes([entry[0], entry[1]]) == fingerprint)
            .map(|entry| u16::from_le_bytes([entry[2], entry[3]]))
    }

    /// The English words for a stem.
    pub fn english(&self, stem: &str) -> impl Iterator<Item = &'static str> + use<> {
        let table = WordTable::built_in();
        self.ids(stem).map(|id| table.word(id))
    }

    /// Whether its words are written in signs, without spaces between them.
    pub fn is_of_signs(&self) -> bool {
        self.code == "zh"
    }

    /// The words a text without spaces is made of, the longest first that fits.
    pub fn words_in<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut words = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let longest = rest
                .char_indices()
                .take(LONGEST_SIGNS)
                .take_while(|(_, c)| crate::letters::is_cjk(*c))
                .filter_map(|(start, c)| rest.split_at_checked(start + c.len_utf8()))
                .filter(|(word, _)| self.knows(word))
                .last();
            rest = match longest {
                Some((word, behind)) => {
                    words.push(word);
                    behind
                }
                None => rest.get(first.len_utf8()..).unwrap_or_default(),
            };
        }
        words
    }
}

/// The same as in the build script.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |state, byte| {
        (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::table_of;
    use crate::language::Language;
    use crate::words::{TermKind, TermReader};

    fn english(code: &str, stem: &str) -> Vec<&'static str> {
        let table = table_of(Language::named(code).unwrap()).unwrap();
        table.english(stem).collect()
    }

    #[test]
    fn words_have_an_english_one() {
        assert_eq!(english("de", "zahnarzt"), ["dentist"]);
        assert!(english("es", "perr").contains(&"dog"));
        assert!(english("zh", "牙医").contains(&"dentist"));
        assert!(english("de", "xyzzy").is_empty());
        assert!(table_of(Language::ENGLISH).is_none());
    }

    #[test]
    fn terms_tell_what_a_word_is_in_english_and_of_what_it_is_made() {
        let german = Language::named("de").unwrap();
        let mut others = Vec::new();
        TermReader::default().each_wide(german, "Zahnarzttermin im Garten", |term, kind| {
            if kind == TermKind::Other {
                others.push(term.to_owned());
            }
        });
        for term in ["zahnarzt", "~dentist", "termin", "~garden"] {
            assert!(
                others.iter().any(|other| other == term),
                "{term} {others:?}"
            );
        }
    }

    #[test]
    fn signs_are_cut_into_words() {
        let chinese = Language::named("zh").unwrap();
        let table = table_of(chinese).unwrap();
        assert!(table.words_in("我明天去看牙医").contains(&"牙医"));
    }
}
