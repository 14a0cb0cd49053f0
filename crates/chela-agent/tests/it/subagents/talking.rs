//! Who says what to whom while sub-agents run.

use chela_store::block_on;

use chela_agent::conversation::ConversationAsk;
use chela_core::{OwnerProof, SessionKey, Speaker};
use chela_testkit::{ScriptStep, StepRule};
use serde_json::json;

use super::{Home, Watched, child, child_of_a_child, message, spawn, subagents};

#[test]
fn a_turn_that_runs_hears_of_it_between_two_steps() {
    let slow = |step: ScriptStep| ScriptStep {
        delay_ms: 400,
        ..step
    };
    let home = Home::new(
        [
            child("", ScriptStep::reply("Nothing in it.")),
            spawn(json!({ "task": "x" })),
            slow(ScriptStep::tool("read", json!({ "path": "note.txt" }))),
            ScriptStep::reply("Fine."),
        ],
        json!({}),
    );
    home.say("go");
    let last = home.requests().pop().expect("a request").to_string();
    assert!(last.contains("Nothing in it."), "{last}");
}

#[test]
fn a_sub_agent_hears_its_parent_between_two_steps() {
    let first = ScriptStep {
        times: Some(1),
        delay_ms: 300,
        ..child("", ScriptStep::tool("read", json!({ "path": "note.txt" })))
    };
    let home = Home::new(
        [
            first,
            child("", ScriptStep::reply("As you say.")),
            spawn(json!({ "task": "look", "label": "eyes" })),
            ScriptStep::tool(
                "subagents",
                json!({ "action": "steer", "target": "eyes", "message": "mind the gap" }),
            ),
            ScriptStep::reply("Told."),
        ],
        json!({}),
    );
    home.say("go");
    home.settle();
    let last = home.childrens().pop().expect("a request").to_string();
    assert!(last.contains("mind the gap"), "{last}");
}

#[test]
fn a_question_of_a_sub_agent_reaches_who_watches_its_parent() {
    let first = ScriptStep {
        times: Some(1),
        ..child(
            "",
            ScriptStep::tool("exec", json!({ "command": "touch asked.txt" })),
        )
    };
    let home = Home::new(
        [
            first,
            child("", ScriptStep::reply("Asked.")),
            spawn(json!({ "task": "ask", "label": "curious" })),
            ScriptStep::reply("Started."),
        ],
        json!({ "tools": { "exec": { "ask": "always", "security": "allowlist" } } }),
    );
    home.say("go");
    home.settle();
    let asked = home.watched.asked.lock().expect("a lock");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].calls[0].why.contains("`curious`"), "{asked:?}");
}

#[test]
fn a_sub_agent_of_a_sub_agent_reports_to_it() {
    let home = Home::new(child_of_a_child(), subagents(json!({ "maxSpawnDepth": 2 })));
    home.say("go");
    let news = home.news();
    assert!(news.contains("All told."), "{news}");
    let heard = home
        .childrens()
        .iter()
        .any(|request| request.to_string().contains("From below."));
    assert!(heard);
}

#[test]
fn sessions_write_to_each_other() {
    let home = Home::new(
        [
            ScriptStep::reply("Noted.").when(StepRule {
                contains: Some("Inter-session message".into()),
                ..StepRule::default()
            }),
            ScriptStep::reply("Hello."),
            ScriptStep::tool(
                "sessions_send",
                json!({ "sessionKey": "agent:main:work", "message": "lunch is at one" }),
            ),
            ScriptStep::tool(
                "sessions_send",
                json!({ "sessionKey": "agent:main:main", "message": "me?" }),
            ),
            ScriptStep::reply("Sent."),
        ],
        json!({}),
    );
    let other = block_on(home.agents.conversation(ConversationAsk {
        session: Some(SessionKey::parse("agent:main:work").expect("a key")),
        ..ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))
    }))
    .expect("a conversation");
    home.run(other.say(message("hi"), &Watched::default()))
        .expect("an outcome");
    let results = home.say("tell them");
    assert!(results[0].contains("Noted."), "{results:?}");
    assert!(results[1].contains("this very session"), "{results:?}");
    let told = home.requests();
    let told = told
        .iter()
        .find(|request| {
            request.to_string().contains("lunch is at one\"")
                || request.to_string().contains("isUser=false")
        })
        .expect("a request");
    assert!(told.to_string().contains("isUser=false"), "{told}");
}
