//! Whether a summary may stand in for what it summarises.

use std::collections::BTreeSet;

use chela_model::ModelMessage;

/// The headings a summary must have, in order.
pub const HEADINGS: [&str; 5] = [
    "## Goals",
    "## Decisions",
    "## Done",
    "## Open",
    "## Identifiers",
];

/// What a summary lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SummaryShortfall {
    Empty,
    Heading(&'static str),
    /// A question of the agent nobody has answered yet.
    PendingQuestion(String),
    /// An identifier of the newest summarised messages.
    Identifier(String),
}

impl std::fmt::Display for SummaryShortfall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Heading(heading) => write!(f, "the heading `{heading}` is missing"),
            Self::PendingQuestion(question) => {
                write!(f, "the unanswered question \"{question}\" is missing")
            }
            Self::Identifier(id) => write!(f, "`{id}` is missing"),
        }
    }
}

/// What is missing from `summary` of `messages`. Identifiers are those the person wrote: they
/// must survive letter by letter.
pub fn shortfalls(summary: &str, messages: &[ModelMessage]) -> Vec<SummaryShortfall> {
    if summary.trim().is_empty() {
        return vec![SummaryShortfall::Empty];
    }
    let headings = HEADINGS
        .into_iter()
        .filter(|heading| !summary.lines().any(|line| line.trim() == *heading))
        .map(SummaryShortfall::Heading);
    let pending = pending_question(messages)
        .filter(|question| !summary.contains(question.as_str()))
        .map(SummaryShortfall::PendingQuestion);
    let identifiers = identifiers_of(messages)
        .into_iter()
        .filter(|id| !summary.contains(id.as_str()))
        .map(SummaryShortfall::Identifier);
    headings.chain(pending).chain(identifiers).collect()
}

/// The last line of the agent's last words, when it asks something and nothing came after it.
pub(super) fn pending_question(messages: &[ModelMessage]) -> Option<String> {
    let Some(last @ ModelMessage::Assistant { .. }) = messages.last() else {
        return None;
    };
    last.text()
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .filter(|line| line.ends_with('?'))
        .map(str::to_owned)
}

/// The most a summary is held to: a list of everything is no summary.
const MOST_IDENTIFIERS: usize = 30;

/// Paths, URLs, ids and long numbers of what the person wrote, newest first.
pub(super) fn identifiers_of(messages: &[ModelMessage]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for message in messages.iter().rev() {
        let ModelMessage::User { .. } = message else {
            continue;
        };
        for word in message.text().split_whitespace() {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !"/~._-".contains(c));
            let word = word.trim_end_matches('.');
            if is_identifier(word) && seen.insert(word.to_owned()) {
                found.push(word.to_owned());
            }
        }
        if found.len() >= MOST_IDENTIFIERS {
            break;
        }
    }
    found.truncate(MOST_IDENTIFIERS);
    found
}

fn is_identifier(word: &str) -> bool {
    let letters = word.chars().any(char::is_alphabetic);
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let is_path = word.contains('/') && word.len() > 2 && letters;
    let is_url = word.contains("://");
    let is_address = word.contains('@') && word.contains('.');
    let is_file = word.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=5).contains(&end.len())
            && end.chars().all(char::is_alphanumeric)
            && letters
            && end.chars().any(char::is_alphabetic)
    });
    let is_id = word.len() >= 6 && digits >= 2 && letters;
    let is_number = digits >= 4;
    is_path || is_url || is_address || is_file || is_id || is_number
}

#[cfg(test)]
mod tests {
    use super::{SummaryShortfall, identifiers_of, shortfalls};
    use chela_model::{MessagePart, ModelMessage};

    #[test]
    fn finds_what_must_survive() {
        let message = ModelMessage::user(
            "Deploy build-4711a to https://x.example/y, see ~/notes/plan.md and ask anna@x.org; it is 2 o'clock.",
        );
        assert_eq!(
            identifiers_of(&[message]),
            [
                "build-4711a",
                "https://x.example/y",
                "~/notes/plan.md",
                "anna@x.org"
            ]
        );
    }

    #[test]
    fn a_thin_summary_is_refused() {
        let messages = [
            ModelMessage::user("Rename src/old.rs"),
            ModelMessage::Assistant {
                content: vec![MessagePart::text("I can.\nShall I also rename the tests?")],
                model: None,
            },
        ];
        let lacks = shortfalls("## Goals\n- rename a file", &messages);
        assert!(lacks.contains(&SummaryShortfall::Heading("## Open")));
        assert!(lacks.contains(&SummaryShortfall::Identifier("src/old.rs".into())));
        assert!(lacks.contains(&SummaryShortfall::PendingQuestion(
            "Shall I also rename the tests?".into()
        )));
        assert_eq!(shortfalls(" ", &messages), [SummaryShortfall::Empty]);
    }
}
