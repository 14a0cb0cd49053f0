//! Text as the terms a keyword search compares.
//!
//! Lower case, no accents, stems; identifiers are split at case changes and underscores; CJK
//! text, which has no spaces, becomes pairs of characters. Stop words go, first and second person
//! pronouns stay: "my dentist" and "your dentist" are different questions.

mod compound;

use std::collections::HashMap;

use rust_stemmers::Stemmer;
use unicode_normalization::char::is_combining_mark;

use crate::gloss::{self, GlossTable};
use crate::language::Language;

pub use crate::letters::{folded, is_cjk, push_folded};
pub use compound::parts as compound_parts;

const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as",
    "at", "be", "because", "been", "before", "being", "below", "both", "but", "by", "can", "could",
    "d", "did", "do", "does", "doing", "don", "down", "during", "each", "else", "few", "for",
    "from", "further", "had", "has", "have", "having", "he", "her", "here", "him", "his", "how",
    "if", "in", "into", "is", "it", "its", "just", "ll", "m", "may", "might", "more", "most",
    "must", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "out",
    "over", "own", "re", "s", "same", "shall", "she", "should", "so", "some", "such", "t", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too",
    "under", "until", "up", "ve", "very", "was", "were", "what", "when", "where", "which", "while",
    "who", "whom", "whose", "why", "will", "with", "would",
];

/// Longer than this is a hash, a key or a picture in base64: nobody searches for it.
const LONGEST_WORD: usize = 64;

/// More stems than this are not kept.
const MOST_STEMS: usize = 1 << 14;

/// Whether a word, in lower case, says nothing about the subject.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Turns text into terms. Keeps its buffers, so one is made per batch of texts.
#[derive(Default)]
pub struct TermReader {
    /// By the number of their language.
    stems: Vec<LanguageStems>,
    language: Language,
    /// Words are told as they are, without their endings taken away.
    keeps_words: bool,
    /// What else a word is found by is told, too.
    wide: bool,
    word: String,
    /// What has been written without a gap so far, and of how many words it is made.
    joined: String,
    parts: usize,
}

/// The stemmer of one language, and stems found before: a text says most of its words again.
struct LanguageStems {
    stemmer: Option<Stemmer>,
    /// What its words are in English.
    glosses: Option<&'static GlossTable>,
    known: HashMap<Box<str>, KnownWord>,
}

/// A word that was met before.
struct KnownWord {
    stem: Box<str>,
    /// What else it is found by: its parts, and what it is in English.
    others: Vec<Box<str>>,
}

/// What a term is of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermKind {
    /// It stands there.
    Own,
    /// A part of the word before it, or what that is in English.
    Other,
}

/// How a term begins that says in English what stands in a text in another language.
pub const GLOSS_MARK: char = '~';

impl LanguageStems {
    fn new(language: Language) -> Self {
        Self {
            stemmer: language.stemmer().map(Stemmer::create),
            glosses: gloss::table_of(language),
            known: HashMap::new(),
        }
    }

    fn stem(&self, word: &str) -> Box<str> {
        match &self.stemmer {
            Some(stemmer) => stemmer.stem(word).into(),
            None => word.into(),
        }
    }

    /// The parts of a word and what it and they are in English, as terms.
    fn others(&self, word: &str, stem: &str) -> Vec<Box<str>> {
        let Some(glosses) = self.glosses else {
            return Vec::new();
        };
        let mut others: Vec<Box<str>> = Vec::new();
        let mut add = |term: Box<str>| {
            if !others.contains(&term) && *term != *stem {
                others.push(term);
            }
        };
        if glosses.knows(stem) {
            glosses.english(stem).for_each(|word| add(marked(word)));
        } else {
            let is_known = |part: &str| glosses.knows(&self.stem(part));
            for part in compound::parts(word, &is_known) {
                let part = self.stem(part);
                glosses.english(&part).for_each(|word| add(marked(word)));
                add(part);
            }
        }
        others
    }
}

/// An English word as a term of a text in another language.
fn marked(english: &str) -> Box<str> {
    let mut term = String::from(GLOSS_MARK);
    term.push_str(&english_stem(english));
    term.into()
}

