//! What goes over the wire before a person has said a word: one total, and a small one.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use chela_core::tokens;
use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use crate::chat::terminal::ChatTerminal;
use crate::scene::{APIS, ScriptedHome, after_tool};

/// The most a fresh home may cost, and the most a small model may be given.
const MOST: u64 = 4_500;
const MOST_FOR_SMALL: u64 = 1_000;

fn hello() -> EndpointScript {
    EndpointScript {
        otherwise: Some(ScriptStep::reply("Hello.")),
        ..EndpointScript::steps([])
    }
}

/// The body of a request on the wire.
fn body(scene: &ScriptedHome, at: usize) -> Value {
    let calls = scene.endpoint.calls();
    let call = calls.get(at).unwrap();
    serde_json::from_str(&call.body).unwrap()
}

/// The tools of a request, each as it was sent.
fn tools_of(api: &str, body: &Value) -> Vec<Value> {
    let tools = match api {
        "google-generative-ai" => &body["tools"][0]["functionDeclarations"],
        _ => &body["tools"],
    };
    let mut tools = tools.as_array().cloned().unwrap_or_default();
    for tool in &mut tools {
        // A mark for the cache is no text.
        tool.as_object_mut()
            .map(|tool| tool.remove("cache_control"));
    }
    tools
}

fn name_of(tool: &Value) -> &str {
    let name = tool["name"].as_str().or(tool["function"]["name"].as_str());
    name.unwrap_or_default()
}

fn names_of(api: &str, body: &Value) -> Vec<String> {
    let tools = tools_of(api, body);
    tools.iter().map(|tool| name_of(tool).to_owned()).collect()
}

/// The system text and the text of the newest message, as they were sent.
fn texts_of(api: &str, body: &Value) -> (String, String) {
    let joined = |content: &Value| match content {
        Value::String(text) => text.clone(),
        parts => {
            let parts = parts.as_array().into_iter().flatten();
            let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n\n")
        }
    };
    match api {
        "openai-responses" => {
            let newest = body["input"].as_array().and_then(|input| input.last());
            (
                joined(&body["instructions"]),
                joined(&newest.unwrap()["content"]),
            )
        }
        "anthropic-messages" => {
            let newest = body["messages"].as_array().and_then(|all| all.last());
            (joined(&body["system"]), joined(&newest.unwrap()["content"]))
        }
        "google-generative-ai" => {
            let newest = body["contents"].as_array().and_then(|all| all.last());
            (
                joined(&body["systemInstruction"]["parts"]),
                joined(&newest.unwrap()["parts"]),
            )
        }
        _ => {
            let messages = body["messages"].as_array().unwrap();
            (
                joined(&messages[0]["content"]),
                joined(&messages.last().unwrap()["content"]),
            )
        }
    }
}

/// At a terminal: a script that nobody watches is told so, in other words.
fn say_hi(scene: &ScriptedHome) {
    let mut terminal = ChatTerminal::open(&scene.home, &[]);
    terminal.sees("/help lists commands");
    terminal.types("hi\r");
    terminal.sees("Hello.");
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
}

/// What was sent, counted from the bytes on the wire, without what the person said.
fn on_the_wire(api: &str, body: &Value, said: &str) -> u64 {
    let (system, message) = texts_of(api, body);
    let head = message.strip_suffix(said).unwrap();
    let tools = tools_of(api, body);
    let tools: usize = tools
        .iter()
        .map(|tool| tokens::count(&tool.to_string()))
        .sum();
    (tokens::count(&system) + tokens::count(head.trim_end()) + tools) as u64
}

#[test]
fn the_total_is_what_the_endpoint_is_sent_in_every_format() {
    for api in APIS {
        let scene = ScriptedHome::without_canary(api, hello(), json!({}));
        let before = scene.home.run(&["context", "json"]).json();
        say_hi(&scene);
        let sent = on_the_wire(api, &body(&scene, 0), "hi");
        assert_eq!(before["total"]["tokens"], sent, "{api}");
        assert_eq!(before["wire"], api);
        assert!(sent <= MOST, "{api}: {sent} tokens to say hi");
        // The same afterwards, in the chat and on the picture.
        let after = scene.home.run(&["context", "json"]).json();
        assert_eq!(after["total"], before["total"], "{api}");
        let total = chela_core::grouped(usize::try_from(sent).unwrap());
        let spoken = scene.chat("/context").ok();
        assert!(
            spoken.contains(&format!("(~{total} tok)")),
            "{api}: {spoken}"
        );
        let drawn = scene.home.run(&["context", "map"]).ok();
        assert!(drawn.contains(&format!("{total} tokens")), "{api}: {drawn}");
    }
}

