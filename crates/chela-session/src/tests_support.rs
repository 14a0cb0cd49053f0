//! A machine whose clock can be set, and messages to say.

use chela_store::block_on;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chela_core::{Clock, Host, SessionKey};
use chela_model::{Message, Part, ToolCall};
use serde_json::Map;

use super::{Body, Meta, ResetRules, Session, Sessions};

pub struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// 2023-11-14 22:13:20 UTC.
pub const START: u64 = 1_700_000_000_000;
pub const HOUR: u64 = 3_600_000;

pub struct Fixture {
    pub sessions: Sessions,
    pub clock: Arc<SetClock>,
    pub dir: tempfile::TempDir,
    pub host: Host,
}

impl Fixture {
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

    pub fn session(&self, name: &str) -> Session {
        block_on(self.sessions.current(&key(name), &ResetRules::default())).unwrap()
    }

    pub fn again(&self) -> Sessions {
        Sessions::open_file(&self.host, self.sessions.path()).unwrap()
    }
}

pub fn key(name: &str) -> SessionKey {
    SessionKey::parse(name).unwrap()
}

pub fn user(text: &str) -> Body {
    Body::plain(Message::user(text))
}

pub fn assistant(text: &str) -> Body {
    Body::plain(Message::Assistant {
        content: vec![Part::text(text)],
        model: None,
    })
}

pub fn calls(ids: &[&str]) -> Body {
    let content = ids.iter().map(|id| Part::ToolCall(call(id))).collect();
    Body::Message {
        message: Message::Assistant {
            content,
            model: None,
        },
        meta: Meta::default(),
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

pub fn result(id: &str, text: &str) -> Body {
    Body::plain(Message::ToolResult {
        call_id: id.to_owned(),
        tool: "exec".to_owned(),
        content: vec![Part::text(text)],
        is_error: false,
    })
}

/// Messages as short lines.
pub fn lines(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match message {
            Message::User { .. } => format!("user: {}", message.text()),
            Message::Assistant { .. } => {
                let calls: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
                format!("assistant: {}{calls:?}", message.text())
            }
            Message::ToolResult {
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