/// The stem of an English word.
pub fn english_stem(word: &str) -> String {
    Stemmer::create(rust_stemmers::Algorithm::English)
        .stem(word)
        .into_owned()
}

impl std::fmt::Debug for TermReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms").finish_non_exhaustive()
    }
}

impl TermReader {
    /// Calls `found` with each term of an English text, in order.
    pub fn each(&mut self, text: &str, found: impl FnMut(&str)) {
        self.each_in(Language::ENGLISH, text, found);
    }

    /// Calls `found` with each term of `text`, in order. Words of other scripts have the stems of
    /// the language these are used for.
    pub fn each_in(&mut self, language: Language, text: &str, mut found: impl FnMut(&str)) {
        self.wide = false;
        self.read(language, text, &mut |term: &str, _: TermKind| found(term));
    }

    /// The same, each word followed by what else it is found by.
    pub fn each_wide(
        &mut self,
        language: Language,
        text: &str,
        mut found: impl FnMut(&str, TermKind),
    ) {
        self.wide = true;
        self.read(language, text, &mut found);
        self.wide = false;
        if let Some(glosses) = gloss::table_of(language).filter(|table| table.is_of_signs()) {
            for word in glosses.words_in(text) {
                for english in glosses.english(word) {
                    found(&marked(english), TermKind::Other);
                }
            }
        }
    }

    fn read(&mut self, language: Language, text: &str, found: &mut impl FnMut(&str, TermKind)) {
        self.language = language;
        let mut previous = Kind::Gap;
        // A character that follows decides whether a capital starts a word: `HTMLParser`.
        let mut chars = text.chars().peekable();
        let mut last_cjk: Option<char> = None;
        let mut cjk_run = 0_usize;
        while let Some(c) = chars.next() {
            let kind = Kind::of(c);
            let starts_word = kind != previous
                && !(previous == Kind::Upper && kind == Kind::Lower && self.is_one_letter())
                || (kind == Kind::Upper
                    && previous == Kind::Upper
                    && chars
                        .peek()
                        .is_some_and(|next| Kind::of(*next) == Kind::Lower));
            if starts_word {
                self.end_word(found);
            }
            if matches!(kind, Kind::Gap | Kind::Cjk) && c != '_' {
                self.end_name(found);
            }
            if kind == Kind::Cjk {
                if let Some(last) = last_cjk {
                    self.word.clear();
                    self.word.extend([last, c]);
                    found(&self.word, TermKind::Own);
                    self.word.clear();
                }
                cjk_run += 1;
                last_cjk = Some(c);
            } else {
                if let (1, Some(only)) = (cjk_run, last_cjk) {
                    found(only.encode_utf8(&mut [0; 4]), TermKind::Own);
                }
                (cjk_run, last_cjk) = (0, None);
                if kind != Kind::Gap {
                    push_folded(&mut self.word, c);
                }
            }
            previous = kind;
        }
        self.end_word(found);
        self.end_name(found);
        if let (1, Some(only)) = (cjk_run, last_cjk) {
            found(only.encode_utf8(&mut [0; 4]), TermKind::Own);
        }
    }

    /// The words of a text that terms are made of, in the order and number of its terms.
    pub fn words_of(&mut self, text: &str) -> Vec<String> {
        self.keeps_words = true;
        let words = self.of(text);
        self.keeps_words = false;
        words
    }

    /// The terms of a text as a list.
    pub fn of(&mut self, text: &str) -> Vec<String> {
        self.of_in(Language::ENGLISH, text)
    }

    pub fn of_in(&mut self, language: Language, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.each_in(language, text, |term| terms.push(term.to_owned()));
        terms
    }

    fn is_one_letter(&self) -> bool {
        self.word.chars().nth(1).is_none()
    }

    /// A name made of several words is a term itself: `note12` is not any `note` and any `12`.
    fn end_name(&mut self, found: &mut impl FnMut(&str, TermKind)) {
        if self.parts > 1 && self.joined.len() <= LONGEST_WORD {
            found(&self.joined, TermKind::Own);
        }
        self.joined.clear();
        self.parts = 0;
    }

