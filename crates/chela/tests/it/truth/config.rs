//! What the config says of keys that nothing uses, and shapes that are read as others.

use serde_json::json;

use super::{answering, defaults, offered, sent};
use crate::home::TestHome;
use crate::scene::{APIS, ScriptedHome, after_tool};
use chela_testkit::{EndpointScript, ScriptStep};

/// Sets much that nothing runs yet.
const IDLE: &str = r#"{
  agents: { defaults: { heartbeat: { every: "30m", prompt: "look", target: "none" }, maxConcurrent: 3 } },
  gateway: { port: 18789, auth: { mode: "token" } },
  cron: { enabled: true, maxConcurrentRuns: 2 },
  channels: { telegram: { botToken: "x", dmPolicy: "open" } },
  plugins: { enabled: true, allow: ["a"] },
  hooks: { enabled: true, path: "/hooks" },
  bindings: [{ agentId: "main", match: { channel: "telegram" } }],
  messages: { queue: { mode: "steer" } },
  mcp: { servers: { docs: { command: "docs" } } },
  acp: { defaultAgent: "codex" },
  browser: { enabled: true },
  update: { channel: "stable" },
}"#;

#[test]
fn parts_that_nothing_runs_are_told_in_a_line_each() {
    let home = TestHome::with_config(IDLE);
    let told = home.run(&["config", "validate"]).ok();
    let notes: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("nothing "))
        .collect();
    for part in [
        "cron.maxConcurrentRuns",
        "channels",
        "bindings",
        "acp",
        "browser",
    ] {
        assert!(told.contains(&format!(" {part}\n")), "{part} in\n{told}");
    }
    assert_eq!(notes.len(), 5, "a line for each part:\n{told}");
    let status = home.run(&["status"]).ok();
    assert!(status.contains("nothing runs it yet"), "{status}");
    assert!(
        status.contains("bindings") && status.contains("channels"),
        "{status}"
    );
    assert!(!status.contains("no model is called"), "{status}");
    let doctor = home.run(&["doctor"]).flat();
    assert!(
        doctor.contains("channels: accepted, but nothing runs it yet"),
        "{doctor}"
    );
}

#[test]
fn a_key_says_what_becomes_of_it() {
    let home = TestHome::with_config("{}");
    let explained = |key: &str| home.run(&["config", "explain", key]).ok();
    assert!(
        explained("browser.enabled").contains("`browser` is accepted, but nothing runs it yet")
    );
    assert!(explained("cron.maxConcurrentRuns").contains("accepted, but nothing uses it yet"));
    assert!(!explained("agents.defaults.model").contains("accepted, but"));
    let mode = explained("tools.exec.mode");
    assert!(
        mode.contains("auto") && !mode.contains("no default"),
        "{mode}"
    );
    let told = home.run(&["config", "set", "cron.enabled", "true"]).ok();
    assert!(!told.contains("nothing runs it yet"), "{told}");
    let told = home.run(&["config", "set", "cron.store", "x"]).ok();
    assert!(told.contains("nothing uses it yet"), "{told}");
    let help = home.run(&["config", "set", "--help"]).ok();
    assert!(
        !help.contains("heartbeat") && !help.contains("gateway"),
        "{help}"
    );
}

#[test]
fn keys_that_change_nothing_as_set_are_told_by_the_check() {
    let home = TestHome::with_config(
        r#"{ agents: {
            defaults: { memorySearch: {
                sources: ["memory", "sessions"], experimental: { sessionMemory: true },
                query: { minScore: 0.35, hybrid: { candidateMultiplier: 3 } },
                chunking: { tokens: 400, overlap: 20 }, remote: { batch: { enabled: true } },
                local: { modelCacheDir: "x" }, store: { vector: { extensionPath: "x" } },
            } },
            list: [{ id: "main", identity: { name: "Miso", theme: "tea", avatar: "a.png" } }],
        } }"#,
    );
    let told = home.run(&["config", "validate"]).flat();
    for key in [
        "query.hybrid.candidateMultiplier",
        "chunking.overlap",
        "remote.batch",
        "local.modelCacheDir",
        "store.vector.extensionPath",
    ] {
        let line = format!("memorySearch.{key} has no effect");
        assert!(told.contains(&line), "{key}: {told}");
    }
    for used in ["minScore", "chunking.tokens", "sources", "identity.name"] {
        assert!(!told.contains(used), "{used}: {told}");
    }
    assert!(
        told.contains("`identity.theme` and `identity.avatar` are accepted, but nothing uses them"),
        "{told}"
    );
}

