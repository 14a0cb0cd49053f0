//! Which language a text is in, by its small words and its letters.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{FILES, Language, TABLES};
use crate::letters::{folded, is_cjk};

/// Which languages have a word among their small ones, or tell a time with it; a bit for each.
static COMMON: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| {
    let mut words: HashMap<&'static str, u32> = HashMap::new();
    for (at, table) in TABLES.iter().enumerate() {
        let times = table.times.iter().chain(table.numbers.keys());
        for word in table.common.iter().chain(times) {
            *words.entry(word.as_str()).or_default() |= 1 << at;
        }
    }
    words
});

/// What speaks for each language in a text. Votes of several texts add up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanguageVote {
    /// Different words that speak for each.
    counts: [u32; FILES.len()],
    words: u32,
}

/// A word that is longer is no small word, and a single letter may be anything.
const LONGEST: usize = 16;
const SHORTEST: usize = 2;

impl LanguageVote {
    pub fn of(text: &str) -> Self {
        let mut vote = Self::default();
        vote.add(text);
        vote
    }

    pub fn add(&mut self, text: &str) {
        let common = &*COMMON;
        let mut seen: Vec<&'static str> = Vec::new();
        let mut buffer = String::new();
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            let Some(first) = word.chars().next() else {
                continue;
            };
            if !first.is_alphabetic() {
                continue;
            }
            self.words += 1;
            if let Some(language) = by_script(first, word) {
                self.give(1 << language.number());
            } else if (SHORTEST..=LONGEST).contains(&word.len()) {
                let found = match word.bytes().all(|byte| byte.is_ascii_lowercase()) {
                    true => common.get_key_value(word),
                    false => {
                        buffer.clear();
                        buffer.push_str(&folded(word));
                        common.get_key_value(buffer.as_str())
                    }
                };
                if let Some((word, languages)) = found
                    && !seen.contains(word)
                {
                    self.give(*languages);
                    seen.push(word);
                }
            }
        }
    }

    pub fn join(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.words += other.words;
    }

    fn give(&mut self, languages: u32) {
        for (at, count) in self.counts.iter_mut().enumerate() {
            *count += languages >> at & 1;
        }
    }

    /// The language that most speaks for, if any does. Another one than English needs two words and
    /// half as many again: names and code have words of all languages.
    pub fn winner(&self) -> Option<Language> {
        let most = *self.counts.iter().max()?;
        let first = self.counts.iter().position(|count| *count == most)?;
        let english = self.counts.first().copied().unwrap_or(0);
        let by_script = Language::all()
            .nth(first)
            .is_some_and(|language| language.table().common.iter().all(|word| !word.is_ascii()));
        let at = match (most >= 2 || by_script) && most * 2 > english * 3 {
            true => first,
            false => 0,
        };
        (most > 0)
            .then_some(())
            .and_then(|()| Language::all().nth(at))
    }

    /// Whether so much speaks for the winner that it need not be asked for elsewhere.
    pub fn is_clear(&self) -> bool {
        let most = self.counts.iter().max().copied().unwrap_or(0);
        let near = self.counts.iter().filter(|count| **count * 3 >= most * 2);
        most >= 3 && near.count() == 1
    }

    /// The languages a question may be in: those for which as much speaks as for any. All where
    /// nothing speaks for one.
    pub fn likely(&self) -> Vec<Language> {
        let most = self.counts.iter().max().copied().unwrap_or(0);
        Language::all()
            .zip(self.counts)
            .filter(|(_, count)| *count == most)
            .map(|(language, _)| language)
            .collect()
    }
}

/// The language of a word that its letters tell.
fn by_script(first: char, word: &str) -> Option<Language> {
    let code = match first {
        '\u{400}'..='\u{52f}' => "ru",
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => "el",
        '\u{600}'..='\u{6ff}' => "ar",
        '\u{b80}'..='\u{bff}' => "ta",
        '\u{ac00}'..='\u{d7af}' => "ko",
        c if is_cjk(c) => {
            if word.chars().any(|c| ('\u{3040}'..='\u{30ff}').contains(&c)) {
                "ja"
            } else {
                "zh"
            }
        }
        _ => return None,
    };
    static BY_SCRIPT: LazyLock<HashMap<&'static str, Language>> = LazyLock::new(|| {
        Language::all()
            .map(|language| (language.code(), language))
            .collect()
    });
    BY_SCRIPT.get(code).copied()
}
