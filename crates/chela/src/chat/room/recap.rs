//! Where one left off: the last exchange of a conversation that goes on.

use chela_agent::conversation::Conversation;
use chela_model::{Message, Part};
use chela_reply::Reply;
use chela_reply::{GateSettings, gate};
use chela_session::{Body, Entry, Source};
use chela_store::block_on;

/// More of an old reply than this is a page to read, not a reminder.
const MOST_CHARS: usize = 1_200;

/// What was said last, and what was answered, as far as it was.
pub struct Recap {
    pub said: String,
    pub answered: Option<String>,
}

impl Recap {
    pub fn of(talk: &Conversation) -> Option<Self> {
        let branch = block_on(talk.store().branch(&talk.session())).ok()?;
        let at = branch.iter().rposition(|entry| said(entry).is_some())?;
        let answered = branch[at..].iter().rev().find_map(answered);
        Some(Self {
            said: shortened(&said(&branch[at])?),
            answered: answered.map(|text| shortened(&text)),
        })
    }
}

/// A person's own words, without what the runtime put before them.
fn said(entry: &Entry) -> Option<String> {
    let Body::Message { message, meta } = &entry.body else {
        return None;
    };
    let Message::User { content } = message else {
        return None;
    };
    // What the runtime says in a person's place is nothing to be reminded of.
    if meta.source == Source::Event {
        return None;
    }
    let own = content.iter().skip(usize::try_from(meta.lead).unwrap_or(0));
    let words = own.filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let words = words.collect::<Vec<_>>().join("\n");
    (!words.trim().is_empty()).then(|| words.trim().to_owned())
}

/// A reply as it was delivered: directives and silence are no words.
fn answered(entry: &Entry) -> Option<String> {
    let Body::Message { message, .. } = &entry.body else {
        return None;
    };
    if !matches!(message, Message::Assistant { .. }) {
        return None;
    }
    match gate(GateSettings::default(), &message.text()) {
        Reply::Deliver(delivery) if !delivery.text.trim().is_empty() => Some(delivery.text),
        _ => None,
    }
}

/// The end of a long text, from the start of a paragraph.
fn shortened(text: &str) -> String {
    let text = text.trim();
    let Some((at, _)) = text.char_indices().rev().nth(MOST_CHARS) else {
        return text.to_owned();
    };
    let end = &text[at..];
    let paragraph = end.find("\n\n").map_or(end, |gap| &end[gap + 2..]);
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
