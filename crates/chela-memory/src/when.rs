//! The days a question names: "last Tuesday", "in March", "5.10.2026", "vor zwei Wochen".
//!
//! What the forms are is data (`text/languages`), what they mean is said in `meaning`. A form may
//! be read in more than one way: readings come in the order of how likely they are.

mod forms;
mod meaning;
mod tokens;

use std::ops::Range;

use crate::day::{CalendarDay, DaySpan};
use crate::language::{Language, LanguageVote};
use forms::DateMatch;
use tokens::QuestionToken;

/// The days a question asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedDays {
    /// What the words most likely mean, then what they may mean as well. Never empty.
    pub readings: Vec<DaySpan>,
    /// Where in the question they stand.
    pub said: Range<usize>,
    pub rest: QuestionRest,
}

/// What a question asks for besides its days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionRest {
    /// Nothing: whatever there is of those days.
    Nothing,
    Something,
}

impl AskedDays {
    /// What the words most likely mean.
    pub fn first(&self) -> Option<DaySpan> {
        self.readings.first().copied()
    }
}

/// The days a question names, if it names any.
pub fn days_in(question: &str, today: CalendarDay) -> Option<AskedDays> {
    let languages = languages_of(question);
    let tokens = tokens::read(question, today, month_comes_first(&languages));
    let found = forms::best_match(&tokens, &languages, today)?;
    let DateMatch { range, readings } = found;
    let start = tokens.get(range.start).map_or(0, |token| token.range.start);
    let end = range
        .end
        .checked_sub(1)
        .and_then(|last| tokens.get(last))
        .map_or(start, |token| token.range.end);
    let says_more = tokens
        .iter()
        .enumerate()
        .any(|(at, token)| !range.contains(&at) && token.says_something(&languages));
    Some(AskedDays {
        readings,
        said: start..end,
        rest: match says_more {
            true => QuestionRest::Something,
            false => QuestionRest::Nothing,
        },
    })
}

/// So many dates of one entry are kept, and none that is longer than this.
const MOST_MENTIONED: usize = 3;
const LONGEST_MENTIONED: u32 = 62;

/// The days an entry of a day tells of: "yesterday" is the day before it.
pub fn days_mentioned(text: &str, day: CalendarDay, language: Language) -> Vec<DaySpan> {
    let languages = [language];
    let tokens = tokens::read(text, day, month_comes_first(&languages));
    let mut all = forms::all_matches(&tokens, &languages, day);
    // The longest first; what lies within one that counts does not count again.
    all.sort_by_key(|(weight, found)| (std::cmp::Reverse(*weight), found.range.start));
    let mut kept: Vec<DateMatch> = Vec::new();
    for (_, found) in all {
        let is_apart = kept.iter().all(|other| {
            other.range.end <= found.range.start || found.range.end <= other.range.start
        });
        if is_apart && kept.len() < MOST_MENTIONED {
            kept.push(found);
        }
    }
    let mut spans: Vec<DaySpan> = kept
        .iter()
        .filter_map(|found| found.readings.first().copied())
        .filter(|span| span.days() <= LONGEST_MENTIONED && *span != DaySpan::of_day(day))
        .collect();
    spans.sort_by_key(|span| span.first);
    spans.dedup();
    spans
}

/// The days a text names that is a date and nothing else, as someone gives it for a limit.
pub fn days_named(text: &str, today: CalendarDay) -> Option<DaySpan> {
    let languages = languages_of(text);
    let tokens = tokens::read(text, today, month_comes_first(&languages));
    let found = forms::whole_match(&tokens, &languages, today)?;
    found.readings.first().copied()
}

/// English, and the languages the question may be in.
fn languages_of(question: &str) -> Vec<Language> {
    let mut languages = LanguageVote::of(question).likely();
    if !languages.contains(&Language::ENGLISH) {
        languages.push(Language::ENGLISH);
    }
    languages
}

fn month_comes_first(languages: &[Language]) -> bool {
    languages
        .first()
        .is_some_and(|language| language.table().month_first)
}

impl QuestionToken {
    fn word(&self) -> Option<&str> {
        match &self.kind {
            tokens::TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Whether it tells which year is meant.
    fn names_a_year(&self) -> bool {
        match self.kind {
            tokens::TokenKind::Number { value, digits, .. } => {
                digits == 4 && (1900..2200).contains(&value)
            }
            tokens::TokenKind::Dates(_) => true,
            tokens::TokenKind::Word(_) => false,
        }
    }

    /// Whether it is about anything.
    fn says_something(&self, languages: &[Language]) -> bool {
        match &self.kind {
            tokens::TokenKind::Word(word) => {
                !crate::words::is_stop_word(word)
                    && !languages.iter().any(|language| {
                        let table = language.table();
                        table.common.contains(word) || table.chatter.contains(word)
                    })
            }
            tokens::TokenKind::Number { .. } | tokens::TokenKind::Dates(_) => true,
        }
    }
}

#[cfg(test)]
mod tests;
