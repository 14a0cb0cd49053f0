//! What the forms of dates mean.
//!
//! A meaning is a word of the language files and what belongs to it; the words are those of
//! [`readings`].

use crate::day::{CalendarDay, DaySpan};
use crate::language::SmallNumber;

/// What stood in the slots of a form.
#[derive(Debug, Clone, Default)]
pub struct FormValues {
    pub number: Option<SmallNumber>,
    pub unit: Option<u32>,
    pub weekday: Option<u32>,
    pub month: Option<u32>,
    pub season: Option<u32>,
    pub year: Option<i32>,
    /// Days of a month.
    pub days: Vec<u32>,
    pub dates: Vec<Vec<DaySpan>>,
}

/// Nobody keeps notes of days before or after these.
const FIRST_DAY: CalendarDay = CalendarDay(-36_525);
const LAST_DAY: CalendarDay = CalendarDay(109_573);

/// The stretches of days a form may mean, the likeliest first.
pub fn readings(meaning: &[&str], values: &FormValues, today: CalendarDay) -> Option<Vec<DaySpan>> {
    let form = FormMeaning { values, today };
    let number = |at: usize| meaning.get(at).and_then(|word| word.parse::<i32>().ok());
    let how = meaning.get(1).copied().unwrap_or_default();
    let spans = match *meaning.first()? {
        "day" => vec![DaySpan::of_day(CalendarDay(today.0 + number(1)?))],
        "ago" => form.ago()?,
        "months" => around_month(today, number(1)?),
        "weekday" => form.weekday(how)?,
        "unit" => form.unit(number(1)?)?,
        "recent" => vec![form.recent()?],
        "weekend" => vec![weekend(today, number(1)?)],
        "month" => vec![form.month(how)?],
        "date" => vec![form.date()?],
        "part" => vec![form.part(how)?],
        "week" => vec![form.week_of_month(how)?],
        "half" => vec![form.half(number(1)?)?],
        "weekend-of" => vec![form.weekend_of_month(how)?],
        "weekday-before" => vec![form.weekday_beside(-1)?],
        "weekday-after" => vec![form.weekday_beside(1)?],
        "weekend-before" => vec![form.weekend_beside(-1)?],
        "weekend-after" => vec![form.weekend_beside(1)?],
        "shifted" => vec![form.shifted(number(1)?)?],
        "stretch" => vec![form.stretch(number(1)?)?],
        "week-of" => vec![week_of(form.dated(0)?.first)],
        "season" => form.season(how)?,
        "year" => vec![DaySpan::of_year(values.year?)?],
        "fixed" => vec![form.fixed(how, meaning.get(2)?)?],
        "days" => vec![form.days_of_month()?],
        "between" => vec![form.between()?],
        "since" => {
            let first = form.dated(0)?.first;
            vec![span(first, today.max(first))]
        }
        "before" => vec![span(FIRST_DAY, CalendarDay(form.dated(0)?.first.0 - 1))],
        "until" => vec![span(FIRST_DAY, form.dated(0)?.last)],
        "around" => {
            let named = form.dated(0)?;
            vec![widened(named, 3)]
        }
        _ => return None,
    };
    Some(spans)
}

struct FormMeaning<'a> {
    values: &'a FormValues,
    today: CalendarDay,
}

