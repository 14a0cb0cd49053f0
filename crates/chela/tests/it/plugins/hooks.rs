//! Every hook has a live caller.

use chela_testkit::ScriptStep;
use serde_json::json;

use super::{PluginHome, printed, says};

const PROMPT: [&str; 3] = ["hook:before_prompt_build", "prompt:tail=200", "vouched"];

#[test]
fn text_goes_along_with_the_message_in_the_order_of_priority() {
    let home = PluginHome::new();
    for (id, text, priority) in [
        ("low", "from the low one", 1),
        ("high", "from the high one", 9),
    ] {
        let hooks = json!({ "before_prompt_build": says(json!({ "prependContext": text })) });
        let more = json!({ "hooks": { "before_prompt_build": { "priority": priority } } });
        home.add_with(id, &hooks, &more, &PROMPT).ok();
    }
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    let sent = home.sent();
    let (high, low) = (
        sent.find("from the high one"),
        sent.find("from the low one"),
    );
    assert!(high.is_some() && high < low, "{sent}");
    // It stands in the tail: the prefix is the same for the next message.
    let first = home.system();
    assert!(!first.contains("from the high one"), "{first}");
    home.say("Again", [ScriptStep::reply("Hello.")]).ok();
    assert_eq!(first, home.system());
    let record = home.on_record();
    assert!(
        record.contains("before_prompt_build") && record.contains("added"),
        "{record}"
    );
}

#[test]
fn a_plugin_is_told_who_it_is_and_no_word_of_the_conversation() {
    let home = PluginHome::new();
    let hooks = json!({ "before_prompt_build": ["toldToPrompt"] });
    home.add("teller", &hooks, &PROMPT).ok();
    home.say("The sesame word", [ScriptStep::reply("Hello.")])
        .ok();
    let block = hook_block(&home.sent());
    for name in ["sessionKey", "sessionId", "workspaceDir"] {
        assert!(block.contains(name), "{block}");
    }
    assert!(!block.contains("sesame"), "{block}");
    home.home()
        .run(&["plugins", "grant", "teller", "conversation"])
        .ok();
    home.say("The sesame word", [ScriptStep::reply("Hello.")])
        .ok();
    assert!(hook_block(&home.sent()).contains("sesame"));
}

/// What hooks said along with the newest message.
fn hook_block(sent: &str) -> String {
    let at = sent.rfind("From the hook").unwrap();
    let block = &sent[at..];
    block[..block.find("</runtime-context>").unwrap()].to_owned()
}

#[test]
fn a_call_is_refused_asked_about_and_rewritten() {
    let home = PluginHome::new();
    let no = json!({ "block": true, "blockReason": "not on Mondays" });
    home.add(
        "nay",
        &json!({ "before_tool_call": says(no) }),
        &["hook:before_tool_call"],
    )
    .ok();
    let write = || ScriptStep::tool("write", json!({ "path": "a.txt", "content": "x" }));
    let run = home.say("Write it.", [write(), ScriptStep::reply("Refused.")]);
    assert!(
        printed(&run).contains("not on Mondays"),
        "{}",
        printed(&run)
    );
    assert!(!home.home().path(".chela/workspace/a.txt").exists());
    assert!(home.on_record().contains("refuses"));
    home.home().run(&["plugins", "disable", "nay"]).ok();
    home.say("Write it.", [write(), ScriptStep::reply("Written.")])
        .ok();
    assert!(home.home().path(".chela/workspace/a.txt").exists());
    // With other arguments: what changes something is asked about then, and nobody answers here.
    let other = json!({ "params": { "path": "b.txt", "content": "y" } });
    home.add(
        "pen",
        &json!({ "before_tool_call": says(other) }),
        &["hook:before_tool_call"],
    )
    .ok();
    home.say("Write it.", [write(), ScriptStep::reply("Hm.")]);
    assert!(!home.home().path(".chela/workspace/b.txt").exists());
    let record = home.on_record();
    assert!(record.contains("rewrote"), "{record}");
    home.home().run(&["plugins", "remove", "pen"]).ok();
    // Reading something else is not asked about; the guard judges what it became.
    let lens = json!({ "before_tool_call": says(json!({ "params": { "path": "b.txt" } })) });
    home.add("lens", &lens, &["hook:before_tool_call"]).ok();
    home.home()
        .write(".chela/workspace/b.txt", "the second file");
    home.say(
        "Read it.",
        [
            ScriptStep::tool("read", json!({ "path": "a.txt" })),
            ScriptStep::reply("Read."),
        ],
    )
    .ok();
    assert!(home.sent().contains("the second file"), "{}", home.sent());
}