/// With jobs come their tool, a skill and a sentence: still no more than a fresh home may cost.
#[test]
fn a_home_with_jobs_stays_as_small() {
    let scene = ScriptedHome::without_canary(APIS[0], hello(), json!({}));
    let job = ["cron", "add", "--every", "2h", "look at the inbox"];
    scene.home.run(&job).ok();
    say_hi(&scene);
    let body = body(&scene, 0);
    assert!(names_of(APIS[0], &body).contains(&"cron".to_owned()));
    let sent = on_the_wire(APIS[0], &body, "hi");
    assert!(sent <= MOST, "{sent} tokens to say hi");
}

#[test]
fn nothing_is_said_twice_and_nothing_about_channels_at_a_terminal() {
    let scene = ScriptedHome::without_canary(APIS[0], hello(), json!({}));
    scene.chat("hi").ok();
    let (system, message) = texts_of(APIS[0], &body(&scene, 0));
    assert!(system.contains("## Tooling\n"), "{system}");
    for absent in ["- read: ", "MEDIA:", "## Messaging"] {
        assert!(!system.contains(absent), "{absent} in {system}");
        assert!(!message.contains(absent), "{absent} in {message}");
    }
    let elsewhere = ["prompt", "--session", "agent:main:telegram:direct:owner"];
    let elsewhere = scene.home.run(&elsewhere).ok();
    assert!(elsewhere.contains("MEDIA:"), "{elsewhere}");
    assert!(elsewhere.contains("## Messaging"), "{elsewhere}");
}

#[test]
fn a_small_model_is_sent_little_and_one_argument() {
    let small = json!({ "models": { "providers": { "kit": {
        "models": [{ "id": "scripted", "contextWindow": 8_192 }],
    } } } });
    let scene = ScriptedHome::without_canary(APIS[0], hello(), small);
    let report = scene.home.run(&["context", "json"]).json();
    say_hi(&scene);
    let body = body(&scene, 0);
    let sent = on_the_wire(APIS[0], &body, "hi");
    assert_eq!(report["total"]["tokens"], sent);
    assert!(sent <= MOST_FOR_SMALL, "{sent} tokens for a small model");
    let (system, _) = texts_of(APIS[0], &body);
    assert!(system.contains("- exec(command: string): "), "{system}");
    // What its answers are held to is told as it is sent. A server makes a grammar of it, so the model
    // reads none of it, and neither count has it.
    let form = body["response_format"].to_string();
    assert_eq!(report["answerForm"]["tokens"], tokens::count(&form));
    assert_eq!(report["answerForm"]["inTotal"], false);
    let after = scene.home.run(&["context", "json"]).json();
    let last = &after["lastRequest"];
    let (counted, reported) = (last["counted"].as_u64(), last["reported"].as_u64());
    let unexplained = counted.unwrap().abs_diff(reported.unwrap());
    assert!(unexplained * 10 <= sent, "{last}");
    let shown = scene.home.run(&["context", "list"]).flat();
    assert!(shown.contains("the model reads none of it"), "{shown}");
    let spoken = scene.chat("/context list").ok();
    assert!(spoken.contains("Answer form (JSON schema)"), "{spoken}");
}

/// The window of a local model is the one its server was started with: what is shown before a
/// message is what is then sent, without the config saying how much that model can read.
#[test]
fn what_a_server_said_of_its_model_is_known_to_the_preview() {
    let small = EndpointScript {
        context_window: Some(8_192),
        ..hello()
    };
    let scene = ScriptedHome::without_canary(APIS[0], small, json!({}));
    scene.home.write(".chela/chela.json", "{}");
    let url = scene.endpoint.url();
    let setup = ["setup", "--base-url", &url, "--no-chat"];
    scene.home.run(&setup).ok();
    let asked = scene.endpoint.calls().len();
    let before = scene.home.run(&["context", "json"]).json();
    assert_eq!(before["contextWindow"], 8_192, "{before}");
    let listed = scene.home.run(&["models", "list"]).ok();
    assert!(
        listed.contains("8,192") || listed.contains("8k"),
        "{listed}"
    );
    assert_eq!(
        scene.endpoint.calls().len(),
        asked,
        "nobody is asked for it"
    );
    say_hi(&scene);
    let newest = |scene: &ScriptedHome| body(scene, scene.endpoint.calls().len() - 1);
    let sent = on_the_wire(APIS[0], &newest(&scene), "hi");
    assert_eq!(before["total"]["tokens"], sent);
    assert!(sent <= MOST_FOR_SMALL, "{sent} tokens for a small model");
    // Started again with more, it is asked again: the next message is sent in full.
    scene.endpoint.play(hello());
    scene
        .home
        .run(&["chat", "--new-session", "more", "-m", "hi"])
        .ok();
    let names = names_of(APIS[0], &newest(&scene));
    assert!(names.contains(&"tools_find".to_owned()), "{names:?}");
    let after = scene.home.run(&["context", "json"]).json();
    assert_ne!(after["contextWindow"], 8_192, "{after}");
}

