//! Sessions and the reply gate: what a turn pays for being durable and for being silent.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

use chela_store::block_on;

use chela_core::{Host, SessionKey};
use chela_model::{MessagePart, ModelMessage};
use chela_reply::{GateSettings, ReplyGate};
use chela_session::{EntryBody, ResetRules, SessionFilter, Sessions};
use chela_testkit::bench::{BenchEffort, measure};

fn main() {
    let home = tempfile::tempdir().expect("a folder");
    let host = Host::fixed(home.path());
    let sessions =
        Sessions::open_file(&host, &home.path().join("sessions.sqlite")).expect("sessions");
    let rules = ResetRules::default();
    let key = |text: &str| SessionKey::parse(text).expect("a key");
    let said = "A sentence of ordinary length, as people write them. ".repeat(8);

    let long = block_on(sessions.current(&key("agent:main:long"), &rules)).expect("a session");
    let bodies: Vec<EntryBody> = (0..2_000)
        .map(|n| {
            EntryBody::plain(if n % 2 == 0 {
                ModelMessage::user(said.clone())
            } else {
                ModelMessage::Assistant {
                    content: vec![MessagePart::text(said.clone())],
                    model: Some("provider/model".into()),
                }
            })
        })
        .collect();
    block_on(sessions.append_all(&long, &bodies)).expect("entries");
    let bytes = said.len() * bodies.len();
    measure("branch of 2,000 entries", bytes, || {
        block_on(sessions.branch(&long)).map(|branch| branch.len())
    })
    .print(None);
    measure("context of 2,000 entries", bytes, || {
        block_on(sessions.context(&long)).map(|messages| messages.len())
    })
    .print(None);

    let other = block_on(sessions.current(&key("agent:main:main"), &rules)).expect("a session");
    measure("append one entry, on the disk", said.len(), || {
        block_on(sessions.append(&other, EntryBody::plain(ModelMessage::user(said.clone()))))
    })
    .print(None);
    let memory = Sessions::in_memory(&host).expect("sessions");
    let light = block_on(memory.current(&key("agent:main:main"), &rules)).expect("a session");
    measure("append one entry, in memory", said.len(), || {
        block_on(memory.append(&light, EntryBody::plain(ModelMessage::user(said.clone()))))
    })
    .print(None);

    let many = BenchEffort::asked().pick(10_000, 100);
    for n in 0..many {
        let key = key(&format!("agent:main:telegram:group:{n}"));
        block_on(memory.current(&key, &rules)).expect("a session");
    }
    measure(&format!("list {many} sessions"), 0, || {
        block_on(memory.list(&SessionFilter::default())).map(|found| found.len())
    })
    .print(None);

    let reply = said.repeat(40);
    let chunks: Vec<String> = reply
        .as_bytes()
        .chunks(4)
        .map(|chunk| String::from_utf8_lossy(chunk).into_owned())
        .collect();
    measure("the gate, 17 KB in chunks of 4", reply.len(), || {
        let mut gate = ReplyGate::new(GateSettings::default());
        for chunk in &chunks {
            gate.push(chunk);
        }
        gate.finish()
    })
    .print(None);
}