    fn end_word(&mut self, found: &mut impl FnMut(&str, TermKind)) {
        if !self.word.is_empty() {
            self.parts += 1;
            if self.joined.len() <= LONGEST_WORD {
                self.joined.push_str(&self.word);
            }
        }
        if !self.word.is_empty() && self.word.len() <= LONGEST_WORD && !is_stop_word(&self.word) {
            self.tell_stem(found);
        }
        self.word.clear();
    }

    fn tell_stem(&mut self, found: &mut impl FnMut(&str, TermKind)) {
        if self.keeps_words {
            found(&self.word, TermKind::Own);
            return;
        }
        let language = match self.word.is_ascii() {
            true => self.language,
            false => language_of_letters(&self.word).unwrap_or(self.language),
        };
        let number = usize::from(language.number());
        while self.stems.len() <= number {
            let next = Language::from_number(u8::try_from(self.stems.len()).unwrap_or(0));
            self.stems.push(LanguageStems::new(next));
        }
        let Some(stems) = self.stems.get_mut(number) else {
            return;
        };
        if stems.known.len() >= MOST_STEMS {
            stems.known.clear();
        }
        if !stems.known.contains_key(self.word.as_str()) {
            let stem = stems.stem(&self.word);
            let others = stems.others(&self.word, &stem);
            let known = KnownWord { stem, others };
            stems.known.insert(self.word.as_str().into(), known);
        }
        let Some(known) = stems.known.get(self.word.as_str()) else {
            return;
        };
        found(&known.stem, TermKind::Own);
        if self.wide {
            for other in &known.others {
                found(other, TermKind::Other);
            }
        }
    }
}

/// The language whose stems words in other letters than Latin ones have.
fn language_of_letters(word: &str) -> Option<Language> {
    let code = match word.chars().next()? {
        '\u{400}'..='\u{52f}' => "ru",
        '\u{370}'..='\u{3ff}' => "el",
        '\u{600}'..='\u{6ff}' => "ar",
        '\u{b80}'..='\u{bff}' => "ta",
        _ => return None,
    };
    Language::named(code)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gap,
    Upper,
    Lower,
    Digit,
    Cjk,
}

impl Kind {
    fn of(c: char) -> Self {
        if c.is_ascii() {
            return match c {
                'a'..='z' => Self::Lower,
                'A'..='Z' => Self::Upper,
                '0'..='9' => Self::Digit,
                _ => Self::Gap,
            };
        }
        if is_cjk(c) {
            Self::Cjk
        } else if c.is_uppercase() {
            Self::Upper
        } else if c.is_alphabetic() || is_combining_mark(c) {
            Self::Lower
        } else if c.is_numeric() {
            Self::Digit
        } else {
            Self::Gap
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{STOP_WORDS, TermReader};

    fn terms(text: &str) -> String {
        TermReader::default().of(text).join(" ")
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn words_become_stems_without_stop_words() {
        assert_eq!(terms("Where did my cats sleep?"), "my cat sleep");
        assert_eq!(terms("Caroline's running shoes"), "carolin run shoe");
        assert_eq!(terms("Crème brûlée in Zürich"), "creme brule zurich");
        assert_eq!(terms("Straße Łódź Bærum"), "strass lodz baerum");
    }

    #[test]
    fn identifiers_are_split() {
        assert_eq!(terms("getUserName"), "get user name getusername");
        assert_eq!(
            terms("HTMLParser max_results HTTP2"),
            "html parser htmlparser max result maxresults http 2 http2"
        );
        assert_eq!(terms("gpt4o"), "gpt 4 o gpt4o");
        assert_eq!(terms("I AM"), "i");
        assert_eq!(terms("Привет Мир"), "привет мир");
    }

    #[test]
    fn cjk_becomes_pairs() {
        assert_eq!(terms("東京タワーへ"), "東京 京タ タワ ワー ーへ");
        assert_eq!(terms("我 love 北京"), "我 love 北京");
        assert_eq!(terms("猫"), "猫");
    }
}