impl FormMeaning<'_> {
    fn dated(&self, at: usize) -> Option<DaySpan> {
        self.values.dates.get(at)?.first().copied()
    }

    /// "Two weeks ago" is that very day to some and about then to others.
    fn ago(&self) -> Option<Vec<DaySpan>> {
        let few = self.values.number == Some(SmallNumber::Few);
        let number = match self.values.number {
            Some(SmallNumber::Is(number)) => i32::try_from(number).ok().filter(|n| *n < 10_000)?,
            Some(SmallNumber::Few) => 3,
            None => 1,
        };
        let day = |back: i32| CalendarDay(self.today.0 - back);
        Some(match (self.values.unit?, few) {
            (0, false) => vec![
                DaySpan::of_day(day(number)),
                span(day(number + 1), day(number - 1)),
            ],
            (0, true) => vec![span(day(5), day(2))],
            (1, false) => {
                let exact = DaySpan::of_day(day(number * 7));
                vec![exact, widened(exact, 1), widened(exact, 3)]
            }
            (1, true) => vec![span(day(28), day(14))],
            (2, false) => around_month(self.today, -number),
            (2, true) => vec![span(day(125), day(60))],
            (_, false) => {
                let exact = DaySpan::of_day(self.today.shifted_months(-12 * number));
                let year = self.today.civil().0 - number;
                [Some(widened(exact, 15)), DaySpan::of_year(year)]
                    .into_iter()
                    .flatten()
                    .collect()
            }
            (_, true) => vec![span(
                self.today.shifted_months(-12 * 5),
                self.today.shifted_months(-12 * 2),
            )],
        })
    }

    fn weekday(&self, which: &str) -> Option<Vec<DaySpan>> {
        let wanted = self.values.weekday? as i32;
        let now = self.today.weekday() as i32;
        let day = |shift: i32| DaySpan::of_day(CalendarDay(self.today.0 + shift));
        // Days back to the latest one before today.
        let back = match (now - wanted).rem_euclid(7) {
            0 => 7,
            days => days,
        };
        let of_last_week = wanted - now - 7;
        Some(match which {
            "last" => {
                let mut readings = vec![day(-back)];
                if of_last_week != -back {
                    readings.push(day(of_last_week));
                }
                readings
            }
            "of-last-week" => vec![day(of_last_week)],
            "before-last" => vec![day(-back - 7)],
            "next" => vec![day((wanted - now).rem_euclid(7)), day(wanted - now + 7)],
            _ => match wanted == now {
                true => vec![day(0), day(-7)],
                false => vec![day(-back), day(7 - back)],
            },
        })
    }

    fn unit(&self, shift: i32) -> Option<Vec<DaySpan>> {
        let today = self.today;
        Some(match self.values.unit? {
            0 => vec![DaySpan::of_day(CalendarDay(today.0 + shift))],
            1 => {
                let week = week_of(CalendarDay(today.0 + 7 * shift));
                match shift {
                    -1 => vec![
                        week,
                        span(CalendarDay(today.0 - 7), CalendarDay(today.0 - 1)),
                    ],
                    _ => vec![week],
                }
            }
            2 => {
                let (year, month, _) = first_of_month(today).shifted_months(shift).civil();
                vec![DaySpan::of_month(year, month)?]
            }
            _ => vec![DaySpan::of_year(today.civil().0 + shift)?],
        })
    }

    /// "In the last three weeks", up to today.
    fn recent(&self) -> Option<DaySpan> {
        let number = match self.values.number {
            Some(SmallNumber::Is(number)) => i32::try_from(number).ok().filter(|n| *n < 10_000)?,
            Some(SmallNumber::Few) => 3,
            None => match self.values.unit? {
                0 => 3,
                _ => 1,
            },
        };
        let first = match self.values.unit? {
            0 => CalendarDay(self.today.0 - number),
            1 => CalendarDay(self.today.0 - 7 * number),
            2 => self.today.shifted_months(-number),
            _ => self.today.shifted_months(-12 * number),
        };
        Some(span(first, self.today))
    }

    fn month(&self, which: &str) -> Option<DaySpan> {
        let month = self.values.month?;
        let (this_year, this_month, _) = self.today.civil();
        let year = match (self.values.year, which) {
            (Some(year), _) => year,
            (None, "last-year") => this_year - 1,
            (None, "this-year") => this_year,
            (None, "next") => this_year + i32::from(month <= this_month),
            (None, _) => this_year - i32::from(month > this_month),
        };
        DaySpan::of_month(year, month)
    }

    fn date(&self) -> Option<DaySpan> {
        let day = *self.values.days.first()?;
        let found = match (self.values.year, self.values.month) {
            (Some(year), Some(month)) => CalendarDay::from_civil(year, month, day),
            (None, Some(month)) => CalendarDay::latest(month, day, self.today),
            _ => {
                let first = first_of_month(self.today);
                [0, -1, -2].into_iter().find_map(|shift| {
                    let (year, month, _) = first.shifted_months(shift).civil();
                    CalendarDay::from_civil(year, month, day).filter(|day| *day <= self.today)
                })
            }
        };
        found.map(DaySpan::of_day)
    }

    fn part(&self, which: &str) -> Option<DaySpan> {
        let whole = self.month("")?;
        Some(match which {
            "first" => span(whole.first, CalendarDay(whole.first.0 + 9)),
            "middle" => span(
                CalendarDay(whole.first.0 + 10),
                CalendarDay(whole.first.0 + 19),
            ),
            _ => span(CalendarDay(whole.last.0 - 10), whole.last),
        })
    }

    fn week_of_month(&self, which: &str) -> Option<DaySpan> {
        let whole = self.month("")?;
        match which.parse::<i32>() {
            Ok(number) => {
                let first = CalendarDay(whole.first.0 + 7 * (number - 1));
                Some(span(first, CalendarDay(first.0 + 6)))
            }
            Err(_) => Some(span(CalendarDay(whole.last.0 - 6), whole.last)),
        }
    }

    fn half(&self, which: i32) -> Option<DaySpan> {
        let whole = self.month("")?;
        let middle = CalendarDay(whole.first.0 + 14);
        Some(match which {
            1 => span(whole.first, middle),
            _ => span(CalendarDay(middle.0 + 1), whole.last),
        })
    }

    fn weekend_of_month(&self, which: &str) -> Option<DaySpan> {
        let whole = self.month("")?;
        let to_saturday = (5 - whole.first.weekday() as i32).rem_euclid(7);
        let saturday = match which.parse::<i32>() {
            Ok(number) => whole.first.0 + to_saturday + 7 * (number - 1),
            Err(_) => whole.last.0 - (whole.last.weekday() as i32 - 5).rem_euclid(7),
        };
        Some(span(CalendarDay(saturday), CalendarDay(saturday + 1)))
    }

    /// "The Monday before July 24".
    fn weekday_beside(&self, side: i32) -> Option<DaySpan> {
        let wanted = self.values.weekday? as i32;
        let named = self.dated(0)?;
        let day = match side {
            ..0 => {
                let back = (named.first.weekday() as i32 - wanted).rem_euclid(7);
                named.first.0 - if back == 0 { 7 } else { back }
            }
            _ => {
                let on = (wanted - named.last.weekday() as i32).rem_euclid(7);
                named.last.0 + if on == 0 { 7 } else { on }
            }
        };
        Some(DaySpan::of_day(CalendarDay(day)))
    }

    fn weekend_beside(&self, side: i32) -> Option<DaySpan> {
        let named = self.dated(0)?;
        let saturday = match side {
            ..0 => {
                let before = CalendarDay(named.first.0 - 1);
                before.0 - (before.weekday() as i32 - 5).rem_euclid(7)
            }
            _ => {
                named.last.0
                    + 1
                    + (5 - CalendarDay(named.last.0 + 1).weekday() as i32).rem_euclid(7)
            }
        };
        Some(span(CalendarDay(saturday), CalendarDay(saturday + 1)))
    }

    /// "Two weeks before August 11": about that day.
    fn shifted(&self, side: i32) -> Option<DaySpan> {
        let number = match self.values.number? {
            SmallNumber::Is(number) => i32::try_from(number).ok().filter(|n| *n < 10_000)?,
            SmallNumber::Few => 3,
        };
        let from = self.dated(0)?.first;
        let (day, about) = match self.values.unit? {
            0 => (CalendarDay(from.0 + side * number), 0),
            1 => (CalendarDay(from.0 + 7 * side * number), 1),
            2 => (from.shifted_months(side * number), 4),
            _ => (from.shifted_months(12 * side * number), 15),
        };
        Some(widened(DaySpan::of_day(day), about))
    }

    /// "The week before August 3": the days up to it.
    fn stretch(&self, side: i32) -> Option<DaySpan> {
        let named = self.dated(0)?;
        let (before, after) = (
            CalendarDay(named.first.0 - 1),
            CalendarDay(named.last.0 + 1),
        );
        let days = match self.values.unit? {
            0 => 1,
            1 => 7,
            2 => 30,
            _ => 365,
        };
        Some(match side {
            ..0 => span(CalendarDay(before.0 - days + 1), before),
            _ => span(after, CalendarDay(after.0 + days - 1)),
        })
    }

    /// Three whole months; winter begins in December of its year.
    fn season(&self, which: &str) -> Option<Vec<DaySpan>> {
        let season = self.values.season?;
        let of_year = |year: i32| {
            let first = CalendarDay::from_civil(year, 3 + 3 * season, 1)?;
            Some(span(first, CalendarDay(first.shifted_months(3).0 - 1)))
        };
        if let Some(year) = self.values.year {
            let before = of_year(year - 1).filter(|_| season == 3);
            return Some(of_year(year).into_iter().chain(before).collect());
        }
        let year = self.today.civil().0;
        let begun: Vec<DaySpan> = [year, year - 1, year - 2]
            .into_iter()
            .filter_map(of_year)
            .filter(|span| span.first <= self.today)
            .collect();
        let now = begun.first().copied()?;
        Some(match which {
            "last" if now.contains(self.today) => vec![*begun.get(1)?],
            "next" => [year, year + 1]
                .into_iter()
                .filter_map(of_year)
                .find(|span| span.first > self.today)
                .into_iter()
                .collect(),
            _ => vec![now],
        })
    }

    fn fixed(&self, first: &str, last: &str) -> Option<DaySpan> {
        let day = |text: &str| {
            let (month, day) = text.split_once('-')?;
            Some((month.parse().ok()?, day.parse().ok()?))
        };
        let ((month, from), (_, to)) = (day(first)?, day(last)?);
        let first: CalendarDay = CalendarDay::latest(month, from, self.today)?;
        let to: u32 = to;
        Some(span(
            first,
            CalendarDay(first.0 + i32::try_from(to.saturating_sub(from)).ok()?),
        ))
    }

    fn between(&self) -> Option<DaySpan> {
        let (mut first, last) = (self.dated(0)?.first, self.dated(1)?);
        // The year of the second is that of the first, too.
        while first > last.last {
            first = first.shifted_months(-12);
        }
        Some(span(first, last.last))
    }

    /// From one day of a month to another.
    fn days_of_month(&self) -> Option<DaySpan> {
        let whole = self.month("")?;
        let day = |at: usize| {
            let number = i32::try_from(*self.values.days.get(at)?).ok()?;
            Some(CalendarDay(whole.first.0 + number - 1)).filter(|day| whole.contains(*day))
        };
        let (first, last) = (day(0)?, day(1)?);
        (first <= last).then(|| span(first, last))
    }
}

