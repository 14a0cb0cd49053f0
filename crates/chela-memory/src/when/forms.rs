//! Looking for the forms of dates in the words of a question.

use std::ops::Range;

use super::meaning::{self, FormValues};
use super::tokens::{QuestionToken, TokenKind};
use crate::day::{CalendarDay, DaySpan};
use crate::language::{DateFormLine, FormElement, Language, LanguageTable, SmallNumber};

/// Where a date is said, in tokens, and what it may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateMatch {
    pub range: Range<usize>,
    pub readings: Vec<DaySpan>,
}

/// Which forms count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FormPlace {
    /// Anywhere in a question.
    Free,
    /// Where a date is sure to stand.
    Inner,
}

/// Every date in a text, also within others, and how much of the text each takes: one with its year
/// counts for longer.
pub fn all_matches(
    tokens: &[QuestionToken],
    languages: &[Language],
    today: CalendarDay,
) -> Vec<(usize, DateMatch)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let seen = languages
            .iter()
            .filter_map(|language| longest_at(language.table(), tokens, at, today, FormPlace::Free))
            .max_by_key(|seen| seen.end);
        match seen {
            Some(SeenForm {
                end,
                readings: Some(readings),
            }) if !readings.is_empty() => {
                let range = at..end;
                let said = tokens.get(range.clone()).unwrap_or_default();
                let has_year = said.iter().any(QuestionToken::names_a_year);
                let weight = range.len() + usize::from(has_year);
                found.push((weight, DateMatch { range, readings }));
                at += 1;
            }
            Some(SeenForm {
                end,
                readings: None,
            }) => at = end,
            _ => at += 1,
        }
    }
    found
}

/// The longest of the dates in a question; of two, the first.
pub fn best_match(
    tokens: &[QuestionToken],
    languages: &[Language],
    today: CalendarDay,
) -> Option<DateMatch> {
    let mut best: Option<(usize, DateMatch)> = None;
    for (weight, found) in all_matches(tokens, languages, today) {
        if best.as_ref().is_none_or(|(most, _)| weight > *most) {
            best = Some((weight, found));
        }
    }
    best.map(|(_, found)| found)
}

/// A date that takes all of the words.
pub fn whole_match(
    tokens: &[QuestionToken],
    languages: &[Language],
    today: CalendarDay,
) -> Option<DateMatch> {
    let places = [FormPlace::Free, FormPlace::Inner];
    let all = languages
        .iter()
        .flat_map(|language| places.map(|place| (language.table(), place)));
    all.filter_map(|(table, place)| longest_at(table, tokens, 0, today, place))
        .find(|seen| seen.end == tokens.len() && seen.readings.is_some())
        .map(|seen| DateMatch {
            range: 0..seen.end,
            readings: seen.readings.unwrap_or_default(),
        })
}

/// A form that fits. What means nothing takes its words away from other forms.
#[derive(Debug)]
struct SeenForm {
    end: usize,
    readings: Option<Vec<DaySpan>>,
}

fn longest_at(
    table: &LanguageTable,
    tokens: &[QuestionToken],
    at: usize,
    today: CalendarDay,
    place: FormPlace,
) -> Option<SeenForm> {
    let mut best: Option<SeenForm> = None;
    if let Some(TokenKind::Dates(readings)) = tokens.get(at).map(|token| &token.kind) {
        best = Some(SeenForm {
            end: at + 1,
            readings: Some(readings.clone()),
        });
    }
    let forms = table
        .forms_at(tokens.get(at).and_then(QuestionToken::word))
        .filter(|form| place == FormPlace::Inner || !form.inner);
    for form in forms {
        let looked = FormLook {
            table,
            tokens,
            today,
            form,
        };
        for (end, values) in looked.all_from(at) {
            if best.as_ref().is_some_and(|best| best.end >= end) {
                continue;
            }
            let readings = meaning::readings(&form.meaning, &values, today);
            let means_nothing = form.meaning.first() == Some(&"nothing");
            if readings.is_some() || means_nothing {
                best = Some(SeenForm { end, readings });
            }
        }
    }
    best
}

