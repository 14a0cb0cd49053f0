//! A conversation as people read it: who said what, without what the runtime put around it.

mod export;

use chela_model::{MessagePart, ModelMessage};
use chela_reply::{GateSettings, Reply, gate};
use chela_session::{CustomMessage, EntryBody, ExternalSpans, MessageSource, TranscriptEntry};

pub use export::{ExportFormat, export_session};

/// The kind of the entry of an announcement.
pub(crate) const ANNOUNCEMENT: &str = "announcement";

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
                let words = announced_words(note)?;
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
                let words = message_as_read(&words.collect::<String>(), &meta.external);
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

/// A person's message as it is read: what was piped in, or came along from elsewhere, stands in a
/// block of its own, without what tells the model that it gives no orders.
pub fn message_as_read(text: &str, external: &ExternalSpans) -> String {
    let ExternalSpans::Known(spans) = external else {
        return text.to_owned();
    };
    let mut read = String::new();
    let mut from = 0;
    for span in spans.iter().filter(|span| span.kind.came_along()) {
        let (Some(own), Some(along)) = (text.get(from..span.start), text.get(span.start..span.end))
        else {
            return text.to_owned();
        };
        read.push_str(own.trim_end());
        let along = chela_guard::without_markers(along);
        let fence = fence_around(&along);
        match read.is_empty() {
            // It is the message.
            true => read.push_str(&along),
            false => read.push_str(&format!("\n\n{fence}\n{along}\n{fence}")),
        }
        from = span.end;
    }
    read.push_str(text.get(from..).unwrap_or_default());
    read
}

/// Longer than any in the text.
fn fence_around(text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
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

/// The words of an announcement, as a person reads them.
fn announced_words(note: &CustomMessage) -> Option<&str> {
    let words = note
        .details
        .get("words")
        .filter(|_| note.custom_type == ANNOUNCEMENT)?;
    words.as_str()
}
