//! How a yes is had is said as it is: on the spot, later by `/approve`, or not at all.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::json;

use super::{agreeing, last_message, last_request, when};
use crate::chat::terminal::ChatTerminal;
use crate::scene::{APIS, ScriptedHome};

/// An agent that runs a command nobody listed when it is told to.
fn running(more: serde_json::Value) -> ScriptedHome {
    let run = json!({ "command": "touch made.txt" });
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([when("run it", ScriptStep::tool("exec", run))])
    };
    ScriptedHome::without_canary(APIS[0], script, more)
}

#[test]
fn d6_in_the_chat_the_user_is_asked_on_the_spot() {
    let scene = agreeing(json!({}));
    let mut terminal = ChatTerminal::open(&scene.home, &[]);
    terminal.sees("/help lists commands");
    terminal.types("hello\r");
    terminal.sees("I see.");
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
    let request = last_request(&scene).to_string();
    assert!(
        request.contains("the user is asked on the spot"),
        "{request}"
    );
    assert!(!request.contains("show the user the concrete"), "{request}");
}

#[test]
fn d6_where_nobody_is_there_nothing_is_promised() {
    let scene = running(json!({ "tools": { "exec": { "mode": "ask" } } }));
    scene.chat("run it").answered();
    let request = last_request(&scene).to_string();
    assert!(
        request.contains("nobody can be asked in this run"),
        "{request}"
    );
    assert!(!request.contains("show the user the concrete"), "{request}");
    assert!(!last_message(&scene).contains("/approve"), "nothing waits");
}

#[test]
fn d6_a_commands_own_question_waits_and_the_result_says_how_to_answer_it() {
    let scene = running(json!({
        "tools": { "exec": { "mode": "ask" } },
        "guard": { "approvals": { "headless": "queue" } },
    }));
    scene.chat("run it").answered();
    assert!(
        last_request(&scene)
            .to_string()
            .contains("show the user the concrete `/approve`")
    );
    let result = last_message(&scene);
    let typed = result.split_once("`/approve ");
    assert!(typed.is_some(), "{result}");
    let id = typed.unwrap().1.split(' ').next().unwrap().to_owned();
    assert!(!scene.home.exists(".chela/workspace/made.txt"));

    let shown = scene.chat(&format!("/approve {id}")).ok();
    assert!(shown.contains("touch made.txt"), "{shown}");
    let allowed = scene.chat(&format!("/approve {id} once")).ok();
    assert!(allowed.contains("Allowed once"), "{allowed}");
    scene.chat("run it").answered();
    assert!(scene.home.exists(".chela/workspace/made.txt"));
    // A yes that was given once is spent.
    std::fs::remove_file(scene.home.path(".chela/workspace/made.txt")).unwrap();
    scene.chat("run it").answered();
    assert!(!scene.home.exists(".chela/workspace/made.txt"));
}
