//! Commands and the process that started them: none outlives it, and who says that nothing runs has
//! looked.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use chela_testkit::{EndpointScript, ScriptStep};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::scene::{APIS, ScriptedHome};

/// Runs a command on the machine itself that would leave a second line.
fn working(command: &str) -> ScriptedHome {
    ScriptedHome::with(
        APIS[0],
        EndpointScript::steps([
            ScriptStep::tool("exec", json!({ "command": command, "timeoutSeconds": 60 })),
            ScriptStep::reply("done"),
        ]),
        json!({ "tools": { "exec": { "mode": "full", "host": "gateway" } } }),
    )
}

fn begun(scene: &ScriptedHome) -> Child {
    let child = scene
        .home
        .command()
        .args(["chat", "-m", "go"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    waits_for("the command begins", || {
        scene.home.exists(".chela/workspace/begun")
    });
    child
}

#[track_caller]
fn waits_for(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn terminating_and_hanging_up_stop_a_turn_and_its_command() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let scene = working("touch begun; sleep 3; touch ended");
        let mut child = begun(&scene);
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(4), "{signal:?}");
        std::thread::sleep(Duration::from_secs(4));
        assert!(!scene.home.exists(".chela/workspace/ended"), "{signal:?}");
    }
}

#[test]
fn a_killed_process_takes_its_command_along() {
    let scene = working("touch begun; sleep 3; touch ended");
    let mut child = begun(&scene);
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_secs(4));
    assert!(!scene.home.exists(".chela/workspace/ended"));
}

/// What left the command's own process behind is found by the mark it carries.
#[test]
fn what_outlived_its_program_is_ended_by_the_next_and_by_stopping() {
    for ending in [vec!["chat", "-m", "again"], vec!["stop", "--all"]] {
        let scene = working("touch begun; (sleep 8; touch ended) & wait");
        let mut child = begun(&scene);
        child.kill().unwrap();
        child.wait().unwrap();
        let run = scene.home.run(&ending);
        let told = format!("{}{}", run.out, run.err);
        assert!(
            told.contains("topped a command that was left running")
                || told.contains("topped a command left running"),
            "{told}"
        );
        std::thread::sleep(Duration::from_secs(9));
        assert!(!scene.home.exists(".chela/workspace/ended"), "{ending:?}");
    }
}

#[test]
fn nothing_is_said_to_run_before_it_was_looked() {
    let scene = working("touch begun; sleep 30; touch ended");
    let mut child = begun(&scene);
    let told = scene.home.run(&["stop", "--all"]).ok();
    assert!(told.contains("nothing runs"), "{told}");
    let told = scene.home.run(&["stop", "--all", "--json"]).json();
    assert_eq!(
        (&told["turnsRunning"], &told["commandsRunning"]),
        (&json!(0), &json!([]))
    );
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert!(!scene.home.exists(".chela/workspace/ended"));
}
