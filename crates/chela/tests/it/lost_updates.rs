//! Many who change one file at once: whatever was reported as done is in the file.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use chela_testkit::{EndpointScript, ScriptStep, ScriptedCall, StepRule};
use serde_json::json;

use crate::scene::{APIS, ScriptedHome, after_tool};

const FILE: &str = ".chela/workspace/ledger.txt";

/// The line one writer adds in one round; no such word is part of another.
fn word(writer: usize, round: usize) -> String {
    format!("w{writer}-r{round}-z")
}

/// Adds the line before the end of the file.
fn edit(word: &str) -> ScriptStep {
    let arguments = json!({ "path": "ledger.txt", "oldText": "the end\n", "newText": format!("{word}\nthe end\n") });
    ScriptStep::tool("edit", arguments).when(asked(word))
}

fn patch(word: &str) -> ScriptStep {
    let patch = format!(
        "*** Begin Patch\n*** Update File: ledger.txt\n@@\n+{word}\n the end\n*** End Patch"
    );
    ScriptStep::tool("apply_patch", json!({ "patch": patch })).when(asked(word))
}

fn asked(word: &str) -> StepRule {
    StepRule {
        contains: Some(word.to_owned()),
        after_tool: Some(false),
        ..StepRule::default()
    }
}

fn scene(writers: usize, rounds: usize) -> ScriptedHome {
    let steps = (0..writers).flat_map(|writer| {
        (0..rounds).map(move |round| match round % 3 {
            2 => patch(&word(writer, round)),
            _ => edit(&word(writer, round)),
        })
    });
    let script = EndpointScript::steps(steps.chain([after_tool(ScriptStep::reply("done"))]));
    let scene = ScriptedHome::new(script);
    scene.home.write(FILE, "the end\n");
    scene
}

/// How many changes the endpoint was told of as done: each once, by the request that brings the
/// result.
fn reported(scene: &ScriptedHome) -> usize {
    let calls = scene.endpoint.calls();
    let newest = calls
        .iter()
        .filter_map(|call| call.json()["messages"].as_array()?.last().cloned());
    newest
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .filter(|told| told.contains("Edited ledger.txt") || told.contains("Updated ledger.txt"))
        .count()
}

fn many_processes(writers: usize, rounds: usize) {
    let scene = scene(writers, rounds);
    for round in 0..rounds {
        let together = Barrier::new(writers);
        std::thread::scope(|scope| {
            for writer in 0..writers {
                let (scene, together) = (&scene, &together);
                scope.spawn(move || {
                    let session = format!("agent:main:w{writer}");
                    together.wait();
                    let word = word(writer, round);
                    scene
                        .home
                        .run(&["chat", "--session", &session, "-m", &word])
                        .ok();
                });
            }
        });
    }
    assert_eq!(
        reported(&scene),
        writers * rounds,
        "every change was told as done"
    );
    all_there(&scene, writers, rounds);
    assert_eq!(
        scene.home.read(FILE).lines().count(),
        writers * rounds + 1,
        "nothing is there twice"
    );
}

fn all_there(scene: &ScriptedHome, writers: usize, rounds: usize) {
    let text = scene.home.read(FILE);
    let lost: Vec<String> = (0..writers)
        .flat_map(|writer| (0..rounds).map(move |round| word(writer, round)))
        .filter(|word| !text.lines().any(|line| line == word))
        .collect();
    assert!(
        lost.is_empty(),
        "reported as done and not in the file: {lost:?}"
    );
    let left: Vec<String> = std::fs::read_dir(scene.home.path(".chela/workspace"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn two_processes_lose_nothing() {
    many_processes(2, 6);
}

#[test]
fn eight_processes_lose_nothing() {
    many_processes(8, 3);
}

/// Sub-agents of one process write at the same time too.
#[test]
fn eight_sub_agents_lose_nothing() {
    const WRITERS: usize = 8;
    let spawn = ScriptStep {
        tool_calls: (0..WRITERS)
            .map(|writer| ScriptedCall {
                name: "sessions_spawn".to_owned(),
                arguments: json!({ "task": format!("add {}", word(writer, 0)) }),
                id: None,
            })
            .collect(),
        ..ScriptStep::default()
    }
    .when(asked("start them"));
    let woken = ScriptStep::reply("I see.").when(asked("in the background has ended"));
    let edits = (0..WRITERS).map(|writer| edit(&word(writer, 0)));
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps(
            std::iter::once(woken)
                .chain(edits)
                .chain([spawn, after_tool(ScriptStep::reply("done"))]),
        )
    };
    let more = json!({ "agents": { "defaults": { "subagents": { "maxChildrenPerAgent": 8, "maxConcurrent": 8 } } } });
    let scene = ScriptedHome::with(APIS[0], script, more);
    scene.home.write(FILE, "the end\n");
    scene.chat("start them").ok();
    all_there(&scene, WRITERS, 1);
}

/// The owner saves the file in an editor, again and again, while an agent changes it.
#[test]
fn what_the_owner_saves_meanwhile_is_not_lost() {
    const ROUNDS: usize = 6;
    let scene = scene(1, ROUNDS);
    let path = scene.home.path(FILE);
    let copy = scene.home.path("editor-copy");
    let done = AtomicBool::new(false);
    let saves = std::thread::scope(|scope| {
        let editor = scope.spawn(|| {
            let mut saved = 0;
            while !done.load(Ordering::Relaxed) {
                let text = std::fs::read_to_string(&path).unwrap();
                for number in 0..saved {
                    assert!(
                        text.contains(&format!("<{number}>")),
                        "save {number} is lost"
                    );
                }
                std::fs::write(&copy, format!("<{saved}>\n{text}")).unwrap();
                std::fs::rename(&copy, &path).unwrap();
                saved += 1;
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
            saved
        });
        for round in 0..ROUNDS {
            scene.chat(&word(0, round)).ok();
        }
        done.store(true, Ordering::Relaxed);
        editor.join().unwrap()
    });
    let text = scene.home.read(FILE);
    for number in 0..saves {
        assert!(
            text.contains(&format!("<{number}>")),
            "save {number} is lost"
        );
    }
}
