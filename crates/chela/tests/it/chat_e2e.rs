//! `chela chat -m …` against a scripted endpoint: whole turns, as people and scripts see them.

use chela_testkit::{EndpointScript, LineEnding, ScriptStep, ScriptedCall};
use serde_json::json;

use crate::home::text;
use crate::scene::{APIS, KEY, ScriptedHome, after_tool};

/// Hard to read, and still right.
fn dressed(reply: &str) -> ScriptStep {
    ScriptStep {
        reasoning: "Let me see.".to_owned(),
        piece: Some(3),
        write: Some(5),
        line: LineEnding::Crlf,
        ping: true,
        ..ScriptStep::reply(reply)
    }
}

#[test]
fn every_wire_format_is_read() {
    let reply = "Grüße — 你好 🦀, and *that* is all.";
    for api in APIS {
        let scene = ScriptedHome::speaking(api, EndpointScript::always(dressed(reply)));
        let run = scene.chat("hi");
        assert_eq!(run.err, "", "{api}");
        assert_eq!(run.ok(), format!("{reply}\n"), "{api}");
        let calls = scene.endpoint.calls();
        assert_eq!(calls.len(), 1, "{api}");
        assert!(calls[0].body.contains("hi"), "{api}");
    }
}

#[test]
fn a_tool_runs_and_its_result_comes_back_in_every_format() {
    for api in APIS {
        let call = ScriptStep {
            reply: "Let me look. ".to_owned(),
            piece: Some(5),
            ..ScriptStep::tool("read", json!({ "path": "lunch.md" }))
        };
        let script =
            EndpointScript::steps([call, after_tool(ScriptStep::reply("It says: {{tool}}"))]);
        let scene = ScriptedHome::speaking(api, script);
        scene
            .home
            .write(".chela/workspace/lunch.md", "soup & bread\n");
        let told = scene.chat_json("what is for lunch?");
        assert_eq!(told["steps"], 2, "{api}: {told}");
        assert_eq!(told["toolCalls"], 1, "{api}: {told}");
        let reply = told["reply"].as_str().unwrap();
        assert!(reply.contains("soup & bread"), "{api}: {reply}");
    }
}

#[test]
fn several_calls_of_one_answer_all_run() {
    let call = |path: &str| ScriptedCall {
        name: "read".to_owned(),
        arguments: json!({ "path": path }),
        id: None,
    };
    let both = ScriptStep {
        tool_calls: vec![call("a.md"), call("b.md"), call("missing.md")],
        ..ScriptStep::default()
    };
    let scene = ScriptedHome::new(EndpointScript::steps([
        both,
        after_tool(ScriptStep::reply("done")),
    ]));
    scene.home.write(".chela/workspace/a.md", "alpha");
    scene.home.write(".chela/workspace/b.md", "beta");
    let told = scene.chat_json("read them");
    assert_eq!(told["toolCalls"], 3, "{told}");
    let sent = scene.endpoint.calls()[1].json();
    let results: Vec<&str> = sent["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(results.len(), 3, "{sent}");
    assert!(
        results[0].contains("alpha") && results[1].contains("beta"),
        "{results:?}"
    );
    assert!(results[2].contains("missing.md"), "{results:?}");
}

#[test]
fn scripts_get_json() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("four")));
    let mut told = scene.chat_json("two and two?");
    assert!(
        told["sessionId"].as_str().is_some_and(|id| id.len() > 8),
        "{told}"
    );
    told["sessionId"] = "ID".into();
    for count in ["input", "cacheRead"] {
        assert!(told["usage"][count].is_u64(), "{told}");
        told["usage"][count] = 0.into();
    }
    assert!(told["context"]["used"].as_u64().unwrap() > 0, "{told}");
    told["context"]["used"] = 0.into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&told).unwrap());
}

#[test]
fn what_is_piped_in_follows_the_message() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("[{{user}}]")));
    let both = scene
        .home
        .run_with_input(&["chat", "-m", "review"], "+ a line\n")
        .ok();
    assert!(
        both.contains("review") && both.contains("+ a line"),
        "{both}"
    );
    let alone = scene.home.run_with_input(&["chat"], "only this").ok();
    assert!(alone.contains("only this"), "{alone}");
    let nothing = scene.home.run_with_input(&["chat"], "").fails(2);
    assert!(nothing.contains("no message"), "{nothing}");
}

