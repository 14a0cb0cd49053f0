//! One language, as its file says.
//!
//! Lines of a file are `key = value` at its top, then sections: `[common]` are words that say
//! nothing by themselves and tell the language; `[chatter]` words of questions that ask for a day
//! and nothing else; `[months]`, `[weekdays]`, `[seasons]`, `[units]` one per line with all
//! spellings; `[numbers]` a number and its words; `[forms]` how dates are said, see
//! [`FormElement`]; `[asks time]` and `[asks number]` how questions begin whose answer is one;
//! `[wishes]` how standing wishes are said; `[own]` how people begin to tell of themselves and of
//! what they decided, `[own words]` what they call theirs; `[user]` and `[assistant]` who speaks in a transcript;
//! `[times]` words that tell of a time; `[states]` how a sentence gives something its value, longer ones
//! first, with a `+` where that is new; `[newer]` words for what replaces something.

use std::collections::{HashMap, HashSet};

use rust_stemmers::Algorithm;

use crate::letters::folded;

/// What is known of one language. Words are folded: lower case, no accents.
#[derive(Debug, Default)]
pub struct LanguageTable {
    pub code: &'static str,
    pub stemmer: Option<Algorithm>,
    /// Whether 3/4 is the fourth of March.
    pub month_first: bool,
    pub common: HashSet<String>,
    pub chatter: HashSet<String>,
    /// 1 to 12.
    pub months: HashMap<String, u32>,
    /// 0 is Monday.
    pub weekdays: HashMap<String, u32>,
    /// 0 is spring.
    pub seasons: HashMap<String, u32>,
    /// 0 is a day, then week, month, year.
    pub units: HashMap<String, u32>,
    pub numbers: HashMap<String, SmallNumber>,
    /// In the order of the file; a longer match wins whatever its place.
    forms: Vec<DateFormLine>,
    /// Which of them may start with a word.
    forms_by_word: HashMap<String, Vec<usize>>,
    /// Which of them may start with what is no word of theirs: a month, a number.
    forms_by_slot: Vec<usize>,
    pub asks_time: Vec<Vec<String>>,
    pub asks_number: Vec<Vec<String>>,
    pub wishes: Vec<Vec<String>>,
    pub own: Vec<Vec<String>>,
    pub own_words: HashSet<String>,
    pub user: HashSet<String>,
    pub assistant: HashSet<String>,
    pub times: HashSet<String>,
    pub states: Vec<StatingVerb>,
    pub newer: HashSet<String>,
}

/// How a sentence says what something is.
#[derive(Debug)]
pub struct StatingVerb {
    pub words: Vec<String>,
    /// Something else was said of it before.
    pub is_newer: bool,
}

/// A number that is said as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmallNumber {
    Is(u32),
    /// "A few".
    Few,
}

/// A form of a date and what it means, in words of the file.
#[derive(Debug)]
pub struct DateFormLine {
    /// Only within other forms, such as the date of `since <date>`.
    pub inner: bool,
    pub elements: Vec<FormElement>,
    pub meaning: Vec<&'static str>,
}

/// One place of a form. `word|other-word` is one of these, where a dash joins words in a row; a
/// question mark behind it says that it may be missing; `<month>` and the like stand for all of
/// their kind.
#[derive(Debug, PartialEq, Eq)]
pub enum FormElement {
    Words {
        any: Vec<Vec<String>>,
        optional: bool,
    },
    Slot {
        kind: &'static str,
        optional: bool,
    },
}

