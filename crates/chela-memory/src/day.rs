//! Calendar days: of notes, in questions, and how far apart they are.

use std::sync::Arc;

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

    /// The latest day of this month and number that has come.
    pub fn latest(month: u32, day: u32, today: Self) -> Option<Self> {
        let year = today.civil().0;
        // A leap day may be four years ago, and eight around a century.
        (0..=8)
            .filter_map(|back| Self::from_civil(year - back, month, day))
            .find(|found| *found <= today)
    }

    /// The same day so many months away, or the last of that month.
    pub fn shifted_months(self, months: i32) -> Self {
        let (year, month, day) = self.civil();
        let all = year * 12 + month as i32 - 1 + months;
        let (year, month) = (all.div_euclid(12), all.rem_euclid(12) as u32 + 1);
        Self::from_civil(year, month, day.min(days_in(year, month))).unwrap_or(self)
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

/// Where the owner is: when a day begins there. UTC unless somebody says.
#[derive(Clone, Default)]
pub struct OwnerZone(Option<Arc<ZoneOffset>>);

/// Seconds east of UTC, at a moment in seconds since 1970.
type ZoneOffset = dyn Fn(u64) -> i64 + Send + Sync;

impl OwnerZone {
    pub fn new(offset: impl Fn(u64) -> i64 + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(offset)))
    }

    /// The day of a moment.
    pub fn day(&self, unix: u64) -> CalendarDay {
        let offset = self.0.as_ref().map_or(0, |offset| offset(unix));
        CalendarDay::of_unix(unix.saturating_add_signed(offset))
    }
}

impl std::fmt::Debug for OwnerZone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "OwnerZone(set)",
            None => "OwnerZone(UTC)",
        })
    }
}

/// A stretch of days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaySpan {
    pub first: CalendarDay,
    pub last: CalendarDay,
}

impl DaySpan {
    pub fn contains(self, day: CalendarDay) -> bool {
        (self.first..=self.last).contains(&day)
    }

    pub fn of_day(day: CalendarDay) -> Self {
        Self {
            first: day,
            last: day,
        }
    }

    pub fn of_month(year: i32, month: u32) -> Option<Self> {
        let first = CalendarDay::from_civil(year, month, 1)?;
        Some(Self {
            first,
            last: CalendarDay(first.0 + days_in(year, month) as i32 - 1),
        })
    }

    pub fn of_year(year: i32) -> Option<Self> {
        Some(Self {
            first: CalendarDay::from_civil(year, 1, 1)?,
            last: CalendarDay::from_civil(year, 12, 31)?,
        })
    }

    /// The month of this name that began last.
    pub fn latest_month(month: u32, today: CalendarDay) -> Option<Self> {
        let (year, this_month, _) = today.civil();
        Self::of_month(year - i32::from(month > this_month), month)
    }

    /// The days both have, when there are any.
    pub fn overlap(self, other: Self) -> Option<Self> {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        (first <= last).then_some(Self { first, last })
    }

    pub fn days(self) -> u32 {
        u32::try_from(self.last.0 - self.first.0 + 1).unwrap_or(0)
    }
}

impl std::fmt::Display for DaySpan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{} to {}", self.first, self.last),
        }
    }
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
    use super::CalendarDay;
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

    proptest! {
        #[test]
        fn days_come_back_from_the_calendar(day in -800_000..800_000_i32) {
            let (year, month, of_month) = CalendarDay(day).civil();
            prop_assert_eq!(CalendarDay::from_civil(year, month, of_month), Some(CalendarDay(day)));
        }
    }
}
