//! What a sub-agent is given: its task, never more than its parent has.

use chela_store::block_on;

use chela_ledger::{AuditFilter, AuditKind};
use chela_store::WaitHere as _;
use chela_testkit::ScriptStep;
use serde_json::json;

use super::{Home, child, one_child, spawn, tools_of};
use crate::spending::spent_by;

#[test]
fn a_task_is_handed_on_and_its_result_comes_back() {
    let home = Home::new(
        [
            child("", ScriptStep::reply("The safe is blue.")),
            spawn(json!({ "task": "look into the safe", "label": "safe" })),
            ScriptStep::reply("Started."),
            ScriptStep::reply("Blue."),
        ],
        json!({}),
    );
    let results = home.say("what colour is the safe?");
    for part in [
        "Started run",
        "agent:main:subagent:",
        "tools: read",
        "paths: ~/.chela/workspace",
        "model calls",
        "trust: agent",
        "depth: 1 of 1",
        "Do not poll",
    ] {
        assert!(results[0].contains(part), "{part}: {}", results[0]);
    }
    let news = home.news();
    for part in ["Sub-agent `safe`", "Status: done", "The safe is blue."] {
        assert!(news.contains(part), "{part}: {news}");
    }
    let childrens = home.childrens();
    assert_eq!(childrens.len(), 1);
    let sent = childrens[0]["messages"].to_string();
    assert!(sent.contains("[Subagent Task]\\nlook into the safe"));
    assert!(!sent.contains("what colour"), "isolated");
    let tools = tools_of(&childrens[0]);
    assert!(tools.iter().any(|tool| tool == "read"), "{tools:?}");
    for never in [
        "sessions_spawn",
        "subagents",
        "sessions_send",
        "sessions_list",
        "session_status",
        "agents_list",
    ] {
        assert!(!tools.iter().any(|tool| tool == never), "{never}");
    }
    home.say("again");
    let last = home.requests().pop().expect("a request").to_string();
    assert_eq!(last.matches("Status: done").count(), 1, "told once");
}

#[test]
fn a_start_is_on_record_before_it_happens() {
    let home = Home::new(one_child("Done."), json!({}));
    home.say("go");
    home.settle();
    let ledger = home.agents.ledger().expect("a ledger");
    let verdict = ledger.verify().wait().expect("a verdict");
    assert!(verdict.is_sound(), "{verdict:?}");
    let entries = ledger
        .audit(&AuditFilter::default())
        .wait()
        .expect("a list");
    assert!(
        entries
            .iter()
            .any(|entry| entry.kind == AuditKind::Spawn.as_str())
    );
}

#[test]
fn a_fork_knows_the_conversation_and_nobody_else_does() {
    let run = |context: &str| {
        let home = Home::new(
            [
                child("", ScriptStep::reply("Done.")),
                ScriptStep::reply("Noted."),
                spawn(json!({ "task": "go on", "context": context })),
                ScriptStep::reply("Started."),
            ],
            json!({}),
        );
        home.say("the elephant is purple");
        home.say("hand it on");
        home.settle();
        home.childrens()[0]["messages"].to_string()
    };
    assert!(run("fork").contains("the elephant is purple"));
    assert!(!run("isolated").contains("the elephant is purple"));
}

#[test]
fn what_the_parent_may_not_the_child_may_not() {
    let home = Home::new(
        one_child("Done."),
        json!({
            "tools": { "deny": ["exec", "process"], "subagents": { "tools": { "deny": ["write"] } } },
        }),
    );
    home.say("go");
    home.settle();
    let tools = tools_of(&home.childrens()[0]);
    for never in ["exec", "process", "write"] {
        assert!(!tools.iter().any(|tool| tool == never), "{never}");
    }
}

#[test]
fn another_agent_has_its_own_workspace_and_no_other() {
    let home = Home::new(
        [
            child("", ScriptStep::reply("Done.")),
            spawn(json!({ "task": "x", "agentId": "other" })),
            ScriptStep::reply("Started."),
        ],
        json!({
            "agents": {
                "defaults": { "subagents": { "allowAgents": ["other"] } },
                "list": [{ "id": "main", "default": true }, { "id": "other" }],
            },
        }),
    );
    let results = home.say("go");
    let paths = results[0].lines().find(|line| line.starts_with("paths: "));
    let paths = paths.expect("where it may be");
    assert!(paths.ends_with("workspace-other"), "{paths}");
    home.settle();
    let tools = tools_of(&home.childrens()[0]);
    assert!(tools.iter().any(|tool| tool == "read"), "{tools:?}");
    assert!(tools.iter().any(|tool| tool == "exec"), "{tools:?}");
}

#[test]
fn what_a_sub_agent_spends_is_its_parents_spending() {
    let home = Home::new(one_child("Done."), json!({}));
    home.say("go");
    home.settle();
    let used = spent_by(&home.agents, home.talk().session().id.as_str());
    let infos = block_on(
        home.talk()
            .store()
            .list(&chela_session::SessionFilter::default()),
    )
    .expect("a list");
    assert_eq!(infos.len(), 2);
    let all: u64 = infos
        .iter()
        .map(|info| info.totals.input + info.totals.output)
        .sum();
    assert_eq!(used, all);
}
