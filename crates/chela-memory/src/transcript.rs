//! Transcripts of conversations: each message a unit, by whom it was said.

use serde_json::Value;

use crate::chunk::{Chunk, Cut, Speaker};
use crate::day::Day;
use crate::index::{Depth, Known, SyncRequest};
use crate::source::{FileSource, FoundFile};

/// Whether a transcript has grown too little to be read again. Deltas are counted in bytes; a
/// message is taken for a thousandth of the byte limit's share.
pub(crate) fn too_little_new(
    file: &FoundFile,
    known: Option<&Known>,
    request: &SyncRequest<'_>,
) -> bool {
    let Some(known) = known.filter(|_| file.source == FileSource::Sessions) else {
        return false;
    };
    let sync = &request.settings.sync;
    let per_message = 2_000;
    let enough = sync
        .session_delta_bytes
        .min(sync.session_delta_messages.saturating_mul(per_message));
    request.depth == Depth::Quick && file.size >= known.size && file.size - known.size < enough
}

/// Cuts a transcript in JSON lines. Lines are counted as they lie in the file.
pub fn cut(text: &str) -> Vec<Chunk> {
    let mut units = Vec::new();
    for (number, line) in (1_u32..).zip(text.lines()) {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let message = entry.get("message").unwrap_or(&entry);
        let (speaker, label) = match message.get("role").and_then(Value::as_str) {
            Some("user") => (Speaker::User, "User: "),
            Some("assistant") => (Speaker::Assistant, "Assistant: "),
            _ => continue,
        };
        let said = said(message.get("content").unwrap_or(&Value::Null));
        if said.trim().is_empty() {
            continue;
        }
        let date = ["timestamp", "date", "time"]
            .iter()
            .find_map(|key| entry.get(key).or_else(|| message.get(key)))
            .and_then(day);
        for piece in Cut::default().markdown("", &said) {
            units.push(Chunk {
                start_line: number,
                end_line: number,
                heading: String::new(),
                section: number / 16,
                date,
                body_at: label.len() as u32,
                text: format!("{label}{}", piece.text),
                speaker: Some(speaker),
                importance: piece.importance,
            });
        }
    }
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

fn day(value: &Value) -> Option<Day> {
    match value {
        Value::String(text) => Day::find(text),
        Value::Number(number) => {
            let number = number.as_u64()?;
            // Milliseconds are what transcripts carry; seconds are accepted.
            Some(Day::of_unix(if number > 100_000_000_000 {
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
        let units = cut(text);
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