struct FormLook<'a> {
    table: &'a LanguageTable,
    tokens: &'a [QuestionToken],
    today: CalendarDay,
    form: &'a DateFormLine,
}

impl FormLook<'_> {
    /// Every way the form fits from a token on: where it ends and what stood in its slots.
    fn all_from(&self, at: usize) -> Vec<(usize, FormValues)> {
        let mut found = Vec::new();
        self.go_on(0, at, FormValues::default(), &mut found);
        found.retain(|(end, _)| *end > at);
        found
    }

    fn go_on(
        &self,
        element: usize,
        at: usize,
        values: FormValues,
        found: &mut Vec<(usize, FormValues)>,
    ) {
        let Some(next) = self.form.elements.get(element) else {
            found.push((at, values));
            return;
        };
        match next {
            FormElement::Words { any, optional } => {
                for words in any {
                    let here = self.tokens.get(at..at + words.len()).unwrap_or_default();
                    let fits = here.len() == words.len()
                        && here.iter().zip(words).all(|(token, word)| {
                            matches!(&token.kind, TokenKind::Word(said) if said == word)
                        });
                    if fits {
                        self.go_on(element + 1, at + words.len(), values.clone(), found);
                    }
                }
                if *optional {
                    self.go_on(element + 1, at, values, found);
                }
            }
            FormElement::Slot { kind, optional } => {
                if *kind == "end" {
                    if at == self.tokens.len() {
                        self.go_on(element + 1, at, values, found);
                    }
                    return;
                }
                if let Some((end, filled)) = self.fill(kind, at, &values) {
                    self.go_on(element + 1, end, filled, found);
                }
                if *optional {
                    self.go_on(element + 1, at, values, found);
                }
            }
        }
    }

    /// What stands in a slot, and where it ends.
    fn fill(&self, kind: &str, at: usize, values: &FormValues) -> Option<(usize, FormValues)> {
        let mut values = values.clone();
        let token = &self.tokens.get(at)?.kind;
        if kind == "date" {
            let seen = longest_at(self.table, self.tokens, at, self.today, FormPlace::Inner)?;
            values.dates.push(seen.readings?);
            return Some((seen.end, values));
        }
        match (kind, token) {
            ("number", TokenKind::Word(word)) => {
                values.number = Some(*self.table.numbers.get(word)?);
            }
            (
                "number",
                TokenKind::Number {
                    value,
                    digits,
                    ordinal: false,
                },
            ) if *digits <= 3 => {
                values.number = Some(SmallNumber::Is(*value));
            }
            ("unit", TokenKind::Word(word)) => values.unit = Some(*self.table.units.get(word)?),
            ("weekday", TokenKind::Word(word)) => {
                values.weekday = Some(*self.table.weekdays.get(word)?);
            }
            ("month", TokenKind::Word(word)) => values.month = Some(*self.table.months.get(word)?),
            ("season", TokenKind::Word(word)) => {
                values.season = Some(*self.table.seasons.get(word)?);
            }
            (
                "year",
                TokenKind::Number {
                    value, digits: 4, ..
                },
            ) if (1900..2200).contains(value) => {
                values.year = i32::try_from(*value).ok();
            }
            (
                "dayofmonth",
                TokenKind::Number {
                    value,
                    digits: 1..=2,
                    ordinal,
                },
            ) => {
                values.days.push(*value);
                // Without its month a number is a day only where it is written like one.
                let has_month = self
                    .form
                    .elements
                    .iter()
                    .any(|element| matches!(element, FormElement::Slot { kind: "month", .. }));
                if !has_month && !ordinal {
                    return None;
                }
            }
            ("dayofmonth", TokenKind::Word(word)) => match self.table.numbers.get(word)? {
                SmallNumber::Is(value) => values.days.push(*value),
                SmallNumber::Few => return None,
            },
            _ => return None,
        }
        Some((at + 1, values))
    }
}
