//! A model uses the tools of servers.

use chela_testkit::ScriptStep;
use serde_json::{Value, json};

use super::{McpHome, READ_ALL, call, one_tool};

#[test]
fn a_tool_is_found_called_and_answers_as_a_stranger() {
    let home = McpHome::new();
    home.add(
        "kit",
        &one_tool("greet", json!([{ "text": "Hello {{text}}" }])),
        &READ_ALL,
    )
    .ok();
    home.say(
        "Greet me.",
        [
            call("tools_find", json!({ "query": "kit__greet" })),
            call("kit__greet", json!({ "text": "you" })),
            ScriptStep::reply("It says hello."),
        ],
    )
    .ok();
    let results = home.results();
    // What a server says of its tools, and what it answers, is untrusted content.
    assert!(
        results[0].contains("what it says of its tools"),
        "{results:?}"
    );
    assert!(
        results[0].contains("EXTERNAL_UNTRUSTED_CONTENT"),
        "{results:?}"
    );
    assert!(
        results[1].contains("Source: mcp kit/greet\n---\nHello you"),
        "{results:?}"
    );
}

#[test]
fn once_approved_a_description_taints_nothing() {
    let home = McpHome::new();
    home.add(
        "kit",
        &one_tool("greet", json!([{ "text": "Hello" }])),
        &READ_ALL,
    )
    .ok();
    home.home().run(&["mcp", "trust", "kit", "--yes"]).ok();
    home.say(
        "What is there?",
        [
            call("tools_find", json!({ "query": "kit__greet" })),
            ScriptStep::reply("A greeter."),
        ],
    )
    .ok();
    let results = home.results();
    assert!(results[0].contains("The tool greet."), "{results:?}");
    assert!(
        !results[0].contains("EXTERNAL_UNTRUSTED_CONTENT"),
        "{results:?}"
    );
}

#[test]
fn ten_servers_cost_a_fresh_prompt_next_to_nothing() {
    let tokens = |home: &McpHome| -> i64 {
        let report = home.home().run(&["context", "json"]).json();
        report["total"]["tokens"].as_i64().unwrap()
    };
    let bare = McpHome::new();
    let home = McpHome::new();
    for server in 0..10 {
        let tools: Vec<Value> = (0..20)
            .map(|tool| {
                json!({
                    "name": format!("tool_number_{tool}"),
                    "description": "Does something that takes a whole sentence to describe. ".repeat(4),
                    "inputSchema": { "type": "object", "properties": {
                        "text": { "type": "string", "description": "A text of some kind." },
                    } },
                })
            })
            .collect();
        home.add(&format!("server{server}"), &json!({ "tools": tools }), &[])
            .ok();
    }
    let cost = tokens(&home) - tokens(&bare);
    assert!((1..200).contains(&cost), "{cost} tokens");
    // It is what is sent, too.
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    let sent = home.scene.endpoint.calls().last().unwrap().body.clone();
    assert!(sent.contains("server9__* (20)"), "{sent}");
    assert!(!sent.contains("tool_number_7"), "{sent}");
    let why = home
        .home()
        .run(&["context", "why", "server3__tool_number_7"])
        .flat();
    assert!(why.contains("tools_find"), "{why}");
}

#[test]
fn what_its_owner_did_not_declare_is_asked_about_after_untrusted_content() {
    let home = McpHome::new();
    home.add("kit", &one_tool("act", json!([{ "text": "acted" }])), &[])
        .ok();
    let run = home.say(
        "Do it.",
        [
            call("tools_find", json!({ "query": "kit__act" })),
            call("kit__act", json!({ "text": "now" })),
            ScriptStep::reply("It was refused."),
        ],
    );
    run.fails(5);
    let results = home.results();
    assert!(results[1].contains("Not done"), "{results:?}");
    // The same in a session that read nothing: by its name, without looking it up.
    home.home().run(&["sessions", "reset", "agent:main:main"]);
    let other = McpHome::new();
    other
        .add("kit", &one_tool("act", json!([{ "text": "acted" }])), &[])
        .ok();
    other
        .say(
            "Do it.",
            [
                call("kit__act", json!({ "text": "now" })),
                ScriptStep::reply("Done."),
            ],
        )
        .ok();
    assert!(
        other.results()[0].contains("acted"),
        "{:?}",
        other.results()
    );
}

#[test]
fn the_policy_holds_for_tools_of_servers() {
    let home = McpHome::with(json!({ "tools": { "deny": ["kit__greet"] } }));
    home.add(
        "kit",
        &one_tool("greet", json!([{ "text": "Hello" }])),
        &READ_ALL,
    )
    .ok();
    home.say(
        "Greet.",
        [call("kit__greet", json!({})), ScriptStep::reply("No.")],
    )
    .answered();
    let results = home.results();
    assert!(results[0].contains("not available here"), "{results:?}");
}

#[test]
fn a_server_that_changes_its_tools_is_told_of_in_the_tail() {
    let home = McpHome::new();
    let tool =
        |name: &str, deeds: Value| json!({ "name": name, "description": name, "deeds": deeds });
    let before = tool("first", json!(["toolsChanged", { "text": "changed" }]));
    let after = json!([
        tool("first", json!([{ "text": "again" }])),
        tool("second", json!([{ "text": "two" }])),
    ]);
    home.add(
        "kit",
        &json!({ "tools": [before], "later": after }),
        &READ_ALL,
    )
    .ok();
    // It is asked for them again before it is used again.
    let steps = [
        call("kit__first", json!({})),
        call("kit__first", json!({})),
        ScriptStep::reply("Changed."),
    ];
    home.say("Begin.", steps).ok();
    assert!(home.results()[1].contains("again"), "{:?}", home.results());
    home.write_script("kit", &json!({ "tools": after }));
    home.say("What now?", [ScriptStep::reply("There is more.")])
        .ok();
    let told = home.last_user_message();
    assert!(
        told.contains("found with tools_find") && told.contains("kit__second"),
        "{told}"
    );
    home.say(
        "And?",
        [call("kit__second", json!({})), ScriptStep::reply("Two.")],
    )
    .ok();
    assert!(
        home.results().last().unwrap().contains("two"),
        "{:?}",
        home.results()
    );
}

#[test]
fn a_server_nobody_met_before_is_met_with_the_first_message() {
    let home = McpHome::new();
    home.add(
        "kit",
        &one_tool("greet", json!([{ "text": "Hello" }])),
        &["--no-test", "--effect", "*=read"],
    )
    .ok();
    assert!(!home.home().exists(".chela/state/mcp.json"));
    home.say(
        "Greet.",
        [call("kit__greet", json!({})), ScriptStep::reply("Hello.")],
    )
    .ok();
    assert!(home.results()[0].contains("Hello"), "{:?}", home.results());
}

#[test]
fn arguments_that_do_not_fit_never_reach_the_server() {
    let home = McpHome::new();
    let script = json!({ "tools": [{
        "name": "add",
        "inputSchema": { "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"] },
        "deeds": [{ "text": "got {{a}}" }],
    }] });
    home.add("kit", &script, &READ_ALL).ok();
    home.say(
        "Add.",
        [
            call("kit__add", json!({ "a": "many" })),
            call("kit__add", json!({ "a": "7" })),
            ScriptStep::reply("Seven."),
        ],
    )
    .ok();
    let results = home.results();
    assert!(
        results[0].contains("expected a whole number"),
        "{results:?}"
    );
    assert!(results[1].contains("got 7"), "{results:?}");
}
