//! Everything that can go wrong at a model endpoint, and what a person is told.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::fmt::Write;

use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, ScriptedCall, ScriptedEndpoint};
use serde_json::json;

use crate::scene::{APIS, KEY, ScriptedHome, after_tool};

/// What each trouble ends in. They run at the same time: most wait a second before a retry.
#[test]
fn every_fault_is_explained() {
    let long = || {
        ScriptStep::reply("A reply that is long enough to break in the middle of it. ".repeat(4))
    };
    let html = "<!doctype html><html><head><title>Sign in</title></head><body>Captive portal</body></html>";
    let faults: Vec<(&str, EndpointScript)> = vec![
        ("wrong key", EndpointScript::always(ScriptStep::status(401))),
        ("no money", EndpointScript::always(ScriptStep::status(402))),
        ("forbidden", EndpointScript::always(ScriptStep::status(403))),
        (
            "no such model",
            EndpointScript::always(ScriptStep::status(404)),
        ),
        ("rejected", EndpointScript::always(ScriptStep::status(400))),
        (
            "server error",
            EndpointScript::always(ScriptStep::status(500)),
        ),
        (
            "page instead of an answer",
            EndpointScript::always(ScriptStep::page(200, "text/html", html)),
        ),
        (
            "empty body",
            EndpointScript::always(ScriptStep::page(200, "text/event-stream", "")),
        ),
        (
            "redirect",
            EndpointScript::always(
                ScriptStep::status(302).header("location", "http://169.254.169.254/latest/"),
            ),
        ),
        (
            "cut at once",
            EndpointScript::always(long().fault(AnswerFault::Cut(0))),
        ),
        (
            "cut in the middle",
            EndpointScript::always(long().fault(AnswerFault::Cut(900))),
        ),
        (
            "reset in the middle",
            EndpointScript::always(long().fault(AnswerFault::Reset(900))),
        ),
        (
            "garbage",
            EndpointScript::always(long().fault(AnswerFault::Garbage(
                "data: {\"choices\": [}\n\n".to_owned(),
            ))),
        ),
        (
            "error in the stream",
            EndpointScript::always(long().fault(AnswerFault::Error {
                kind: "overloaded_error".to_owned(),
                message: "Overloaded".to_owned(),
            })),
        ),
        (
            "stall",
            EndpointScript::always(long().fault(AnswerFault::Stall(600))),
        ),
        (
            "no headers",
            EndpointScript::always(ScriptStep {
                delay_ms: 60_000,
                ..long()
            }),
        ),
        (
            "too long",
            EndpointScript {
                context_window: Some(10),
                ..EndpointScript::always(long())
            },
        ),
    ];
    let told: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = faults
            .into_iter()
            .map(|(name, script)| scope.spawn(move || explained(name, script)))
            .collect();
        running.into_iter().map(|run| run.join().unwrap()).collect()
    });
    insta::assert_snapshot!(told.concat());
}

fn explained(name: &str, script: EndpointScript) -> String {
    let patience = json!({ "models": { "providers": { "kit": { "timeoutSeconds": 1 } } } });
    let scene = ScriptedHome::with(APIS[0], script, patience);
    let run = scene.chat("hi");
    let calls = scene.endpoint.calls().len();
    let address = scene.endpoint.url();
    let address = address.trim_start_matches("http://");
    let mut told = format!("## {name}: exit {}, asked {calls} times\n", run.code);
    for text in [&run.out, &run.err] {
        assert!(!text.contains(KEY), "{name}: {text}");
        for line in text.replace(address, "ADDRESS").lines() {
            // How long the prompt is changes with every sentence of it.
            let line = match line.split_once("context size: ") {
                Some((told, _)) => format!("{told}context size: …"),
                None => line.to_owned(),
            };
            let _ = writeln!(told, "  {line}");
        }
    }
    // The message was accepted, whatever came of it.
    let kept = serde_json::to_string(&scene.exported()).unwrap();
    assert!(kept.contains("\"hi\""), "{name}: {kept}");
    told
}

