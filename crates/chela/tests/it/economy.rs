//! What a long conversation costs, as the binary tells it: fifty turns by every way in, and the
//! cached prefix breaks only where it must.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use chela_core::Host;
use chela_ledger::{Ledger, RecordFilter, RequestSummary};
use chela_store::WaitHere as _;
use chela_testkit::{EndpointScript, ScriptStep, StepRule};
use serde_json::json;

use crate::chat::terminal::ChatTerminal;
use crate::scene::{APIS, ScriptedHome};

const GOOD: &str = "## Goals\n- go on\n\n## Decisions\n- none\n\n## Done\n- none\n\n## Open\n- none\n\n## Identifiers\n- none";

/// The ways a message gets in.
#[derive(Clone, Copy)]
enum Way {
    /// `chela chat -m`
    Message,
    /// Piped into `chela chat`.
    Piped,
    /// By the key of the session, for a script.
    Script,
    /// Typed in a terminal, all to one process.
    Terminal,
}

fn scene() -> ScriptedHome {
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("Heard: {{user}}")),
        ..EndpointScript::steps([
            ScriptStep::reply(GOOD).when(StepRule {
                contains: Some("Summarise the conversation".into()),
                ..StepRule::default()
            }),
            ScriptStep::tool("read", json!({ "path": "USER.md" })).when(StepRule {
                contains: Some("look it up".into()),
                after_tool: Some(false),
                ..StepRule::default()
            }),
        ])
    };
    let scene = ScriptedHome::with(
        APIS[0],
        script,
        json!({ "agents": { "defaults": { "compaction": {
            "keepRecentTokens": 300, "recentTurnsPreserve": 1,
        } } } }),
    );
    remember(&scene, "The safe is blue.");
    scene
}

fn remember(scene: &ScriptedHome, text: &str) {
    let text = format!("{text}\n");
    scene.home.write(".chela/workspace/MEMORY.md", &text);
    // It is the owner's: what nobody answers for would be told, and show in the status line.
    scene
        .home
        .run(&["trust", "approve", "MEMORY.md", "--yes"])
        .ok();
}

/// Says something as often as there are turns.
fn say(scene: &ScriptedHome, way: Way, turns: std::ops::RangeInclusive<u32>) {
    let texts = turns.map(|turn| match turn % 7 {
        0 => format!("look it up, number-{turn}"),
        _ => format!("message number-{turn}"),
    });
    match way {
        Way::Message => texts.for_each(|text| drop(scene.chat(&text).ok())),
        Way::Piped => texts.for_each(|text| {
            scene.home.run_with_input(&["chat"], &text).ok();
        }),
        Way::Script => texts.for_each(|text| {
            let args = [
                "chat",
                "-m",
                &text,
                "--session",
                "agent:main:main",
                "--json",
            ];
            assert_eq!(scene.home.run(&args).json()["ended"], "done");
        }),
        Way::Terminal => {
            let mut terminal = ChatTerminal::open(&scene.home, &[]);
            terminal.sees("continuing your last conversation");
            for text in texts {
                let number = scene.endpoint.calls().len();
                terminal.types(&format!("{text}\r"));
                // What the runtime has to say stands before the words.
                terminal.sees("Heard: ");
                terminal.sees(&text);
                // The status line without "Esc stops", which a quick turn never shows: it is over.
                // What was piped in before taints.
                terminal.sees("untrusted content in context\u{1b}");
                assert!(scene.endpoint.calls().len() > number);
            }
            terminal.types("\u{4}");
            assert!(terminal.ends().success());
        }
    }
}

fn records(scene: &ScriptedHome) -> (Ledger, Vec<RequestSummary>) {
    let host = Host::fixed(scene.home.path(""));
    let path = scene.home.path(".chela/state/ledger.sqlite");
    let ledger = Ledger::open_file(&host, &path).unwrap();
    let list = ledger.list(&RecordFilter::default()).wait().unwrap();
    (ledger, list)
}

#[test]
fn fifty_turns_break_the_prefix_at_compactions_and_the_reset_alone() {
    let scene = scene();
    let compact = ["sessions", "compact", "agent:main:main"];
    say(&scene, Way::Message, 1..=4);
    remember(&scene, "The safe was painted red.");
    say(&scene, Way::Message, 5..=8);
    scene.home.write(
        ".chela/workspace/skills/paint/SKILL.md",
        "---\nname: paint\ndescription: Paints safes\n---\nPaint it.\n",
    );
    say(&scene, Way::Piped, 9..=14);
    let deny = ["config", "set", "tools.deny", "[\"web_fetch\"]"];
    scene.home.run(&deny).ok();
    remember(&scene, "The safe was painted green.");
    say(&scene, Way::Terminal, 15..=22);
    scene.home.run(&compact).ok();
    say(&scene, Way::Script, 23..=30);
    remember(&scene, "The safe was painted white.");
    say(&scene, Way::Piped, 31..=36);
    scene.chat("/compact").ok();
    say(&scene, Way::Terminal, 37..=44);
    let (_, list) = records(&scene);
    let before_reset = list.len();
    scene.chat("/new").ok();
    say(&scene, Way::Message, 45..=50);

    let (ledger, list) = records(&scene);
    assert_eq!(list.len(), scene.endpoint.calls().len());
    assert!(list.len() > 52, "{} requests", list.len());
    let broken: Vec<(usize, &str)> = list
        .iter()
        .enumerate()
        .filter_map(|(at, one)| Some((at, one.cause.as_deref()?)))
        .collect();
    let causes: Vec<&str> = broken.iter().map(|(_, cause)| *cause).collect();
    // A summary is asked for with what is left of the conversation, and then stands in for it.
    assert_eq!(
        causes,
        [
            "first",
            "compaction",
            "compaction",
            "compaction",
            "compaction",
            "reset"
        ],
        "{broken:?}"
    );
    assert_eq!(broken[5].0, before_reset);
    // What the endpoint's own cache had not read before is what was new.
    for (at, call) in scene.endpoint.calls().iter().enumerate() {
        let share = call.tokens.cached as f64 / call.tokens.input as f64;
        if !broken.iter().any(|(broken, _)| *broken == at) {
            assert!(share > 0.9, "request {at} was read again: {call:?}");
        }
    }
    for one in &list {
        let replayed = ledger.replay(one.id, &|_| None).wait().unwrap();
        assert!(replayed.matches(), "request {}", one.id);
    }
    let why = scene.home.run(&["cache", "why", &list[0].session]).ok();
    for part in ["first request", "compact", "0 breaks"] {
        assert!(why.contains(part) || part == "0 breaks", "{part}: {why}");
    }
    assert!(why.contains("no avoidable breaks"), "{why}");
    let after = scene.home.run(&["cache", "why", "main"]).ok();
    assert!(
        after.contains("reset") || after.contains("restarted"),
        "{after}"
    );
    // What changed in between is part of the prompt now.
    let last = scene.endpoint.calls().pop().unwrap().json();
    let system = last["messages"][0].to_string();
    assert!(system.contains("painted white") && system.contains("Paints safes"));
    assert!(!last["tools"].to_string().contains("web_fetch"));
    scene.home.run(&["audit", "verify"]).ok();
}