/// A hosted model that is told to hold to a form reads it: then it is a part of the total.
#[test]
fn a_form_the_model_reads_counts() {
    let hosted = json!({ "models": { "providers": { "openai": {
        "baseUrl": "https://api.openai.com/v1", "apiKey": "sk-none-1",
        "models": [{ "id": "small", "contextWindow": 64_000, "compat": { "toolMode": "constrained" } }],
    } } }, "agents": { "defaults": { "model": "openai/small" } } });
    let scene = ScriptedHome::without_canary(APIS[0], hello(), hosted);
    let report = scene.home.run(&["context", "json"]).json();
    assert_eq!(report["answerForm"]["inTotal"], true, "{report}");
    let form = report["answerForm"]["tokens"].as_u64().unwrap();
    let total = report["total"]["tokens"].as_u64().unwrap();
    assert!(form > 100 && total > form, "{report}");
    let drawn = scene.home.run(&["context", "map"]).ok();
    assert!(drawn.contains("answer form"), "{drawn}");
}

#[test]
fn schemas_are_parts_like_any_other() {
    let others = json!({ "agents": { "list": [
        { "id": "main" },
        { "id": "other", "tools": { "deny": ["exec"] } },
    ] } });
    let scene = ScriptedHome::without_canary(APIS[0], hello(), others);
    let report = scene.home.run(&["context", "json"]).json();
    let entries = report["tools"]["entries"].as_array().unwrap();
    let exec = entries
        .iter()
        .find(|entry| entry["name"] == "exec")
        .unwrap();
    let cost = exec["size"]["tokens"].as_u64().unwrap();
    let sum: u64 = entries
        .iter()
        .filter_map(|entry| entry["size"]["tokens"].as_u64())
        .sum();
    assert_eq!(report["toolSchemas"]["tokens"], sum);
    let why = scene.home.run(&["context", "why", "exec", "--json"]).json();
    assert_eq!(why[0]["spot"]["tokens"], cost, "{why}");
    let detail = scene.home.run(&["context", "detail"]).ok();
    assert!(
        detail.contains("Top tools (schema size):\n- exec: "),
        "{detail}"
    );
    let bars = scene.home.run(&["context", "map"]).ok();
    assert!(
        bars.lines()
            .any(|line| line.trim_start().starts_with("exec ")),
        "{bars}"
    );
    let diff = scene
        .home
        .run(&["context", "diff", "main", "other", "--json"]);
    let diff: Value = serde_json::from_str(&diff.out).unwrap();
    let tools = diff["sections"].as_array().unwrap();
    let tools = tools
        .iter()
        .find(|section| section["section"] == "tools")
        .unwrap();
    assert_eq!(tools["change"], "changed");
    assert!(tools["inside"].to_string().contains("tool exec"), "{tools}");
}

#[test]
fn deferred_tools_are_found_called_and_told_of_from_then_on() {
    for api in APIS {
        let scene = ScriptedHome::without_canary(
            api,
            EndpointScript::steps([
                ScriptStep::tool("tools_find", json!({ "query": "list the other sessions" })),
                ScriptStep::tool("sessions_list", json!({})),
                ScriptStep::reply("There is one."),
                ScriptStep::reply("Still here."),
            ]),
            json!({}),
        );
        let why = scene.home.run(&["context", "why", "sessions_list"]);
        assert!(why.out.contains("tools_find"), "{}", why.out);
        scene.chat("who else is there?").ok();
        scene.chat("and now?").ok();
        let names: Vec<Vec<String>> = (0..4).map(|at| names_of(api, &body(&scene, at))).collect();
        assert!(
            !names[0].contains(&"sessions_list".to_owned()),
            "{api}: {names:?}"
        );
        assert!(
            names[0].contains(&"tools_find".to_owned()),
            "{api}: {names:?}"
        );
        let (_, told) = names[1].split_at(names[0].len());
        assert!(
            told.contains(&"sessions_list".to_owned()),
            "{api}: {names:?}"
        );
        assert!(names[1].starts_with(&names[0]), "{api}: {names:?}");
        // Another process sends the same.
        assert_eq!(names[3], names[1], "{api}");
        let found = scene.endpoint.calls()[1].body.clone();
        assert!(found.contains("- sessions_list: "), "{api}: {found}");
        let listed = scene.endpoint.calls()[2].body.clone();
        assert!(listed.contains("agent:main:main"), "{api}: {listed}");
    }
}

