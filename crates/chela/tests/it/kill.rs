//! kill -9 at random points: what was accepted stays, what was done is not done again.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod compaction;
mod counts;
mod settlement;
mod spawn;

use std::collections::HashMap;

use chela_testkit::{EndpointScript, ScriptStep, StepRule};
use serde_json::{Value, json};

use crate::scene::{APIS, ScriptedHome, after_tool};
use counts::{KillCounts, WorkSpan, rounds};

/// Turns of a usual run.
const TURNS: usize = 20;
/// What commands wrote, and what the file tools wrote.
const DID: &str = ".chela/workspace/did.txt";
const EDITED: &str = ".chela/workspace/edited.txt";

#[test]
fn a_killed_turn_loses_and_repeats_nothing() {
    let turns = rounds(TURNS);
    let scene = ScriptedHome::with(
        APIS[0],
        script(turns),
        json!({ "tools": { "exec": { "mode": "full" } } }),
    );
    scene.home.write(EDITED, "the end\n");
    let span = WorkSpan::of(&scene, &["chat", "-m", &word(0)]);
    let mut counts = KillCounts::of("turns with writing tools");
    let mut before: Vec<Value> = Vec::new();
    for turn in 1..=turns {
        let args = ["chat", "-m", &word(turn)];
        counts.kill(&scene, &args, span);

        let now = entries(&scene);
        counts.expect_kept(now.starts_with(&before), || {
            format!("turn {turn}: the transcript was rewritten")
        });
        let reached = scene
            .endpoint
            .calls()
            .iter()
            .any(|call| call.body.contains(&word(turn)));
        counts.expect_kept(!reached || holds(&now, &word(turn)), || {
            format!("turn {turn} was sent and not written down")
        });
        before = now;
    }
    // The conversation goes on as if nothing had happened.
    let told = scene.chat_json(&word(turns + 1));
    assert_eq!(told["reply"], "done", "{told}");
    let last = scene.endpoint.calls().pop().unwrap().json();
    every_call_has_its_result(&last);
    scene.home.run(&["undo", "--list"]).ok();
    once_each(&scene, &entries(&scene), counts);
}

/// Each turn leaves a line, by a command or by an edit, then says so.
fn script(turns: usize) -> EndpointScript {
    let steps = (0..=turns + 1).map(|turn| {
        let word = word(turn);
        let tool = match turn % 2 {
            0 => ScriptStep::tool(
                "exec",
                json!({ "command": format!("echo {word} >> did.txt") }),
            ),
            _ => {
                let new = format!("{word}\nthe end\n");
                let edit = json!({ "path": "edited.txt", "oldText": "the end\n", "newText": new });
                ScriptStep::tool("edit", edit)
            }
        };
        ScriptStep {
            piece_ms: 2,
            ..tool
        }
        .when(StepRule {
            contains: Some(word),
            after_tool: Some(false),
            ..StepRule::default()
        })
    });
    EndpointScript::steps(steps.chain([after_tool(ScriptStep::reply("done"))]))
}

fn word(turn: usize) -> String {
    format!("turn-{turn}-end")
}

/// The transcript without its head, which says when it was last touched.
fn entries(scene: &ScriptedHome) -> Vec<Value> {
    scene
        .exported()
        .into_iter()
        .filter(|line| line["type"] != "session")
        .collect()
}

fn holds(entries: &[Value], word: &str) -> bool {
    entries
        .iter()
        .any(|entry| entry["message"]["role"] == "user" && entry.to_string().contains(word))
}

/// What servers demand: no call without a result, no result without a call.
fn every_call_has_its_result(request: &Value) {
    let mut open: HashMap<&str, bool> = HashMap::new();
    for message in request["messages"].as_array().unwrap() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let known = open.insert(call["id"].as_str().unwrap(), true);
            assert_eq!(known, None, "{call} is asked for twice");
        }
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            assert_eq!(open.insert(id, false), Some(true), "{message}");
        }
    }
    let without: Vec<_> = open.iter().filter(|(_, open)| **open).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// Work whose end was written down was done once; no work was done twice.
fn once_each(scene: &ScriptedHome, entries: &[Value], mut counts: KillCounts) {
    let edited = scene.home.read(EDITED);
    assert!(edited.ends_with("the end\n"), "half a file: {edited}");
    let lines = [scene.home.read(DID), edited.replace("the end\n", "")].concat();
    let mut times: HashMap<&str, usize> = HashMap::new();
    for line in lines.lines() {
        *times.entry(line).or_default() += 1;
    }
    let again = times.iter().filter(|(_, times)| **times > 1);
    counts.done_twice(again.map(|(word, times)| format!("{word}: {times} times")));
    let completed = entries
        .iter()
        .filter(|entry| entry["message"]["role"] == "toolResult")
        .filter(|entry| entry["message"]["isError"] != true)
        .count();
    counts.expect_kept(completed <= times.len(), || {
        format!("{completed} on record as done, and {lines}")
    });
    assert!(
        completed > 0,
        "every turn was killed before it did anything"
    );
    let done = times.len();
    counts.finish(scene, format!("{done} done, {completed} on record as done"));
}
