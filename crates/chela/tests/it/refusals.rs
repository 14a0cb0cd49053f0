//! What a script sees of a call that was refused, and of a command that failed.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use crate::home::TestHome;
use crate::scene::{APIS, ScriptedHome};

fn refusing() -> ScriptedHome {
    ScriptedHome::with(
        APIS[0],
        EndpointScript::steps([
            ScriptStep::tool("exec", json!({ "command": "touch made" })),
            ScriptStep::reply("I could not."),
        ]),
        json!({ "tools": { "exec": { "mode": "allowlist" } } }),
    )
}

#[test]
fn a_refused_command_is_seen_by_scripts() {
    let scene = refusing();
    let run = scene.chat("make a file");
    assert_eq!(
        (run.code, run.out.as_str()),
        (5, "I could not.\n"),
        "{run:?}"
    );
    assert!(
        run.err.contains("refused: exec `touch made`: Not allowed"),
        "{run:?}"
    );
    assert!(!scene.home.exists(".chela/workspace/made"));
    let explained = scene.home.run(&["guard", "explain"]).ok();
    assert!(explained.contains("refused exec"), "{explained}");
    assert!(
        explained.contains("Only listed commands may run"),
        "{explained}"
    );
    let explained = scene.home.run(&["guard", "explain", "--json"]).json();
    assert_eq!(explained["calls"][0]["outcome"], "refused");
}

#[test]
fn refusals_stand_in_the_object() {
    let scene = refusing();
    let run = scene.home.run(&["chat", "-m", "make a file", "--json"]);
    assert_eq!(run.code, 5, "{run:?}");
    let told: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(told["ended"], "done");
    assert_eq!(told["refused"][0]["tool"], "exec");
    assert_eq!(told["refused"][0]["what"], "touch made");
    assert!(
        told["refused"][0]["why"]
            .as_str()
            .unwrap()
            .starts_with("Not allowed")
    );
}

#[test]
fn events_come_as_lines() {
    let scene = refusing();
    let run = scene
        .home
        .run(&["chat", "-m", "make a file", "--json-stream"]);
    assert_eq!(run.code, 5, "{run:?}");
    let lines: Vec<Value> = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut types: Vec<&str> = lines
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    // How a text is cut does not matter.
    types.retain(|kind| *kind != "text");
    assert_eq!(
        types,
        [
            "calling",
            "called",
            "tool-started",
            "tool-ended",
            "calling",
            "called",
            "result"
        ]
    );
    assert_eq!(lines[3]["outcome"], "refused");
    let said = lines
        .iter()
        .filter_map(|line| line["text"].as_str().filter(|_| line["type"] == "text"));
    assert_eq!(said.collect::<String>(), "I could not.");
    assert_eq!(lines.last().unwrap()["reply"], "I could not.");
}

#[test]
fn errors_under_json_are_json() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::status(401)));
    let run = scene.home.run(&["chat", "-m", "hi", "--json"]);
    let told: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (run.code, &told["error"]["code"]),
        (3, &json!(3)),
        "{run:?}"
    );
    assert!(
        told["error"]["message"]
            .as_str()
            .unwrap()
            .contains("API key was rejected")
    );
    assert!(!run.err.is_empty(), "people are told as well");
    let run = scene.home.run(&["chat", "-m", "hi", "--json-stream"]);
    let last: Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "error");
    let home = TestHome::ready();
    for args in [
        vec!["sessions", "show", "nobody", "--json"],
        vec!["chat", "--json", "--nonsense"],
    ] {
        let run = home.run(&args);
        let told: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(told["error"]["code"], run.code, "{run:?}");
    }
}

#[test]
fn answers_that_end_early_are_told() {
    let stopped = |stop, reply: &str| {
        ScriptedHome::new(EndpointScript::always(ScriptStep {
            stop: Some(stop),
            ..ScriptStep::reply(reply)
        }))
    };
    let scene = stopped(chela_testkit::StopReason::Length, "half a sen");
    let run = scene.chat("hi");
    assert_eq!((run.code, run.out.as_str()), (0, "half a sen\n"));
    assert!(run.err.contains("cut off"), "{run:?}");
    assert_eq!(scene.chat_json("hi")["stop"], "length");
    let scene = stopped(chela_testkit::StopReason::Refused, "");
    let run = scene.home.run(&["chat", "-m", "hi", "--json"]);
    assert!(run.err.contains("the provider stopped it"), "{run:?}");
    let told: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (run.code, &told["stop"], &told["silent"]),
        (1, &json!("refused"), &json!("empty"))
    );
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("")));
    let run = scene.chat("hi");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("the model sent nothing"), "{run:?}");
}

#[test]
fn waiting_is_told_and_an_endless_wait_is_not_waited() {
    let scene = ScriptedHome::new(EndpointScript::steps([
        ScriptStep::status(429).header("retry-after", "2"),
        ScriptStep::reply("there"),
    ]));
    let run = scene.chat("hi");
    assert_eq!(run.out, "there\n", "{run:?}");
    assert!(run.err.contains("trying again in 2 s"), "{run:?}");
    let scene = ScriptedHome::new(EndpointScript::always(
        ScriptStep::status(429).header("retry-after", "3600"),
    ));
    let told = scene.chat("hi").fails(1);
    assert!(told.contains("it asks you to wait 3600 s"), "{told}");
    assert_eq!(scene.endpoint.calls().len(), 1, "it gives up at once");
}

/// Three calls under one id: each is done once, and the model hears of each.
#[test]
fn calls_of_one_id_all_have_their_results() {
    let call = |file: &str| chela_testkit::ScriptedCall {
        name: "write".to_owned(),
        arguments: json!({ "path": file, "content": "x" }),
        id: Some("dup".to_owned()),
    };
    for api in [
        "openai-completions",
        "anthropic-messages",
        "openai-responses",
    ] {
        let step = ScriptStep {
            tool_calls: vec![call("a.txt"), call("b.txt"), call("c.txt")],
            ..ScriptStep::default()
        };
        let scene = ScriptedHome::speaking(
            api,
            EndpointScript::steps([step, ScriptStep::reply("done")]),
        );
        let told = scene.chat_json("three files");
        assert_eq!(told["toolCalls"], 3, "{api}");
        let request = scene.endpoint.calls().pop().unwrap().body;
        for id in ["dup_2", "dup_3"] {
            assert_eq!(
                request.matches(&format!("\"{id}\"")).count(),
                2,
                "{api}: {request}"
            );
        }
        for file in ["a.txt", "b.txt", "c.txt"] {
            assert!(
                scene.home.exists(&format!(".chela/workspace/{file}")),
                "{api}"
            );
        }
    }
}

/// A server that only says that it lives.
#[test]
fn comments_are_no_answer() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut bytes = [0; 65_536];
                let _ = stream.read(&mut bytes);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                let mut sent = stream.write_all(head.as_bytes());
                while sent.is_ok() {
                    sent = stream.write_all(b": still here\n\n");
                    std::thread::sleep(std::time::Duration::from_millis(200));
                }
            });
        }
    });
    let home = TestHome::with_config(
        &json!({
            "models": { "providers": { "kit": {
                "baseUrl": url, "api": "openai-completions", "stallSeconds": 1,
                "models": [{ "id": "m" }],
            } } },
            "agents": { "defaults": { "model": "kit/m" } },
        })
        .to_string(),
    );
    let told = home.run(&["chat", "-m", "hi"]).fails(1);
    assert!(told.contains("no data for 5 s"), "{told}");
}
