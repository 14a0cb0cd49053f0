//! What an entry says of something: a subject and its attribute, and the value it has.
//!
//! `The wifi password is hunter2`; under the heading `Ann`, `- phone: 555 0199`. Two entries with the
//! same subject and attribute and different values cannot both hold: the newer one does.

use crate::chunk::NoteChunk;
use crate::language::{Language, LanguageVote};
use crate::words::{TermReader, folded, is_stop_word};

/// What a line states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatedFact {
    /// Stems of subject and attribute, in order of the alphabet: `ann's phone`, `the phone of Ann`.
    pub about: Vec<String>,
    /// Subject and attribute as written, without small words.
    pub named: String,
    pub value: String,
    /// The words of the value.
    words: Vec<String>,
    /// It says that it is newer than something: "now", "the new".
    pub says_newer: bool,
}

const MOST_SUBJECT_WORDS: usize = 6;
const MOST_VALUE_WORDS: usize = 12;
/// What "my" and "mein" are among the stems of a subject.
const OWN: &str = "\u{1}own";
/// More words than these of a key are a sentence.
const MOST_KEY_WORDS: usize = 4;
/// So many different values are a list of readings, not a fact that changed.
pub const MOST_VALUES: usize = 3;

/// The facts of an entry. What somebody says in a conversation states none: "my phone" is whose?
pub fn stated_in(unit: &NoteChunk, terms: &mut TermReader) -> Vec<StatedFact> {
    if unit.speaker.is_some() {
        return Vec::new();
    }
    stated(&unit.heading, unit.body(), unit.date.is_some(), terms)
}

/// The facts of a text under a heading. In a note of a day, a key alone names no subject: `Mood: good`
/// is about that day.
pub fn stated(
    heading: &str,
    body: &str,
    is_of_day: bool,
    terms: &mut TermReader,
) -> Vec<StatedFact> {
    let language = LanguageVote::of(body).winner().unwrap_or_default();
    body.lines()
        .filter_map(|line| {
            let line = bare(line);
            sentence(line, language, terms).or_else(|| {
                let heading = match is_of_day {
                    true => "",
                    false => heading.rsplit(" > ").next().unwrap_or_default(),
                };
                key_and_value(line, heading, language, terms)
            })
        })
        .collect()
}

impl StatedFact {
    /// Whether two facts of the same cannot both hold.
    pub fn differs(&self, other: &Self) -> bool {
        let within = |few: &[String], many: &[String]| few.iter().all(|word| many.contains(word));
        self.about == other.about
            && (self.is_definite() || other.is_definite())
            && !within(&self.words, &other.words)
            && !within(&other.words, &self.words)
    }

    /// A number, an address or a name; "lovely" may hold beside "large".
    pub fn is_definite(&self) -> bool {
        let sign = |c: char| c.is_ascii_digit() || "@/_€$£".contains(c);
        self.value.contains(sign) || self.value.split_whitespace().any(is_name)
    }
}

fn is_name(word: &str) -> bool {
    word.chars().count() > 1 && word.starts_with(char::is_uppercase)
}

