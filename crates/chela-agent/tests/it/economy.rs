#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

//! What a long conversation costs: the cached prefix, notes before forgetting, pruning, limits.

use chela_store::block_on;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chela_agent::conversation::Conversation;
use chela_agent::slash::CommandContext;
use chela_core::Clock;
use chela_ledger::{BreakCause, CacheReport};
use chela_store::WaitHere as _;
use chela_testkit::{EndpointScript, ScriptStep, StepRule, TokenCounts};
use serde_json::{Value, json};

use crate::turning::{Home, open, say};

const GOOD: &str = "## Goals\n- go on\n\n## Decisions\n- none\n\n## Done\n- none\n\n## Open\n- none\n\n## Identifiers\n- none";

fn when(text: &str, step: ScriptStep) -> ScriptStep {
    step.when(StepRule {
        contains: Some(text.into()),
        ..StepRule::default()
    })
}

fn report(talk: &Conversation) -> CacheReport {
    let ledger = talk.agents().ledger().expect("a ledger");
    let session = talk.session();
    ledger
        .cache_report(session.id.as_str(), &|_| None)
        .wait()
        .expect("a report")
        .expect("a session")
}

fn causes(report: &CacheReport) -> Vec<(usize, BreakCause)> {
    let turns = report.turns.iter().enumerate();
    turns
        .filter_map(|(at, turn)| Some((at, turn.reuse.broken.as_ref()?.cause.clone())))
        .collect()
}

#[test]
fn fifty_turns_break_the_prefix_only_where_they_must() {
    let config = json!({ "agents": { "defaults": { "compaction": {
        "keepRecentTokens": 400, "recentTurnsPreserve": 1,
    } } } });
    let home = Home::with(
        EndpointScript {
            otherwise: Some(ScriptStep::reply("Fine, that is done now.")),
            ..EndpointScript::steps([
                when("Summarise the conversation", ScriptStep::reply(GOOD)),
                when(
                    "look it up",
                    ScriptStep::tool("read", json!({ "path": "note.txt" })),
                ),
            ])
        },
        config.clone(),
    );
    let workspace = home.host.state_dir().join("workspace");
    let memory = workspace.join("MEMORY.md");
    let write = |text: &str| std::fs::write(&memory, text).expect("a file");
    write("The safe is blue.\n");
    let mut toggled = config.clone();
    toggled["tools"] = json!({ "deny": ["web_fetch"] });
    let mut talk = open(&home.host, &home.endpoint, &config);
    for turn in 1..=50 {
        match turn {
            5 | 17 | 33 => write(&format!("The safe was painted in turn {turn}.\n")),
            9 => {
                let skill = workspace.join("skills/paint");
                std::fs::create_dir_all(&skill).expect("a folder");
                let text = "---\nname: paint\ndescription: Paints safes\n---\nPaint it.\n";
                std::fs::write(skill.join("SKILL.md"), text).expect("a skill");
            }
            // Another process, then one with a tool taken away.
            12 => talk = open(&home.host, &home.endpoint, &config),
            14 => talk = open(&home.host, &home.endpoint, &toggled),
            20 | 40 => {
                talk.undo().wait().expect("an undo").expect("something");
            }
            23 | 37 => {
                home.runtime.block_on(talk.compact(None)).expect("room");
            }
            28 => talk.steer("and mind the gap"),
            _ => {}
        }
        let text = match turn % 7 {
            0 => format!("look it up, number {turn}"),
            _ => format!("message {turn}"),
        };
        say(&home.runtime, &talk, &text).0.expect("an answer");
    }
    let report = report(&talk);
    let causes = causes(&report);
    assert_eq!(report.avoidable_breaks, 0, "{causes:?}");
    assert!(report.turns.len() >= 50);
    let (first, rest) = causes.split_first().expect("a first request");
    assert_eq!(*first, (0, BreakCause::FirstRequest));
    // A summary is asked for with what is left of the conversation, and then stands in for it.
    assert!(
        rest.iter()
            .all(|(_, cause)| *cause == BreakCause::Compaction),
        "{rest:?}"
    );
    assert_eq!(rest.len(), 4, "{rest:?}");
    assert!(
        rest[1].0 == rest[0].0 + 1 && rest[3].0 == rest[2].0 + 1,
        "{rest:?}"
    );
    // The endpoint's own cache agrees: what it had not read before is what was new.
    let calls = home.endpoint.calls();
    assert_eq!(calls.len(), report.turns.len());
    for (at, (call, turn)) in calls.iter().zip(&report.turns).enumerate() {
        let read = call.tokens.input - call.tokens.cached;
        let share = call.tokens.cached as f64 / call.tokens.input as f64;
        match causes.iter().any(|(broken, _)| *broken == at) {
            true => {}
            false => assert!(
                share > 0.9,
                "request {at} was read again: {read} of {call:?}"
            ),
        }
        assert_eq!(
            turn.provider_cache_read,
            Some(call.tokens.cached),
            "request {at}"
        );
    }
    let ledger = talk.agents().ledger().expect("a ledger");
    for turn in &report.turns {
        let replayed = ledger
            .replay(turn.record, &|_| None)
            .wait()
            .expect("a request");
        assert!(replayed.matches(), "request {}", turn.record);
    }
    // What was told as a note became part of the prompt when it was read anew anyway.
    let system = home.requests().pop().expect("a request")["messages"][0].to_string();
    assert!(
        system.contains("painted in turn 33") && system.contains("paint"),
        "{system}"
    );
}

