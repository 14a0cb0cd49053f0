//! Texts in other languages, as words the built-in table knows.
//!
//! The table was learned from English. A word of another language stands for what it is in English,
//! as far as `gloss` knows it; what it does not know says nothing.

use std::cell::RefCell;
use std::collections::HashMap;

use rust_stemmers::Stemmer;

use crate::gloss::{self, GlossTable};
use crate::language::Language;
use crate::word_table::WordTable;
use crate::words::{folded, is_cjk, is_stop_word};

/// The pieces of a text that stand for it in the table.
pub fn word_ids(text: &str, language: Language) -> Vec<u16> {
    if language == Language::ENGLISH {
        return WordTable::built_in().encode(text);
    }
    let mut ids = Vec::with_capacity(text.len() / 4);
    each_word(text, language, |_, found| ids.extend_from_slice(found));
    ids
}

/// The share of the words of a text that stand in the table, themselves or in English.
pub fn known_share(text: &str, language: Language) -> f32 {
    let (mut all, mut known) = (0_usize, 0_usize);
    if language == Language::ENGLISH {
        let table = WordTable::built_in();
        for word in words(text) {
            let word = folded(word);
            if is_stop_word(&word) {
                continue;
            }
            all += 1;
            // A name is not known, and it need not be.
            let is_signs = word.chars().any(is_cjk);
            let in_pieces = || table.encode(&word).len() <= 3 && word.is_ascii();
            known += usize::from(!is_signs && in_pieces());
        }
    } else {
        each_word(text, language, |letters, found| {
            all += letters;
            known += if found.is_empty() { 0 } else { letters };
        });
    }
    if all == 0 {
        1.0
    } else {
        known as f32 / all as f32
    }
}

/// Words of languages that were met before, with what stands for them.
type KnownIds = HashMap<Box<str>, Vec<u16>>;

thread_local! {
    static KNOWN: RefCell<HashMap<Language, KnownIds>> = RefCell::default();
}

const MOST_KNOWN: usize = 1 << 14;

/// Calls `found` with the weight of each word and what stands for it.
fn each_word(text: &str, language: Language, mut found: impl FnMut(usize, &[u16])) {
    let glosses = gloss::table_of(language);
    if let Some(glosses) = glosses.filter(|table| table.is_of_signs()) {
        let mut covered = 0;
        for word in glosses.words_in(text) {
            let length = word.chars().count();
            covered += length;
            let ids: Vec<u16> = glosses.ids(word).take(2).collect();
            found(length, &ids);
        }
        let all = text.chars().filter(|c| is_cjk(*c)).count();
        if all > covered {
            found(all - covered, &[]);
        }
    }
    KNOWN.with_borrow_mut(|known| {
        let known = known.entry(language).or_default();
        if known.len() > MOST_KNOWN {
            known.clear();
        }
        let stemmer = language.stemmer().map(Stemmer::create);
        let common = &language.table().common;
        for word in words(text) {
            if word.chars().any(is_cjk) {
                continue;
            }
            let word = folded(word);
            if common.contains(&word) {
                continue;
            }
            if !known.contains_key(word.as_str()) {
                let ids = ids_of(&word, glosses, stemmer.as_ref());
                known.insert(word.as_str().into(), ids);
            }
            if let Some(ids) = known.get(word.as_str()) {
                found(1, ids);
            }
        }
    });
}

/// What stands for a word of another language. Figures stand for themselves, and so do words that
/// are the same in English.
fn ids_of(word: &str, glosses: Option<&GlossTable>, stemmer: Option<&Stemmer>) -> Vec<u16> {
    let table = WordTable::built_in();
    let stem_of = |word: &str| match stemmer {
        Some(stemmer) => stemmer.stem(word).into_owned(),
        None => word.to_owned(),
    };
    if let Some(glosses) = glosses {
        let ids: Vec<u16> = glosses.ids(&stem_of(word)).take(2).collect();
        if !ids.is_empty() {
            return ids;
        }
        let is_known = |part: &str| glosses.knows(&stem_of(part));
        let parts = crate::words::compound_parts(word, &is_known);
        let ids: Vec<u16> = parts
            .iter()
            .flat_map(|part| glosses.ids(&stem_of(part)).take(1))
            .collect();
        if !ids.is_empty() {
            return ids;
        }
    }
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    match table
        .has_word(word)
        .filter(|_| is_number || word.len() >= SHORTEST_SAME)
    {
        Some(id) => vec![id],
        None => Vec::new(),
    }
}

/// Shorter words that are English, too, are something else there.
const SHORTEST_SAME: usize = 5;

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{known_share, word_ids};
    use crate::language::Language;
    use crate::word_table::WordTable;

    #[test]
    fn words_stand_for_what_they_are_in_english() {
        let german = Language::named("de").unwrap();
        let words = |text: &str| {
            let table = WordTable::built_in();
            let ids = word_ids(text, german);
            ids.into_iter().map(|id| table.word(id)).collect::<Vec<_>>()
        };
        assert_eq!(words("Der Hund und die Katze"), ["dog", "dogs", "cat"]);
        assert_eq!(words("Zahnarzttermin"), ["dentist", "appointment"]);
        assert!(known_share("Wo ist der Hund?", german) > 0.9);
        assert!(known_share("Xyzzy plugh", german) < 0.1);
        assert!(known_share("where is the dog", Language::ENGLISH) > 0.9);
        assert!(known_share("คุณพูดภาษาอังกฤษ", Language::ENGLISH) < 0.1);
    }
}
