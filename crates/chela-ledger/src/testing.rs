//! A ledger in a folder that vanishes, and requests to put on record.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chela_core::{AgentId, Clock, ContentHash, Host, Origin, SessionKey, Trust};
use chela_store::WaitHere as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{ContextRewrite, Ledger, PrefixReuse, RecordId, RequestRecord, SectionMark, ToolMark};

pub struct LedgerFixture {
    pub home: TempDir,
    pub host: Host,
    pub ledger: std::sync::Arc<Ledger>,
    pub clock: Arc<HandClock>,
}

/// A clock set by hand, in milliseconds.
#[derive(Debug)]
pub struct HandClock(pub AtomicU64);

impl Clock for HandClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

impl LedgerFixture {
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(HandClock(AtomicU64::new(1_700_000_000_000)));
        let mut host = Host::fixed(home.path());
        host.clock = clock.clone();
        let ledger = std::sync::Arc::new(Ledger::open(&host).unwrap());
        Self {
            home,
            host,
            ledger,
            clock,
        }
    }

    /// Another process, as far as the file is concerned.
    pub fn again(&self) -> Ledger {
        Ledger::open(&self.host).unwrap()
    }

    pub fn record(&self, request: &TestRequest) -> (RecordId, PrefixReuse) {
        self.ledger.begin(&request.record()).wait().unwrap()
    }

    /// The file as others may write it.
    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.ledger.path()).unwrap()
    }

    pub fn pass(&self, millis: u64) {
        self.clock.0.fetch_add(millis, Ordering::Relaxed);
    }
}

/// A request, in the terms of a conversation.
#[derive(Debug, Clone)]
pub struct TestRequest {
    pub agent: AgentId,
    pub key: SessionKey,
    pub session: String,
    pub model: String,
    pub url: String,
    pub rewrite: Option<ContextRewrite>,
    pub sections: Vec<SectionMark>,
    pub tools: Vec<ToolMark>,
    pub body: Vec<u8>,
}

impl TestRequest {
    pub fn new(session: &str, body: &Value) -> Self {
        Self {
            agent: AgentId::main(),
            key: SessionKey::parse("agent:main:main").unwrap(),
            session: session.to_owned(),
            model: "openai/gpt-5".to_owned(),
            url: "https://api.example.com/v1".to_owned(),
            rewrite: None,
            sections: Vec::new(),
            tools: Vec::new(),
            body: body.to_string().into_bytes(),
        }
    }

    pub fn record(&self) -> RequestRecord<'_> {
        RequestRecord {
            agent: &self.agent,
            session_key: &self.key,
            session: &self.session,
            turn: "t1",
            step: 1,
            model: &self.model,
            url: &self.url,
            body: &self.body,
            unread: &[],
            sections: self.sections.clone().into(),
            tools: self.tools.clone().into(),
            rewrite: self.rewrite,
        }
    }
}

/// A chat request: system prompt, messages by turns, tools by name.
pub fn chat(system: &str, messages: &[&str], tools: &[&str]) -> Value {
    let mut all = vec![json!({ "role": "system", "content": system })];
    for (at, text) in messages.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        all.push(json!({ "role": role, "content": text }));
    }
    let tools: Vec<Value> = tools
        .iter()
        .map(|name| {
            json!({ "type": "function", "function": { "name": name, "parameters": { "type": "object" } } })
        })
        .collect();
    json!({ "model": "gpt-5", "messages": all, "tools": tools, "stream": true })
}

pub fn section(id: &str, origin: Origin, text: &str) -> SectionMark {
    SectionMark {
        id: id.to_owned(),
        origin,
        trust: Trust::Operator,
        hash: ContentHash::of(text),
        bytes: text.len() as u64,
        contributor: None,
        lists: Vec::new(),
    }
}
