//! Nothing in a prompt that is not there: tools, commands, and what sections are about.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{answering, offered, sent};
use crate::scene::ScriptedHome;

/// Every tool a prompt could name.
const TOOLS: [&str; 29] = [
    "read",
    "write",
    "edit",
    "apply_patch",
    "grep",
    "find",
    "ls",
    "exec",
    "process",
    "web_search",
    "web_fetch",
    "browser",
    "canvas",
    "nodes",
    "cron",
    "message",
    "gateway",
    "agents_list",
    "sessions_list",
    "sessions_history",
    "sessions_send",
    "sessions_spawn",
    "subagents",
    "session_status",
    "memory_search",
    "memory_get",
    "image",
    "image_generate",
    "update_plan",
];

/// A prompt, and what its session has.
struct RenderedScene {
    name: &'static str,
    text: String,
    tools: BTreeSet<String>,
    channel: Option<&'static str>,
}

/// What a section is about, and whether a session has it.
type SectionNeed = (&'static str, fn(&RenderedScene) -> bool);

const SECTIONS: [SectionNeed; 8] = [
    ("## Skills (mandatory)", |scene| scene.has("read")),
    ("## Memory Recall", |scene| {
        scene.has("memory_search") || scene.has("memory_get")
    }),
    ("## Chela Self-Update", |scene| scene.has("gateway")),
    ("## Sub-Agent Delegation", |scene| {
        scene.has("sessions_spawn")
    }),
    ("## Reactions", |scene| {
        scene.has("message") && scene.channel.is_some()
    }),
    ("## Voice (TTS)", |scene| scene.channel.is_some()),
    ("## Control UI Embed", |scene| {
        scene.channel == Some("webchat")
    }),
    ("## Group Chat Context", |scene| scene.channel.is_some()),
];

impl RenderedScene {
    fn has(&self, tool: &str) -> bool {
        self.tools.contains(tool)
    }

    /// The lines of the prompt's own: files and the list of skills are the owner's words.
    fn own_lines(&self) -> impl Iterator<Item = &str> {
        let mut foreign = false;
        self.text.lines().filter(move |line| {
            if line.starts_with("# Project Context")
                || line.starts_with("# Dynamic Project Context")
            {
                foreign = true;
            } else if [
                "## Silent Replies",
                "## Messaging",
                "## Runtime",
                "</runtime-context>",
            ]
            .iter()
            .any(|heading| line.starts_with(heading))
            {
                foreign = false;
            }
            !foreign
        })
    }
}

/// What the config of all scenes has: every section that a setting alone could switch on.
fn settings() -> Value {
    json!({
        "agents": { "defaults": {
            "additionalSystemPrompt": "Answer in rhymes.",
            "heartbeat": { "every": "30m" },
            "subagents": { "delegationMode": "prefer" },
        } },
        "messages": { "tts": { "hint": "Speak slowly." } },
        "channels": { "telegram": { "reactionLevel": "extensive" } },
    })
}

fn live(name: &'static str, scene: &ScriptedHome, args: &[&str]) -> RenderedScene {
    let args: Vec<&str> = ["chat", "-m", "hello"]
        .into_iter()
        .chain(args.iter().copied())
        .collect();
    scene.home.run(&args).ok();
    let text = sent(scene);
    let tools = offered(scene);
    RenderedScene {
        name,
        // A small model is not sent its tools by themselves, only told of them.
        tools: match tools.is_empty() {
            true => listed(&text),
            false => tools.into_iter().collect(),
        },
        text,
        channel: None,
    }
}

fn preview(
    name: &'static str,
    scene: &ScriptedHome,
    session: &str,
    channel: Option<&'static str>,
) -> RenderedScene {
    let text = scene.home.run(&["prompt", "--session", session]).ok();
    let report = scene
        .home
        .run(&["context", "json", "--session", session])
        .json();
    let entries = |rows: &Value| -> Vec<String> {
        let rows = rows.as_array().into_iter().flatten();
        let names = rows.filter_map(|row| row["name"].as_str());
        names.map(str::to_owned).collect()
    };
    let mut tools = entries(&report["tools"]["entries"]);
    tools.extend(entries(&report["deferred"]));
    RenderedScene {
        name,
        tools: tools.into_iter().collect(),
        text,
        channel,
    }
}

/// The tools a prompt lists.
fn listed(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("- "));
    rows.map(|line| line.split([':', '(']).next().unwrap_or(line).to_owned())
        .filter(|tool| TOOLS.contains(&tool.as_str()))
        .collect()
}

