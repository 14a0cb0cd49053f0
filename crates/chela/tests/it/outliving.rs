//! Commands and the process that started them: none outlives it, and who says that nothing runs has
//! looked.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::process::{Child, Stdio};

use chela_testkit::{EndpointScript, ScriptStep, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::scene::{APIS, ScriptedHome};

/// Says its number, and would leave a second file in the end.
const WORK: &str = "echo $$ > begun; sleep 60; touch ended";

/// Runs a command on the machine itself.
fn working(command: &str) -> ScriptedHome {
    ScriptedHome::with(
        APIS[0],
        EndpointScript::steps([
            ScriptStep::tool("exec", json!({ "command": command, "timeoutSeconds": 90 })),
            ScriptStep::reply("done"),
        ]),
        json!({ "tools": { "exec": { "mode": "full", "host": "gateway" } } }),
    )
}

/// The chat, and the number of the process that works.
fn begun(scene: &ScriptedHome) -> (Child, u32) {
    let child = scene
        .home
        .command()
        .args(["chat", "-m", "go"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let number = || {
        let begun = std::fs::read_to_string(scene.home.path(".chela/workspace/begun"));
        begun.ok()?.trim().parse().ok()
    };
    wait_until("the command begins", || number().is_some());
    (child, number().unwrap())
}

/// Waits until a process is no more, long before it would have ended by itself.
#[track_caller]
fn ends_unfinished(scene: &ScriptedHome, number: u32) {
    wait_until("the command ends", || {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        // One that is dead and nobody has asked about yet does nothing any more.
        let state = stat.rsplit(')').next().unwrap_or_default();
        state.trim_start().is_empty() || state.trim_start().starts_with(['Z', 'X'])
    });
    assert!(!scene.home.exists(".chela/workspace/ended"));
}

#[test]
fn terminating_and_hanging_up_stop_a_turn_and_its_command() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let scene = working(WORK);
        let (mut child, number) = begun(&scene);
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(4), "{signal:?}");
        ends_unfinished(&scene, number);
    }
}

#[test]
fn a_killed_process_takes_its_command_along() {
    let scene = working(WORK);
    let (mut child, number) = begun(&scene);
    child.kill().unwrap();
    child.wait().unwrap();
    ends_unfinished(&scene, number);
}

/// What left the command's own process behind is found by the mark it carries.
#[test]
fn what_outlived_its_program_is_ended_by_the_next_and_by_stopping() {
    for ending in [vec!["chat", "-m", "again"], vec!["stop", "--all"]] {
        let scene = working(&format!("sh -c '{WORK}' & wait"));
        let (mut child, number) = begun(&scene);
        child.kill().unwrap();
        child.wait().unwrap();
        let run = scene.home.run(&ending);
        let told = format!("{}{}", run.out, run.err);
        assert!(
            told.contains("topped a command that was left running")
                || told.contains("topped a command left running"),
            "{told}"
        );
        ends_unfinished(&scene, number);
    }
}

#[test]
fn nothing_is_said_to_run_before_it_was_looked() {
    let scene = working(WORK);
    let (mut child, number) = begun(&scene);
    let told = scene.home.run(&["stop", "--all"]).ok();
    assert!(told.contains("nothing runs"), "{told}");
    let told = scene.home.run(&["stop", "--all", "--json"]).json();
    assert_eq!(
        (&told["turnsRunning"], &told["commandsRunning"]),
        (&json!(0), &json!([]))
    );
    assert_eq!(child.wait().unwrap().code(), Some(4));
    ends_unfinished(&scene, number);
}
