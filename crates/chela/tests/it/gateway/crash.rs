//! kill -9 in the middle: what was accepted is answered, once.

use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, StepRule, wait_until};
use serde_json::json;

use super::{TestGateway, message};
use crate::scene::{APIS, ScriptedHome, after_tool};

/// Asks, and does not wait for the answer.
fn leave_message(gateway: &TestGateway, key: &str, text: &str) -> std::net::TcpStream {
    use std::io::Write as _;
    let body = message(text).to_string();
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: {}\r\nidempotency-key: {key}\r\nx-chela-session-key: main\r\ncontent-length: {}\r\n\r\n{body}",
        gateway.bearer(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

fn ask_again(gateway: &TestGateway, key: &str, text: &str) -> String {
    let headers = [("idempotency-key", key), ("x-chela-session-key", "main")];
    super::said(&gateway.post_with("/v1/chat/completions", &headers, &message(text)))
}

#[test]
fn a_message_whose_turn_was_killed_is_answered_once_after_the_start() {
    let stalls = ScriptStep {
        times: Some(1),
        ..ScriptStep::reply("never heard").fault(AnswerFault::Stall(0))
    };
    let stalls = stalls.when(StepRule::default());
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("the answer")),
        ..EndpointScript::steps([stalls])
    };
    let scene = ScriptedHome::new(script);
    let gateway = TestGateway::start(&scene.home);
    let _asked = leave_message(&gateway, "k1", "what is it?");
    wait_until("the model is asked", || scene.endpoint.calls().len() == 1);
    gateway.kill();

    let gateway = TestGateway::start(&scene.home);
    gateway.wait_for_metric("chela_work_answered_total", 1);
    assert_eq!(gateway.metric("chela_work_resumed_total"), 1);
    // Whoever asks again with the same key gets that answer and no other turn.
    assert_eq!(ask_again(&gateway, "k1", "what is it?"), "the answer");
    assert_eq!(scene.endpoint.calls().len(), 2);
    let exported = scene
        .home
        .run(&["sessions", "export", "agent:main:main"])
        .ok();
    assert_eq!(exported.matches("what is it?").count(), 1, "{exported}");
    assert_eq!(
        exported.matches("The process ended while").count(),
        1,
        "{exported}"
    );
}

#[test]
fn what_a_killed_turn_did_is_not_done_again() {
    let act = ScriptStep::tool("exec", json!({ "command": "echo did >> did.txt" }));
    let stalls = ScriptStep {
        times: Some(1),
        ..after_tool(ScriptStep::reply("never heard").fault(AnswerFault::Stall(0)))
    };
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("finished")),
        ..EndpointScript::steps([
            stalls,
            act.when(StepRule {
                contains: Some("please act".into()),
                after_tool: Some(false),
                ..StepRule::default()
            }),
        ])
    };
    let scene = ScriptedHome::with(
        APIS[0],
        script,
        json!({ "tools": { "exec": { "mode": "full" } } }),
    );
    let gateway = TestGateway::start(&scene.home);
    let _asked = leave_message(&gateway, "k2", "please act");
    wait_until("the command ran and the model heard of it", || {
        scene.endpoint.calls().len() == 2
    });
    gateway.kill();
    let gateway = TestGateway::start(&scene.home);
    assert_eq!(ask_again(&gateway, "k2", "please act"), "finished");
    assert_eq!(scene.home.read(".chela/workspace/did.txt"), "did\n");
}

#[test]
fn what_waited_in_line_is_answered_in_its_order() {
    let stalls = ScriptStep {
        times: Some(1),
        ..ScriptStep::reply("never heard").fault(AnswerFault::Stall(0))
    };
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("ok")),
        ..EndpointScript::steps([stalls.when(StepRule::default())])
    };
    let scene = ScriptedHome::with(
        APIS[0],
        script,
        json!({ "messages": { "queue": { "mode": "followup" } } }),
    );
    let gateway = TestGateway::start(&scene.home);
    let mut asked = Vec::new();
    for at in 1..=4 {
        let text = format!("message number {at}");
        asked.push(leave_message(&gateway, &format!("q{at}"), &text));
        gateway.wait_for_metric("chela_work_accepted_total", at);
    }
    wait_until("the model is asked", || scene.endpoint.calls().len() == 1);
    gateway.kill();
    let gateway = TestGateway::start(&scene.home);
    gateway.wait_for_metric("chela_work_answered_total", 4);
    let exported = scene
        .home
        .run(&["sessions", "export", "agent:main:main"])
        .ok();
    let places: Vec<usize> = (1..=4)
        .map(|at| {
            let text = format!("message number {at}");
            assert_eq!(exported.matches(&text).count(), 1, "{exported}");
            exported.find(&text).unwrap()
        })
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}