#[test]
fn trouble_that_passes_is_waited_out() {
    let busy = ScriptStep::status(429).header("retry-after", "1");
    let passing = [
        ("429 with Retry-After", busy),
        ("529", ScriptStep::status(529)),
        ("500", ScriptStep::status(500)),
        (
            "cut",
            ScriptStep::reply("half of").fault(AnswerFault::Cut(300)),
        ),
    ];
    std::thread::scope(|scope| {
        for (name, step) in passing {
            scope.spawn(move || {
                let scene =
                    ScriptedHome::new(EndpointScript::steps([step, ScriptStep::reply("there")]));
                let told = scene.chat_json("hi");
                assert_eq!(told["reply"], "there", "{name}: {told}");
                assert_eq!(scene.endpoint.calls().len(), 2, "{name}");
            });
        }
    });
}

#[test]
fn a_fallback_answers_for_a_model_that_cannot() {
    let second =
        ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply("from the second")))
            .unwrap();
    let more = json!({
        "models": { "providers": { "spare": {
            "baseUrl": second.url(),
            "api": "anthropic-messages",
            "apiKey": "k",
            "models": [{ "id": "other", "contextWindow": 64_000 }],
        } } },
        "agents": { "defaults": { "model": {
            "primary": "kit/scripted", "fallbacks": ["spare/other"],
        } } },
    });
    let scene = ScriptedHome::with(
        APIS[0],
        EndpointScript::always(ScriptStep::status(401)),
        more,
    );
    let told = scene.chat_json("hi");
    assert_eq!(told["reply"], "from the second", "{told}");
    assert_eq!(told["model"], "spare/other", "{told}");
}

#[test]
fn nobody_listens() {
    let scene = ScriptedHome::new(EndpointScript::default());
    let home = scene.home;
    drop(scene.endpoint);
    let run = home.run(&["chat", "-m", "hi"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("127.0.0.1"), "{}", run.err);
}

#[test]
fn a_bad_tool_call_is_told_to_the_model() {
    let bad = |name: &str, arguments: serde_json::Value| ScriptStep {
        tool_calls: vec![ScriptedCall {
            name: name.to_owned(),
            arguments,
            id: None,
        }],
        ..ScriptStep::default()
    };
    let cases = [
        (
            "unknown tool",
            bad("launch_rockets", json!({ "now": true })),
            "launch_rockets",
        ),
        ("not JSON", bad("read", json!("{\"path\": \"a.m")), "JSON"),
        ("wrong type", bad("read", json!({ "path": ["a"] })), "path"),
        ("missing argument", bad("read", json!({})), "path"),
    ];
    // Formats that send arguments as text can send anything.
    for api in [
        "openai-completions",
        "openai-responses",
        "anthropic-messages",
    ] {
        for (name, step, word) in cases.clone() {
            let again = after_tool(ScriptStep::reply("I see: {{tool}}"));
            let scene = ScriptedHome::speaking(api, EndpointScript::steps([step, again]));
            let reply = scene.chat("go").ok();
            assert!(
                reply.starts_with("I see: ") && reply.contains(word),
                "{api}, {name}: {reply}"
            );
        }
    }
}

#[test]
fn a_model_that_goes_in_circles_is_stopped() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::tool(
        "ls",
        json!({ "path": "." }),
    )));
    let run = scene.chat("look around");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(
        scene.endpoint.calls().len() < 60,
        "{}",
        scene.endpoint.calls().len()
    );
}

/// Its card says another time and more tokens each time; a small model asked for it fourteen times.
#[test]
fn asking_how_things_stand_for_ever_is_a_circle() {
    let again = ScriptStep::tool("session_status", json!({}));
    let scene = ScriptedHome::new(EndpointScript::always(again));
    let run = scene.chat("hi");
    assert_eq!(run.code, 4, "{run:?}");
    let asked = scene.endpoint.calls().len();
    assert!(asked < 30, "{asked}");
}

#[test]
fn an_answer_without_end_is_ended() {
    for fault in [AnswerFault::Endless, AnswerFault::EndlessLine] {
        // In large pieces, so that the bound is met soon.
        let step = ScriptStep {
            piece: Some(40_000),
            ..ScriptStep::reply("and on ".repeat(6_000)).fault(fault.clone())
        };
        let scene = ScriptedHome::new(EndpointScript::always(step));
        let run = scene.chat("hi");
        assert_ne!(run.code, 0, "{fault:?}");
        assert!(
            run.out.len() < 40_000_000,
            "{fault:?}: {} bytes",
            run.out.len()
        );
    }
}
