#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

//! What the audit chain says of a turn: questions with their answers, files with what they were
//! and are, each before the effect it is about.

use chela_agent::conversation::Conversation;
use chela_core::ContentHash;
use chela_ledger::{AuditEntry, AuditFilter, AuditKind, RecordFilter, RecordedRequest};
use chela_store::WaitHere as _;
use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};
use serde_json::json;

use crate::turning::Home;

fn entries(talk: &Conversation) -> Vec<AuditEntry> {
    let ledger = talk.agents().ledger().expect("a ledger");
    assert!(ledger.verify().wait().expect("a verdict").is_sound());
    ledger
        .audit(&AuditFilter::default())
        .wait()
        .expect("a list")
}

fn only(entries: &[AuditEntry], kind: AuditKind) -> Vec<&AuditEntry> {
    let of_kind = |entry: &&AuditEntry| entry.kind == kind.as_str();
    entries.iter().filter(of_kind).collect()
}

#[test]
fn a_question_is_on_record_with_its_answer_before_what_follows_from_it() {
    let home = Home::with(
        EndpointScript::steps([
            ScriptStep::tool("exec", json!({ "command": "touch asked.txt" })),
            ScriptStep::reply("It was refused."),
        ]),
        json!({ "tools": { "exec": { "ask": "always", "security": "allowlist" } } }),
    );
    home.say("go").0.expect("an answer");
    let entries = entries(&home.talk);
    let asked = only(&entries, AuditKind::Approval);
    let [asked] = asked[..] else {
        unreachable!("{entries:#?}")
    };
    let body = asked.json();
    assert_eq!(body["answer"], "deny");
    assert!(body["question"].to_string().contains("touch asked.txt"));
    let decided = only(&entries, AuditKind::ToolDecision)[0];
    let came = only(&entries, AuditKind::ToolOutcome)[0];
    assert!(decided.seq < asked.seq && asked.seq < came.seq);
    assert_eq!(decided.json()["turn"], body["turn"]);
}

#[test]
fn a_changed_file_is_on_record_with_what_it_was_and_is() {
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+fresh\n*** End Patch\n";
    let home = Home::new(EndpointScript::steps([
        ScriptStep::tool("write", json!({ "path": "note.txt", "content": "red\n" })),
        ScriptStep::tool(
            "edit",
            json!({ "path": "note.txt", "oldText": "red", "newText": "green" }),
        ),
        ScriptStep::tool("apply_patch", json!({ "patch": patch })),
        ScriptStep::reply("Done."),
    ]));
    home.say("go").0.expect("an answer");
    let entries = entries(&home.talk);
    let outcomes = only(&entries, AuditKind::ToolOutcome);
    let hash = |text: &str| json!(ContentHash::of(text));
    let of = |at: usize| outcomes[at].json()["files"][0].clone();
    assert_eq!(of(0)["before"], hash("the safe is blue\n"));
    assert_eq!(of(0)["after"], hash("red\n"));
    assert_eq!(of(1)["before"], hash("red\n"));
    assert_eq!(of(1)["after"], hash("green\n"));
    assert!(
        of(1)["path"]
            .as_str()
            .is_some_and(|path| path.contains("note.txt"))
    );
    assert_eq!(of(2)["before"], json!(null));
    assert_eq!(of(2)["after"], hash("fresh\n"));
    for (decided, came) in only(&entries, AuditKind::ToolDecision)
        .iter()
        .zip(&outcomes)
    {
        assert!(decided.seq < came.seq);
    }
}

/// Each request on record with its bytes, the oldest first.
fn requests_on_record(talk: &Conversation) -> Vec<(RecordedRequest, String)> {
    let ledger = talk.agents().ledger().expect("a ledger");
    let list = ledger.list(&RecordFilter::default()).wait();
    let mut records: Vec<(RecordedRequest, String)> = list
        .expect("a list")
        .into_iter()
        .map(|summary| {
            let record = ledger.show(summary.id).wait().expect("a record");
            let replayed = ledger.replay(summary.id, &|_| None).wait();
            let replayed = replayed.expect("its bytes");
            assert!(replayed.matches());
            let raw = ledger.raw(summary.id).wait().expect("its bytes");
            assert_eq!(raw, replayed.bytes);
            (record, String::from_utf8(raw).expect("text"))
        })
        .collect();
    records.sort_by_key(|(record, _)| record.summary.id.0);
    records
}

#[test]
fn what_is_on_record_is_what_the_endpoint_got() {
    let home = Home::new(EndpointScript::steps([
        ScriptStep::tool("read", json!({ "path": "note.txt" })),
        // The second request is sent twice.
        ScriptStep::status(500),
        ScriptStep::reply("It is blue."),
    ]));
    home.say("what colour is the safe?").0.expect("an answer");
    let calls = home.endpoint.calls();
    let records = requests_on_record(&home.talk);
    let [(first, first_bytes), (second, second_bytes)] = &records[..] else {
        unreachable!("{records:#?}")
    };
    let got: Vec<&String> = calls.iter().map(|call| &call.body).collect();
    assert_eq!(got, [first_bytes, second_bytes, second_bytes]);
    for record in [first, second] {
        assert_eq!(record.url, home.endpoint.url() + &calls[0].path);
        assert_eq!(record.summary.error, None);
    }
}

#[test]
fn what_a_fallback_got_is_on_record_as_it_got_it() {
    // One speaks another format, one is told of tools in another way.
    for (api, compat, mark) in [
        ("anthropic-messages", json!({}), "input_schema"),
        (
            "openai-completions",
            json!({ "toolMode": "constrained" }),
            "json_schema",
        ),
    ] {
        let spare = ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply(
            "{\"reply\":\"Blue.\"}",
        )));
        let spare = spare.expect("an endpoint");
        let home = Home::with(
            EndpointScript::always(ScriptStep::status(401)),
            json!({
                "models": { "providers": { "spare": {
                    "baseUrl": format!("{}/v1", spare.url()),
                    "api": api,
                    "apiKey": "k",
                    "models": [{ "id": "other", "contextWindow": 64_000, "compat": compat }],
                } } },
                "agents": { "defaults": { "model": {
                    "primary": "kit/scripted", "fallbacks": ["spare/other"],
                } } },
            }),
        );
        home.dir.asks(&spare);
        home.say("what colour is the safe?").0.expect("an answer");
        let records = requests_on_record(&home.talk);
        let [(meant, meant_bytes), (instead, instead_bytes)] = &records[..] else {
            unreachable!("{api}: {records:#?}")
        };
        let (to_first, to_spare) = (home.endpoint.calls(), spare.calls());
        assert_eq!((to_first.len(), to_spare.len()), (1, 1), "{api}");
        assert_eq!(
            [meant_bytes, instead_bytes],
            [&to_first[0].body, &to_spare[0].body]
        );
        let left = meant.summary.error.as_deref();
        assert_eq!(left, Some("spare/other answered in its place"), "{api}");
        assert_eq!(instead.summary.model, "spare/other");
        assert_eq!(instead.summary.error, None, "{api}");
        assert_eq!(instead.url, spare.url() + &to_spare[0].path);
        assert!(instead_bytes.contains(mark) && !meant_bytes.contains(mark));
    }
}
