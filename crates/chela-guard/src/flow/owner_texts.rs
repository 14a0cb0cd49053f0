//! What the owner wrote, to be searched for whole phrases however much it is.
//!
//! A phrase that stands whole in a text has its words there whole, and between them the same
//! characters. So each text is known by its words and by its pairs of neighbours: where one of a
//! phrase is missing the phrase is not there, and only texts with the rarest one are looked
//! through.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::phrase::{self, PhraseCase};
use super::provenance::SpanId;

#[derive(Debug, Clone, Default)]
pub(super) struct OwnerTexts {
    spans: Vec<SpanId>,
    folded: PhraseIndex,
    exact: PhraseIndex,
}

/// Texts in one form, and which of them have a word or a pair.
#[derive(Debug, Clone, Default)]
struct PhraseIndex {
    texts: Vec<Box<str>>,
    places: HashMap<u64, TextNumbers>,
}

/// The texts that have a word, in their order. Most words stand in one.
#[derive(Debug, Clone)]
enum TextNumbers {
    One(u32),
    More(Vec<u32>),
}

impl TextNumbers {
    fn add(&mut self, number: u32) {
        match self {
            Self::One(known) if *known == number => {}
            Self::One(known) => *self = Self::More(vec![*known, number]),
            Self::More(known) => {
                if known.last() != Some(&number) {
                    known.push(number);
                }
            }
        }
    }

    fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(known) => std::slice::from_ref(known),
            Self::More(known) => known,
        }
    }
}

impl OwnerTexts {
    pub fn add(&mut self, span: SpanId, text: &str) {
        self.spans.push(span);
        self.folded.add(phrase::compared(text, PhraseCase::Folded));
        self.exact.add(phrase::compared(text, PhraseCase::Exact));
    }

    pub fn last(&self) -> Option<SpanId> {
        self.spans.last().copied()
    }

    /// Whether this stands as a whole of its own in one of so many newest texts, in any casing.
    pub fn is_in_last(&self, count: usize, phrase: &str) -> bool {
        let wanted = phrase::folded(phrase, PhraseCase::Folded);
        let mut newest = self.folded.texts.iter().rev().take(count);
        newest.any(|text| phrase::stands_in(&wanted, text))
    }

    /// The first text in which this stands as a whole of its own.
    pub fn find(&self, phrase: &str, case: PhraseCase) -> Option<SpanId> {
        let wanted = phrase::folded(phrase, case);
        let index = match case {
            PhraseCase::Folded => &self.folded,
            PhraseCase::Exact => &self.exact,
        };
        let at = index.find(&wanted)?;
        self.spans.get(at).copied()
    }
}

impl PhraseIndex {
    fn add(&mut self, text: String) {
        // Nobody writes four thousand million messages.
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        for key in words_in(&text).chain(pairs_in(&text)).map(hash_of) {
            let places = self.places.entry(key);
            places
                .and_modify(|places| places.add(number))
                .or_insert(TextNumbers::One(number));
        }
        self.texts.push(text.into());
    }

    fn find(&self, wanted: &str) -> Option<usize> {
        let stands_at = |at: &usize| {
            let text = self.texts.get(*at);
            text.is_some_and(|text| phrase::stands_in(wanted, text))
        };
        let mut rarest: Option<&[u32]> = None;
        for key in words_in(wanted).chain(pairs_in(wanted)).map(hash_of) {
            let places = self.places.get(&key)?.as_slice();
            if rarest.is_none_or(|found| places.len() < found.len()) {
                rarest = Some(places);
            }
        }
        match rarest {
            Some(places) => places.iter().map(|at| *at as usize).find(stands_at),
            // Nothing but punctuation.
            None => (0..self.texts.len()).find(stands_at),
        }
    }
}

/// Where letters and digits follow each other.
fn word_ranges(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = chars.find(|(_, c)| c.is_alphanumeric())?;
        let mut end = start + first.len_utf8();
        while let Some((at, c)) = chars.next_if(|(_, c)| c.is_alphanumeric()) {
            end = at + c.len_utf8();
        }
        Some((start, end))
    })
}

fn words_in(text: &str) -> impl Iterator<Item = &str> {
    word_ranges(text).filter_map(|(start, end)| text.get(start..end))
}

/// Each word up to the end of the next.
fn pairs_in(text: &str) -> impl Iterator<Item = &str> {
    let seconds = word_ranges(text).skip(1);
    let pairs = word_ranges(text).zip(seconds);
    pairs.filter_map(|((start, _), (_, end))| text.get(start..end))
}

fn hash_of(piece: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    piece.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The index leaves out no text that has the phrase, and makes up none.
        #[test]
        fn it_finds_what_looking_through_everything_finds(
            texts in prop::collection::vec("[aB1 .@(/ \u{e9}-]{0,12}", 1..6),
            wanted in "[aB1 .@(/\u{e9}-]{0,5}",
        ) {
            for case in [PhraseCase::Folded, PhraseCase::Exact] {
                let mut index = PhraseIndex::default();
                let compared: Vec<String> =
                    texts.iter().map(|text| phrase::compared(text, case)).collect();
                for text in &compared {
                    index.add(text.clone());
                }
                let wanted = phrase::folded(&wanted, case);
                let plain = compared.iter().position(|text| phrase::stands_in(&wanted, text));
                prop_assert_eq!(index.find(&wanted), plain);
            }
        }
    }
}
