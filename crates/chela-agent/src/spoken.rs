//! A conversation as people read it: who said what, without what the runtime put around it.

mod export;

use chela_model::{MessagePart, ModelMessage};
use chela_reply::{GateSettings, Reply, gate};
use chela_session::{EntryBody, MessageSource, TranscriptEntry};

pub use export::{ExportFormat, export_session};

/// Words somebody said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpokenWords {
    Person(String),
    /// As they were delivered: directives and silence are no words.
    Agent(String),
}

impl SpokenWords {
    /// What an entry says to a reader, if anything.
    pub fn of(entry: &TranscriptEntry) -> Option<Self> {
        let (message, meta) = match &entry.body {
            EntryBody::Message { message, meta } => (message, meta),
            EntryBody::CustomMessage(note) => {
                let words = crate::conversation::announced_words(note)?;
                return Some(Self::Agent(words.to_owned()));
            }
            _ => return None,
        };
        match message {
            // What the runtime says in a person's place is nobody's word.
            ModelMessage::User { content } if meta.source != MessageSource::Event => {
                let own = content.iter().skip(usize::try_from(meta.lead).unwrap_or(0));
                let words = own.filter_map(|part| match part {
                    MessagePart::Text { text } => Some(text.as_str()),
                    _ => None,
                });
                let words = words.collect::<Vec<_>>().join("\n");
                let words = words.trim();
                (!words.is_empty()).then(|| Self::Person(words.to_owned()))
            }
            ModelMessage::Assistant { .. } => {
                match gate(GateSettings::default(), &message.text()) {
                    Reply::Deliver(delivery) if !delivery.text.trim().is_empty() => {
                        Some(Self::Agent(delivery.text))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The whole of it as Markdown.
fn as_markdown(title: &str, branch: &[TranscriptEntry]) -> String {
    let mut text = format!("# {title}\n");
    for words in branch.iter().filter_map(SpokenWords::of) {
        let (who, words) = match &words {
            SpokenWords::Person(words) => ("You", words),
            SpokenWords::Agent(words) => ("Agent", words),
        };
        text.push_str(&format!("\n## {who}\n\n{}\n", words.trim()));
    }
    text
}