#[test]
fn a_reset_is_named_too() {
    let home = Home::new(EndpointScript::always(ScriptStep::reply("Fine.")));
    home.say("one").0.expect("an answer");
    block_on(home.talk.begin_anew()).expect("a session");
    home.say("two").0.expect("an answer");
    let causes = causes(&report(&home.talk));
    assert_eq!(causes, [(0, BreakCause::Reset)]);
}

#[test]
fn notes_are_written_before_forgetting_once_and_in_silence() {
    let note = json!({ "path": "memory/2023-11-14.md", "content": "Likes tea.\n" });
    let home = Home::with(
        EndpointScript {
            otherwise: Some(ScriptStep {
                usage: Some(TokenCounts {
                    input: 84_000,
                    output: 10,
                    ..TokenCounts::default()
                }),
                ..ScriptStep::reply("Fine.")
            }),
            ..EndpointScript::steps([when(
                "about to be made shorter",
                ScriptStep::tool("write", note),
            )])
        },
        json!({}),
    );
    let (outcome, watched) = home.say("I like tea");
    outcome.expect("an answer");
    assert_eq!(watched.text(), "Fine.", "the silent turn is not shown");
    let written = home.host.state_dir().join("workspace/memory/2023-11-14.md");
    assert!(
        std::fs::read_to_string(written)
            .expect("a note")
            .contains("tea")
    );
    let calls = home.endpoint.calls().len();
    assert_eq!(calls, 3);
    home.say("and milk").0.expect("an answer");
    assert_eq!(
        home.endpoint.calls().len(),
        calls + 1,
        "once per compaction"
    );
    let causes = causes(&report(&home.talk));
    assert_eq!(causes.len(), 1, "nothing but appended: {causes:?}");
}

#[test]
fn nobody_is_asked_to_write_where_nothing_can_be_written() {
    let full = ScriptStep {
        usage: Some(TokenCounts {
            input: 84_000,
            output: 10,
            ..TokenCounts::default()
        }),
        ..ScriptStep::reply("Fine.")
    };
    let config = json!({ "tools": { "deny": ["write", "edit", "apply_patch"] } });
    let home = Home::with(EndpointScript::always(full), config);
    home.say("hello").0.expect("an answer");
    assert_eq!(home.endpoint.calls().len(), 1);
}

struct At(u64);

impl Clock for At {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000 + self.0)
    }
}

#[test]
fn old_results_go_when_the_cache_is_cold_and_only_then() {
    let config = json!({ "agents": { "defaults": {
        "contextPruning": { "mode": "cache-ttl", "ttl": "5m", "softTrimRatio": 0.01 },
    } } });
    let home = Home::with(
        EndpointScript {
            otherwise: Some(ScriptStep::reply("Fine.")),
            ..EndpointScript::steps([when(
                "look",
                ScriptStep::tool("read", json!({ "path": "long.txt" })),
            )])
        },
        config.clone(),
    );
    let long = home.host.state_dir().join("workspace/long.txt");
    std::fs::write(long, "a line of a long file\n".repeat(600)).expect("a file");
    let later = |seconds: u64| {
        let mut host = home.host.clone();
        host.clock = Arc::new(At(seconds));
        open(&host, &home.endpoint, &config)
    };
    let sizes = |text: &str, talk: &Conversation| {
        say(&home.runtime, talk, text).0.expect("an answer");
        let request: Value = home.requests().pop().expect("a request");
        request["messages"].as_array().expect("messages").clone()
    };
    sizes("look", &later(0));
    let mut warm = Vec::new();
    for turn in 1..5 {
        warm = sizes("go on", &later(turn * 60));
    }
    let result = |messages: &[Value]| {
        let found = messages.iter().find(|message| message["role"] == "tool");
        found.expect("a result").to_string()
    };
    assert!(!result(&warm).contains("left out"), "warm: nothing moves");
    let cold = sizes("after a while", &later(900));
    assert!(result(&cold).contains("left out"), "{}", result(&cold));
    assert!(result(&cold).len() < result(&warm).len() / 2);
    let next = sizes("and on", &later(960));
    assert_eq!(cold[..], next[..cold.len()], "what was sent is sent again");
    let causes = causes(&report(&later(961)));
    assert_eq!(causes.len(), 2, "{causes:?}");
    assert_eq!(causes[1].1, BreakCause::Pruning);
}

#[test]
fn our_count_is_held_against_the_providers() {
    let home = Home::new(EndpointScript::always(ScriptStep::reply("Fine.")));
    assert_eq!(
        home.talk.report().wait().expect("a report").last_request,
        None
    );
    home.say("one").0.expect("an answer");
    let last = home.talk.report().wait().expect("a report").last_request;
    let last = last.expect("a request");
    let reported = home.endpoint.calls()[0].tokens.input;
    assert_eq!(last.reported, Some(reported));
    let rest = last.unexplained().expect("both counts");
    assert_eq!(rest, reported.cast_signed() - last.counted.cast_signed());
    assert!(
        last.in_words().contains("unexplained"),
        "{}",
        last.in_words()
    );
}
