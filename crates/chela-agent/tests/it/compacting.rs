#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

//! Making a conversation short, and whole again.

use chela_store::block_on;

use std::process::{Command, Stdio};

use chela_agent::agent::Agents;
use chela_agent::conversation::{Conversation, ConversationAsk};
use chela_agent::slash::{CommandContext, UndoOutcome};
use chela_core::{Host, OwnerProof, Speaker};
use chela_ledger::AuditKind;
use chela_model::{MessagePart, ModelMessage, ToolCall};
use chela_session::{EntryBody, EntryMeta};
use chela_store::WaitHere as _;
use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, StepRule};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::swept::Swept;
use crate::turning::{Home, open, runtime, say};

/// Keeps one turn of those below as it is.
fn short() -> Value {
    json!({ "agents": { "defaults": { "compaction": {
        "keepRecentTokens": 500, "recentTurnsPreserve": 1,
    } } } })
}

const GOOD: &str = "## Goals\n- read\n\n## Decisions\n- ask first\n\n## Done\n- none\n\n## Open\n- none\n\n## Identifiers\n- none";

fn on_summary(step: ScriptStep) -> ScriptStep {
    step.when(StepRule {
        contains: Some("Summarise the conversation".into()),
        ..StepRule::default()
    })
}

fn script(summary: ScriptStep) -> EndpointScript {
    EndpointScript {
        otherwise: Some(ScriptStep::reply("word ".repeat(300))),
        ..EndpointScript::steps([on_summary(summary)])
    }
}

fn talked(summary: ScriptStep, more: Value) -> Home {
    let mut config = short();
    for (key, value) in more.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    let home = Home::with(script(summary), config);
    for turn in 0..4 {
        home.say(&format!("about file-{turn}.md"))
            .0
            .expect("an answer");
    }
    home
}

fn context(talk: &Conversation) -> String {
    let messages = block_on(talk.store().context(&talk.session())).expect("a context");
    serde_json::to_string(&messages).expect("text")
}

#[test]
fn a_model_writes_it_and_it_is_on_record() {
    let home = talked(ScriptStep::reply(GOOD), json!({}));
    let done = home
        .runtime
        .block_on(home.talk.compact(None))
        .expect("room");
    assert!(
        done.in_words().contains("summary by kit/scripted"),
        "{done:?}"
    );
    let text = context(&home.talk);
    assert!(
        text.contains("ask first") && text.contains("file-0.md"),
        "{text}"
    );
    let ledger = home.talk.agents().ledger().expect("a ledger");
    let records = ledger
        .list(&chela_ledger::RecordFilter::default())
        .wait()
        .expect("a list");
    assert_eq!(
        records.len(),
        home.endpoint.calls().len(),
        "the summary's request too"
    );
    assert!(records.iter().all(|record| record.usage.is_some()));
    let entries = ledger
        .audit(&chela_ledger::AuditFilter {
            kind: Some(AuditKind::Compaction),
            ..Default::default()
        })
        .wait()
        .expect("entries");
    assert_eq!(entries.len(), 1);
}

#[test]
fn rules_write_it_when_the_model_cannot() {
    for (summary, why) in [
        (ScriptStep::status(500), "summary by fixed rules"),
        (ScriptStep::reply("I would rather not."), "not good enough"),
        (
            ScriptStep::reply("").fault(AnswerFault::Cut(0)),
            "summary by fixed rules",
        ),
    ] {
        let home = talked(summary, json!({}));
        let done = home
            .runtime
            .block_on(home.talk.compact(None))
            .expect("room");
        assert!(done.in_words().contains(why), "{}", done.in_words());
        assert!(context(&home.talk).contains("file-0.md"));
    }
}

#[test]
fn at_a_spending_limit_rules_write_it() {
    let home = talked(ScriptStep::reply(GOOD), json!({}));
    let calls = home.endpoint.calls().len();
    let mut poor = short();
    poor["limits"] = json!({ "session": { "tokens": 1_000 } });
    let later = open(&home.host, &home.endpoint, &poor);
    let done = home.runtime.block_on(later.compact(None)).expect("room");
    assert!(
        done.in_words().contains("limits.session"),
        "{}",
        done.in_words()
    );
    assert_eq!(home.endpoint.calls().len(), calls, "nothing was sent");
}

