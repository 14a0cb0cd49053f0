//! Reading sessions from JSON lines: our own export, and the session files of the reference.

mod foreign;

use std::collections::BTreeMap;
use std::io::BufRead;

use chela_core::SessionKey;
use chela_model::{MessagePart, ModelMessage, StopReason, ToolCall};
use chela_store::{ImportedEntry, SessionImport, SessionImported};
use serde_json::{Map, Value, json};

use super::entry::{
    BranchSummary, CompactionEntry, CustomEntry, CustomMessage, EntryBody, EntryId, EntryMeta,
    SpeakerMark,
};
use super::jsonl::{TOOL_STARTED, TURN_ENDED};
use super::settings::SessionSettings;
use super::stamp::parse_iso;
use super::store::{OpenSession, SessionError, Sessions};

/// What came of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSession {
    pub session: OpenSession,
    pub entries: usize,
    /// Lines that could not be used, with why.
    pub skipped: Vec<(usize, String)>,
    /// Its key already had a conversation: this one stands beside it as a past one.
    pub past: bool,
}

/// Who wrote the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOrigin {
    /// This home, a moment ago, from records of its own.
    ThisHome,
    /// Anybody: nothing in them speaks for the owner, and all of it counts as foreign.
    Elsewhere,
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("line {line} cannot be read")]
    Read { line: usize, source: std::io::Error },
    #[error("there is no session in it: no line is a session header or an entry with an id")]
    Nothing,
    #[error("its session key `{key}` is not valid: {source}")]
    Key {
        key: String,
        source: chela_core::SessionKeyError,
    },
    #[error("session {0} is already here; remove it first (`chela sessions rm {0}`)")]
    Known(String),
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl Sessions {
    /// Reads one session. Ids are given anew, the tree stays as it is. `key` says where it
    /// belongs when the lines do not; when neither does, it gets a key of its own.
    pub async fn import_jsonl(
        &self,
        lines: impl BufRead,
        key: Option<SessionKey>,
        origin: ImportOrigin,
    ) -> Result<ImportedSession, ImportError> {
        let read = Reading::of(lines, origin)?;
        let key = match (key, read.header.get("key").and_then(Value::as_str)) {
            (Some(key), _) => key,
            (None, Some(text)) => SessionKey::parse(text).map_err(|source| ImportError::Key {
                key: text.to_owned(),
                source,
            })?,
            (None, None) => {
                let name = read.id().unwrap_or_else(|| self.host().random_hex(8));
                let text = format!("explicit:import-{}", name.replace(':', "-"));
                SessionKey::parse(&text).map_err(|source| ImportError::Key { key: text, source })?
            }
        };
        let (session, past) = self.take_in(&read, &key).await?;
        Ok(ImportedSession {
            session,
            entries: read.entries.len() - read.root as usize,
            skipped: read.skipped,
            past,
        })
    }

    async fn take_in(
        &self,
        read: &Reading,
        key: &SessionKey,
    ) -> Result<(OpenSession, bool), ImportError> {
        let mut import = self.as_import(read, key)?;
        for attempt in 0_u64.. {
            import.id = read.id().unwrap_or_else(|| self.new_id(key, attempt));
            let imported = self.store.import(import.clone()).await;
            match (imported.map_err(SessionError::from)?, read.id()) {
                (SessionImported::Current(record), _) => {
                    return Ok((OpenSession::of(&record), false));
                }
                (SessionImported::Past(record), _) => return Ok((OpenSession::of(&record), true)),
                (SessionImported::IdTaken, Some(id)) => return Err(ImportError::Known(id)),
                (SessionImported::IdTaken, None) => {}
            }
        }
        Err(SessionError::Gone.into())
    }

    fn as_import(&self, read: &Reading, key: &SessionKey) -> Result<SessionImport, SessionError> {
        let redactor = self.redactor();
        let times = |pick: fn(u64, u64) -> u64| {
            let known = read.entries.iter().filter_map(|entry| entry.at);
            known.reduce(pick)
        };
        let started = read.started().or_else(|| times(u64::min));
        let started = started.unwrap_or_else(|| self.now());
        // A line that does not say when it was said was said right after the one before.
        let mut latest = started;
        let entries = read
            .entries
            .iter()
            .map(|entry| {
                latest = entry.at.unwrap_or(latest);
                Ok(ImportedEntry {
                    parent: entry.parent,
                    at: latest,
                    kind: entry.body.kind().to_owned(),
                    body: entry.body.encode_without_secrets(&redactor)?,
                })
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| self.unwritable(source))?;
        let word = |name: &str| read.header.get(name).and_then(Value::as_str);
        Ok(SessionImport {
            id: String::new(),
            key: key.to_string(),
            started,
            updated: times(u64::max).unwrap_or(started),
            settings: SessionSettings::default().text(),
            label: word("label").map(str::to_owned),
            parent: word("parentSession").map(str::to_owned),
            leaf: read.leaf(),
            past_why: "imported".to_owned(),
            entries,
        })
    }
}

/// Lines as they are read. Entries are numbered from 1 in the order they come.
#[derive(Default)]
struct Reading {
    /// 1 where an entry of our own stands before those that are read, else 0.
    root: u32,
    header: Map<String, Value>,
    entries: Vec<ReadEntry>,
    /// What the lines call an entry, and its number here.
    numbers: BTreeMap<String, u32>,
    skipped: Vec<(usize, String)>,
}

struct ReadEntry {
    parent: u32,
    /// `None` where the line does not say.
    at: Option<u64>,
    body: EntryBody,
}

impl Reading {
    fn of(lines: impl BufRead, origin: ImportOrigin) -> Result<Self, ImportError> {
        let mut reading = Self::default();
        for (number, line) in (1..).zip(lines.lines()) {
            let line = line.map_err(|source| ImportError::Read {
                line: number,
                source,
            })?;
            if line.trim().is_empty() {
                continue;
            }
            let taken = match serde_json::from_str(&line) {
                Ok(Value::Object(fields)) => reading.line(fields, origin),
                Ok(_) => Err("it is not an object".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(why) = taken {
                reading.skipped.push((number, why));
            }
        }
        if reading.header.is_empty() && reading.entries.is_empty() {
            return Err(ImportError::Nothing);
        }
        Ok(reading)
    }

    fn line(&mut self, fields: Map<String, Value>, origin: ImportOrigin) -> Result<(), String> {
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let kind = text("type").ok_or("it has no `type`")?;
        if kind == "session" {
            self.header = fields;
            return Ok(());
        }
        // Before the tree form, each line followed the one before.
        let mut parent = match fields.get("parentId") {
            None => self.entries.len() as u32,
            Some(Value::String(id)) => *self
                .numbers
                .get(id)
                .ok_or_else(|| format!("its parent {id} is not there"))?,
            Some(_) => self.root,
        };
        let at = fields
            .get("timestamp")
            .and_then(moment)
            .or_else(|| fields.get("message")?.get("timestamp").and_then(moment));
        let mut body = self.body(kind, &fields)?;
        if origin == ImportOrigin::Elsewhere {
            body.disown();
            if self.entries.is_empty() {
                let mark = EntryBody::import_mark();
                self.entries.push(ReadEntry {
                    parent,
                    at,
                    body: mark,
                });
                self.root = 1;
                parent = self.root;
            }
        }
        self.entries.push(ReadEntry { parent, at, body });
        if let Some(id) = text("id") {
            self.numbers
                .insert(id.to_owned(), self.entries.len() as u32);
        }
        Ok(())
    }

    fn body(&self, kind: &str, fields: &Map<String, Value>) -> Result<EntryBody, String> {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let entry = |name: &str| {
            let number = self.numbers.get(fields.get(name)?.as_str()?)?;
            Some(EntryId(*number))
        };
        Ok(match kind {
            "message" => message(fields)?,
            "custom_message" => EntryBody::CustomMessage(CustomMessage {
                custom_type: text("customType").unwrap_or_default(),
                content: parts(fields.get("content").unwrap_or(&Value::Null)),
                display: fields.get("display").and_then(Value::as_bool) == Some(true),
                details: fields.get("details").cloned().unwrap_or_default(),
            }),
            "custom" => custom(fields),
            "compaction" => EntryBody::Compaction(CompactionEntry {
                summary: text("summary").unwrap_or_default(),
                // One that is not there keeps nothing, as number 0 is no entry.
                first_kept: entry("firstKeptEntryId").unwrap_or(EntryId(u32::MAX)),
                tokens_before: fields
                    .get("tokensBefore")
                    .and_then(Value::as_u64)
                    .unwrap_or(0),
                details: fields.get("details").cloned().unwrap_or_default(),
            }),
            "branch_summary" => EntryBody::BranchSummary(BranchSummary {
                summary: text("summary").unwrap_or_default(),
                from: entry("fromId"),
            }),
            other => EntryBody::Unknown {
                kind: other.to_owned(),
                text: unknown(fields),
            },
        })
    }

    fn id(&self) -> Option<String> {
        let id = self.header.get("id")?.as_str()?.trim();
        (!id.is_empty()).then(|| id.to_owned())
    }

    fn started(&self) -> Option<u64> {
        moment(self.header.get("timestamp")?)
    }

    /// Where the conversation stands: where the header says, else at the last line.
    fn leaf(&self) -> u32 {
        self.header
            .get("leaf")
            .and_then(Value::as_str)
            .and_then(|id| self.numbers.get(id))
            .copied()
            .unwrap_or(self.entries.len() as u32)
    }
}

/// ISO 8601, or milliseconds since 1970.
fn moment(value: &Value) -> Option<u64> {
    value.as_str().map_or_else(|| value.as_u64(), parse_iso)
}

fn custom(fields: &Map<String, Value>) -> EntryBody {
    let custom_type = fields
        .get("customType")
        .and_then(Value::as_str)
        .unwrap_or("");
    let data = fields.get("data").cloned().unwrap_or_default();
    let word = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
    match (custom_type, word("callId"), word("how")) {
        (TOOL_STARTED, Some(call_id), _) => EntryBody::ToolStarted { call_id },
        (TURN_ENDED, _, Some(how)) => EntryBody::TurnEnded { how },
        _ => EntryBody::Custom(CustomEntry {
            custom_type: custom_type.to_owned(),
            data,
        }),
    }
}

/// The fields of a kind we do not know, without those every entry has.
fn unknown(fields: &Map<String, Value>) -> String {
    let own = ["type", "id", "parentId", "timestamp"];
    let rest: Map<String, Value> = fields
        .iter()
        .filter(|(name, _)| !own.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Value::Object(rest).to_string()
}

fn message(fields: &Map<String, Value>) -> Result<EntryBody, String> {
    let written = fields.get("message").ok_or("it has no `message`")?;
    if let Ok(message) = serde_json::from_value::<ModelMessage>(written.clone()) {
        let meta = fields.get("meta").cloned().unwrap_or_else(|| json!({}));
        // Whose words they are cannot be read: then they are nobody's known.
        let meta = serde_json::from_value(meta).unwrap_or_else(|_| EntryMeta {
            speaker: Some(SpeakerMark::Unreadable),
            ..EntryMeta::default()
        });
        return Ok(EntryBody::Message { message, meta });
    }
    foreign_message(written)
}

/// A message in the reference's own spelling.
fn foreign_message(written: &Value) -> Result<EntryBody, String> {
    let text = |name: &str| written.get(name).and_then(Value::as_str).map(str::to_owned);
    let content = parts(written.get("content").unwrap_or(&Value::Null));
    let role = text("role").ok_or("its message has no `role`")?;
    let mut meta = EntryMeta::default();
    let message = match role.as_str() {
        "user" => ModelMessage::User { content },
        "assistant" => {
            let stop = text("stopReason").unwrap_or_default();
            meta.cut = matches!(stop.as_str(), "error" | "aborted");
            meta.stop = match stop.as_str() {
                "stop" => Some(StopReason::End),
                "toolUse" => Some(StopReason::Tools),
                "length" => Some(StopReason::Length),
                _ => None,
            };
            let model = match (text("provider"), text("model")) {
                (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
                (_, model) => model,
            };
            ModelMessage::Assistant { content, model }
        }
        "toolResult" => {
            meta.details = written.get("details").cloned().unwrap_or_default();
            ModelMessage::ToolResult {
                call_id: text("toolCallId").ok_or("its result names no call")?,
                tool: text("toolName").unwrap_or_default(),
                content,
                is_error: written.get("isError").and_then(Value::as_bool) == Some(true),
            }
        }
        other => return Err(format!("its role `{other}` is unknown")),
    };
    Ok(EntryBody::Message { message, meta })
}

fn parts(content: &Value) -> Vec<MessagePart> {
    match content {
        Value::String(text) => vec![MessagePart::text(text)],
        Value::Array(items) => items.iter().filter_map(part).collect(),
        _ => Vec::new(),
    }
}

fn part(item: &Value) -> Option<MessagePart> {
    if let Ok(part) = serde_json::from_value::<MessagePart>(item.clone()) {
        return Some(part);
    }
    let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(match text("type")?.as_str() {
        "thinking" => MessagePart::Reasoning {
            text: text("thinking").unwrap_or_default(),
            signature: text("thinkingSignature"),
            redacted: item.get("redacted").and_then(Value::as_bool) == Some(true),
        },
        "image" => MessagePart::Image {
            mime: text("mimeType")?,
            data: text("data")?,
        },
        "toolCall" => {
            let arguments = item.get("arguments").or_else(|| item.get("input"));
            let object = arguments.and_then(Value::as_object).cloned();
            MessagePart::ToolCall(ToolCall {
                id: text("id")?,
                name: text("name")?,
                malformed: object
                    .is_none()
                    .then(|| arguments.map(Value::to_string).unwrap_or_default()),
                arguments: object.unwrap_or_default(),
            })
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
