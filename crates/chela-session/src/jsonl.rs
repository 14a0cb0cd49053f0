//! A session as JSON lines: a header, then one line per entry with its id and its parent's.

use std::io::Write;

use chela_core::ok_or_warn;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::entry::{EntryBody, EntryId, TranscriptEntry};
use super::kept_transcripts::EntriesSince;
use super::stamp::iso;
use super::store::{OpenSession, SessionError, SessionId, Sessions};

/// Kinds of our own travel as `custom`, which every reader skips.
pub(super) const TOOL_STARTED: &str = "chela.toolStarted";
pub(super) const TURN_ENDED: &str = "chela.turnEnded";

/// The first line.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", tag = "type", rename = "session")]
pub(super) struct SessionHeader<'a> {
    pub version: u64,
    pub id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<EntryId>,
}

impl<'a> SessionHeader<'a> {
    pub(super) fn of(id: &'a str) -> Self {
        Self {
            // The form of the lines, as other readers number it.
            version: 3,
            id,
            timestamp: None,
            cwd: None,
            key: None,
            parent_session: None,
            label: None,
            leaf: None,
        }
    }
}

impl Sessions {
    /// Writes the whole tree of a session. The header says which entry the conversation stands
    /// at, for branches that were left.
    pub async fn export_jsonl(
        &self,
        session: &OpenSession,
        out: &mut (dyn Write + Send),
    ) -> Result<(), SessionError> {
        let info = self.info(session).await?;
        let EntriesSince { leaf, entries, .. } = self.read_since(session, None).await?;
        let left_a_branch = entries.last().is_some_and(|last| Some(last.id) != leaf);
        let header = json!(SessionHeader {
            timestamp: Some(iso(info.started)),
            cwd: Some(self.host().cwd.display().to_string()),
            key: Some(info.key.to_string()),
            parent_session: info.parent.as_ref().map(SessionId::as_str),
            label: info.name(),
            leaf: left_a_branch.then(|| leaf.unwrap_or(EntryId(0))),
            ..SessionHeader::of(info.session_id.as_str())
        });
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

impl TranscriptEntry {
    /// The entry as an export writes it.
    pub fn to_json(&self) -> Value {
        line(self)
    }
}

/// One entry as a line.
pub(super) fn line(entry: &TranscriptEntry) -> Value {
    let mut line = Map::new();
    let kind = match &entry.body {
        EntryBody::ToolStarted { .. } | EntryBody::TurnEnded { .. } => "custom",
        body => body.kind(),
    };
    line.insert("type".into(), json!(kind));
    line.insert("id".into(), json!(entry.id));
    line.insert("parentId".into(), json!(entry.parent));
    line.insert("timestamp".into(), json!(iso(entry.at)));
    let own = |name: &str, data: Value| json!({ "customType": name, "data": data });
    let body = match &entry.body {
        EntryBody::ToolStarted { call_id } => own(TOOL_STARTED, json!({ "callId": call_id })),
        EntryBody::TurnEnded { how } => own(TURN_ENDED, json!({ "how": how })),
        EntryBody::Unknown { text, .. } => serde_json::from_str(text)
            .ok()
            .filter(Value::is_object)
            .unwrap_or_else(|| json!({ "unreadable": text })),
        body => {
            let read = body.encode().and_then(|text| serde_json::from_str(&text));
            ok_or_warn!(read, "an entry is exported without what it says", entry = %entry.id)
                .unwrap_or_default()
        }
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
