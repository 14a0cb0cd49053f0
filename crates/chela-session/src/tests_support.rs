//! A machine whose clock can be set, and messages to say.

use chela_store::block_on;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chela_core::{Clock, Host, SessionKey};
use chela_model::{MessagePart, ModelMessage, ToolCall};
use serde_json::Map;

use super::{EntryBody, EntryMeta, OpenSession, ResetRules, Sessions};

pub struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// 2023-11-14 22:13:20 UTC.
pub const START: u64 = 1_700_000_000_000;
pub const HOUR: u64 = 3_600_000;

pub struct SessionsFixture {
    pub sessions: Sessions,
    pub clock: Arc<SetClock>,
    pub dir: tempfile::TempDir,
    pub host: Host,
}

impl SessionsFixture {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(SetClock(AtomicU64::new(START)));
        let mut host = Host::fixed(dir.path());
        host.clock = clock.clone();
        let sessions = Sessions::open_file(&host, &dir.path().join("sessions.sqlite")).unwrap();
        Self {
            sessions,
            clock,
            dir,
            host,
        }
    }

    pub fn wait(&self, millis: u64) {
        self.clock.0.fetch_add(millis, Ordering::Relaxed);
    }

    pub fn session(&self, name: &str) -> OpenSession {
        block_on(self.sessions.current(&key(name), &ResetRules::default())).unwrap()
    }

    pub fn again(&self) -> Sessions {
        Sessions::open_file(&self.host, self.sessions.path()).unwrap()
    }
}

pub fn key(name: &str) -> SessionKey {
    SessionKey::parse(name).unwrap()
}

pub fn user(text: &str) -> EntryBody {
    EntryBody::plain(ModelMessage::user(text))
}

pub fn assistant(text: &str) -> EntryBody {
    EntryBody::plain(ModelMessage::Assistant {
        content: vec![MessagePart::text(text)],
        model: None,
    })
}

pub fn calls(ids: &[&str]) -> EntryBody {
    let content = ids
        .iter()
        .map(|id| MessagePart::ToolCall(call(id)))
        .collect();
    EntryBody::Message {
        message: ModelMessage::Assistant {
            content,
            model: None,
        },
        meta: EntryMeta::default(),
    }
}

pub fn call(id: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "exec".to_owned(),
        arguments: Map::new(),
        malformed: None,
    }
}

pub fn result(id: &str, text: &str) -> EntryBody {
    EntryBody::plain(ModelMessage::ToolResult {
        call_id: id.to_owned(),
        tool: "exec".to_owned(),
        content: vec![MessagePart::text(text)],
        is_error: false,
    })
}

/// Messages as short lines.
pub fn lines(messages: &[ModelMessage]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match message {
            ModelMessage::User { .. } => format!("user: {}", message.text()),
            ModelMessage::Assistant { .. } => {
                let calls: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
                format!("assistant: {}{calls:?}", message.text())
            }
            ModelMessage::ToolResult {
                call_id, is_error, ..
            } => {
                let text = message.text();
                let start = text.split('.').next().unwrap_or("");
                format!(
                    "{call_id} {}: {start}",
                    if *is_error { "failed" } else { "gave" }
                )
            }
        })
        .collect()
}