#[test]
fn a_session_is_remembered_and_can_be_read() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply(
        "heard {{messages}}",
    )));
    scene.chat("my name is Ann").ok();
    scene.chat("what is my name?").ok();
    let second = &scene.endpoint.calls()[1].body;
    assert!(
        second.contains("my name is Ann") && second.contains("heard"),
        "{second}"
    );
    scene
        .home
        .run(&["chat", "-m", "elsewhere", "--new-session", "other"])
        .ok();
    let third = &scene.endpoint.calls()[2].body;
    assert!(!third.contains("my name is Ann"), "{third}");
    let list = scene.home.run(&["sessions", "list"]).ok();
    assert!(
        list.contains("agent:main:main") && list.contains("agent:main:other"),
        "{list}"
    );
    let shown = scene
        .home
        .run(&["sessions", "show", "agent:main:main"])
        .ok();
    assert!(shown.contains("my name is Ann"), "{shown}");
    let exported = scene.exported();
    let said = serde_json::to_string(&exported).unwrap();
    assert!(said.contains("what is my name?"), "{said}");
}

#[test]
fn turns_after_the_first_evaluate_only_what_is_new() {
    for api in ["openai-completions", "anthropic-messages"] {
        // Anthropic's format has no cache unless it is asked for.
        let asked =
            json!({ "agents": { "defaults": { "params": { "cacheRetention": "short" } } } });
        let scene = ScriptedHome::with(
            api,
            EndpointScript::always(ScriptStep::reply("Yes.")),
            asked,
        );
        for turn in ["one", "two", "three", "four", "five"] {
            scene.chat(turn).ok();
        }
        let evaluated: Vec<u64> = scene
            .endpoint
            .calls()
            .iter()
            .map(|call| call.tokens.input - call.tokens.cached)
            .collect();
        let (first, later) = (evaluated[0], &evaluated[1..]);
        assert!(
            later.iter().all(|turn| turn * 4 < first),
            "{api}: {evaluated:?}"
        );
        let spread = later.iter().max().unwrap() - later.iter().min().unwrap();
        assert!(spread < 60, "{api}: {evaluated:?}");
    }
}

#[test]
fn silence_says_nothing() {
    for quiet in ["NO_REPLY", "**NO_REPLY**", "no_reply."] {
        let scene = ScriptedHome::new(EndpointScript::always(ScriptStep {
            piece: Some(2),
            ..ScriptStep::reply(quiet)
        }));
        assert_eq!(scene.chat("anything?").ok(), "", "{quiet}");
        let told = scene.chat_json("anything?");
        assert!(told["silent"].is_string(), "{quiet}: {told}");
    }
}

#[test]
fn nothing_a_model_says_moves_the_cursor() {
    let nasty = "\u{1b}[2J\u{1b}]0;title\u{7}red\u{9b}31m \u{202e}txt.exe\r\nback\u{8}space";
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep {
        piece: Some(1),
        ..ScriptStep::reply(nasty)
    }));
    let shown = scene.chat("hi").ok();
    let bad: Vec<char> = shown
        .chars()
        .filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}')
        .collect();
    assert!(bad.is_empty(), "{shown:?}");
    assert!(
        shown.contains("red") && shown.contains("space"),
        "{shown:?}"
    );
}

#[test]
fn the_key_goes_to_the_endpoint_and_nowhere_else() {
    for api in APIS {
        let scene = ScriptedHome::speaking(
            api,
            EndpointScript {
                key: Some(KEY.to_owned()),
                ..EndpointScript::always(ScriptStep::reply("ok"))
            },
        );
        assert_eq!(scene.chat("hi").ok(), "ok\n", "{api}");
        let exported = serde_json::to_string(&scene.exported()).unwrap();
        assert!(!exported.contains(KEY), "{api}");
        assert!(!scene.endpoint.calls()[0].body.contains(KEY), "{api}");
    }
}

#[test]
fn a_picture_is_sent() {
    // The smallest PNG there is: one pixel.
    let pixel = [
        0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0,
        0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 0x0a, b'I', b'D',
        b'A', b'T', 0x78, 0x9c, 0x63, 0x60, 0, 0, 0, 2, 0, 1, 0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0,
        b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
    ];
    for api in APIS {
        let scene = ScriptedHome::with(
            api,
            EndpointScript::always(ScriptStep::reply("a dot")),
            json!({ "models": { "providers": { "kit": {
                "models": [{ "id": "scripted", "contextWindow": 64_000, "input": ["text", "image"] }],
            } } } }),
        );
        let path = scene.home.path("dot.png");
        std::fs::write(&path, pixel).unwrap();
        let run = scene
            .home
            .run(&["chat", "-m", "what is it?", "--image", text(&path)]);
        assert_eq!(run.ok(), "a dot\n", "{api}");
        assert!(
            scene.endpoint.calls()[0].body.contains("iVBORw0KGgo"),
            "{api}"
        );
    }
}

#[test]
fn with_nothing_configured_it_says_what_to_do() {
    let home = crate::home::TestHome::ready();
    let run = home.run(&["chat", "-m", "hi"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("ollama"), "{}", run.err);
}
