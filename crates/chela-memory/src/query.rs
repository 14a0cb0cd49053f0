//! What a question asks for.

use crate::day::CalendarDay;
use crate::language::{Language, LanguageVote, phrase_words};
use crate::segment::speaker_number;
use crate::when::{self, AskedDays};
use crate::words::{TermReader, is_stop_word};

/// A question, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedQuery {
    pub terms: Vec<QueryTerm>,
    /// Terms that follow each other, as they are said.
    pub order: Vec<usize>,
    /// What stands in quotes, word for word.
    pub phrases: Vec<String>,
    pub kind: QueryKind,
    /// The language it is in; English where nothing tells.
    pub language: Language,
    /// What the answer must tell.
    pub wants: AnswerKind,
    /// Words such as "latest" ask for the newest.
    pub wants_newest: bool,
    /// Words with a capital, as written; names, mostly.
    pub capitalised: Vec<String>,
    /// Whoever may be meant as a speaker, as the index numbers them.
    pub named: Vec<u32>,
    /// The question itself, without quotes.
    pub text: String,
}

/// A word of a question, and all that it is looked for as.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// As it is said, folded.
    pub word: String,
    /// What it is in the index. The first is its own stem.
    pub forms: Vec<TermForm>,
    pub weight: f32,
}

/// What stands in the index for a word, and how surely it is that word.
#[derive(Debug, Clone, PartialEq)]
pub struct TermForm {
    pub text: String,
    pub weight: f32,
}

impl QueryTerm {
    /// Its own stem.
    pub fn text(&self) -> &str {
        self.forms.first().map_or("", |form| form.text.as_str())
    }

    /// Adds a form, unless it is there.
    pub fn add_form(&mut self, text: &str, weight: f32) {
        if !self.forms.iter().any(|form| form.text == text) {
            self.forms.push(TermForm {
                text: text.to_owned(),
                weight,
            });
        }
    }
}

/// What kind of thing would answer a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerKind {
    #[default]
    Anything,
    Time,
    Number,
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

/// A question as it was asked, and the days it names.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedQuestion<'q> {
    pub text: &'q str,
    pub days: Option<AskedDays>,
}

impl<'q> AskedQuestion<'q> {
    pub fn read(text: &'q str, today: CalendarDay) -> Self {
        Self {
            text,
            days: when::days_in(text, today),
        }
    }

    /// The question without the words that name its days.
    pub fn without_days(&self) -> String {
        let Some(days) = &self.days else {
            return self.text.to_owned();
        };
        let before = self.text.get(..days.said.start).unwrap_or_default();
        let after = self.text.get(days.said.end..).unwrap_or_default();
        format!("{before} {after}")
    }
}

