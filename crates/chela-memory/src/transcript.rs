//! Transcripts of conversations: each message a unit, by whom it was said.
//!
//! They lie in files of JSON lines, or are kept elsewhere and come through a
//! [`TranscriptSource`]: in pages of messages, of which only the last can change.

use chela_core::{Audience, Trust, ok_or_debug};
use serde_json::{Value, json};

use crate::chunk::{ChunkCut, MessageSpeaker, NoteChunk, mark_languages};
use crate::day::{CalendarDay, OwnerZone};

/// Conversations that are kept elsewhere than in files. A conversation only grows; one that is
/// written anew has a new id.
pub trait TranscriptSource: Send + Sync {
    /// All conversations that may be searched.
    fn sessions(&self) -> Result<Vec<SessionFacts>, TranscriptError>;
    /// At most `most` messages of a conversation from the one numbered `from` on, counted from 0.
    fn messages(
        &self,
        session: &str,
        from: u64,
        most: usize,
    ) -> Result<Vec<SessionMessage>, TranscriptError>;
}

/// What is known of a conversation without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFacts {
    /// As it is shown: results are named `sessions/<id>`.
    pub id: String,
    pub messages: u64,
    /// Seconds since 1970 of the last message.
    pub changed_at: i64,
    /// Who took part in it.
    pub audience: Audience,
    /// The lowest trust of what was read in it: what was said there is no better.
    pub trust: Trust,
    /// The key it goes on under; `None` once it ended.
    pub open_as: Option<String>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMessage {
    /// Messages of others than these two are counted and not searched.
    pub speaker: MessageSpeaker,
    pub text: String,
    /// Seconds since 1970.
    pub at: Option<i64>,
}

#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("the conversation {session} cannot be read: {reason}")]
pub struct TranscriptError {
    pub session: String,
    pub reason: String,
}

/// So many messages of a conversation from the one numbered `from` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPage {
    pub session: String,
    pub from: u64,
}

/// Messages in a page. What is in a full page is never read again.
pub(crate) const PAGE: u64 = 200;

impl SessionPage {
    /// `sessions/<id>`, and `sessions/<id>@200` for what follows after the first page.
    pub fn label(&self) -> String {
        match self.from {
            0 => format!("sessions/{}", self.session),
            from => format!("sessions/{}@{from}", self.session),
        }
    }

    /// The page a label names.
    pub fn of_label(label: &str) -> Option<Self> {
        let name = label.strip_prefix("sessions/")?;
        let (session, from) = match name.rsplit_once('@') {
            Some((session, from)) => (session, from.parse().ok()?),
            None => (name, 0),
        };
        Some(Self {
            session: session.to_owned(),
            from,
        })
    }
}

/// A page as JSON lines, one per message.
pub(crate) fn read_page(
    source: &dyn TranscriptSource,
    page: &SessionPage,
) -> Result<Vec<u8>, TranscriptError> {
    let messages = source.messages(&page.session, page.from, PAGE as usize)?;
    let mut lines = Vec::new();
    for message in messages {
        let role = match message.speaker {
            MessageSpeaker::User => "user",
            MessageSpeaker::Assistant => "assistant",
            MessageSpeaker::Other => "other",
        };
        let line = json!({ "role": role, "content": message.text, "timestamp": message.at });
        lines.extend_from_slice(line.to_string().as_bytes());
        lines.push(b'\n');
    }
    Ok(lines)
}

/// A page as `memory_get` shows it: one line per message, at the lines results name.
pub(crate) fn page_text(
    source: &dyn TranscriptSource,
    page: &SessionPage,
) -> Result<String, TranscriptError> {
    let mut text = "\n".repeat(usize::try_from(page.from).unwrap_or(0));
    for message in source.messages(&page.session, page.from, PAGE as usize)? {
        let said = message
            .text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        match message.speaker {
            MessageSpeaker::User => text.push_str(&format!("User: {said}\n")),
            MessageSpeaker::Assistant => text.push_str(&format!("Assistant: {said}\n")),
            MessageSpeaker::Other => text.push('\n'),
        }
    }
    Ok(text)
}

/// Cuts a transcript in JSON lines. Lines are counted as they lie in the file.
pub fn cut(text: &str, page: Option<&SessionPage>, zone: &OwnerZone) -> Vec<NoteChunk> {
    let mut units = Vec::new();
    let first = page.map_or(0, |page| {
        u32::try_from(page.from).unwrap_or(u32::MAX - PAGE as u32)
    }) + 1;
    for (number, line) in (first..).zip(text.lines()) {
        let entry = serde_json::from_str::<Value>(line);
        let Some(entry) = ok_or_debug!(entry, "a line of a transcript is not found", line = number)
        else {
            continue;
        };
        let message = entry.get("message").unwrap_or(&entry);
        let (speaker, label) = match message.get("role").and_then(Value::as_str) {
            Some("user") => (MessageSpeaker::User, "User: "),
            Some("assistant") => (MessageSpeaker::Assistant, "Assistant: "),
            _ => continue,
        };
        let said = said(message.get("content").unwrap_or(&Value::Null));
        if said.trim().is_empty() {
            continue;
        }
        let date = ["timestamp", "date", "time"]
            .iter()
            .find_map(|key| entry.get(key).or_else(|| message.get(key)))
            .and_then(|value| day(value, zone));
        for piece in ChunkCut::default().markdown("", &said) {
            units.push(NoteChunk {
                start_line: number,
                end_line: number,
                section: number / 16,
                date,
                body_at: label.len() as u32,
                text: format!("{label}{}", piece.text),
                speaker: Some(speaker),
                said_by: label.trim_end_matches([':', ' ']).to_owned(),
                importance: piece.importance,
                ..NoteChunk::default()
            });
        }
    }
    mark_languages(&mut units);
    units
}

/// The words of a message: a text, or the text parts of a list.
fn said(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter(|part| part.get("type").and_then(Value::as_str) == Some("text"))
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

fn day(value: &Value, zone: &OwnerZone) -> Option<CalendarDay> {
    match value {
        Value::String(text) => CalendarDay::find(text),
        Value::Number(number) => {
            let number = number.as_u64()?;
            // Milliseconds are what transcripts carry; seconds are accepted.
            Some(zone.day(if number > 100_000_000_000 {
                number / 1000
            } else {
                number
            }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn messages_become_units_with_their_speaker() {
        let text = concat!(
            "{\"type\":\"session\",\"id\":\"x\"}\n",
            "{\"type\":\"message\",\"timestamp\":\"2026-03-04T10:00:00Z\",\"message\":{\"role\":\"user\",\"content\":\"I moved to Lisbon\"}}\n",
            "not json\n",
            "{\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Noted.\"},{\"type\":\"thinking\",\"thinking\":\"hm\"}]}}\n",
            "{\"message\":{\"role\":\"toolResult\",\"content\":\"secret\"}}\n",
        );
        let units = cut(text, None, &Default::default());
        let shown: Vec<_> = units
            .iter()
            .map(|u| {
                (
                    u.start_line,
                    u.text.as_str(),
                    u.body(),
                    u.date.map(|d| d.to_string()),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (
                    2,
                    "User: I moved to Lisbon",
                    "I moved to Lisbon",
                    Some("2026-03-04".into())
                ),
                (4, "Assistant: Noted.", "Noted.", None),
            ]
        );
    }
}