#[test]
fn undo_brings_back_every_byte() {
    let home = talked(ScriptStep::reply(GOOD), json!({}));
    let before = context(&home.talk);
    let last = home.requests().pop().expect("a request");
    std::fs::write(home.host.state_dir().join("workspace/MEMORY.md"), "new\n").expect("a file");
    home.runtime
        .block_on(home.talk.compact(None))
        .expect("room");
    assert_ne!(context(&home.talk), before);
    let undone = home
        .talk
        .undo()
        .wait()
        .expect("an undo")
        .expect("something");
    assert!(
        matches!(undone, UndoOutcome::Compaction { .. }),
        "{undone:?}"
    );
    assert_eq!(context(&home.talk), before);
    home.say("go on").0.expect("an answer");
    let next = home.requests().pop().expect("a request");
    let (old, new) = (&last["messages"], &next["messages"]);
    let old = old.as_array().expect("messages");
    assert_eq!(old[..], new.as_array().expect("messages")[..old.len()]);
    assert_eq!(last["tools"], next["tools"]);
    // Once something was said, an undo is about that.
    let undone = home
        .talk
        .undo()
        .wait()
        .expect("an undo")
        .expect("something");
    assert!(matches!(undone, UndoOutcome::Message { .. }), "{undone:?}");
}

#[test]
fn what_runs_what_is_planned_and_what_is_pinned_goes_along() {
    let plan = json!({ "plan": [{ "step": "Paint the fence", "status": "in_progress" }] });
    let run = json!({ "command": "sleep 30", "background": true });
    let mut steps = vec![
        ScriptStep::tool("update_plan", plan),
        ScriptStep::tool("exec", run),
    ];
    steps.extend((0..5).map(|_| ScriptStep::reply("word ".repeat(300))));
    let mut config = short();
    config["context"] = json!({ "pin": ["Red Lines"] });
    config["tools"] = json!({ "exec": { "security": "full", "ask": "off" } });
    let home = Home::with(
        EndpointScript {
            otherwise: Some(ScriptStep::reply("no")),
            ..EndpointScript::steps(steps)
        },
        config,
    );
    let rules = home.host.state_dir().join("workspace/AGENTS.md");
    std::fs::write(
        rules,
        "# Rules\n## Red Lines\nNever sell.\n## Style\nKind.\n",
    )
    .expect("a file");
    for turn in 0..4 {
        home.say(&format!("turn {turn}")).0.expect("an answer");
    }
    home.runtime
        .block_on(home.talk.compact(None))
        .expect("room");
    let text = context(&home.talk);
    for wanted in ["Paint the fence (in progress)", "sleep 30", "Never sell."] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    assert!(!text.contains("Kind."));
    let steps = block_on(home.talk.toolbox()).expect("tools").plan().steps();
    assert_eq!(steps.len(), 1, "the plan goes on");
}

#[test]
fn room_is_made_in_the_middle_of_a_turn_before_a_call_that_would_not_fit() {
    let look = |enabled: bool| {
        let mut config = short();
        config["agents"]["defaults"]["compaction"]["midTurnPrecheck"] =
            json!({ "enabled": enabled });
        config["agents"]["defaults"]["compaction"]["reserveTokens"] = json!(90_000);
        let read = ScriptStep::tool("read", json!({ "path": "note.txt" })).when(StepRule {
            contains: Some("look".into()),
            ..StepRule::default()
        });
        let home = Home::with(
            EndpointScript {
                otherwise: Some(ScriptStep::reply("word ".repeat(300))),
                ..EndpointScript::steps([on_summary(ScriptStep::reply(GOOD)), read])
            },
            config,
        );
        for turn in 0..70 {
            // Long before, so that the window is nearly full.
            block_on(home.talk.store().append(
                &home.talk.session(),
                EntryBody::Message {
                    message: ModelMessage::user(format!("{turn} {}", "words ".repeat(1_200))),
                    meta: EntryMeta::default(),
                },
            ))
            .expect("an entry");
        }
        home.say("look").0.expect("an answer");
        home.requests()
            .iter()
            .map(|request| request.to_string().contains("Summarise the conversation"))
            .collect::<Vec<_>>()
    };
    assert_eq!(look(true)[..3], [false, true, false]);
    assert_eq!(look(false)[..2], [false, false]);
}

/// Names the child process of [`a_kill_leaves_it_done_or_not_done`].
const CHILD: &str = "CHELA_TEST_COMPACTING_CHILD";