#[test]
fn results_and_replies_are_rewritten_with_a_grant_for_the_conversation() {
    let home = PluginHome::new();
    let hooks = json!({
        "after_tool_call": says(json!({ "result": "the result as the plugin has it" })),
        "before_agent_reply": says(json!({ "text": "the reply as the plugin has it" })),
    });
    let grants = [
        "hook:after_tool_call",
        "hook:before_agent_reply",
        "conversation",
    ];
    home.add("editor", &hooks, &grants).ok();
    let run = home.say(
        "List it.",
        [
            ScriptStep::tool("ls", json!({ "path": "." })),
            ScriptStep::reply("own words"),
        ],
    );
    let told = run.ok();
    assert!(told.contains("the reply as the plugin has it"), "{told}");
    assert!(
        home.sent().contains("the result as the plugin has it"),
        "{}",
        home.sent()
    );
}

#[test]
fn what_a_session_begins_with_takes_a_vouched_plugin() {
    let hooks = json!({
        "agent:bootstrap": says(json!({ "files": [{ "name": "house-rules.md", "content": "Rule 77: knock first." }] })),
        "before_prompt_build": says(json!({ "appendSystemContext": "Words for the system." })),
        "provider_contribution": says(json!({ "sectionOverrides": { "execution_bias": "Take your time, always." } })),
    });
    let grants = [
        "hook:agent:bootstrap",
        "hook:before_prompt_build",
        "hook:provider_contribution",
        "prompt:system=200",
    ];
    let home = PluginHome::new();
    home.add("host", &hooks, &grants).ok();
    let run = home.say("Hello", [ScriptStep::reply("Hello.")]);
    assert!(!home.system().contains("Rule 77"), "{}", home.system());
    assert!(
        printed(&run).contains("untrusted content"),
        "{}",
        printed(&run)
    );
    home.home()
        .run(&["plugins", "grant", "host", "vouched"])
        .ok();
    home.say("/new", []).ok();
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    let system = home.system();
    for words in [
        "Rule 77",
        "Words for the system.",
        "Take your time, always.",
    ] {
        assert!(system.contains(words), "{words}: {system}");
    }
}

#[test]
fn the_prompt_is_replaced_and_safety_survives() {
    let home = PluginHome::new();
    let hooks =
        json!({ "before_prompt_build": says(json!({ "systemPrompt": "You are a pirate." })) });
    let grants = ["hook:before_prompt_build", "replace:prompt", "vouched"];
    home.add("pirate", &hooks, &grants).ok();
    home.say("Hello", [ScriptStep::reply("Arr.")]).ok();
    let system = home.system();
    assert!(system.contains("You are a pirate."), "{system}");
    assert!(system.contains("## Safety"), "{system}");
    assert!(!system.contains("## Tool Call Style"), "{system}");
}

#[test]
fn a_persona_is_replaced_by_grant() {
    let home = PluginHome::new();
    home.home().write(
        ".chela/workspace/SOUL.md",
        "Be gentle as the owner wrote it.",
    );
    home.home().run(&["trust", "approve", "SOUL.md"]);
    let hooks = json!({ "agent:bootstrap": says(json!({ "files": [{ "name": "SOUL.md", "content": "Be a grumpy butler." }] })) });
    let grants = [
        "hook:agent:bootstrap",
        "prompt:system=100",
        "vouched",
        "replace:SOUL.md",
    ];
    home.add("butler", &hooks, &grants).ok();
    home.say("Hello", [ScriptStep::reply("Hm.")]).ok();
    let system = home.system();
    assert!(system.contains("grumpy butler"), "{system}");
    assert!(!system.contains("Be gentle"), "{system}");
}

