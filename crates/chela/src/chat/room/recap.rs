//! Where one left off: the last exchange of a conversation that goes on.

use chela_agent::conversation::Conversation;
use chela_agent::spoken::SpokenWords;
use chela_core::ok_or_warn;

/// More of an old reply than this is a page to read, not a reminder.
const MOST_CHARS: usize = 1_200;

/// What was said last, and what was answered, as far as it was.
pub struct LastExchange {
    pub said: String,
    pub answered: Option<String>,
}

impl LastExchange {
    pub async fn of(talk: &Conversation) -> Option<Self> {
        let branch = talk.store().branch(&talk.session()).await;
        let branch = ok_or_warn!(branch, "what was said last cannot be read")?;
        let spoken: Vec<SpokenWords> = branch.iter().filter_map(SpokenWords::of).collect();
        let said = spoken.iter().rev().find_map(|words| match words {
            SpokenWords::Person(words) => Some(shortened(words)),
            SpokenWords::Agent(_) => None,
        })?;
        let after = spoken
            .iter()
            .rev()
            .take_while(|words| matches!(words, SpokenWords::Agent(_)));
        let answered = after.into_iter().find_map(|words| match words {
            SpokenWords::Agent(words) => Some(shortened(words)),
            SpokenWords::Person(_) => None,
        });
        Some(Self { said, answered })
    }
}

/// The newest reply, whole.
pub async fn last_reply(talk: &Conversation) -> Option<String> {
    let branch = talk.store().branch(&talk.session()).await;
    let branch = ok_or_warn!(branch, "what was said last cannot be read")?;
    branch
        .iter()
        .rev()
        .find_map(|entry| match SpokenWords::of(entry) {
            Some(SpokenWords::Agent(words)) => Some(words),
            _ => None,
        })
}

/// The end of a long text, from the start of a paragraph.
fn shortened(text: &str) -> String {
    let text = text.trim();
    let Some((at, _)) = text.char_indices().rev().nth(MOST_CHARS) else {
        return text.to_owned();
    };
    let end = text.get(at..).unwrap_or_default();
    let paragraph = end
        .find("\n\n")
        .map_or(end, |gap| end.get(gap + 2..).unwrap_or_default());
    format!("…\n\n{paragraph}")
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn the_end_of_a_long_reply_is_kept() {
        assert_eq!(shortened(" short\n"), "short");
        let long = format!("{}\n\nThe last words.", "ü".repeat(3_000));
        assert_eq!(shortened(&long), "…\n\nThe last words.");
    }
}