impl LanguageTable {
    /// Reads a file of `text/languages`.
    pub fn read(text: &'static str) -> Self {
        let mut table = Self::default();
        let mut section = "";
        let mut row = 0;
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                (section, row) = (name, 0);
                continue;
            }
            table.line(section, row, line);
            row += 1;
        }
        table
    }

    /// The forms that may start with a word, or with what is none.
    pub fn forms_at(&self, word: Option<&str>) -> impl Iterator<Item = &DateFormLine> {
        let by_word = word.and_then(|word| self.forms_by_word.get(word));
        let numbers = by_word.map(Vec::as_slice).unwrap_or_default();
        let mut all: Vec<usize> = numbers.iter().chain(&self.forms_by_slot).copied().collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().filter_map(|at| self.forms.get(at))
    }

    pub fn has_forms(&self) -> bool {
        !self.forms.is_empty()
    }

    /// Says of a form with which words it may start.
    fn note_form(&mut self, form: DateFormLine) {
        let number = self.forms.len();
        for element in &form.elements {
            match element {
                FormElement::Words { any, optional } => {
                    for first in any.iter().filter_map(|words| words.first()) {
                        let forms = self.forms_by_word.entry(first.clone()).or_default();
                        forms.push(number);
                    }
                    if !optional {
                        break;
                    }
                }
                FormElement::Slot { .. } => {
                    self.forms_by_slot.push(number);
                    break;
                }
            }
        }
        self.forms.push(form);
    }

    fn line(&mut self, section: &str, row: u32, line: &'static str) {
        let words = || line.split_whitespace().map(folded);
        let phrase = || phrase_words(line);
        match section {
            "" => match line.split_once(" = ") {
                Some(("code", code)) => self.code = code,
                Some(("stemmer", name)) => self.stemmer = stemmer_named(name),
                Some(("dates", order)) => self.month_first = order == "month first",
                _ => {}
            },
            "common" => self.common.extend(words()),
            "chatter" => self.chatter.extend(words()),
            "months" => self.months.extend(words().map(|word| (word, row + 1))),
            "weekdays" => self.weekdays.extend(words().map(|word| (word, row))),
            "seasons" => self.seasons.extend(words().map(|word| (word, row))),
            "units" => self.units.extend(words().map(|word| (word, row))),
            "numbers" => {
                let mut all = words();
                let number = match all.next().map(|first| first.parse()) {
                    Some(Ok(number)) => SmallNumber::Is(number),
                    _ => SmallNumber::Few,
                };
                self.numbers.extend(all.map(|word| (word, number)));
                if number == SmallNumber::Few {
                    let first = words().next().map(|word| (word, number));
                    self.numbers.extend(first);
                }
            }
            "forms" => {
                if let Some(form) = DateFormLine::read(line) {
                    self.note_form(form);
                }
            }
            "asks time" => self.asks_time.push(phrase()),
            "asks number" => self.asks_number.push(phrase()),
            "wishes" => self.wishes.push(phrase()),
            "own" => self.own.push(phrase()),
            "own words" => self.own_words.extend(words()),
            "user" => self.user.extend(words()),
            "assistant" => self.assistant.extend(words()),
            "times" => self.times.extend(words()),
            "states" => self.states.push(StatingVerb {
                words: phrase(),
                is_newer: line.starts_with('+'),
            }),
            "newer" => self.newer.extend(words()),
            _ => {}
        }
    }
}

/// The words of a phrase as a question has them: without what stands between them.
pub fn phrase_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(folded)
        .collect()
}

impl DateFormLine {
    fn read(line: &'static str) -> Option<Self> {
        let (form, meaning) = line.rsplit_once(" = ")?;
        let (inner, form) = match form.strip_prefix("~ ") {
            Some(rest) => (true, rest),
            None => (false, form),
        };
        Some(Self {
            inner,
            elements: form.split_whitespace().map(FormElement::read).collect(),
            meaning: meaning.split_whitespace().collect(),
        })
    }
}

impl FormElement {
    fn read(element: &'static str) -> Self {
        let (element, optional) = match element.strip_suffix('?') {
            Some(rest) => (rest, true),
            None => (element, false),
        };
        match element.strip_prefix('<').and_then(|e| e.strip_suffix('>')) {
            Some(kind) => Self::Slot { kind, optional },
            None => Self::Words {
                any: element.split('|').map(phrase_words).collect(),
                optional,
            },
        }
    }
}

fn stemmer_named(name: &str) -> Option<Algorithm> {
    Some(match name {
        "arabic" => Algorithm::Arabic,
        "danish" => Algorithm::Danish,
        "dutch" => Algorithm::Dutch,
        "english" => Algorithm::English,
        "finnish" => Algorithm::Finnish,
        "french" => Algorithm::French,
        "german" => Algorithm::German,
        "greek" => Algorithm::Greek,
        "hungarian" => Algorithm::Hungarian,
        "italian" => Algorithm::Italian,
        "norwegian" => Algorithm::Norwegian,
        "portuguese" => Algorithm::Portuguese,
        "romanian" => Algorithm::Romanian,
        "russian" => Algorithm::Russian,
        "spanish" => Algorithm::Spanish,
        "swedish" => Algorithm::Swedish,
        "tamil" => Algorithm::Tamil,
        "turkish" => Algorithm::Turkish,
        _ => return None,
    })
}
