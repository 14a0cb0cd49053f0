//! What an agent starts in the background wakes it when it ends: in the chat, and in one answer.

use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, StepRule};
use serde_json::json;

use crate::chat::terminal::ChatTerminal;
use crate::scene::{APIS, ScriptedHome, after_tool};

fn when(text: &str, step: ScriptStep) -> ScriptStep {
    step.when(StepRule {
        contains: Some(text.into()),
        after_tool: Some(false),
        ..StepRule::default()
    })
}

/// An agent that hands work on when it is told to, to a sub-agent that does `child`.
fn scene(child: ScriptStep) -> ScriptedHome {
    let spawn = json!({ "task": "look into the safe", "label": "safe" });
    let run = json!({ "command": "sleep 2; echo red", "background": true });
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            when("[Subagent Task]", child),
            when(
                "in the background has ended",
                ScriptStep::reply("It has a colour."),
            ),
            when("hand it on", ScriptStep::tool("sessions_spawn", spawn)),
            when("run it", ScriptStep::tool("exec", run)),
            after_tool(ScriptStep::reply("Started.")),
        ])
    };
    ScriptedHome::with(
        APIS[0],
        script,
        json!({ "tools": { "exec": { "mode": "full" } } }),
    )
}

fn slow() -> ScriptStep {
    ScriptStep {
        delay_ms: 1_500,
        ..ScriptStep::reply("The safe is blue.")
    }
}

#[test]
fn one_answer_waits_for_its_sub_agents() {
    let scene = scene(slow());
    let said = scene.chat("hand it on").answered();
    assert_eq!(said, "Started.\n\nIt has a colour.\n");
    let told = scene.chat_json("hand it on");
    assert_eq!(told["reply"], "It has a colour.", "{told}");
    assert_eq!(told["steps"], 3, "{told}");
    assert!(told["endedWithIt"].is_null(), "{told}");
    let requests = scene.endpoint.calls();
    let woken = requests.last().unwrap().json()["messages"].to_string();
    assert!(woken.contains("Status: done") && woken.contains("The safe is blue."));
}

#[test]
fn who_does_not_wait_says_what_it_ended() {
    let scene = scene(ScriptStep::reply("x").fault(AnswerFault::Stall(0)));
    let run = scene.home.run(&["chat", "-m", "hand it on", "--wait", "0"]);
    assert_eq!((run.code, run.out.as_str()), (0, "Started.\n"), "{run:?}");
    assert!(
        run.err.contains("ended with this chat: sub-agent `safe`"),
        "{run:?}"
    );
    scene.chat("and?").answered();
    let told = scene.endpoint.calls().last().unwrap().json()["messages"].to_string();
    assert!(told.contains("Status: stopped"), "{told}");
    let run = scene.home.run(&["chat", "-m", "run it"]);
    assert!(
        run.err.contains("command p1 `sleep 2; echo red`"),
        "{run:?}"
    );
    let told = scene.chat_json("run it");
    assert_eq!(
        told["endedWithIt"],
        // Another command than the one of the process before, so another name.
        json!(["command p2 `sleep 2; echo red`"]),
        "{told}"
    );
}

#[test]
fn an_idle_chat_wakes_by_itself() {
    let scene = scene(slow());
    let mut terminal = ChatTerminal::open(&scene.home, &[]);
    terminal.sees("/help lists commands");
    for (ask, cause) in [
        ("hand it on", "sub-agent `safe` has ended"),
        ("run it", "p1"),
    ] {
        terminal.types(&format!("{ask}\r"));
        terminal.sees("Started.");
        terminal.sees("Woken: ");
        terminal.sees(cause);
        terminal.sees("It has a colour.");
    }
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
}
