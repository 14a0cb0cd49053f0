//! Calendar days: of notes, in questions, and how far apart they are.

/// A day, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CalendarDay(pub i32);

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

impl CalendarDay {
    /// `None` for a day the calendar does not have.
    pub fn from_civil(year: i32, month: u32, day: u32) -> Option<Self> {
        if !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
            return None;
        }
        // Years start in March here, so that the leap day is the last of its year.
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let of_year = ((month + 9) % 12 * 153 + 2) / 5 + day - 1;
        let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year as i32;
        Some(Self(era * 146_097 + day_of_era - 719_468))
    }

    /// Year, month and day.
    pub fn civil(self) -> (i32, u32, u32) {
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        (
            year + era * 400 + i32::from(month <= 2),
            month as u32,
            day as u32,
        )
    }

    /// The day of a moment, in UTC.
    pub fn of_unix(seconds: u64) -> Self {
        Self(i32::try_from(seconds / 86_400).unwrap_or(i32::MAX))
    }

    /// 0 is Monday.
    pub fn weekday(self) -> u32 {
        (self.0 + 3).rem_euclid(7) as u32
    }

    /// The first `YYYY-MM-DD` in a text.
    pub fn find(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        (0..bytes.len().saturating_sub(9)).find_map(|at| {
            let free = |at: Option<usize>| {
                at.and_then(|at| bytes.get(at))
                    .is_none_or(|byte| !byte.is_ascii_digit())
            };
            (free(at.checked_sub(1)) && free(Some(at + 10)))
                .then(|| Self::read_iso(bytes.get(at..at + 10)?))
                .flatten()
        })
    }

    /// The first date in a heading: `2026-03-04`, `8 May, 2023` or `May 8, 2023`.
    pub fn find_written(text: &str) -> Option<Self> {
        if let Some(day) = Self::find(text) {
            return Some(day);
        }
        let words: Vec<&str> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        words.windows(3).find_map(|three| {
            let [first, second, third] = three else {
                return None;
            };
            let (day, month) = match (number(first), month_named(first)) {
                (Some(day), _) => (day, month_named(second)?),
                (None, Some(month)) => (number(second)?, month),
                (None, None) => return None,
            };
            let year = number(third).filter(|year| (1900..2200).contains(year))?;
            Self::from_civil(year as i32, month, day)
        })
    }

    fn read_iso(bytes: &[u8]) -> Option<Self> {
        let digits = |range: std::ops::Range<usize>| {
            bytes.get(range)?.iter().try_fold(0, |number: u32, byte| {
                byte.is_ascii_digit()
                    .then(|| number * 10 + u32::from(byte - b'0'))
            })
        };
        if *bytes.get(4)? != b'-' || *bytes.get(7)? != b'-' {
            return None;
        }
        Self::from_civil(digits(0..4)? as i32, digits(5..7)?, digits(8..10)?)
    }
}

impl std::fmt::Display for CalendarDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// A stretch of days that a question names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaySpan {
    pub first: CalendarDay,
    pub last: CalendarDay,
}

impl DaySpan {
    pub fn contains(self, day: CalendarDay) -> bool {
        (self.first..=self.last).contains(&day)
    }

    /// The days a question names: a date, a month with its year, `yesterday`, `last week`.
    pub fn in_question(question: &str, today: CalendarDay) -> Option<Self> {
        if let Some(day) = CalendarDay::find_written(question) {
            return Some(Self {
                first: day,
                last: day,
            });
        }
        let lower = question.to_lowercase();
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let back = |first: i32, last: i32| {
            Some(Self {
                first: CalendarDay(today.0 - first),
                last: CalendarDay(today.0 - last),
            })
        };
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).copied().unwrap_or_default();
            let found = match (*word, next) {
                ("today", _) => back(0, 0),
                ("yesterday", _) => back(1, 1),
                ("last", "week") => back(7 + today.weekday() as i32, 1 + today.weekday() as i32),
                ("this", "week") => back(today.weekday() as i32, 0),
                ("last", "month") => Some(month_before(today)),
                ("this", "month") => Some(month_of(today)),
                (_, "days") if words.get(at + 2) == Some(&"ago") => number(word)
                    .filter(|days| *days < 10_000)
                    .and_then(|days| back(days as i32, days as i32)),
                _ => match (month_named(word), number(next)) {
                    (Some(month), Some(year)) if (1900..2200).contains(&year) => {
                        CalendarDay::from_civil(year as i32, month, 1).map(month_of)
                    }
                    _ => None,
                },
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

fn month_of(day: CalendarDay) -> DaySpan {
    let (year, month, of_month) = day.civil();
    let first = CalendarDay(day.0 - of_month as i32 + 1);
    DaySpan {
        first,
        last: CalendarDay(first.0 + days_in(year, month) as i32 - 1),
    }
}

fn month_before(day: CalendarDay) -> DaySpan {
    let (_, _, of_month) = day.civil();
    month_of(CalendarDay(day.0 - of_month as i32))
}

fn days_in(year: i32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

fn number(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|c: char| c.is_alphabetic());
    (!digits.is_empty() && digits.len() <= 4)
        .then(|| digits.parse().ok())
        .flatten()
}

fn month_named(word: &str) -> Option<u32> {
    let word = word.to_lowercase();
    let fits = |name: &str| name == word || (word.len() == 3 && name.starts_with(&word));
    MONTHS
        .iter()
        .position(|name| fits(name))
        .map(|at| at as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::{CalendarDay, DaySpan};
    use proptest::prelude::*;

    #[test]
    fn dates_are_found() {
        let day = |text| CalendarDay::find_written(text).map(|day| day.to_string());
        assert_eq!(
            day("memory/2026-03-04-dentist.md").as_deref(),
            Some("2026-03-04")
        );
        assert_eq!(day("1:56 pm on 8 May, 2023").as_deref(), Some("2023-05-08"));
        assert_eq!(day("March 3rd, 2024").as_deref(), Some("2024-03-03"));
        assert_eq!(day("12026-03-045"), None);
        assert_eq!(day("2026-02-30"), None);
    }

    #[test]
    fn questions_name_stretches_of_days() {
        let today = CalendarDay::find("2026-11-15").unwrap();
        let span = |text| {
            DaySpan::in_question(text, today).map(|span| format!("{}..{}", span.first, span.last))
        };
        assert_eq!(
            span("what did we decide yesterday?").as_deref(),
            Some("2026-11-14..2026-11-14")
        );
        assert_eq!(
            span("notes from last week").as_deref(),
            Some("2026-11-02..2026-11-08")
        );
        assert_eq!(
            span("trips in May 2023").as_deref(),
            Some("2023-05-01..2023-05-31")
        );
        assert_eq!(
            span("last month's bills").as_deref(),
            Some("2026-10-01..2026-10-31")
        );
        assert_eq!(
            span("3 days ago").as_deref(),
            Some("2026-11-12..2026-11-12")
        );
        assert_eq!(span("may I go?"), None);
    }

    proptest! {
        #[test]
        fn days_come_back_from_the_calendar(day in -800_000..800_000_i32) {
            let (year, month, of_month) = CalendarDay(day).civil();
            prop_assert_eq!(CalendarDay::from_civil(year, month, of_month), Some(CalendarDay(day)));
        }
    }
}
