//! Statements that cannot both hold: the same key with two values, a rule and its opposite.

use std::collections::HashMap;

use super::repeat::shown;
use super::statement::words;
use super::{FileStatement, LintFinding, Severity};

pub fn contradictions(all: &[FileStatement<'_>]) -> Vec<LintFinding> {
    let mut findings = two_values(all);
    findings.extend(opposite_rules(all));
    findings
}

/// `Time zone: Europe/Berlin` here, `Time zone: America/New_York` there.
fn two_values(all: &[FileStatement<'_>]) -> Vec<LintFinding> {
    let mut first: HashMap<(Subject, String), (&FileStatement<'_>, String)> = HashMap::new();
    let mut findings = Vec::new();
    for statement in all {
        let Some((key, value)) = key_and_value(&statement.text) else {
            continue;
        };
        let subject = Subject::of(statement, &key);
        match first.get(&(subject.clone(), key.clone())) {
            None => {
                first.insert((subject, key), (statement, value));
            }
            Some((earlier, known)) if *known != value => findings.push(LintFinding {
                severity: Severity::Warning,
                code: "contradiction",
                file: statement.file.to_owned(),
                line: statement.line,
                message: format!(
                    "“{}” contradicts {}:{} “{}”",
                    shown(&statement.text),
                    earlier.file,
                    earlier.line,
                    shown(&earlier.text)
                ),
                suggestion: "keep one and remove the other".to_owned(),
            }),
            Some(_) => {}
        }
    }
    findings
}

/// About whom or what a key speaks. `Name` is one thing in IDENTITY.md and another in USER.md.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Subject {
    Agent,
    Owner,
    /// Keys of two or more words mean the same wherever they stand.
    Anywhere,
    /// Single words elsewhere mean something only under their heading.
    Under(String, String),
}

impl Subject {
    fn of(statement: &FileStatement<'_>, key: &str) -> Self {
        if key.contains(' ') {
            return Self::Anywhere;
        }
        match statement
            .file
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
            .as_str()
        {
            "identity.md" | "soul.md" => Self::Agent,
            "user.md" => Self::Owner,
            file => Self::Under(file.to_owned(), statement.heading.clone()),
        }
    }
}

fn key_and_value(text: &str) -> Option<(String, String)> {
    colon_form(text).or_else(|| is_form(text))
}

/// `Key: value`, with a key of at most four words and no sentence in it.
fn colon_form(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once(": ")?;
    let key = words(key);
    let value = words(value);
    ((1..=4).contains(&key.len()) && !value.is_empty()).then(|| (key.join(" "), value.join(" ")))
}

/// `The server is at 10.0.0.2`, `My sister's name is Ada`.
fn is_form(text: &str) -> Option<(String, String)> {
    const STARTS: [&str; 7] = ["the", "my", "our", "your", "his", "her", "their"];
    let all = words(text);
    let verb = all.iter().position(|word| word == "is" || word == "are")?;
    let (key, value) = (
        all.get(..verb).unwrap_or_default(),
        all.get(verb + 1..).unwrap_or_default(),
    );
    let about_a_thing = key
        .first()
        .is_some_and(|word| STARTS.contains(&word.as_str()))
        || key.iter().any(|word| word.ends_with("'s"));
    let short = (2..=5).contains(&key.len()) && (1..=6).contains(&value.len());
    (about_a_thing && short && value.first().is_some_and(|word| word != "not"))
        .then(|| (format!("{} is", key.join(" ")), value.join(" ")))
}

/// `Always use tabs` here, `Never use tabs` there.
fn opposite_rules(all: &[FileStatement<'_>]) -> Vec<LintFinding> {
    let mut rules: HashMap<String, (Polarity, &FileStatement<'_>)> = HashMap::new();
    let mut findings = Vec::new();
    for statement in all {
        let Some((polarity, rule)) = Polarity::of(&statement.text) else {
            continue;
        };
        match rules.get(&rule) {
            Some((known, earlier)) if *known != polarity => findings.push(LintFinding {
                severity: Severity::Error,
                code: "opposite",
                file: statement.file.to_owned(),
                line: statement.line,
                message: format!(
                    "“{}” is the opposite of {}:{} “{}”",
                    shown(&statement.text),
                    earlier.file,
                    earlier.line,
                    shown(&earlier.text)
                ),
                suggestion: "keep one and remove the other".to_owned(),
            }),
            Some(_) => {}
            None => {
                rules.insert(rule, (polarity, statement));
            }
        }
    }
    findings
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Polarity {
    Do,
    Avoid,
}

impl Polarity {
    /// Whether a statement asks for or forbids something, and what.
    fn of(text: &str) -> Option<(Self, String)> {
        const FILLERS: [&str; 9] = [
            "always", "please", "you", "must", "should", "may", "do", "ever", "can",
        ];
        const NEGATIONS: [&str; 9] = [
            "never",
            "not",
            "don't",
            "avoid",
            "mustn't",
            "shouldn't",
            "cannot",
            "can't",
            "no",
        ];
        let all = words(text);
        let head = all.len().min(4);
        let negative = all
            .get(..head)
            .unwrap_or_default()
            .iter()
            .any(|word| NEGATIONS.contains(&word.as_str()));
        let rule: Vec<&str> = all
            .iter()
            .enumerate()
            .filter(|(at, word)| {
                let word = word.as_str();
                *at >= head || !(FILLERS.contains(&word) || NEGATIONS.contains(&word))
            })
            .map(|(_, word)| stem(word))
            .collect();
        let polarity = if negative { Self::Avoid } else { Self::Do };
        (rule.len() >= 2).then(|| (polarity, rule.join(" ")))
    }
}

/// "avoid using tabs" forbids what "use tabs" asks for.
fn stem(word: &str) -> &str {
    match word.strip_suffix("ing") {
        Some(stem) if stem.len() >= 2 => stem,
        _ => word
            .strip_suffix('e')
            .filter(|stem| stem.len() >= 2)
            .unwrap_or(word),
    }
}