impl ParsedQuery {
    /// Reads a question that is asked of texts in these languages.
    pub fn read(question: &str, languages: &[Language], terms: &mut TermReader) -> Self {
        let phrases = quoted(question);
        let text = question.replace(['"', '“', '”'], " ");
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || "?!,;()".contains(c))
            .map(|word| word.trim_matches(|c: char| ".:'’".contains(c)))
            .filter(|word| !word.is_empty())
            .collect();
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let content = lower.iter().filter(|word| !is_stop_word(word)).count();
        let is_programming = lower.iter().any(|word| LANGUAGES.contains(&word.as_str()))
            && !lower.iter().any(|word| OURS.contains(&word.as_str()));
        let code =
            words.iter().any(|word| looks_like_code(word)) || (is_programming && content > 2);
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
        let vote = LanguageVote::of(question);
        let language = vote.winner().unwrap_or_default();
        let reading = TermsOfQuestion {
            languages,
            language,
            lowers_programming: code && content > 2,
        };
        let (found, order) = reading.read(&text, terms);
        let mut named: Vec<u32> = words
            .iter()
            .filter(|word| !is_stop_word(&word.to_lowercase()))
            .map(|word| speaker_number(word))
            .filter(|number| *number > 0)
            .collect();
        named.sort_unstable();
        named.dedup();
        Self {
            terms: found,
            order,
            phrases,
            kind,
            language,
            wants: wants(&text, &vote),
            wants_newest: lower.iter().any(|word| NEWEST.contains(&word.as_str())),
            capitalised,
            named,
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

/// How the terms of a question are read.
struct TermsOfQuestion<'a> {
    /// Those of the texts.
    languages: &'a [Language],
    /// That of the question.
    language: Language,
    lowers_programming: bool,
}

impl TermsOfQuestion<'_> {
    /// The terms, each once, and their order. A word has the stems of all languages of the texts:
    /// nobody knows in which of them it will be found.
    fn read(&self, text: &str, reader: &mut TermReader) -> (Vec<QueryTerm>, Vec<usize>) {
        let words = reader.words_of(text);
        let mut stems: Vec<Vec<String>> = vec![reader.of(text)];
        for language in self.languages.iter().chain([&self.language]) {
            if *language != Language::ENGLISH {
                stems.push(reader.of_in(*language, text));
            }
        }
        let common = &self.language.table().common;
        let says_something =
            |word: &String| self.language == Language::ENGLISH || !common.contains(word);
        let says_anything = words.iter().any(says_something);
        let mut found: Vec<QueryTerm> = Vec::new();
        let mut order = Vec::new();
        for (at, word) in words.iter().enumerate() {
            if says_anything && !says_something(word) {
                continue;
            }
            let mut forms = stems.iter().filter_map(|stems| stems.get(at));
            let Some(own) = forms.next() else { continue };
            let known = found.iter().position(|term| term.text() == own);
            let number = known.unwrap_or(found.len());
            if known.is_none() {
                let is_programming = LANGUAGES.contains(&own.as_str());
                let mut term = QueryTerm {
                    word: word.clone(),
                    forms: Vec::new(),
                    weight: match self.lowers_programming && is_programming {
                        true => LANGUAGE_WEIGHT,
                        false => 1.0,
                    },
                };
                term.add_form(own, 1.0);
                forms.for_each(|form| term.add_form(form, 1.0));
                found.push(term);
            }
            order.push(number);
        }
        (found, order)
    }
}

/// What the answer must tell, by how the question begins.
fn wants(question: &str, vote: &LanguageVote) -> AnswerKind {
    let words = phrase_words(question);
    let begins = |phrases: &[Vec<String>]| {
        phrases.iter().any(|phrase| {
            // A word may stand before it: "and when", "on which day".
            words
                .windows(phrase.len())
                .take(2)
                .any(|here| here == phrase.as_slice())
        })
    };
    for language in vote.likely() {
        let table = language.table();
        if begins(&table.asks_time) {
            return AnswerKind::Time;
        }
        if begins(&table.asks_number) {
            return AnswerKind::Number;
        }
    }
    AnswerKind::Anything
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
    use super::{AnswerKind, AskedQuestion, ParsedQuery, QueryKind};
    use crate::day::CalendarDay;
    use crate::language::Language;
    use crate::words::TermReader;

    fn read(question: &str) -> ParsedQuery {
        ParsedQuery::read(question, &[], &mut TermReader::default())
    }

    #[test]
    fn what_would_answer_is_seen() {
        assert_eq!(read("When did we meet?").wants, AnswerKind::Time);
        assert_eq!(read("How many cats has Ann?").wants, AnswerKind::Number);
        assert_eq!(read("Wie viele Katzen hat sie?").wants, AnswerKind::Number);
        assert_eq!(read("Where is the key?").wants, AnswerKind::Anything);
    }

    #[test]
    fn a_word_has_the_stems_of_the_languages_it_is_asked_in() {
        let german = Language::named("de").unwrap();
        let query = ParsedQuery::read(
            "Wo sind die Schlüssel der Häuser?",
            &[german],
            &mut TermReader::default(),
        );
        let forms: Vec<String> = query
            .terms
            .iter()
            .map(|term| {
                let forms: Vec<&str> = term.forms.iter().map(|f| f.text.as_str()).collect();
                forms.join("|")
            })
            .collect();
        assert_eq!(forms, ["schlussel", "hauser|haus"]);
    }

    #[test]
    fn a_question_without_its_days_is_about_the_rest() {
        let today = CalendarDay(20_000);
        let asked = AskedQuestion::read("what did Ann eat last Tuesday?", today);
        assert_eq!(asked.without_days(), "what did Ann eat  ?");
        assert_eq!(
            AskedQuestion::read("what now", today).without_days(),
            "what now"
        );
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
