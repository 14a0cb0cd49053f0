//! Text as the terms a keyword search compares.
//!
//! Lower case, no accents, stems; identifiers are split at case changes and underscores; CJK
//! text, which has no spaces, becomes pairs of characters. Stop words go, first and second person
//! pronouns stay: "my dentist" and "your dentist" are different questions.

use std::collections::HashMap;

use rust_stemmers::Stemmer;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::language::Language;

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
    word: String,
    /// What has been written without a gap so far, and of how many words it is made.
    joined: String,
    parts: usize,
}

/// The stemmer of one language, and stems found before: a text says most of its words again.
struct LanguageStems {
    stemmer: Option<Stemmer>,
    known: HashMap<Box<str>, Box<str>>,
}

impl LanguageStems {
    fn new(language: Language) -> Self {
        Self {
            stemmer: language.stemmer().map(Stemmer::create),
            known: HashMap::new(),
        }
    }
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
                self.end_word(&mut found);
            }
            if matches!(kind, Kind::Gap | Kind::Cjk) && c != '_' {
                self.end_name(&mut found);
            }
            if kind == Kind::Cjk {
                if let Some(last) = last_cjk {
                    self.word.clear();
                    self.word.extend([last, c]);
                    found(&self.word);
                    self.word.clear();
                }
                cjk_run += 1;
                last_cjk = Some(c);
            } else {
                if let (1, Some(only)) = (cjk_run, last_cjk) {
                    found(only.encode_utf8(&mut [0; 4]));
                }
                (cjk_run, last_cjk) = (0, None);
                if kind != Kind::Gap {
                    push_folded(&mut self.word, c);
                }
            }
            previous = kind;
        }
        self.end_word(&mut found);
        self.end_name(&mut found);
        if let (1, Some(only)) = (cjk_run, last_cjk) {
            found(only.encode_utf8(&mut [0; 4]));
        }
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
    fn end_name(&mut self, found: &mut impl FnMut(&str)) {
        if self.parts > 1 && self.joined.len() <= LONGEST_WORD {
            found(&self.joined);
        }
        self.joined.clear();
        self.parts = 0;
    }

    fn end_word(&mut self, found: &mut impl FnMut(&str)) {
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

    fn tell_stem(&mut self, found: &mut impl FnMut(&str)) {
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
        let Some(stemmer) = &stems.stemmer else {
            found(&self.word);
            return;
        };
        if let Some(stem) = stems.known.get(self.word.as_str()) {
            found(stem);
            return;
        }
        let stem = stemmer.stem(&self.word);
        found(&stem);
        if stems.known.len() >= MOST_STEMS {
            stems.known.clear();
        }
        let stem = stem.into();
        stems.known.insert(self.word.as_str().into(), stem);
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

/// A word in lower case and without accents, as terms are.
pub fn folded(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        push_folded(&mut out, c);
    }
    out
}

/// Whether a character belongs to a script written without spaces.
pub fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}'
        | '\u{0e00}'..='\u{0e7f}' | '\u{0e80}'..='\u{0eff}' | '\u{1780}'..='\u{17ff}')
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

fn push_folded(word: &mut String, c: char) {
    if c.is_ascii() {
        word.push(c.to_ascii_lowercase());
        return;
    }
    // Letters that are no letter with an accent, as they are written without them.
    let plain = match c {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' => "o",
        'ł' | 'Ł' => "l",
        'đ' | 'Đ' => "d",
        'ı' | 'İ' => "i",
        // A letter of its own, without which endings cannot be told.
        'й' | 'Й' => "й",
        _ => "",
    };
    if !plain.is_empty() {
        word.push_str(plain);
        return;
    }
    for part in std::iter::once(c).nfkd().filter(|part| !is_accent(*part)) {
        word.extend(part.to_lowercase());
    }
}

/// A mark that may be left out: an accent, a point, a vowel of a script that is written without.
/// Marks of other scripts are vowels as good as letters.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{670}')
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