#[test]
fn the_weakest_result_counts_as_it_is_set() {
    let found = |score: serde_json::Value| {
        let home = TestHome::with_config(
            &json!({ "agents": { "defaults": { "memorySearch": { "query": score, "provider": "none" } } } }).to_string(),
        );
        home.run(&["init"]).ok();
        for (day, note) in [
            "The turquoise gramophone went to the auction in the harbour.",
            "A gramophone needs new needles every month, says the shop in the old town.",
            "The harbour is closed on Mondays; the ferry leaves from the other side.",
            "Breakfast was late, and nobody found the keys to the shed.",
        ]
        .iter()
        .enumerate()
        {
            home.write(
                &format!(".chela/workspace/memory/2026-01-0{}.md", day + 1),
                &format!("# Day\n\n{note}\n"),
            );
        }
        let hits = home.run(&[
            "memory",
            "search",
            "gramophone harbour turquoise auction",
            "--json",
        ]);
        let scores: Vec<f64> = hits.json()["results"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|hit| hit["score"].as_f64())
            .collect();
        scores
    };
    let all = found(json!({}));
    let weakest = all.iter().copied().fold(1.0, f64::min);
    assert!(weakest < 0.99, "{all:?}");
    // The very number of the reference counts like any other.
    for least in [0.35, 0.99] {
        let kept = found(json!({ "minScore": least }));
        assert!(
            kept.iter().all(|score| *score >= least),
            "{least}: {kept:?} of {all:?}"
        );
    }
}

#[test]
fn the_length_of_a_piece_counts_as_it_is_set() {
    let chunks = |tokens: u32| {
        let chunking = json!({ "provider": "none", "chunking": { "tokens": tokens } });
        let home = TestHome::with_config(
            &json!({ "agents": { "defaults": { "memorySearch": chunking } } }).to_string(),
        );
        home.run(&["init"]).ok();
        let note = "The turquoise gramophone went to the auction in the harbour town. ".repeat(300);
        home.write(".chela/workspace/memory/2026-01-01.md", &note);
        let indexed = home.run(&["memory", "index", "--json"]).json();
        indexed["chunks"].as_u64().unwrap_or_default()
    };
    let (small, usual, large) = (chunks(100), chunks(400), chunks(1_600));
    assert!(small > usual && usual > large, "{small} {usual} {large}");
}

#[test]
fn plain_shapes_are_read() {
    let home = TestHome::with_config(
        r#"{ agents: { defaults: { timeFormat: 24, elevatedDefault: true },
            main: { identity: { name: "Miso", emoji: "🦊" } } } }"#,
    );
    let told = home.run(&["config", "validate"]).ok();
    assert!(told.contains("is valid"), "{told}");
    let explained = home
        .run(&["config", "explain", "agents.defaults.elevatedDefault"])
        .ok();
    assert!(explained.contains("on"), "{explained}");
    home.run(&["config", "set", "agents.defaults.timeFormat", "12"])
        .ok();
    let status = home.run(&["status"]).ok();
    assert!(status.contains("“Miso” 🦊"), "{status}");
    // A slip of the pen is no agent.
    let home = TestHome::with_config("{ agents: { defualts: { model: 'a/b' } } }");
    let told = home.run(&["config", "validate"]);
    assert!(
        told.code == 78 && told.out.contains("agents.defaults"),
        "{told:?}"
    );
}

#[test]
fn the_time_is_told_as_the_operator_wants_it() {
    let script = EndpointScript {
        otherwise: None,
        ..EndpointScript::steps([
            ScriptStep::tool("session_status", json!({})),
            after_tool(ScriptStep::reply("Done.")),
        ])
    };
    let scene =
        ScriptedHome::without_canary(APIS[0], script, defaults(json!({ "timeFormat": "12" })));
    scene.chat("what time is it?").ok();
    let told = sent(&scene);
    let time = told
        .lines()
        .find(|line| line.starts_with("Time: "))
        .unwrap_or_default();
    assert!(time.contains("AM") || time.contains("PM"), "{told}");
}

