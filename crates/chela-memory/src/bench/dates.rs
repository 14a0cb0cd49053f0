//! Questions that name a day or a period, made from the days of the notes of a set.
//!
//! Each is asked on a day from which its words name that day and no other. What counts is the share
//! of what is shown that is of the right days.

use crate::day::{CalendarDay, DaySpan};

/// A question, the day it is asked on and the days it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateQuestion {
    pub text: String,
    pub today: CalendarDay,
    pub right: DaySpan,
}

const MONTHS: [[&str; 12]; 2] = [
    [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ],
];
const WEEKDAYS: [[&str; 7]; 2] = [
    [
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
    ],
    [
        "Montag",
        "Dienstag",
        "Mittwoch",
        "Donnerstag",
        "Freitag",
        "Samstag",
        "Sonntag",
    ],
];
const SEASONS: [[&str; 4]; 2] = [
    ["winter", "spring", "summer", "autumn"],
    ["Winter", "Frühling", "Sommer", "Herbst"],
];
const NUMBERS: [[&str; 3]; 2] = [["two", "three", "four"], ["zwei", "drei", "vier"]];

/// How a question is put around its days.
const FRAMES: [[&str; 4]; 2] = [
    [
        "What happened {}?",
        "what did we talk about {}",
        "{}",
        "What did {who} say {}?",
    ],
    [
        "Was ist {} passiert?",
        "Was haben wir {} besprochen?",
        "{}",
        "Was hat {who} {} gesagt?",
    ],
];

/// Ways to name a day.
const WAYS: usize = 14;

/// The questions about one day: every way to name it, in English and German in turn. `number` says
/// how they are put.
pub fn questions_about(day: CalendarDay, who: &str, number: usize) -> Vec<DateQuestion> {
    (0..WAYS)
        .filter_map(|way| {
            let language = (number + way) % 2;
            let (named, today, right) = way_to_name(day, way, language, number)?;
            let frame = FRAMES[language][(number + way) % FRAMES[language].len()];
            let text = frame.replace("{}", &named).replace("{who}", who);
            Some(DateQuestion { text, today, right })
        })
        .collect()
}

fn way_to_name(
    day: CalendarDay,
    way: usize,
    language: usize,
    number: usize,
) -> Option<(String, CalendarDay, DaySpan)> {
    let (year, month, of_month) = day.civil();
    let month_name = MONTHS[language][month as usize - 1];
    let weekday = WEEKDAYS[language][day.weekday() as usize];
    let later = |days: i32| CalendarDay(day.0 + days);
    let one = DaySpan::of_day(day);
    let whole_month = DaySpan::of_month(year, month)?;
    let some = 2 + number % 3;
    let few = NUMBERS[language][some - 2];
    let either = |english: String, german: String| [english, german][language].clone();
    Some(match way {
        0 => (either("yesterday".into(), "gestern".into()), later(1), one),
        1 => (
            either(format!("last {weekday}"), format!("letzten {weekday}")),
            later(1 + (number % 6) as i32),
            one,
        ),
        2 => (
            either(format!("on {weekday}"), format!("am {weekday}")),
            later(1 + (number % 5) as i32),
            one,
        ),
        3 => (
            either(
                format!("on {month_name} {of_month}"),
                format!("am {of_month}. {month_name}"),
            ),
            later(40 + (number % 200) as i32),
            one,
        ),
        4 => (
            either(
                format!("on {of_month} {month_name}, {year}"),
                format!("am {of_month:02}.{month:02}.{year}"),
            ),
            later(400),
            one,
        ),
        5 => (day.to_string(), later(90), one),
        6 => (
            either(format!("{few} weeks ago"), format!("vor {few} Wochen")),
            later(7 * some as i32),
            DaySpan {
                first: CalendarDay(day.0 - 1),
                last: later(1),
            },
        ),
        7 => (
            either(format!("{few} days ago"), format!("vor {few} Tagen")),
            later(some as i32),
            one,
        ),
        8 => (
            either(format!("in {month_name}"), format!("im {month_name}")),
            CalendarDay(whole_month.last.0 + 20),
            whole_month,
        ),
        9 => (
            either(
                format!("in {month_name} {year}"),
                format!("im {month_name} {year}"),
            ),
            later(500),
            whole_month,
        ),
        10 => {
            let monday = CalendarDay(day.0 - day.weekday() as i32);
            let week = DaySpan {
                first: monday,
                last: CalendarDay(monday.0 + 6),
            };
            (
                either("last week".into(), "letzte Woche".into()),
                CalendarDay(monday.0 + 7 + (number % 7) as i32),
                week,
            )
        }
        11 => (
            either("last month".into(), "letzten Monat".into()),
            CalendarDay(whole_month.last.0 + 1 + (number % 27) as i32),
            whole_month,
        ),
        12 => {
            let season = (month % 12 / 3) as usize;
            let begins = day.shifted_months(-(month as i32 % 3));
            let (year, month, _) = begins.civil();
            let first = CalendarDay::from_civil(year, month, 1)?;
            let last = CalendarDay(first.shifted_months(3).0 - 1);
            let name = SEASONS[language][season];
            (
                either(format!("last {name}"), format!("letzten {name}")),
                CalendarDay(last.0 + 30),
                DaySpan { first, last },
            )
        }
        _ => (
            either(
                format!("the day before {}", "yesterday"),
                "vorgestern".into(),
            ),
            later(2),
            one,
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::questions_about;
    use crate::day::CalendarDay;

    #[test]
    fn questions_name_their_day() {
        let day = CalendarDay::find("2023-10-05").unwrap();
        for number in 0..12 {
            let questions = questions_about(day, "Ann", number);
            assert!(questions.len() >= 13);
            for question in questions {
                assert!(question.right.contains(day), "{question:?}");
                assert!(question.today > day, "{question:?}");
                let named = crate::when::days_in(&question.text, question.today);
                let first = named.as_ref().and_then(|named| named.first());
                assert!(
                    first.is_some_and(|span| question.right.overlap(span) == Some(span)),
                    "{question:?} {named:?}"
                );
            }
        }
    }
}