#[test]
fn a_model_is_named_by_grant_field_by_field() {
    let more = json!({ "models": { "providers": { "kit": { "models": [
        { "id": "scripted", "contextWindow": 64_000 }, { "id": "other", "contextWindow": 64_000 } ] } } } });
    let home = PluginHome::with(more);
    let hooks = json!({ "before_model_resolve": says(json!({ "modelOverride": "other" })) });
    let low = json!({ "before_model_resolve": says(json!({ "modelOverride": "scripted", "providerOverride": "kit" })) });
    home.add("chooser", &hooks, &["hook:before_model_resolve"])
        .ok();
    let run = home.say("Hello", [ScriptStep::reply("Hello.")]);
    assert!(home.sent().contains("\"scripted\""), "{}", home.sent());
    assert!(printed(&run).contains("not granted"), "{}", printed(&run));
    home.home()
        .run(&["plugins", "grant", "chooser", "model:kit/other"])
        .ok();
    let first = json!({ "hooks": { "before_model_resolve": { "priority": -5 } } });
    home.add_with(
        "second",
        &low,
        &first,
        &["hook:before_model_resolve", "model:kit"],
    )
    .ok();
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    assert!(
        home.sent().contains("\"model\":\"other\""),
        "{}",
        home.sent()
    );
}

#[test]
fn tools_are_only_taken_away() {
    let home = PluginHome::new();
    let hooks =
        json!({ "before_prompt_build": says(json!({ "toolsAllow": ["ls", "exec_everything"] })) });
    home.add("narrow", &hooks, &["hook:before_prompt_build"])
        .ok();
    home.say(
        "Read it.",
        [
            ScriptStep::tool("read", json!({ "path": "AGENTS.md" })),
            ScriptStep::tool("ls", json!({ "path": "." })),
            ScriptStep::reply("Only a list."),
        ],
    );
    let sent = home.sent();
    assert!(
        sent.contains("narrow"),
        "the refusal names who narrowed: {sent}"
    );
    assert!(sent.contains("AGENTS.md"), "{sent}");
    home.home().run(&["plugins", "disable", "narrow"]).ok();
}

#[test]
fn sessions_compactions_and_ends_are_told() {
    let home = PluginHome::new();
    let file = home.home().path("seen");
    std::fs::create_dir_all(&file).unwrap();
    let note = |name: &str| json!([{ "writeFile": file.join(name).display().to_string() }, { "result": null }]);
    let hooks = json!({
        "session_start": note("session_start"), "session_end": note("session_end"), "agent_end": note("agent_end"),
        "before_compaction": note("before_compaction"), "after_compaction": note("after_compaction"),
    });
    let write = format!("write:{}", file.display());
    let mut grants = vec![write.as_str()];
    grants.extend([
        "hook:session_start",
        "hook:session_end",
        "hook:agent_end",
        "hook:before_compaction",
        "hook:after_compaction",
    ]);
    home.add("watcher", &hooks, &grants).ok();
    let long = "word ".repeat(3_000);
    for _ in 0..4 {
        home.say(&format!("Hello {long}"), [ScriptStep::reply(long.as_str())])
            .ok();
    }
    home.say("/compact", [ScriptStep::reply("A summary.")]);
    home.say("/new", [ScriptStep::reply("Hello.")]);
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    for seen in [
        "session_start",
        "agent_end",
        "before_compaction",
        "after_compaction",
        "session_end",
    ] {
        assert!(
            file.join(seen).exists(),
            "{seen}: {}",
            printed(&home.home().run(&["plugins", "doctor", "watcher"]))
        );
    }
}

#[test]
fn ten_hooks_that_do_nothing_and_a_home_without_plugins() {
    let home = PluginHome::new();
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    // Nothing was read or made for plugins that are not there.
    assert!(!home.home().path(".chela/state/plugins.json").exists());
    assert!(!home.home().path(".chela/plugins").exists());
    let hooks = json!({ "before_prompt_build": says(json!(null)), "agent_end": says(json!(null)) });
    for number in 0..5 {
        let id = format!("noop{number}");
        home.add(&id, &hooks, &["hook:before_prompt_build", "hook:agent_end"])
            .ok();
    }
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    assert!(!home.sent().contains("From the hook"), "{}", home.sent());
}
