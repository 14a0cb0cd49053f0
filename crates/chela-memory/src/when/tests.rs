use super::{QuestionRest, days_in, days_named};
use crate::day::{CalendarDay, DaySpan};
use proptest::prelude::*;

/// A Sunday.
fn today() -> CalendarDay {
    CalendarDay::find("2026-11-15").unwrap()
}

fn said(span: DaySpan) -> String {
    match span.first == span.last {
        true => span.first.to_string(),
        false => format!("{}..{}", span.first, span.last),
    }
}

fn asked(question: &str) -> String {
    match days_in(question, today()) {
        None => "-".to_owned(),
        Some(asked) => {
            let readings: Vec<String> = asked.readings.iter().map(|s| said(*s)).collect();
            let rest = match asked.rest {
                QuestionRest::Nothing => " (nothing else)",
                QuestionRest::Something => "",
            };
            format!("{}{rest}", readings.join(" or "))
        }
    }
}

#[test]
fn english_questions_name_their_days() {
    let told: Vec<String> = [
        "what did we decide about the car yesterday?",
        "What did I do yesterday?",
        "what happened the day before yesterday",
        "last Tuesday",
        "what did Ann say on Tuesday",
        "plans for next Friday",
        "notes from last week",
        "what happened two weeks ago?",
        "3 days ago",
        "a month ago",
        "What did I eat half a year ago?",
        "a few days ago",
        "in March",
        "what happened in December",
        "trips in May 2023",
        "last month's bills",
        "October 5",
        "on the 3rd of May, 2024",
        "What did she read on 8th December, 2023?",
        "what was on the 3rd",
        "last summer",
        "in the winter of 2022",
        "in spring",
        "in 2024",
        "what changed since Monday",
        "before March 2025",
        "between March 3 and March 10",
        "from Monday to Wednesday",
        "the first week of October",
        "late August 2023",
        "in the last three weeks",
        "over the past month",
        "last weekend",
        "at Christmas",
        "2026-03-04",
        "04.03.2026 dentist",
        "what happened on 3/4?",
        "on 3/4/2025",
        "week of October 12",
        "this morning",
        "may I go?",
        "prices fall in line",
        "caroline's plans for the summer",
        "how many apples",
        "the monday meeting",
    ]
    .iter()
    .map(|question| format!("{question}: {}", asked(question)))
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn other_languages_name_theirs() {
    let told: Vec<String> = [
        "Was haben wir gestern besprochen?",
        "was war letzten Dienstag",
        "vor zwei Wochen",
        "vor einem Monat",
        "Was ist im März passiert?",
        "am 5. Oktober",
        "am 05.10.2026",
        "am 5.10.",
        "letzten Sommer",
        "im Winter 2022",
        "seit Montag",
        "zwischen dem 3. und dem 10. März",
        "vom 3. März bis zum 10. März",
        "Anfang August",
        "in den letzten drei Tagen",
        "letztes Wochenende",
        "Wo ist der Schlüssel?",
        "warum ist das so",
        "wie viel kostet morgen Abend das Essen",
        "¿Qué hice ayer?",
        "el martes pasado",
        "hace dos semanas",
        "¿qué pasó en marzo?",
        "el 5 de octubre de 2025",
        "el verano pasado",
        "la semana pasada",
        "qu'est-ce que j'ai fait hier ?",
        "il y a deux semaines",
        "le 5 octobre",
        "mardi dernier",
        "en mars",
        "la semaine dernière",
        "che cosa ho fatto ieri?",
        "due settimane fa",
        "il 5 ottobre",
        "o que fiz ontem?",
        "há duas semanas",
        "a semana passada",
        "wat deed ik gisteren?",
        "twee weken geleden",
        "2026年3月5日",
        "3月5日",
    ]
    .iter()
    .map(|question| format!("{question}: {}", asked(question)))
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_limit_is_a_date_and_nothing_else() {
    let named = |text: &str| days_named(text, today()).map(said);
    assert_eq!(named("2026-03-04").as_deref(), Some("2026-03-04"));
    assert_eq!(named("March").as_deref(), Some("2026-03-01..2026-03-31"));
    assert_eq!(named("last tuesday").as_deref(), Some("2026-11-10"));
    assert_eq!(named("2025").as_deref(), Some("2025-01-01..2025-12-31"));
    assert_eq!(named("gestern").as_deref(), Some("2026-11-14"));
    assert_eq!(named("the dentist in March"), None);
    assert_eq!(named(""), None);
}

proptest! {
    /// Whatever is asked, days lie in order and where they are said is in the question.
    #[test]
    fn any_question_is_read(question in "(last|vor|in|the|3|zwei|weeks|ago|March|5\\.|since|[0-9./-]{1,9}|hace|[a-zß年月]{1,4}| ){0,9}") {
        if let Some(asked) = days_in(&question, today()) {
            prop_assert!(!asked.readings.is_empty());
            prop_assert!(question.get(asked.said.clone()).is_some());
            for span in asked.readings {
                prop_assert!(span.first <= span.last, "{question} {span:?}");
            }
        }
    }
}

#[test]
fn stretches_of_a_month_share_it() {
    for (question, days) in [
        ("zwischen dem 3. und dem 10. März", "2026-03-03..2026-03-10"),
        (
            "from the 3rd to the 10th of March",
            "2026-03-03..2026-03-10",
        ),
        ("March 3 to 10, 2025", "2025-03-03..2025-03-10"),
        (
            "between March 3 and March 10, 2025",
            "2025-03-03..2025-03-10",
        ),
        ("trips in May 2023", "2023-05-01..2023-05-31"),
        ("the Monday before July 24, 2023", "2023-07-17"),
        ("the Saturday after October 28, 2023", "2023-11-04"),
        ("the week before August 3, 2023", "2023-07-27..2023-08-02"),
        ("two weeks before August 11, 2023", "2023-07-27..2023-07-29"),
        (
            "the weekend before 4th October, 2023",
            "2023-09-30..2023-10-01",
        ),
        (
            "in the first weekend of October 2023",
            "2023-10-07..2023-10-08",
        ),
        ("the first half of September 2022", "2022-09-01..2022-09-15"),
        (
            "hace dos semanas",
            "2026-11-01 or 2026-10-31..2026-11-02 or 2026-10-29..2026-11-04",
        ),
    ] {
        let told = asked(question);
        assert!(told.starts_with(days), "{question}: {told}");
    }
}

#[test]
fn an_entry_tells_of_other_days() {
    let day = CalendarDay::find("2023-05-08").unwrap();
    let english = crate::language::Language::ENGLISH;
    let told = |text: &str| {
        let spans = super::days_mentioned(text, day, english);
        spans.into_iter().map(said).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(told("I went there yesterday"), "2023-05-07");
    assert_eq!(
        told("Last Friday we met, and next month we move"),
        "2023-05-05 2023-06-01..2023-06-30"
    );
    assert_eq!(told("I do it today"), "");
    assert_eq!(told("in 2021 it was new"), "");
}
