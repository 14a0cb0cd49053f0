//! What the prompt says is so: read from the requests that are sent, not from a preview.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod approvals;
mod pictures;
mod subagents;

use chela_testkit::{EndpointScript, ScriptStep, StepRule};
use serde_json::{Value, json};

use crate::home::TestHome;
use crate::scene::{APIS, ScriptedHome};

/// An agent that says the same to everything.
fn agreeing(more: Value) -> ScriptedHome {
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::default()
    };
    ScriptedHome::without_canary(APIS[0], script, more)
}

fn when(text: &str, step: ScriptStep) -> ScriptStep {
    step.when(StepRule {
        contains: Some(text.into()),
        after_tool: Some(false),
        ..StepRule::default()
    })
}

/// The newest request, as JSON.
fn last_request(scene: &ScriptedHome) -> Value {
    scene.endpoint.calls().last().unwrap().json()
}

/// The text of the newest message of the newest request.
fn last_message(scene: &ScriptedHome) -> String {
    let request = last_request(scene);
    let messages = request["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].to_string()
}

fn write_skill(home: &TestHome, name: &str, description: &str, body: &str) {
    home.write(
        &format!(".chela/workspace/skills/{name}/SKILL.md"),
        &format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n"),
    );
}

#[test]
fn d3_a_running_session_hears_of_skills_that_come_change_and_go() {
    let scene = agreeing(json!({}));
    write_skill(&scene.home, "foo", "For foxes.", "First.");
    scene.chat("hello").ok();
    let system = last_request(&scene)["messages"][0].to_string();
    assert!(system.contains("\\nfoo v"), "{system}");
    assert!(!last_message(&scene).contains("For foxes."));

    write_skill(&scene.home, "foo", "For foxes.", "Second.");
    write_skill(&scene.home, "bar", "For sharks.", "Bite.");
    scene.chat("three sharks").ok();
    let told = last_message(&scene);
    assert!(told.contains("Skills that came since") && told.contains("For sharks."));
    assert!(
        told.contains("new `<version>`") && told.contains("\\nfoo v"),
        "{told}"
    );
    let again = last_request(&scene)["messages"][0].to_string();
    assert_eq!(again, system, "what was frozen does not move");

    scene.chat("and now?").ok();
    assert!(!last_message(&scene).contains("For sharks."), "told once");

    std::fs::remove_dir_all(scene.home.path(".chela/workspace/skills/bar")).unwrap();
    std::fs::remove_dir_all(scene.home.path(".chela/workspace/skills/foo")).unwrap();
    scene.chat("still there?").ok();
    let told = last_message(&scene);
    assert!(
        told.contains("Skills that are gone") && told.contains("foo"),
        "{told}"
    );
    assert!(!told.contains("bar"), "it was never in the listing: {told}");
}

#[test]
fn d3_a_skill_that_came_can_be_read_where_it_lies() {
    let place = "~/.chela/skills/late/SKILL.md";
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([when(
            "use it",
            ScriptStep::tool("read", json!({ "path": place })),
        )])
    };
    let scene = ScriptedHome::without_canary(APIS[0], script, json!({}));
    scene.chat("hello").ok();
    scene.home.write(
        ".chela/skills/late/SKILL.md",
        "---\nname: late\ndescription: Comes late.\n---\nThe word is heron.\n",
    );
    scene.chat("use it").ok();
    assert!(
        last_message(&scene).contains("The word is heron."),
        "{}",
        last_message(&scene)
    );
}

#[test]
fn d4_the_prompt_names_the_levels_of_the_session() {
    let scene = agreeing(json!({}));
    scene.chat("hello").ok();
    assert!(last_message(&scene).contains("thinking=off"));
    scene.chat("/think high").ok();
    scene.chat("/reasoning on").ok();
    scene.chat("hello again").ok();
    let told = last_message(&scene);
    assert!(
        told.contains("thinking=high") && told.contains("Reasoning: on"),
        "{told}"
    );
    let shown = scene
        .home
        .run(&["prompt", "--session", "agent:main:main"])
        .ok();
    assert!(shown.contains("thinking=high") && shown.contains("Reasoning: on"));
    scene
        .home
        .run(&["chat", "-m", "hi", "--thinking", "low"])
        .ok();
    assert!(last_message(&scene).contains("thinking=low"));
}

