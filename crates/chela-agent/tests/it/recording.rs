#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

//! What the audit chain says of a turn: questions with their answers, files with what they were
//! and are, each before the effect it is about.

use chela_agent::conversation::Conversation;
use chela_core::ContentHash;
use chela_ledger::{AuditEntry, AuditFilter, AuditKind};
use chela_store::WaitHere as _;
use chela_testkit::{Script, Step};
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
        Script::steps([
            Step::tool("exec", json!({ "command": "touch asked.txt" })),
            Step::reply("It was refused."),
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
    let home = Home::new(Script::steps([
        Step::tool("write", json!({ "path": "note.txt", "content": "red\n" })),
        Step::tool(
            "edit",
            json!({ "path": "note.txt", "oldText": "red", "newText": "green" }),
        ),
        Step::tool("apply_patch", json!({ "patch": patch })),
        Step::reply("Done."),
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
