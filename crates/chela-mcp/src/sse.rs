//! Events of a stream (`text/event-stream`), read within bounds.

use crate::link::LinkError;
use crate::message::MOST_MESSAGE_BYTES;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StreamEvent {
    /// `message` where none is named.
    pub kind: String,
    pub data: String,
}

/// Reads events out of pieces.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    rest: Vec<u8>,
    kind: String,
    data: String,
    has_data: bool,
    /// The id of the newest event.
    pub last_id: Option<String>,
    /// Milliseconds the server wants to be left alone before it is asked again.
    pub retry: Option<u64>,
}

impl EventReader {
    /// Takes a piece and gives the events it completes.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<StreamEvent>, LinkError> {
        if self.rest.len() + self.data.len() + piece.len() > MOST_MESSAGE_BYTES {
            return Err(LinkError::Misbehaved(format!(
                "it sent a message longer than {} MiB",
                MOST_MESSAGE_BYTES >> 20
            )));
        }
        self.rest.extend_from_slice(piece);
        let mut events = Vec::new();
        while let Some((line, used)) = next_line(&self.rest) {
            let line = String::from_utf8_lossy(line).into_owned();
            self.rest.drain(..used);
            if let Some(event) = self.take_line(&line) {
                events.push(event);
            }
        }
        Ok(events)
    }

    fn take_line(&mut self, line: &str) -> Option<StreamEvent> {
        if line.is_empty() {
            let kind = std::mem::take(&mut self.kind);
            let data = std::mem::take(&mut self.data);
            let has_data = std::mem::take(&mut self.has_data);
            return has_data.then(|| StreamEvent {
                kind: match kind.is_empty() {
                    true => "message".to_owned(),
                    false => kind,
                },
                data,
            });
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => self.kind = value.to_owned(),
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "id" if !value.contains('\0') && value.len() <= 1_024 => {
                self.last_id = Some(value.to_owned());
            }
            "retry" => self.retry = value.parse().ok().or(self.retry),
            _ => {}
        }
        None
    }
}

/// A line without its end, and how many bytes it takes with it. A carriage return at the very end
/// may be half of an end.
fn next_line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let at = bytes
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'))?;
    let line = bytes.get(..at)?;
    match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b'\r'), Some(b'\n')) => Some((line, at + 2)),
        (Some(b'\r'), None) => None,
        _ => Some((line, at + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::{EventReader, StreamEvent};
    use crate::message::MOST_MESSAGE_BYTES;

    fn read(pieces: &[&str]) -> (Vec<StreamEvent>, EventReader) {
        let mut reader = EventReader::default();
        let events = pieces
            .iter()
            .flat_map(|piece| reader.push(piece.as_bytes()).unwrap())
            .collect();
        (events, reader)
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = ": hello\r\nid: 7\r\nretry: 20\r\nevent: endpoint\r\ndata: /a\r\ndata: b\r\n\r\ndata:{}\n\n";
        let whole = read(&[text]);
        let expected = [("endpoint", "/a\nb"), ("message", "{}")].map(|(kind, data)| StreamEvent {
            kind: kind.to_owned(),
            data: data.to_owned(),
        });
        assert_eq!(whole.0, expected);
        assert_eq!(whole.1.last_id.as_deref(), Some("7"));
        assert_eq!(whole.1.retry, Some(20));
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(read(&letters).0, expected);
    }

    #[test]
    fn an_event_without_data_says_nothing() {
        assert_eq!(read(&["id: 3\n\n"]).0, []);
        assert_eq!(read(&["data\n\n"]).0.len(), 1);
    }

    #[test]
    fn an_event_without_end_is_not_read_for_ever() {
        let mut reader = EventReader::default();
        let piece = vec![b'x'; MOST_MESSAGE_BYTES / 2];
        assert!(reader.push(b"data: ").is_ok());
        assert!(reader.push(&piece).is_ok());
        assert!(reader.push(&piece).is_err());
    }
}