#[test]
fn d5_heartbeat_orders_stay_out_of_chats_without_heartbeats() {
    let order = "- check the inbox";
    let scene = agreeing(json!({}));
    scene.home.write(".chela/workspace/HEARTBEAT.md", order);
    scene.chat("hello").ok();
    let request = last_request(&scene).to_string();
    assert!(!request.contains("check the inbox"), "{request}");
    let why = scene.home.run(&["context", "why", "HEARTBEAT.md"]).out;
    assert!(why.contains("heartbeats are off"), "{why}");
    let listed = scene.home.run(&["context", "list"]).ok();
    let length = format!("LEFT OUT | raw {} chars", order.len());
    assert!(listed.contains(&length), "{listed}");

    let scene = agreeing(json!({ "agents": { "defaults": { "heartbeat": {
        "every": "30m", "includeSystemPromptSection": false } } } }));
    scene.home.write(".chela/workspace/HEARTBEAT.md", order);
    scene.chat("hello").ok();
    assert!(!last_request(&scene).to_string().contains("check the inbox"));
    let why = scene.home.run(&["context", "why", "HEARTBEAT.md"]).out;
    assert!(why.contains("includeSystemPromptSection"), "{why}");

    let scene = agreeing(json!({ "agents": { "defaults": { "heartbeat": { "every": "30m" } } } }));
    scene.home.write(".chela/workspace/HEARTBEAT.md", order);
    scene.chat("hello").ok();
    assert!(last_request(&scene).to_string().contains("check the inbox"));
}

#[test]
fn d7_without_bootstrap_files_there_is_still_a_workspace() {
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([when("look", ScriptStep::tool("ls", json!({ "path": "." })))])
    };
    let skip = json!({ "agents": { "defaults": { "skipBootstrap": true } } });
    let scene = ScriptedHome::without_canary(APIS[0], script, skip);
    assert!(scene.home.exists(".chela/workspace/.git"));
    assert!(!scene.home.exists(".chela/workspace/SOUL.md"));
    scene.chat("look").ok();
    let seen = last_message(&scene);
    assert!(!seen.contains("does not exist"), "{seen}");
    let again = scene.home.run(&["init"]).ok();
    assert!(!again.contains("error"), "{again}");
}

#[test]
fn d9_a_skill_without_its_tool_is_not_listed() {
    let scene = agreeing(json!({}));
    scene.chat("hello").ok();
    let request = last_request(&scene).to_string();
    assert!(request.contains("review-change") && !request.contains("remind-me"));
    let listed = scene.home.run(&["context", "list"]).ok();
    let system = last_request(&scene)["messages"][0]["content"].to_string();
    let listing = system.split("<available_skills>").nth(1).unwrap();
    let listing = listing.split("</available_skills>").next().unwrap();
    let is_skill = |line: &&str| !line.is_empty() && !line.starts_with('<');
    let named = listing.split("\\n").filter(is_skill).count();
    assert!(listed.contains(&format!("({named} skills)")), "{listed}");
    let why = scene.home.run(&["skills", "why", "remind-me"]).ok();
    assert!(why.contains("no tool `cron`"), "{why}");
    // Nor is it used when it is called by its name.
    let told = scene.chat("/remind-me of the tea").fails(1);
    assert!(told.contains("chela skills why remind-me"), "{told}");
}

#[test]
fn d10_documentation_is_named_and_can_be_read() {
    let scene = agreeing(json!({}));
    scene.chat("hello").ok();
    let request = last_request(&scene).to_string();
    assert!(request.contains("`chela docs TOPIC`") && request.contains("chela config explain KEY"));
    assert!(!request.contains("not on this machine"), "{request}");
    // The binary under test lies in a checkout.
    let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = checkout.canonicalize().unwrap().join("docs");
    assert!(request.contains(&docs.display().to_string()), "{request}");

    let pages = scene.home.run(&["docs"]).ok();
    assert!(
        pages.contains("index")
            && pages.contains("config-reference")
            && pages.contains("command-reference")
    );
    let page = scene.home.run(&["docs", "config"]).ok();
    assert!(page.contains("agents.defaults.imageModel") || page.contains("imageModel"));
    let commands = scene.home.run(&["docs", "cli"]).ok();
    assert!(commands.contains("chela docs"));
    assert!(!commands.contains("chela auth help"), "no copies of help");
    let wrong = scene.home.run(&["docs", "confg"]);
    assert!(
        wrong.code != 0 && wrong.err.contains("did you mean `config`"),
        "{wrong:?}"
    );
}