#[test]
fn a_summary_is_asked_for_with_the_tools_that_were_found() {
    let more = json!({ "agents": { "defaults": { "compaction": {
        "keepRecentTokens": 100, "recentTurnsPreserve": 1,
    } } } });
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("word ".repeat(300))),
        ..EndpointScript::steps([
            ScriptStep::tool("tools_find", json!({ "query": "list the other sessions" })),
            ScriptStep::tool("sessions_list", json!({})),
        ])
    };
    let scene = ScriptedHome::without_canary(APIS[0], script, more);
    for message in ["who else is there?", "and now?", "and then?"] {
        scene.chat(message).ok();
    }
    let before = scene.endpoint.calls().len();
    scene
        .home
        .run(&["sessions", "compact", "agent:main:main"])
        .ok();
    let last = names_of(APIS[0], &body(&scene, before - 1));
    assert!(last.contains(&"sessions_list".to_owned()), "{last:?}");
    // The endpoint has read them already: what comes after them is reused.
    assert_eq!(names_of(APIS[0], &body(&scene, before)), last);
}

#[test]
fn a_deferred_tool_runs_by_its_name_and_the_policy_decides() {
    let script = || {
        EndpointScript::steps([
            ScriptStep::tool("sessions_list", json!({})),
            after_tool(ScriptStep::reply("Seen.")),
        ])
    };
    let scene = ScriptedHome::without_canary(APIS[0], script(), json!({}));
    scene.chat("who else is there?").ok();
    let listed = scene.endpoint.calls()[1].body.clone();
    assert!(listed.contains("agent:main:main"), "{listed}");

    let denied = json!({ "tools": { "deny": ["sessions_list"] } });
    let scene = ScriptedHome::without_canary(APIS[0], script(), denied);
    scene.chat("who else is there?").ok();
    let refused = scene.endpoint.calls()[1].body.clone();
    assert!(
        refused.contains("not available here: tools.deny"),
        "{refused}"
    );
    let why = scene.home.run(&["context", "why", "sessions_list"]);
    assert!(
        why.out.contains("may not use it: tools.deny"),
        "{}",
        why.out
    );
}

#[test]
fn tools_about_others_are_told_of_once_there_are_others() {
    let scene = ScriptedHome::without_canary(APIS[0], hello(), json!({}));
    scene.home.run(&["agents", "add", "research"]).ok();
    scene.chat("hi").ok();
    let names = names_of(APIS[0], &body(&scene, 0));
    for name in ["agents_list", "sessions_spawn", "sessions_send"] {
        assert!(names.contains(&name.to_owned()), "{name} in {names:?}");
    }
    assert!(!names.contains(&"process".to_owned()), "{names:?}");
}

#[test]
fn a_command_given_twice_runs_once() {
    let scene = ScriptedHome::without_canary(
        APIS[0],
        EndpointScript::steps([
            ScriptStep::tool("exec", json!({ "command": "ls", "argv": ["-a", "."] })),
            after_tool(ScriptStep::reply("Done.")),
        ]),
        json!({ "tools": { "exec": { "security": "full", "ask": "off" } } }),
    );
    scene.home.run(&["chat", "-m", "what is here?"]).ok();
    let shown = scene.endpoint.calls()[1].body.clone();
    assert!(shown.contains("SOUL.md"), "{shown}");
}

#[test]
fn what_memory_holds_is_put_before_a_small_model() {
    let small = json!({ "models": { "providers": { "kit": {
        "models": [{ "id": "scripted", "contextWindow": 8_192 }],
    } } } });
    let scene = ScriptedHome::without_canary(APIS[0], hello(), small);
    scene.home.write(
        ".chela/workspace/MEMORY.md",
        "- The dentist is called Doctor Blum.\n- The bicycle is green.\n",
    );
    scene
        .home
        .run(&["trust", "approve", "MEMORY.md", "--yes"])
        .ok();
    scene.chat("What is the name of my dentist?").ok();
    let (_, message) = texts_of(APIS[0], &body(&scene, 0));
    assert!(message.contains("name=\"recall\""), "{message}");
    assert!(message.contains("Doctor Blum"), "{message}");
}

/// The figure people read first is the one the program gives.
#[test]
fn the_readme_says_what_a_fresh_home_costs() {
    let scene = ScriptedHome::without_canary(APIS[0], hello(), json!({}));
    let report = scene.home.run(&["context", "json"]).json();
    let total = report["total"]["tokens"].as_u64().unwrap();
    let readme = include_str!("../../../../README.md");
    let (_, after) = readme.split_once("A fresh home sends\nabout ").unwrap();
    let (figure, _) = after.split_once(" tokens").unwrap();
    let said: u64 = figure.replace(',', "").parse().unwrap();
    assert!(
        said.abs_diff(total) * 20 <= total,
        "the README says {said}, it is {total}"
    );
}
