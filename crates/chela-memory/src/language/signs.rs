//! What a text shows at a glance: that it tells a time, a number, a standing wish, or only asks.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Language, TABLES};
use crate::letters::folded;

/// What was seen in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextSigns {
    pub tells_time: bool,
    pub tells_number: bool,
    /// "Always", "never", "I prefer".
    pub is_wish: bool,
    /// One question and nothing else.
    pub only_asks: bool,
    pub ends_asking: bool,
}

/// The wishes of a language by their first word.
type WishesByWord = HashMap<&'static str, Vec<&'static [String]>>;

static WISHES: LazyLock<Vec<WishesByWord>> = LazyLock::new(|| {
    let mut all = Vec::with_capacity(TABLES.len());
    for table in TABLES.iter() {
        let mut by_word: WishesByWord = HashMap::new();
        for wish in &table.wishes {
            if let Some((first, rest)) = wish.split_first() {
                by_word.entry(first.as_str()).or_default().push(rest);
            }
        }
        all.push(by_word);
    }
    all
});

/// Longer texts are looked at up to here.
const LONGEST: usize = 2_000;

impl TextSigns {
    pub fn of(text: &str, language: Language) -> Self {
        let end = text
            .char_indices()
            .nth(LONGEST)
            .map_or(text.len(), |(at, _)| at);
        let text = text.get(..end).unwrap_or(text).trim();
        let mut signs = Self {
            only_asks: only_asks(text),
            ends_asking: text.ends_with(['?', '？']),
            ..Self::default()
        };
        let table = language.table();
        let wishes = WISHES.get(usize::from(language.number()));
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(folded)
            .collect();
        for (at, word) in words.iter().enumerate() {
            signs.tells_number |= word.starts_with(|c: char| c.is_ascii_digit())
                || table.numbers.contains_key(word) && word.len() > 2;
            signs.tells_time |= table.times.contains(word) || is_year(word);
            if let Some(rests) = wishes.and_then(|wishes| wishes.get(word.as_str())) {
                signs.is_wish |= rests
                    .iter()
                    .any(|rest| words.get(at + 1..at + 1 + rest.len()) == Some(*rest));
            }
        }
        signs
    }
}

fn is_year(word: &str) -> bool {
    word.len() == 4
        && word
            .parse()
            .is_ok_and(|year: u32| (1900..2100).contains(&year))
}

fn only_asks(text: &str) -> bool {
    let end = text.trim_end_matches(|c: char| !c.is_alphanumeric() && !"?？".contains(c));
    let inside = end.trim_end_matches(['?', '？']);
    inside.len() < end.len() && !inside.contains(['.', '!', '?', '\n', '。', '！', '？', ':'])
}

#[cfg(test)]
mod tests {
    use super::TextSigns;
    use crate::language::Language;

    #[test]
    fn signs_are_seen() {
        let seen = |text: &str, code: &str| {
            let signs = TextSigns::of(text, Language::named(code).unwrap());
            [
                (signs.tells_time, 't'),
                (signs.tells_number, 'n'),
                (signs.is_wish, 'w'),
                (signs.only_asks, '?'),
            ]
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, sign)| *sign)
            .collect::<String>()
        };
        assert_eq!(seen("We went there last Friday", "en"), "t");
        assert_eq!(seen("Please don't use tabs", "en"), "w");
        assert_eq!(seen("I have 3 cats", "en"), "n");
        assert_eq!(seen("How are you?", "en"), "?");
        assert_eq!(seen("I moved. And you?", "en"), "");
        assert_eq!(seen("Ich möchte nicht geduzt werden", "de"), "w");
        assert_eq!(seen("seit 2021", "de"), "tn");
        assert_eq!(seen("wie geht's dir?", "de"), "?");
    }
}