fn scenes() -> Vec<(ScriptedHome, Vec<RenderedScene>)> {
    let all = answering(settings());
    let rendered = vec![
        live("main", &all, &[]),
        live(
            "no tools",
            &all,
            &["--no-tools", "--session", "agent:main:bare"],
        ),
        preview("group", &all, "agent:main:discord:group:7", Some("discord")),
        preview(
            "direct",
            &all,
            "agent:main:telegram:direct:owner",
            Some("telegram"),
        ),
        preview(
            "webchat",
            &all,
            "agent:main:webchat:direct:owner",
            Some("webchat"),
        ),
        preview("sub-agent", &all, "agent:main:subagent:1", None),
        preview("cron", &all, "agent:main:cron:1", None),
        preview("heartbeat", &all, "agent:main:main:heartbeat", None),
    ];
    let plain = answering(json!({}));
    let plain_scenes = vec![live("without any setting", &plain, &[])];
    let small = answering(json!({ "models": { "providers": { "kit": { "models": [
        { "id": "scripted", "contextWindow": 8_000 },
    ] } } } }));
    let small_scenes = vec![live("small model", &small, &[])];
    let boxed = answering(json!({ "agents": { "defaults": { "sandbox": { "mode": "all" } } } }));
    let boxed_scenes = vec![live("sandboxed", &boxed, &[])];
    vec![
        (all, rendered),
        (plain, plain_scenes),
        (small, small_scenes),
        (boxed, boxed_scenes),
    ]
}

/// What stands in backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

#[test]
fn no_prompt_names_what_is_not_there() {
    let mut wrong = Vec::new();
    let mut commands = BTreeSet::new();
    let all = scenes();
    for rendered in all.iter().flat_map(|(_, rendered)| rendered) {
        let name = rendered.name;
        assert!(rendered.text.contains("Chela"), "{name} has a prompt");
        for line in rendered.own_lines() {
            for word in quoted(line) {
                let tool = word.split([' ', '.', '(']).next().unwrap_or(word);
                // A sentence that says so is right.
                let is_denied = line.contains(&format!("no `{tool}`"));
                if TOOLS.contains(&tool) && !rendered.has(tool) && !is_denied {
                    wrong.push(format!("{name}: no tool `{tool}`, but: {line}"));
                }
                if let Some(command) = word.strip_prefix("chela ") {
                    commands.insert(command.to_owned());
                }
            }
        }
        for (heading, is_met) in SECTIONS {
            let has_it = rendered.text.lines().any(|line| line == heading);
            if has_it && !is_met(rendered) {
                wrong.push(format!("{name}: `{heading}` without what it is about"));
            }
        }
    }
    assert!(!commands.is_empty());
    for command in commands {
        let is_plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let words = command
            .split_whitespace()
            .take_while(|word| is_plain(word) && !word.starts_with('-'));
        let args: Vec<&str> = words.chain(["--help"]).collect();
        let known = command == "help" || all[0].0.home.run(&args).code == 0;
        if !known {
            wrong.push(format!("there is no command `chela {command}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn heartbeats_are_spoken_of_where_they_are_set_up_alone() {
    let plain = answering(json!({}));
    plain.chat("hello").ok();
    assert!(!sent(&plain).contains("## Heartbeats"));
}