#[test]
fn d13_what_ends_with_a_one_shot_chat_is_told_with_the_next_message() {
    let run = json!({ "command": "sleep 30; echo red", "background": true });
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            when(
                "in the background has ended",
                ScriptStep::reply("It is red."),
            ),
            when("run it", ScriptStep::tool("exec", run)),
            when(
                "be quick",
                ScriptStep::tool(
                    "exec",
                    json!({ "command": "sleep 1; echo blue", "background": true }),
                ),
            ),
        ])
    };
    let full = json!({ "tools": { "exec": { "mode": "full" } } });
    let scene = ScriptedHome::without_canary(APIS[0], script, full);
    scene.chat("run it").ok();
    scene.chat("and?").ok();
    let told = last_request(&scene)["messages"].to_string();
    assert!(
        told.contains("ended with the process") && told.contains("sleep 30; echo red"),
        "{told}"
    );
    let waited = scene
        .home
        .run(&["chat", "-m", "be quick", "--wait-commands"]);
    assert!(waited.out.contains("It is red."), "{waited:?}");
    let heard = last_request(&scene)["messages"].to_string();
    assert!(heard.contains("blue"), "{heard}");
}

#[test]
fn d16_the_first_conversation_is_pending_until_it_was_held() {
    let scene = agreeing(json!({}));
    scene.chat("hello").ok();
    let told = last_message(&scene);
    assert!(
        told.contains("[Bootstrap pending]") && told.contains("before anything else"),
        "{told}"
    );
    scene.chat("go on").ok();
    assert!(
        !last_message(&scene).contains("[Bootstrap pending]"),
        "said once"
    );

    let limited = |args: &[&str], why: &str| {
        scene.home.run(args).ok();
        let told = last_message(&scene);
        assert!(
            told.contains("[Bootstrap pending]") && told.contains(why),
            "{told}"
        );
        assert!(told.contains("cannot be held here"), "{told}");
    };
    limited(
        &["chat", "-m", "hi", "--no-tools", "-s", "agent:main:bare"],
        "no tools",
    );
    let group = "agent:main:telegram:group:99";
    limited(
        &["chat", "-m", "hi", "-s", group],
        "others read this conversation",
    );
    let request = last_request(&scene).to_string();
    assert!(
        !request.contains("## BOOTSTRAP.md"),
        "strangers are asked nothing: {request}"
    );

    std::fs::remove_file(scene.home.path(".chela/workspace/BOOTSTRAP.md")).unwrap();
    scene
        .home
        .run(&["chat", "-m", "hi", "-s", "agent:main:later"])
        .ok();
    assert!(!last_message(&scene).contains("[Bootstrap pending]"));
}

#[test]
fn the_owner_changes_config_where_there_is_no_gateway_tool() {
    let scene = agreeing(json!({}));
    scene.chat("hello").ok();
    let system = last_request(&scene)["messages"][0].to_string();
    assert!(
        system.contains("the owner changes config with `chela config`"),
        "{system}"
    );
}

#[test]
fn a_command_takes_its_time_limit_under_the_name_models_use() {
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            when(
                "run it",
                ScriptStep::tool("exec", json!({ "command": "echo ran", "timeout": 20 })),
            ),
            when(
                "hang",
                ScriptStep::tool(
                    "exec",
                    json!({ "command": "sleep 30; touch over", "timeout": 1 }),
                ),
            ),
            when("slip", ScriptStep::tool("exec", json!({ "comand": "ls" }))),
        ])
    };
    let more = json!({ "tools": { "exec": { "mode": "full" } } });
    let scene = ScriptedHome::without_canary(APIS[0], script, more);
    scene.chat("run it").ok();
    let seen = last_message(&scene);
    assert!(
        seen.contains("ran") && !seen.contains("does not exist"),
        "{seen}"
    );
    scene.chat("hang").ok();
    let seen = last_message(&scene);
    assert!(seen.contains("its time was up"), "{seen}");
    assert!(!scene.home.exists(".chela/workspace/over"));
    // A complaint shows a call that would work.
    scene.chat("slip").ok();
    let seen = last_message(&scene);
    assert!(
        seen.contains("did you mean `command`") && seen.contains("ls -la"),
        "{seen}"
    );
}
