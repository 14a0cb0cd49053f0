//! From text to the stems of the words that carry it, and to the kin of a stem.

use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

/// Words in almost every sentence.
const STOP_WORDS: &str = "\
a about after again all also am an and any are as at be been before being both but by can could did do does \
doing done down during each few for from further get gets give go going got had has have having he her here \
hers him his how i if in into is it its just know let like make makes may me might mine more most much must my need \
needs no nor not now of off on once only or other our out over own please put same see shall she should \
show so some such take than that the their them then there these they thing things this those through to \
too under until up us use used user uses using very via want wants was way we were what when where which while \
who why will with within without would yes you your asks ask asked help helps skill skills something someone";

static STOP: LazyLock<std::collections::HashSet<&'static str>> =
    LazyLock::new(|| STOP_WORDS.split_whitespace().collect());

thread_local! {
    static STEMMER: Stemmer = Stemmer::create(Algorithm::English);
}

/// The stems of a text, in order, repeated as often as they stand there.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if word.is_empty() {
            continue;
        }
        if word.chars().any(is_unspaced) {
            pairs(word, &mut found);
            continue;
        }
        let lower = word.to_lowercase();
        if lower.len() < 2 || STOP.contains(lower.as_str()) {
            continue;
        }
        found.push(stem(&lower));
        // `GitHub` is also `git` and `hub`, `iOS` is only `ios`.
        for part in humps(word) {
            found.push(stem(&part.to_lowercase()));
        }
    }
    found
}

fn stem(word: &str) -> String {
    let stem = STEMMER.with(|stemmer| stemmer.stem(word).into_owned());
    // The stemmer leaves words without a vowel alone: `pdfs`, `csvs`, `prs`.
    let short_plural = stem.len() > 3 && !stem.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    match stem.strip_suffix('s') {
        Some(single) if short_plural => single.to_owned(),
        _ => stem,
    }
}

/// Parts of a word in camel case, when each is long enough to be a word.
fn humps(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut before_lower = false;
    for (at, c) in word.char_indices() {
        if c.is_uppercase() && before_lower {
            parts.extend(word.get(start..at));
            start = at;
        }
        before_lower = c.is_lowercase();
    }
    parts.extend(word.get(start..));
    if parts.len() < 2 || parts.iter().any(|part| part.len() < 3) {
        Vec::new()
    } else {
        parts
    }
}

/// Scripts written without blanks: pairs of characters stand for words.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x0e00..=0x0e7f)
}

fn pairs(word: &str, found: &mut Vec<String>) {
    let chars: Vec<char> = word.chars().collect();
    if chars.len() == 1 {
        found.push(word.to_owned());
    }
    for pair in chars.windows(2) {
        found.push(pair.iter().collect());
    }
}

/// Words that stand for each other.
pub(super) struct KinWords;

/// Each line of the table is a group of words of one meaning.
static KIN: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut table: HashMap<String, Vec<String>> = HashMap::new();
    let lines = include_str!("synonyms.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    for line in lines {
        let group: Vec<String> = line.split_whitespace().map(stem).collect();
        for word in &group {
            let kin = table.entry(word.clone()).or_default();
            for other in &group {
                if other != word && !kin.contains(other) {
                    kin.push(other.clone());
                }
            }
        }
    }
    table
});

impl KinWords {
    pub(super) fn of(stem: &str) -> &'static [String] {
        KIN.get(stem).map_or(&[], Vec::as_slice)
    }
}
