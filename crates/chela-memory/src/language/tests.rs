use super::{Language, LanguageVote};

fn told(text: &str) -> &'static str {
    LanguageVote::of(text)
        .winner()
        .map_or("none", Language::code)
}

#[test]
fn languages_are_told_by_their_small_words() {
    for (text, code) in [
        ("Where did we park the car when it was raining?", "en"),
        ("Wann ist der Termin beim Zahnarzt in München?", "de"),
        ("¿Cuándo es la cita con el dentista?", "es"),
        ("Quand est le rendez-vous chez le dentiste ?", "fr"),
        ("Quando è l'appuntamento dal dentista con la mamma?", "it"),
        ("Quando é a consulta com o dentista e quem vai?", "pt"),
        (
            "Wanneer is de afspraak bij de tandarts en wie gaat er mee?",
            "nl",
        ),
        ("Когда приём у стоматолога?", "ru"),
        ("def fib(n): return n if n < 2 else fib(n - 1)", "en"),
        ("Πότε είναι το ραντεβού;", "el"),
        ("什么时候去北京", "zh"),
        ("歯医者の予約はいつ", "ja"),
        ("치과 예약", "ko"),
        ("Zahnarzt", "none"),
    ] {
        assert_eq!(told(text), code, "{text}");
    }
}

#[test]
fn every_file_is_whole() {
    for language in Language::all() {
        let table = language.table();
        assert!(!table.code.is_empty());
        assert!(table.common.len() >= 10, "{}", table.code);
        assert_eq!(Language::named(table.code), Some(language));
        assert_eq!(Language::from_number(language.number()), language);
        if !table.has_forms() {
            continue;
        }
        let all = |map: &std::collections::HashMap<String, u32>, of: u32| {
            (0..of).all(|number| map.values().any(|value| *value == number))
        };
        assert!(all(&table.weekdays, 7), "{}", table.code);
        assert!(all(&table.seasons, 4), "{}", table.code);
        assert!(all(&table.units, 4), "{}", table.code);
        assert!(
            (1..=12).all(|m| table.months.values().any(|v| *v == m)),
            "{}",
            table.code
        );
        assert!(!table.asks_time.is_empty() && !table.wishes.is_empty());
    }
}

#[test]
fn a_number_nobody_knows_is_english() {
    assert_eq!(Language::from_number(200), Language::ENGLISH);
    assert_eq!(Language::ENGLISH.code(), "en");
}
