//! What of a message outlasts the day it was said: standing wishes, and what people say of
//! themselves. By words of the language tables; no model is needed.

use crate::language::{Language, LanguageVote, TextSigns};
use crate::words::folded;

/// Fewer words say nothing by themselves.
const FEWEST_WORDS: usize = 3;
/// More are a story or pasted text.
const MOST_WORDS: usize = 40;
/// Words that may stand before what somebody says of themselves: "oh, and I live in Faro".
const MOST_BEFORE: usize = 2;

/// The sentences of a text that are worth keeping, in order and as written.
pub fn kept_sentences(text: &str) -> Vec<&str> {
    let language = LanguageVote::of(text).winner().unwrap_or_default();
    sentences(text)
        .filter(|sentence| is_worth_keeping(sentence, language))
        .collect()
}

/// The sentences of a text. A line of code or a quoted line is none.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines()
        .map(str::trim)
        .filter(move |line| {
            let is_fence = line.starts_with("```") || line.starts_with("~~~");
            in_code ^= is_fence;
            !is_fence && !in_code && !line.starts_with(['>', '|', '#'])
        })
        .flat_map(split_line)
        .map(|sentence| sentence.trim().trim_start_matches(['-', '*', '+', ' ']))
        .filter(|sentence| !sentence.is_empty())
}

/// A full stop behind `Dr` or `St` ends nothing.
fn split_line(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, mark) in line.match_indices(['.', '!', '?', '。', '！', '？']) {
        let end = at + mark.len();
        let before = line.get(start..at).unwrap_or_default();
        let word = before.rsplit(' ').next().unwrap_or_default();
        let letters = word.chars().count();
        let is_short = letters <= 2 || (letters == 3 && word.starts_with(char::is_uppercase));
        let goes_on = line.get(end..).is_some_and(|rest| {
            mark == "." && !rest.is_empty() && (!rest.starts_with(' ') || is_short)
        });
        if !goes_on {
            found.extend(line.get(start..end));
            start = end;
        }
    }
    found.extend(line.get(start..));
    found
}

fn is_worth_keeping(sentence: &str, language: Language) -> bool {
    // "Ann: I live in Rome" tells of Ann.
    let is_quoted = sentence
        .split_once(": ")
        .is_some_and(|(_, rest)| tells_of_speaker(&words_of(rest), language));
    if is_quoted || sentence.ends_with(['?', '？']) || sentence.contains(['{', '`', '=', '\\']) {
        return false;
    }
    let words = words_of(sentence);
    (FEWEST_WORDS..=MOST_WORDS).contains(&words.len())
        && (TextSigns::of(sentence, language).is_wish || tells_of_speaker(&words, language))
}

fn words_of(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(folded)
        .collect()
}

/// "I live in Faro", "my dentist is Dr Meyer", "we decided to wait".
fn tells_of_speaker(words: &[String], language: Language) -> bool {
    let table = language.table();
    (0..=MOST_BEFORE).any(|skipped| {
        let words = words.get(skipped..).unwrap_or_default();
        table.own.iter().any(|phrase| words.starts_with(phrase))
            || words
                .first()
                .is_some_and(|word| table.own_words.contains(word))
                && table
                    .states
                    .iter()
                    .any(|verb| words.windows(verb.words.len()).any(|at| at == verb.words))
    })
}

#[cfg(test)]
mod tests {
    use super::kept_sentences;

    #[test]
    fn wishes_and_what_people_say_of_themselves_are_kept() {
        for (text, kept) in [
            (
                "Hi! I live in Faro now. Can you book a table?",
                "I live in Faro now.",
            ),
            (
                "fix the build. From now on use tabs, please",
                "From now on use tabs, please",
            ),
            ("My dentist is Dr Meyer", "My dentist is Dr Meyer"),
            (
                "oh, and my sister's birthday is on 3 May.",
                "oh, and my sister's birthday is on 3 May.",
            ),
            (
                "We decided to move to Postgres",
                "We decided to move to Postgres",
            ),
            (
                "Ich wohne seit März in Köln. Was ist da los?",
                "Ich wohne seit März in Köln.",
            ),
            (
                "Meine Ärztin ist Frau Dr. Weber in der Südstadt",
                "Meine Ärztin ist Frau Dr. Weber in der Südstadt",
            ),
        ] {
            assert_eq!(kept_sentences(text), [kept], "{text}");
        }
    }

    #[test]
    fn tasks_questions_and_code_are_not() {
        for text in [
            "run the tests and fix what fails",
            "where do I live?",
            "```\nmy name is secret\n```",
            "> I live in Rome",
            "my_var is = 3",
            "Ann: I live in Rome",
            "what is the weather in Lisbon",
            "ok",
        ] {
            assert!(kept_sentences(text).is_empty(), "{text}");
        }
    }
}
