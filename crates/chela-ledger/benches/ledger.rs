//! What recording costs: the time of a turn, and its room on disk.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot be set up has nothing to measure, and its output is its purpose"
)]

use chela_core::{AgentId, ContentHash, Host, Origin, SessionKey, Trust, Usage};
use chela_ledger::{
    Amount, AuditKind, Ledger, RecordFilter, RequestOutcome, RequestRecord, ReserveAsk,
    SectionMark, ToolMark,
};
use chela_store::WaitHere as _;
use chela_testkit::bench::{BenchEffort, measure};
use serde_json::{Value, json};

/// Bytes of the system prompt and of all tools together.
const PROMPT: usize = 80_000;
const TOOLS: usize = 30_000;

fn main() {
    let home = tempfile::tempdir_in(".").expect("a folder on the disk");
    let host = Host::fixed(home.path());
    let ledger = Ledger::open(&host).expect("a ledger");
    let mut talk = Talk::new();

    let first = talk.body();
    let before = size(&ledger);
    record(&ledger, &talk, &first);
    println!("{:<34} {:>12} bytes", "request", first.len());
    println!(
        "{:<34} {:>12} bytes on disk",
        "the first turn",
        size(&ledger) - before
    );

    let turns = 50;
    let (mut requests, before) = (0, size(&ledger));
    for _ in 0..turns {
        talk.goes_on();
        let body = talk.body();
        requests += body.len() as u64;
        record(&ledger, &talk, &body);
    }
    let grown = size(&ledger) - before;
    println!(
        "{:<34} {:>12} bytes on disk, {:.2} % of the request",
        "a turn after it",
        grown / turns,
        grown as f64 * 100.0 / requests as f64
    );

    let hash = measure("SHA-256 of the request", first.len(), || {
        ContentHash::of(&first)
    });
    hash.print(None);
    measure("begin and finish", first.len(), || {
        talk.goes_on();
        record(&ledger, &talk, &talk.body());
    })
    .print(Some(&hash));
    let same = talk.body();
    measure("begin", first.len(), || {
        ledger.begin(&talk.record(&same)).wait().expect("a record")
    })
    .print(Some(&hash));
    measure("audit entry, on the disk", 0, || {
        ledger
            .append(AuditKind::ToolDecision, &json!({ "tool": "read" }))
            .wait()
            .expect("an entry")
    })
    .print(None);
    measure("reserve and settle, on the disk", 0, || {
        let reservation = ledger.reserve(&ask()).wait().expect("room");
        ledger
            .settle(&reservation, Amount::default())
            .wait()
            .expect("settled");
    })
    .print(None);

    let small = json!({ "messages": [{ "role": "user", "content": "hi" }] }).to_string();
    let have = ledger
        .list(&RecordFilter::default())
        .wait()
        .expect("a list")
        .len();
    let many = BenchEffort::asked().pick(10_000, 100);
    for _ in have..many {
        ledger
            .begin(&talk.record(small.as_bytes()))
            .wait()
            .expect("a record");
    }
    measure(&format!("list {many} turns"), 0, || {
        ledger
            .list(&RecordFilter::default())
            .wait()
            .expect("a list")
            .len()
    })
    .print(None);
    measure(&format!("verify {many} turns"), 0, || {
        ledger.verify().wait().expect("a verdict").is_sound()
    })
    .print(None);
}

struct Talk {
    agent: AgentId,
    key: SessionKey,
    sections: Vec<SectionMark>,
    tools: Vec<ToolMark>,
    system: String,
    schemas: Vec<Value>,
    messages: Vec<Value>,
}

impl Talk {
    fn new() -> Self {
        let words = "The agent reads its rules before it acts, and says what it did.\n";
        let system = words.repeat(PROMPT / words.len());
        let schemas: Vec<Value> = (0..30)
            .map(|tool| {
                let text = format!("Does thing {tool}. ").repeat(TOOLS / 30 / 18);
                json!({ "type": "function", "function": { "name": format!("tool{tool}"), "description": text } })
            })
            .collect();
        let sections = (0..25)
            .map(|at| SectionMark {
                id: format!("section-{at}"),
                origin: Origin::file(format!("FILE{at}.md"), words),
                trust: Trust::Owner,
                hash: ContentHash::of(format!("{at}")),
                bytes: (PROMPT / 25) as u64,
                contributor: None,
                lists: Vec::new(),
            })
            .collect();
        let tools = (0..30)
            .map(|tool| ToolMark {
                name: format!("tool{tool}"),
                hash: ContentHash::of(format!("tool{tool}")),
                bytes: (TOOLS / 30) as u64,
            })
            .collect();
        let mut talk = Self {
            agent: AgentId::main(),
            key: SessionKey::parse("agent:main:main").expect("a key"),
            sections,
            tools,
            system,
            schemas,
            messages: Vec::new(),
        };
        talk.goes_on();
        talk
    }

    fn goes_on(&mut self) {
        let turn = self.messages.len();
        for role in ["assistant", "user"] {
            let text = format!(
                "This is what the {role} said in turn {turn}: {}",
                ContentHash::of(format!("{role}{turn}"))
            );
            self.messages.push(json!({ "role": role, "content": text }));
        }
    }

    fn body(&self) -> Vec<u8> {
        let mut messages = vec![json!({ "role": "system", "content": self.system })];
        messages.extend(self.messages.iter().cloned());
        json!({ "model": "gpt-5", "messages": messages, "tools": self.schemas, "stream": true })
            .to_string()
            .into_bytes()
    }

    fn record<'a>(&'a self, body: &'a [u8]) -> RequestRecord<'a> {
        RequestRecord {
            agent: &self.agent,
            session_key: &self.key,
            session: "0f7f1a9e-0000-4000-a000-000000000001",
            turn: "0f7f1a9e-42",
            step: 1,
            model: "openai/gpt-5",
            url: "https://api.openai.com/v1/chat/completions",
            body,
            unread: &[],
            sections: self.sections.clone().into(),
            tools: self.tools.clone().into(),
            rewrite: None,
        }
    }
}

fn record(ledger: &Ledger, talk: &Talk, body: &[u8]) {
    let (id, _) = ledger.begin(&talk.record(body)).wait().expect("a record");
    let outcome = RequestOutcome {
        response: talk.messages.last().cloned().unwrap_or_default(),
        usage: Some(Usage {
            input: 25_000,
            output: 100,
            ..Usage::default()
        }),
        cost: Some(1234),
        ..RequestOutcome::default()
    };
    ledger.finish(id, &outcome).wait().expect("an outcome");
}

fn ask() -> ReserveAsk {
    ReserveAsk {
        agent: "main".into(),
        session: "s".into(),
        turn: "t".into(),
        job: "chat".into(),
        model: "openai/gpt-5".into(),
        estimate: Amount::default(),
        known: Amount::default(),
        limits: Vec::new(),
        day: "2026-11-15".into(),
        month: "2026-11".into(),
        lasts: 600_000,
    }
}

/// Bytes of the file once the journal is written back.
fn size(ledger: &Ledger) -> u64 {
    let file = rusqlite::Connection::open(ledger.path()).expect("the file");
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .expect("a checkpoint");
    std::fs::metadata(ledger.path()).expect("the file").len()
}