/// A line without its list mark, its check box and its bold signs.
fn bare(line: &str) -> &str {
    let line = line.trim();
    let line = ["- ", "* ", "+ "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
        .unwrap_or(line);
    let line = ["[ ] ", "[x] ", "[X] "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
        .unwrap_or(line);
    line.trim().trim_end_matches(['.', '!', ';'])
}

/// `Ann's new phone number is 555 0199`.
fn sentence(line: &str, language: Language, terms: &mut TermReader) -> Option<StatedFact> {
    let table = language.table();
    let (start, end, is_newer) = table.states.iter().find_map(|verb| {
        let at = find_words(line, &verb.words)?;
        Some((at.start, at.end, verb.is_newer))
    })?;
    let (subject, value) = (line.get(..start)?.trim(), line.get(end..)?.trim());
    let words = subject.split_whitespace().count();
    let about = about(subject, language, terms);
    // One word is a subject without an attribute: "Ann is tired".
    (is_plain(subject) && words <= MOST_SUBJECT_WORDS && about.len() >= 2).then_some(())?;
    fact(subject, about, value, is_newer, language)
}

/// `phone: 555 0199`, under a heading that says whose.
fn key_and_value(
    line: &str,
    heading: &str,
    language: Language,
    terms: &mut TermReader,
) -> Option<StatedFact> {
    let (key, value) = line.split_once(": ")?;
    let (key, value) = (
        key.trim_matches(['*', '_', ' ']),
        value.trim_matches(['*', '_', ' ']),
    );
    let words = key.split_whitespace().count();
    (is_plain(key) && (1..=MOST_KEY_WORDS).contains(&words)).then_some(())?;
    let subject = format!("{heading} {key}");
    let about = about(&subject, language, terms);
    (about.len() >= 2).then_some(())?;
    fact(subject.trim(), about, value, false, language)
}

fn fact(
    subject: &str,
    about: Vec<String>,
    value: &str,
    is_newer: bool,
    language: Language,
) -> Option<StatedFact> {
    let value = value.trim_matches(['"', '`', '*', ' ']);
    let words: Vec<String> = value
        .split(|c: char| !c.is_alphanumeric())
        .map(folded)
        .filter(|word| !word.is_empty() && !is_stop_word(word))
        .collect();
    let is_value = !words.is_empty() && words.len() <= MOST_VALUE_WORDS && !value.ends_with('?');
    let newer = &language.table().newer;
    let says_newer = is_newer
        || subject
            .split_whitespace()
            .any(|word| newer.contains(&folded(word)));
    let common = &language.table().common;
    let named: Vec<&str> = subject
        .split_whitespace()
        .filter(|word| !common.contains(&folded(word)) && !newer.contains(&folded(word)))
        .collect();
    is_value.then(|| StatedFact {
        about,
        named: named.join(" "),
        value: value.to_owned(),
        words,
        says_newer,
    })
}

fn is_plain(subject: &str) -> bool {
    subject
        .chars()
        .all(|c| c.is_alphanumeric() || " '’-_".contains(c))
}

fn about(subject: &str, language: Language, terms: &mut TermReader) -> Vec<String> {
    let table = language.table();
    let kept: Vec<&str> = subject
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| {
            let word = folded(word);
            !table.newer.contains(&word) && !table.common.contains(&word)
        })
        .collect();
    let mut about = terms.of_in(language, &kept.join(" "));
    let first = subject.split_whitespace().next().map(folded);
    if first.is_some_and(|first| table.own_words.contains(&first)) {
        // Whoever's notes these are, in whatever language.
        about.push(OWN.to_owned());
    }
    about.sort();
    about.dedup();
    about
}

/// Where words stand in a line, one behind the other.
fn find_words(line: &str, wanted: &[String]) -> Option<std::ops::Range<usize>> {
    let mut words: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for word in line.split(' ') {
        words.push((at, word));
        at += word.len() + 1;
    }
    let from = words.windows(wanted.len()).position(|here| {
        here.iter()
            .zip(wanted)
            .all(|((_, word), wanted)| folded(word) == *wanted)
    })?;
    let (start, _) = words.get(from)?;
    let (last, word) = words.get(from + wanted.len() - 1)?;
    Some(*start..last + word.len())
}

#[cfg(test)]
mod tests {
    use super::{StatedFact, stated};
    use crate::words::TermReader;

    fn facts(heading: &str, body: &str) -> Vec<StatedFact> {
        stated(heading, body, false, &mut TermReader::default())
    }

    fn differ(first: &str, second: &str) -> bool {
        let (first, second) = (facts("", first), facts("", second));
        first
            .iter()
            .any(|one| second.iter().any(|other| one.differs(other)))
    }

    #[test]
    fn what_changed_differs() {
        assert!(differ(
            "The wifi password is hunter2",
            "- The wifi password is swordfish."
        ));
        assert!(differ(
            "Ann's phone number is 555 0199",
            "The new phone number of Ann is 555 0142"
        ));
        assert!(differ(
            "My dentist is Dr Meyer",
            "My dentist is now Dr Smith"
        ));
        assert!(differ(
            "The team meeting is on Monday",
            "The team meeting is now on Thursday"
        ));
        assert!(differ(
            "Die Telefonnummer von Ann ist 0171 22",
            "Die neue Telefonnummer von Ann ist 0172 33"
        ));
    }

    #[test]
    fn what_may_hold_together_does_not() {
        for (first, second) in [
            ("Ann is tired", "Ann is happy"),
            ("The front garden is lovely", "The front garden is large"),
            (
                "The dentist of Ann is Dr Meyer",
                "The dentist of Bob is Dr Smith",
            ),
            (
                "The train to Bonn is at 8:10",
                "The train to Bonn is at 8:10 from platform 3",
            ),
            ("It is 5 degrees", "It is 7 degrees"),
            ("My dentist is Dr Meyer", "The dentist is Dr Smith"),
            (
                "Is the wifi password hunter2?",
                "The wifi password is swordfish",
            ),
        ] {
            assert!(!differ(first, second), "{first} / {second}");
        }
    }

    #[test]
    fn a_key_is_of_its_heading() {
        let (ann, bob) = (
            facts("People > Ann", "- phone: 1"),
            facts("People > Bob", "- phone: 2"),
        );
        assert!(!ann[0].differs(&bob[0]));
        let changed = facts("People > Ann", "**Phone**: 3");
        assert!(ann[0].differs(&changed[0]));
        assert!(facts("", "phone: 1").is_empty());
        assert!(stated("Log", "Mood: 3", true, &mut TermReader::default()).is_empty());
    }
}
