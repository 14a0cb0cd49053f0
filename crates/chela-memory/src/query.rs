//! What a question asks for.

use crate::day::{CalendarDay, DaySpan};
use crate::words::{TermReader, is_stop_word};

/// A question, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedQuery {
    pub terms: Vec<QueryTerm>,
    /// What stands in quotes, word for word.
    pub phrases: Vec<String>,
    /// The days it names.
    pub span: Option<DaySpan>,
    pub kind: QueryKind,
    /// Words such as "latest" ask for the newest.
    pub wants_newest: bool,
    /// Words with a capital, as written; names, mostly.
    pub capitalised: Vec<String>,
    /// The question itself, without quotes.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    pub text: String,
    pub weight: f32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryKind {
    Prose,
    /// Mostly names and numbers: the letters count.
    Names,
    /// About source code: what it means counts more than how it is worded.
    Code,
}

impl QueryKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Names => "names",
            Self::Code => "code",
        }
    }
}

/// A language said in a question about code is rarely said in the code.
const LANGUAGES: &[&str] = &[
    "bash",
    "golang",
    "java",
    "javascript",
    "kotlin",
    "matlab",
    "php",
    "powershell",
    "python",
    "python2",
    "python3",
    "ruby",
    "rust",
    "scala",
    "swift",
    "typescript",
];
const LANGUAGE_WEIGHT: f32 = 0.1;
/// Who asks about "our python" asks about a thing, not about code.
const OURS: &[&str] = &["i", "me", "my", "our", "us", "we", "you", "your"];
const NEWEST: &[&str] = &[
    "current",
    "currently",
    "latest",
    "newest",
    "recent",
    "recently",
];

impl ParsedQuery {
    pub fn read(question: &str, today: CalendarDay, terms: &mut TermReader) -> Self {
        let phrases = quoted(question);
        let text = question.replace(['"', '“', '”'], " ");
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || "?!,;()".contains(c))
            .map(|word| word.trim_matches(|c: char| ".:'’".contains(c)))
            .filter(|word| !word.is_empty())
            .collect();
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let content = lower.iter().filter(|word| !is_stop_word(word)).count();
        let language = lower.iter().any(|word| LANGUAGES.contains(&word.as_str()))
            && !lower.iter().any(|word| OURS.contains(&word.as_str()));
        let code = words.iter().any(|word| looks_like_code(word)) || (language && content > 2);
        let capitalised: Vec<String> = words
            .iter()
            .filter(|word| {
                word.starts_with(char::is_uppercase) && !is_stop_word(&word.to_lowercase())
            })
            .map(|word| (*word).to_owned())
            .collect();
        let kind = if code {
            QueryKind::Code
        } else if content > 0 && content <= capitalised.len() + numbers(&words) {
            QueryKind::Names
        } else {
            QueryKind::Prose
        };
        let mut found: Vec<QueryTerm> = Vec::new();
        terms.each(&text, |term| {
            if !found.iter().any(|known| known.text == term) {
                let weight = if code && content > 2 && LANGUAGES.contains(&term) {
                    LANGUAGE_WEIGHT
                } else {
                    1.0
                };
                found.push(QueryTerm {
                    text: term.to_owned(),
                    weight,
                });
            }
        });
        Self {
            terms: found,
            phrases,
            span: crate::when::days_in(question, today).and_then(|asked| asked.first()),
            kind,
            wants_newest: lower.iter().any(|word| NEWEST.contains(&word.as_str())),
            capitalised,
            text,
        }
    }

    /// How far this describes a subject, from 0 to 1, rather than asking for one fact: such
    /// questions have more than `from` terms.
    pub fn subject(&self, from: f32) -> f32 {
        match self.kind {
            QueryKind::Prose => ((self.terms.len() as f32 - from) / 4.0).clamp(0.0, 1.0),
            QueryKind::Names | QueryKind::Code => 0.0,
        }
    }

    /// The text whose meaning is compared, without words that say nothing here.
    pub fn meaning(&self, mut says_nothing: impl FnMut(&str) -> bool) -> String {
        let language = |word: &str| {
            self.kind == QueryKind::Code
                && self.terms.len() > 2
                && LANGUAGES.contains(&word.to_lowercase().as_str())
        };
        let kept: Vec<&str> = self
            .text
            .split_whitespace()
            .filter(|word| {
                let bare = bare_word(word);
                let name = || self.capitalised.iter().any(|word| bare_word(word) == bare);
                !(language(bare) || name() && says_nothing(bare))
            })
            .collect();
        if kept.is_empty() {
            self.text.clone()
        } else {
            kept.join(" ")
        }
    }
}

/// A word without punctuation and genitive.
fn bare_word(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word)
}

fn quoted(question: &str) -> Vec<String> {
    let mut phrases = Vec::new();
    for mark in [['"', '"'], ['“', '”']] {
        let mut rest = question;
        while let Some((_, after)) = rest.split_once(mark[0]) {
            let Some((inside, more)) = after.split_once(mark[1]) else {
                break;
            };
            if !inside.trim().is_empty() {
                phrases.push(inside.trim().to_owned());
            }
            rest = more;
        }
    }
    phrases
}

fn looks_like_code(word: &str) -> bool {
    let inner_capital = word
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    word.contains("::")
        || word.contains("->")
        || (word.contains('_') && word.len() > 2)
        || (inner_capital && word.len() > 6 && word.starts_with(|c: char| c.is_ascii_lowercase()))
}

fn numbers(words: &[&str]) -> usize {
    words
        .iter()
        .filter(|word| word.bytes().all(|b| b.is_ascii_digit()))
        .count()
}

#[cfg(test)]
mod tests {
    use super::{ParsedQuery, QueryKind};
    use crate::day::CalendarDay;
    use crate::words::TermReader;

    fn read(question: &str) -> ParsedQuery {
        ParsedQuery::read(question, CalendarDay(20_000), &mut TermReader::default())
    }

    #[test]
    fn kinds_are_told_apart() {
        assert_eq!(
            read("When did Caroline paint a sunrise?").kind,
            QueryKind::Prose
        );
        assert_eq!(read("Caroline").kind, QueryKind::Names);
        assert_eq!(
            read("python check if a variable is iterable").kind,
            QueryKind::Code
        );
        assert_eq!(read("where is max_results set").kind, QueryKind::Code);
        assert_eq!(read("which python do we use").kind, QueryKind::Prose);
    }

    #[test]
    fn long_questions_are_about_a_subject() {
        assert_eq!(read("where did we park").subject(5.0), 0.0);
        let long =
            "similarity laws obeyed constructing aeroelastic models heated high speed aircraft";
        assert_eq!(read(long).subject(5.0), 1.0);
        assert_eq!(read(&format!("{long} max_results")).subject(5.0), 0.0);
    }

    #[test]
    fn phrases_names_and_wishes_are_found() {
        let query = read("latest \"blue bike\" of Ann's");
        assert_eq!(query.phrases, ["blue bike"]);
        assert!(query.wants_newest);
        assert_eq!(query.capitalised, ["Ann's"]);
        assert_eq!(query.meaning(|word| word == "Ann"), "latest blue bike of");
        assert_eq!(query.meaning(|_| false), "latest blue bike of Ann's");
    }
}
