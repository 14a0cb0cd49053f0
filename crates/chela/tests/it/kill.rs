//! kill -9 at random points: what was accepted stays, what was done is not done again.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod compaction;
mod settlement;
mod spawn;

use std::collections::HashMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use chela_testkit::{EndpointScript, ScriptStep, StepRule};
use serde_json::{Value, json};

use crate::scene::{APIS, ScriptedHome, after_tool};

/// Turns of a usual run; `CHELA_KILL_TURNS` sets another number.
const TURNS: usize = 20;

#[test]
fn a_killed_turn_loses_and_repeats_nothing() {
    let turns = rounds(TURNS);
    let scene = ScriptedHome::with(
        APIS[0],
        script(turns),
        json!({ "tools": { "exec": { "mode": "full" } } }),
    );
    let whole = time_of_a_turn(&scene);
    let mut random = Random(0x5eed);
    let mut before: Vec<Value> = Vec::new();
    for turn in 1..=turns {
        let args = ["chat", "-m", &word(turn)];
        killed(&scene, &args, whole.mul_f64(random.next() * 1.2));

        let now = entries(&scene);
        assert!(
            now.starts_with(&before),
            "turn {turn}: the transcript was rewritten"
        );
        let reached = scene
            .endpoint
            .calls()
            .iter()
            .any(|call| call.body.contains(&word(turn)));
        if reached {
            assert!(
                holds(&now, &word(turn)),
                "turn {turn} was sent and not written down"
            );
        }
        before = now;
    }
    // The conversation goes on as if nothing had happened.
    let told = scene.chat_json(&word(turns + 1));
    assert_eq!(told["reply"], "done", "{told}");
    let last = scene.endpoint.calls().pop().unwrap().json();
    every_call_has_its_result(&last);
    once_each(&scene, &entries(&scene));
}

/// How many are killed: as many as usual, or as `CHELA_KILL_TURNS` says.
fn rounds(usual: usize) -> usize {
    std::env::var("CHELA_KILL_TURNS")
        .ok()
        .and_then(|turns| turns.parse().ok())
        .unwrap_or(usual)
}

/// Runs the binary and kills it after a while.
fn killed(scene: &ScriptedHome, args: &[&str], after: Duration) {
    let mut child = scene
        .home
        .command()
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let _ = child.kill();
    child.wait().unwrap();
}

fn time_of(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// Each turn runs a command that leaves a line, then says so.
fn script(turns: usize) -> EndpointScript {
    let steps = (0..=turns + 1).map(|turn| {
        let command = format!("echo {} >> did.txt", word(turn));
        ScriptStep {
            piece_ms: 2,
            ..ScriptStep::tool("exec", json!({ "command": command }))
        }
        .when(StepRule {
            contains: Some(word(turn)),
            after_tool: Some(false),
            ..StepRule::default()
        })
    });
    EndpointScript::steps(steps.chain([after_tool(ScriptStep::reply("done"))]))
}

fn word(turn: usize) -> String {
    format!("turn-{turn}-end")
}

fn time_of_a_turn(scene: &ScriptedHome) -> Duration {
    time_of(|| {
        let told = scene.chat_json(&word(0));
        assert_eq!(told["reply"], "done", "{told}");
    })
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

/// A command whose end was written down has run once; no command has run twice.
fn once_each(scene: &ScriptedHome, entries: &[Value]) {
    let did = std::fs::read_to_string(scene.home.path(".chela/workspace/did.txt")).unwrap();
    let mut times: HashMap<&str, usize> = HashMap::new();
    for line in did.lines() {
        *times.entry(line).or_default() += 1;
    }
    let twice: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let completed = entries
        .iter()
        .filter(|entry| entry["message"]["role"] == "toolResult")
        .filter(|entry| entry["message"]["isError"] != true)
        .count();
    assert!(completed <= did.lines().count(), "{completed} done, {did}");
    assert!(
        completed > 0,
        "every turn was killed before it did anything"
    );
}

/// Numbers from 0 to 1, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
