//! What a running command is told is judged as a command.

use chela_testkit::ScriptStep;
use serde_json::json;

use super::running::{RunningHome, exec_with, was_asked};

fn types(data: &str) -> ScriptStep {
    ScriptStep::tool(
        "process",
        json!({ "action": "submit", "sessionId": "p1", "data": data }),
    )
}

#[test]
fn a_yes_for_a_shell_is_no_yes_for_what_it_is_told() {
    let home = RunningHome::without_sandbox(json!({}));
    home.allows("/bin/sh", &[], "");
    let started = exec_with("sh", json!({ "background": true }));
    let results = home.plays("one", [started, types("touch pwned; echo told")]);
    assert!(!was_asked(&results[0]), "{results:?}");
    assert!(was_asked(&results[1]), "{results:?}");
    assert!(!home.exists("pwned"));
}

#[test]
fn a_shell_in_the_sandbox_is_told_freely() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    let started = exec_with("sh", json!({ "background": true }));
    let results = home.plays(
        "one",
        [home.page(), started, types("touch made; echo told")],
    );
    assert!(results[2].contains("told"), "{results:?}");
    assert!(home.exists("made"), "{results:?}");
}
