//! What a sub-agent reads and has.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use super::when;
use crate::scene::{APIS, ScriptedHome, after_tool};

/// A parent that starts a child with `spawn`; the child does `child` and is done.
fn parent(spawn: Value, child: ScriptStep, more: Value) -> ScriptedHome {
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            when("[Subagent Task]", child),
            when("hand it on", ScriptStep::tool("sessions_spawn", spawn)),
            after_tool(ScriptStep::reply("Done so far.")),
        ])
    };
    ScriptedHome::without_canary(APIS[0], script, more)
}

/// The first request of the child.
fn child_request(scene: &ScriptedHome) -> Value {
    let calls = scene.endpoint.calls();
    let found = calls
        .iter()
        .find(|call| call.body.contains("[Subagent Task]\\n"));
    found.unwrap().json()
}

#[test]
fn d11_a_sub_agent_is_told_that_it_is_one() {
    let more = json!({ "agents": { "defaults": {
        "thinkingDefault": "high",
        "subagents": { "thinking": "low", "runTimeoutSeconds": 300 } } } });
    let spawn = json!({ "task": "look into the safe", "label": "safe" });
    let scene = parent(spawn, ScriptStep::reply("Blue."), more);
    scene.chat("hand it on").ok();
    let request = child_request(&scene).to_string();
    for said in [
        "You are a sub-agent working for agent `main`, at level 1",
        "Your last message is the result",
        "Nobody answers questions",
        "300 seconds",
        "You start no sub-agents.",
        "thinking=low",
    ] {
        assert!(request.contains(said), "{said}: {request}");
    }
    for unsaid in [
        "/approve",
        "Approvals:",
        "where it is available",
        "[Bootstrap pending]",
    ] {
        assert!(!request.contains(unsaid), "{unsaid}: {request}");
    }
}

/// Whoever may be started works where it lives.
fn two_agents() -> Value {
    json!({ "agents": {
        "defaults": { "subagents": { "allowAgents": ["two"] } },
        "list": [{ "id": "main", "default": true }, { "id": "two" }],
    } })
}

/// Everything that was sent after agent `two` was told to read `path`.
fn sent_after_reading(path: &str) -> (ScriptedHome, Vec<String>) {
    let spawn = json!({ "task": "read it", "agentId": "two" });
    let read = ScriptStep::tool("read", json!({ "path": path }));
    let scene = parent(spawn, read, two_agents());
    scene.home.run(&["init", "--agent", "two"]).ok();
    scene
        .home
        .write(".chela/workspace-two/notes.md", "The heron is grey.\n");
    scene
        .home
        .write(".chela/workspace/secret.md", "The parent's own.\n");
    scene.chat("hand it on").ok();
    let calls = scene.endpoint.calls().into_iter();
    let bodies = calls.map(|call| call.body).collect();
    (scene, bodies)
}

#[test]
fn d12_another_agent_works_in_its_own_workspace() {
    let (scene, bodies) = sent_after_reading("notes.md");
    let is_read = bodies
        .iter()
        .any(|body| body.contains("The heron is grey."));
    assert!(is_read, "{bodies:?}");
    let tools = child_request(&scene)["tools"].to_string();
    for tool in ["write", "exec", "memory_search"] {
        assert!(tools.contains(&format!("\"{tool}\"")), "{tool}: {tools}");
    }
}

#[test]
fn d12_the_parents_files_do_not_come_along() {
    let (_, bodies) = sent_after_reading("../workspace/secret.md");
    let is_read = bodies.iter().any(|body| body.contains("The parent's own."));
    assert!(!is_read, "{bodies:?}");
}
