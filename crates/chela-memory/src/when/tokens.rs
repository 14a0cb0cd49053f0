//! A question as words, numbers and dates in figures.

use std::ops::Range;

use crate::day::{CalendarDay, DaySpan};
use crate::words::folded;

/// A piece of a question and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionToken {
    pub kind: TokenKind,
    pub range: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKind {
    /// Folded.
    Word(String),
    Number {
        value: u32,
        digits: usize,
        /// `5th`, `5.`, `1er`.
        ordinal: bool,
    },
    /// `5.10.2026` and the like: their readings.
    Dates(Vec<DaySpan>),
}

const ORDINALS: [&str; 12] = [
    "st", "nd", "rd", "th", "er", "re", "e", "te", "ten", "de", "ste", "o",
];

/// Cuts a question into its pieces. `month_first` says how 3/4 is meant.
pub fn read(question: &str, today: CalendarDay, month_first: bool) -> Vec<QuestionToken> {
    let mut tokens: Vec<QuestionToken> = Vec::new();
    let mut at = 0;
    while let Some(c) = question.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = question.get(at..).unwrap_or_default();
        if c.is_ascii_digit() {
            let figures = Figures {
                text: rest,
                today,
                month_first,
                is_after_word: matches!(
                    tokens.last().map(|last| &last.kind),
                    Some(TokenKind::Word(_))
                ),
            };
            let (kind, length) = figures.read();
            tokens.push(QuestionToken {
                kind,
                range: at..at + length,
            });
            at += length;
        } else if c.is_alphanumeric() {
            let length = rest
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(rest.len());
            let word = rest.get(..length).unwrap_or_default();
            tokens.push(QuestionToken {
                kind: TokenKind::Word(folded(word)),
                range: at..at + length,
            });
            at += length;
        } else {
            at += c.len_utf8();
        }
    }
    tokens
}

/// A text that starts with a figure.
struct Figures<'a> {
    text: &'a str,
    today: CalendarDay,
    month_first: bool,
    is_after_word: bool,
}