fn span(first: CalendarDay, last: CalendarDay) -> DaySpan {
    DaySpan {
        first: first.clamp(FIRST_DAY, LAST_DAY),
        last: last.clamp(FIRST_DAY, LAST_DAY),
    }
}

fn widened(named: DaySpan, days: i32) -> DaySpan {
    span(
        CalendarDay(named.first.0 - days),
        CalendarDay(named.last.0 + days),
    )
}

fn first_of_month(day: CalendarDay) -> CalendarDay {
    CalendarDay(day.0 - day.civil().2 as i32 + 1)
}

/// Monday to Sunday.
fn week_of(day: CalendarDay) -> DaySpan {
    let monday = CalendarDay(day.0 - day.weekday() as i32);
    span(monday, CalendarDay(monday.0 + 6))
}

/// Saturday and Sunday: the ones that are, or the last ones.
fn weekend(today: CalendarDay, shift: i32) -> DaySpan {
    let now = today.weekday() as i32;
    let is_on = now >= 5;
    let saturday = today.0 - now + 5;
    let shift = match (shift, is_on) {
        // On a working day "the weekend" is the last one, and so is "last weekend".
        (0 | -1, false) => -1,
        (shift, _) => shift,
    };
    let saturday = saturday + 7 * shift;
    span(CalendarDay(saturday), CalendarDay(saturday + 1))
}

/// About so many months from now: near the very day, then the month around it.
fn around_month(today: CalendarDay, months: i32) -> Vec<DaySpan> {
    let exact = DaySpan::of_day(today.shifted_months(months));
    vec![widened(exact, 4), widened(exact, 15)]
}