#[test]
fn another_agent_has_a_folder_outside_of_the_first_ones() {
    let home = TestHome::with_config(
        "{ agents: { defaults: { workspace: '~/wsdef' }, list: [{ id: 'main' }, { id: 'two' }] } }",
    );
    let shown = home.run(&["agents", "list", "--json"]).json();
    let place = |shown: &serde_json::Value| {
        shown[1]["workspace"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(place(&shown).ends_with(".chela/workspace-two"), "{shown}");
    // Files from before stay where they are, and the owner hears of it once.
    home.write("wsdef/two/SOUL.md", "I am the second.\n");
    let shown = home.run(&["agents", "list", "--json"]).json();
    assert!(place(&shown).ends_with("wsdef/two"), "{shown}");
    let first = home.run(&["prompt", "--agent", "two"]);
    assert!(
        first.out.contains("Working directory: ~/wsdef/two"),
        "{first:?}"
    );
    assert!(
        first.err.contains("inside the default agent's workspace"),
        "{first:?}"
    );
    let second = home.run(&["prompt", "--agent", "two"]);
    assert!(!second.err.contains("inside the default"), "{second:?}");
}

#[test]
fn a_skill_can_be_named_on_the_command_line() {
    let scene = answering(json!({}));
    for name in ["tea", "boats"] {
        scene.home.write(
            &format!(".chela/skills/{name}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: All about {name}.\n---\nSay {name} twice.\n"),
        );
    }
    let prompt = scene.home.run(&["prompt", "--skill", "tea"]).ok();
    assert!(
        prompt.contains("\ntea v") && !prompt.contains("\nboats v"),
        "{prompt}"
    );
    let unknown = scene.home.run(&["prompt", "--skill", "nothing"]).fails(1);
    assert!(unknown.contains("there is no skill `nothing`"), "{unknown}");
    scene
        .home
        .run(&["chat", "--skill", "tea", "-m", "green, please"])
        .ok();
    let told = sent(&scene);
    assert!(
        told.contains("Say tea twice.") && told.contains("green, please"),
        "{told}"
    );
    assert!(offered(&scene).iter().any(|tool| tool == "read"));
}

#[test]
fn skills_of_a_package_installed_for_all_are_found() {
    let home = TestHome::empty();
    let prefix = home.path("npm").display().to_string();
    let home = home.env("NPM_CONFIG_PREFIX", &prefix);
    home.write(
        ".chela/chela.json",
        "{ skills: { load: { packages: ['@me/kit'] } } }",
    );
    home.write(
        "npm/lib/node_modules/@me/kit/skills/pour/SKILL.md",
        "---\nname: pour\ndescription: Pour the tea.\nmetadata: {\"chela\": {\"invocation\": {\"allowRemote\": true}}}\n---\nPour.\n",
    );
    home.run(&["init"]).ok();
    let listed = home.run(&["skills", "list"]).ok();
    assert!(listed.contains("pour"), "{listed}");
    // What it asks for and nothing does is said where a skill is looked at.
    let folder = "npm/lib/node_modules/@me/kit/skills/pour";
    let told = home.run(&["skills", "check", folder]);
    assert!(
        told.out.contains("allowRemote") && told.out.contains("nothing uses it yet"),
        "{told:?}"
    );
}

#[test]
fn sessions_are_listed_with_their_last_words() {
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("The kettle whistles.")),
        ..EndpointScript::steps([
            ScriptStep::tool("sessions_list", json!({ "messageLimit": 2 })).when(
                chela_testkit::StepRule {
                    contains: Some("which sessions".into()),
                    after_tool: Some(false),
                    ..chela_testkit::StepRule::default()
                },
            ),
        ])
    };
    let scene = ScriptedHome::without_canary(APIS[0], script, json!({}));
    scene
        .home
        .run(&["chat", "-m", "put it on", "--session", "agent:main:tea"])
        .ok();
    scene.chat("which sessions are there?").ok();
    let told = sent(&scene);
    assert!(told.contains("assistant: The kettle whistles."), "{told}");
}
