//! Who wakes the agent: ends of what it started, and nothing else.

use std::time::Duration;

use chela_testkit::{ScriptStep, StepRule};
use serde_json::json;

use super::{Home, child, one_child, spawn, stalled};

fn woken(step: ScriptStep) -> ScriptStep {
    step.when(StepRule {
        contains: Some("in the background has ended".into()),
        ..StepRule::default()
    })
}

/// Waits until the agent is to be woken, and wakes it; what it says.
fn wake(home: &Home) -> Option<String> {
    home.run(async {
        home.talk().background().until_woken(&home.watched).await;
        let outcome = home.talk().wake(&home.watched).await.expect("an outcome");
        outcome.map(|outcome| format!("{:?}", outcome.reply))
    })
}

#[test]
fn the_end_of_a_sub_agent_wakes_it_once() {
    let home = Home::new(
        [
            // It ends after the turn that started it, or that turn would hear of it.
            child(
                "",
                ScriptStep {
                    delay_ms: 1_500,
                    ..ScriptStep::reply("The safe is blue.")
                },
            ),
            woken(ScriptStep::reply("It is blue.")),
            spawn(json!({ "task": "look", "label": "safe" })),
            ScriptStep::reply("Started."),
        ],
        json!({}),
    );
    home.say("what colour is it?");
    let said = wake(&home).expect("a turn");
    assert!(said.contains("It is blue."), "{said}");
    let told = home.requests().pop().expect("a request").to_string();
    assert!(told.contains("Status: done") && told.contains("The safe is blue."));
    // The model has heard of it: there is nothing left to wake it for.
    let again = home
        .run(home.talk().wake(&home.watched))
        .expect("no failure");
    assert!(again.is_none());
    assert_eq!(home.talk().background().ended_untold(), [""; 0]);
}

#[test]
fn the_end_of_a_command_wakes_it() {
    let home = Home::new(
        [
            woken(ScriptStep::reply("It printed red.")),
            ScriptStep::tool(
                "exec",
                json!({ "command": "sleep 1; echo red", "background": true }),
            ),
            ScriptStep::reply("Started."),
        ],
        json!({ "tools": { "exec": { "security": "full", "ask": "off" } } }),
    );
    home.say("run it");
    let said = wake(&home).expect("a turn");
    assert!(said.contains("It printed red."), "{said}");
    let told = home.requests().pop().expect("a request").to_string();
    assert!(told.contains("red"), "{told}");
}

#[test]
fn what_was_stopped_or_wants_no_word_wakes_nobody() {
    let quiet = Home::new(one_child("ANNOUNCE_SKIP"), json!({}));
    let stopped = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "x" })),
            ScriptStep::reply("Started."),
        ],
        json!({}),
    );
    for home in [&quiet, &stopped] {
        home.say("go");
        stopped.talk().stop();
        home.settle();
        assert_eq!(home.talk().background().ended_untold(), [""; 0]);
        let woken = home.run(async {
            let woken = home.talk().background().until_woken(&home.watched);
            tokio::time::timeout(Duration::from_millis(50), woken).await
        });
        assert!(woken.is_err(), "it was woken");
    }
}

#[test]
fn a_question_outlives_the_turn_it_was_asked_in() {
    let asks = ScriptStep {
        times: Some(1),
        delay_ms: 200,
        ..child(
            "",
            ScriptStep::tool("exec", json!({ "command": "touch asked.txt" })),
        )
    };
    let home = Home::new(
        [
            asks,
            child("", ScriptStep::reply("Asked.")),
            woken(ScriptStep::reply("Good.")),
            spawn(json!({ "task": "ask", "label": "curious" })),
            ScriptStep::reply("Started."),
        ],
        json!({ "tools": { "exec": { "ask": "always", "security": "allowlist" } } }),
    );
    // The turn is over before the sub-agent asks, and nobody watches for a while.
    home.say("go");
    home.run(async { tokio::time::sleep(Duration::from_millis(400)).await });
    wake(&home).expect("a turn");
    assert_eq!(home.watched.asked.lock().expect("a lock").len(), 1);
    let workspace = home.host.state_dir().join("workspace");
    assert!(workspace.join("asked.txt").exists(), "a yes counts");
}