#[test]
fn a_kill_leaves_it_done_or_not_done() {
    if let Ok(path) = std::env::var(CHILD) {
        let host = Host::fixed(path);
        let loaded = chela_config::load_text(&host, &short().to_string());
        let agents = Agents::open(&host, std::sync::Arc::new(loaded));
        let talk = block_on(
            agents.conversation(ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))),
        )
        .expect("a conversation");
        let runtime = runtime();
        loop {
            // The one before may have been killed between the two.
            let _ = runtime.block_on(talk.compact(None));
            let session = talk.session();
            block_on(talk.store().undo_compaction(&session)).expect("an undo");
        }
    }
    let home = talked(ScriptStep::reply(GOOD), json!({}));
    let whole = context(&home.talk);
    home.runtime
        .block_on(open(&home.host, &home.endpoint, &no_model()).compact(None))
        .expect("room");
    let summarised = context(&home.talk);
    home.talk.undo().wait().expect("an undo");
    for round in 0..6_u64 {
        let mut child = Command::new(std::env::current_exe().expect("a program"))
            .args(["--exact", "compacting::a_kill_leaves_it_done_or_not_done"])
            .env(CHILD, home.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let entries = || {
            let session = home.talk.session();
            block_on(home.talk.store().info(&session))
                .expect("info")
                .entries
        };
        let start = entries();
        while entries() < start + 1 + round * 3 {
            assert!(
                child.try_wait().expect("a status").is_none(),
                "it ended by itself"
            );
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.kill().expect("a kill");
        child.wait().expect("an end");
        let later = open(&home.host, &home.endpoint, &short());
        let found = context(&later);
        assert!(found == whole || found == summarised, "{found}");
    }
    let ledger = home.talk.agents().ledger().expect("a ledger");
    assert!(ledger.verify().wait().expect("a verdict").is_sound());
}

fn no_model() -> Value {
    let mut config = short();
    config["agents"]["defaults"]["model"] = json!("nobody/nothing");
    config
}

#[test]
fn a_kill_while_the_model_writes_loses_nothing() {
    let home = talked(
        ScriptStep::reply(GOOD).fault(AnswerFault::Stall(0)),
        json!({}),
    );
    let before = context(&home.talk);
    let calls = home.endpoint.calls().len();
    // Dropping the future is what a kill looks like from the disk.
    home.runtime.block_on(async {
        tokio::select! {
            _ = home.talk.compact(None) => {}
            () = async {
                while home.endpoint.calls().len() == calls {
                    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                }
            } => {}
        }
    });
    let later = open(&home.host, &home.endpoint, &short());
    assert_eq!(context(&later), before);
    say(&runtime(), &later, "go on").0.expect("an answer");
}

#[derive(Debug, Clone)]
enum Said {
    User,
    Answer,
    Call(u8),
    Result(u8),
    Started(u8),
    Ended,
    Compacted,
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        3 => Just(Said::User),
        2 => Just(Said::Answer),
        3 => (0..4u8).prop_map(Said::Call),
        3 => (0..4u8).prop_map(Said::Result),
        1 => (0..4u8).prop_map(Said::Started),
        1 => Just(Said::Ended),
        1 => Just(Said::Compacted),
    ]
}

fn body(said: &Said) -> Option<EntryBody> {
    let message = match said {
        Said::User => ModelMessage::user("words of a person ".repeat(20)),
        Said::Answer => ModelMessage::Assistant {
            content: vec![MessagePart::text("words of an agent ".repeat(20))],
            model: None,
        },
        Said::Call(id) => ModelMessage::Assistant {
            content: vec![MessagePart::ToolCall(ToolCall {
                id: format!("c{id}"),
                name: "read".into(),
                arguments: Default::default(),
                malformed: None,
            })],
            model: None,
        },
        Said::Result(id) => ModelMessage::ToolResult {
            call_id: format!("c{id}"),
            tool: "read".into(),
            content: vec![MessagePart::text("words of a file ".repeat(20))],
            is_error: false,
        },
        Said::Started(id) => {
            let call_id = format!("c{id}");
            return Some(EntryBody::ToolStarted { call_id });
        }
        Said::Ended => return Some(EntryBody::TurnEnded { how: "done".into() }),
        Said::Compacted => return None,
    };
    Some(EntryBody::Message {
        message,
        meta: EntryMeta::default(),
    })
}

/// Each call answered once, right after it was made; no answer without a call.
fn is_well_formed(messages: &[ModelMessage]) -> bool {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        match message {
            ModelMessage::ToolResult { call_id, .. } => {
                let Some(at) = open.iter().position(|id| id == call_id) else {
                    return false;
                };
                open.remove(at);
            }
            _ if !open.is_empty() => return false,
            _ => open = message.tool_calls().map(|call| call.id.clone()).collect(),
        }
    }
    open.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_said_a_call_keeps_its_result(story in prop::collection::vec(said(), 1..60)) {
        let dir = Swept::new();
        let host = dir.host();
        let loaded = chela_config::load_text(&host, &no_model().to_string());
        let agents = Agents::open(&host, std::sync::Arc::new(loaded));
        let talk = block_on(agents.conversation(ConversationAsk::new(Speaker::Owner(OwnerProof::terminal())))).expect("a conversation");
        let session = talk.session();
        let runtime = runtime();
        for said in &story {
            match body(said) {
                Some(body) => {
                    block_on(talk.store().append(&session, body)).expect("an entry");
                }
                None => {
                    let before = context(&talk);
                    if runtime.block_on(talk.compact(None)).is_ok() {
                        let messages = block_on(talk.store().context(&session)).expect("a context");
                        prop_assert!(is_well_formed(&messages), "{messages:#?}");
                        prop_assert!(context(&talk).len() <= before.len() + 8_000);
                    }
                }
            }
        }
        let _ = runtime.block_on(talk.compact(None));
        let messages = block_on(talk.store().context(&session)).expect("a context");
        prop_assert!(is_well_formed(&messages), "{messages:#?}");
    }
}