impl Figures<'_> {
    /// What it starts with and how many bytes that takes.
    fn read(&self) -> (TokenKind, usize) {
        let (numbers, marks, end) = self.numbers();
        if let Some(readings) = self.date(&numbers, &marks) {
            return (TokenKind::Dates(readings), end);
        }
        if let Some(found) = self.date_in_signs() {
            return found;
        }
        let digits = digits(self.text);
        let value = value(self.text.get(..digits).unwrap_or_default());
        let after = self.text.get(digits..).unwrap_or_default();
        let letters = after
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(after.len());
        let suffix = folded(after.get(..letters).unwrap_or_default());
        if letters == 0 {
            let dotted = after.starts_with('.')
                && after
                    .get(1..)
                    .is_some_and(|more| more.starts_with(' ') || more.is_empty());
            let ordinal = dotted || after.starts_with(['º', 'ª']);
            (number(value, digits, ordinal), digits)
        } else if ORDINALS.contains(&suffix.as_str()) {
            (number(value, digits, true), digits + letters)
        } else {
            // `3pm`, `4k`: a word of its own.
            let whole = digits + letters;
            let word = folded(self.text.get(..whole).unwrap_or_default());
            (TokenKind::Word(word), whole)
        }
    }

    /// Up to three numbers with one mark between each, and where the last ends.
    fn numbers(&self) -> (Vec<(u32, usize)>, Vec<u8>, usize) {
        let bytes = self.text.as_bytes();
        let (mut numbers, mut marks) = (Vec::new(), Vec::new());
        let mut at = 0;
        let mut end = 0;
        while numbers.len() < 3 {
            let rest = self.text.get(at..).unwrap_or_default();
            let length = digits(rest);
            if length == 0 {
                break;
            }
            let number = value(rest.get(..length).unwrap_or_default());
            numbers.push((number, length));
            end = at + length;
            match bytes.get(end) {
                Some(mark @ (b'.' | b'-' | b'/')) => marks.push(*mark),
                _ => break,
            }
            at = end + 1;
        }
        // `5.3.`: the second mark belongs to it.
        if numbers.len() == 2 && marks == *b".." {
            end += 1;
        }
        (numbers, marks, end)
    }

    fn date(&self, numbers: &[(u32, usize)], marks: &[u8]) -> Option<Vec<DaySpan>> {
        let same_mark = |count: usize| {
            marks.len() >= count && marks.iter().take(count).all(|m| Some(m) == marks.first())
        };
        match numbers {
            [(year, 4), (month, _), (day, _)] if same_mark(2) => one(*year, *month, *day),
            [(first, 1..=2), (second, 1..=2), (year, 2 | 4)] if same_mark(2) => {
                let year = if *year < 100 { 2000 + year } else { *year };
                let by_month = one(year, *first, *second);
                let by_day = one(year, *second, *first);
                let month_first = self.month_first && marks.first() == Some(&b'/');
                match month_first {
                    true => by_month.or(by_day),
                    false => by_day.or(by_month),
                }
            }
            [(year, 4), (month, 2)] if marks == b"-" && (1900..2200).contains(year) => {
                DaySpan::of_month(*year as i32, *month).map(|span| vec![span])
            }
            [(day, 1..=2), (month, 1..=2)] if marks == b".." => {
                self.latest(*month, *day).map(|span| vec![span])
            }
            [(first, 1..=2), (second, 1..=2)] if marks == b"/" && self.is_after_word => {
                let (month, day) = match self.month_first && *first <= 12 || *second > 12 {
                    true => (*first, *second),
                    false => (*second, *first),
                };
                self.latest(month, day).map(|span| vec![span])
            }
            _ => None,
        }
    }

    /// `2026年3月5日`, `3月5日`, `2026年3月`.
    fn date_in_signs(&self) -> Option<(TokenKind, usize)> {
        let mut at = 0;
        let mut parts: Vec<(u32, char)> = Vec::new();
        while parts.len() < 3 {
            let rest = self.text.get(at..).unwrap_or_default();
            let length = digits(rest);
            let sign = rest.get(length..).and_then(|rest| rest.chars().next());
            let Some(sign @ ('年' | '月' | '日' | '号' | '년' | '월' | '일')) =
                sign.filter(|_| length > 0)
            else {
                break;
            };
            parts.push((value(rest.get(..length).unwrap_or_default()), sign));
            at += length + sign.len_utf8();
            // Korean writes spaces between them.
            if self
                .text
                .get(at..)
                .is_some_and(|rest| rest.starts_with(' '))
                && self.text.get(at + 1..).is_some_and(|rest| digits(rest) > 0)
                && parts.len() < 3
                && !"日号일".contains(sign)
            {
                at += 1;
            }
        }
        let span = match *parts.as_slice() {
            [(year, _), (month, _), (day, _)] => one(year, month, day)?.first().copied(),
            [(year, '年' | '년'), (month, _)] => DaySpan::of_month(year as i32, month),
            [(month, '月' | '월'), (day, _)] => self.latest(month, day),
            [(year, '年' | '년')] => DaySpan::of_year(year as i32),
            [(month, '月' | '월')] => DaySpan::latest_month(month, self.today),
            _ => None,
        };
        Some((TokenKind::Dates(vec![span?]), at))
    }

    fn latest(&self, month: u32, day: u32) -> Option<DaySpan> {
        CalendarDay::latest(month, day, self.today).map(DaySpan::of_day)
    }
}

fn one(year: u32, month: u32, day: u32) -> Option<Vec<DaySpan>> {
    CalendarDay::from_civil(year as i32, month, day).map(|day| vec![DaySpan::of_day(day)])
}

fn number(value: u32, digits: usize, ordinal: bool) -> TokenKind {
    TokenKind::Number {
        value,
        digits,
        ordinal,
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn value(digits: &str) -> u32 {
    digits.parse().unwrap_or(u32::MAX)
}
