//! Killed while sub-agents are started, work or end: each start is on record, each end is told
//! once, whether it was one or not.

use std::collections::BTreeMap;

use chela_testkit::{EndpointScript, ScriptStep, StepRule};
use serde_json::{Value, json};

use super::{KillCounts, WorkSpan, entries, rounds};
use crate::scene::{ScriptedHome, after_tool};

fn script() -> EndpointScript {
    let child = ScriptStep {
        piece_ms: 2,
        ..ScriptStep::reply("The safe is blue, as far as one can see.")
    }
    .when(StepRule {
        contains: Some("[Subagent Task]".into()),
        ..StepRule::default()
    });
    let spawn = ScriptStep::tool("sessions_spawn", json!({ "task": "look into the safe" })).when(
        StepRule {
            contains: Some("start-one".into()),
            after_tool: Some(false),
            ..StepRule::default()
        },
    );
    EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            child,
            woken(),
            spawn,
            after_tool(ScriptStep::reply("Started.")),
        ])
    }
}

/// The turn about an end: the last message speaks of what ended.
fn woken() -> ScriptStep {
    ScriptStep::reply("It is blue.").when(StepRule {
        contains: Some("in the background has ended".into()),
        after_tool: Some(false),
        ..StepRule::default()
    })
}

#[test]
fn a_killed_start_leaves_a_run_or_none() {
    let scene = ScriptedHome::new(script());
    let say = |n: usize| format!("start-one number {n}");
    let span = WorkSpan::of(&scene, &["chat", "-m", &say(0)]);
    let mut counts = KillCounts::of("spawn");
    let rounds = rounds(8);
    for round in 1..=rounds {
        let before = entries(&scene);
        let args = ["chat", "-m", &say(round)];
        counts.kill(&scene, &args, span);
        let after = entries(&scene);
        counts.expect_kept(after.starts_with(&before), || {
            format!("round {round}: the transcript was rewritten")
        });
    }
    // Whoever speaks next hears of those that were cut off.
    scene.chat("what became of them?").ok();
    let all = entries(&scene);
    let marks: Vec<&Value> = all
        .iter()
        .filter(|entry| entry["customType"] == "subagent-run")
        .map(|entry| &entry["data"])
        .collect();
    let started: Vec<&str> = of_state(&marks, "started");
    let ended: Vec<&str> = of_state(&marks, "ended");
    assert!(started.len() > 1, "every start was killed");
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for runs in all.iter().filter_map(|entry| runs_told(entry)) {
        for run in runs {
            *told.entry(run.as_str().unwrap()).or_default() += 1;
        }
    }
    for run in &started {
        counts.expect_kept(told.contains_key(run), || {
            format!("the end of run {run} was never told")
        });
    }
    let again = told.iter().filter(|(_, times)| **times > 1);
    counts.done_twice(again.map(|(run, times)| format!("run {run} was told {times} times")));
    assert_eq!(told.len(), started.len(), "{told:?}");
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for run in &ended {
        *ends.entry(run).or_default() += 1;
    }
    let again = ends.iter().filter(|(_, times)| **times > 1);
    counts.done_twice(again.map(|(run, times)| format!("run {run} ended {times} times")));
    // No start without its record.
    let audit = scene
        .home
        .run(&["audit", "show", "--kind", "spawn", "--json", "-n", "1000"])
        .json();
    let audit = audit.to_string();
    for run in &started {
        counts.expect_kept(audit.contains(run), || {
            format!("run {run} is not on record")
        });
    }
    let (begun, over) = (started.len(), ended.len());
    counts.finish(
        &scene,
        format!("{begun} started, {over} ended, each told once"),
    );
}

fn of_state<'m>(marks: &[&'m Value], state: &str) -> Vec<&'m str> {
    marks
        .iter()
        .filter(|mark| mark["state"]["is"] == state)
        .filter_map(|mark| mark["run"].as_str())
        .collect()
}

/// The runs a message told the model of.
fn runs_told(entry: &Value) -> Option<&Vec<Value>> {
    ["/meta/details/runs", "/details/runs"]
        .iter()
        .find_map(|place| entry.pointer(place)?.as_array())
}
