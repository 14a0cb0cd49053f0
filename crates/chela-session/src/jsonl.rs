//! A session as JSON lines: a header, then one line per entry with its id and its parent's.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::entry::{Body, Entry, EntryId};
use super::stamp::iso;
use super::store::{Session, SessionError, Sessions};
use super::transcript::EntriesSince;

/// The form of the lines, as other readers number it.
const VERSION: u64 = 3;
/// Kinds of our own travel as `custom`, which every reader skips.
pub(super) const TOOL_STARTED: &str = "chela.toolStarted";
pub(super) const TURN_ENDED: &str = "chela.turnEnded";

impl Sessions {
    /// Writes the whole tree of a session. The header says which entry the conversation stands
    /// at, for branches that were left.
    pub async fn export_jsonl(
        &self,
        session: &Session,
        out: &mut dyn Write,
    ) -> Result<(), SessionError> {
        let info = self.info(session).await?;
        let EntriesSince { leaf, entries } = self.read_since(session, None).await?;
        let mut header = json!({
            "type": "session",
            "version": VERSION,
            "id": info.session_id,
            "timestamp": iso(info.started),
            "cwd": self.host().cwd.display().to_string(),
            "key": info.key.to_string(),
        });
        if let Some(parent) = &info.parent {
            header["parentSession"] = json!(parent);
        }
        if let Some(name) = info.name() {
            header["label"] = json!(name);
        }
        if entries.last().is_some_and(|last| Some(last.id) != leaf) {
            header["leaf"] = json!(leaf.unwrap_or(EntryId(0)));
        }
        let lines = std::iter::once(header).chain(entries.iter().map(line));
        for line in lines {
            writeln!(out, "{line}").map_err(|source| SessionError::Archive {
                path: self.path().to_owned(),
                source,
            })?;
        }
        Ok(())
    }
}

impl Entry {
    /// The entry as an export writes it.
    pub fn to_json(&self) -> Value {
        line(self)
    }
}

/// One entry as a line.
pub(super) fn line(entry: &Entry) -> Value {
    let mut line = Map::new();
    let kind = match &entry.body {
        Body::ToolStarted { .. } | Body::TurnEnded { .. } => "custom",
        body => body.kind(),
    };
    line.insert("type".into(), json!(kind));
    line.insert("id".into(), json!(entry.id));
    line.insert("parentId".into(), json!(entry.parent));
    line.insert("timestamp".into(), json!(iso(entry.at)));
    let own = |name: &str, data: Value| json!({ "customType": name, "data": data });
    let body = match &entry.body {
        Body::ToolStarted { call_id } => own(TOOL_STARTED, json!({ "callId": call_id })),
        Body::TurnEnded { how } => own(TURN_ENDED, json!({ "how": how })),
        Body::Unknown { text, .. } => serde_json::from_str(text)
            .ok()
            .filter(Value::is_object)
            .unwrap_or_else(|| json!({ "unreadable": text })),
        body => body
            .encode()
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default(),
    };
    if let Value::Object(fields) = body {
        for (name, value) in fields {
            line.entry(name).or_insert(value);
        }
    }
    Value::Object(line)
}

#[cfg(test)]
mod tests;
