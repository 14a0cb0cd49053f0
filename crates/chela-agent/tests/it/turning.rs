#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

use chela_store::block_on;

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use chela_agent::agent::Agents;
use chela_agent::conversation::{Conversation, ConversationAsk, InboundMessage};
use chela_agent::turn::{TurnEnd, TurnError, TurnEvent, TurnOutcome, TurnSurface};
use chela_core::{Host, OwnerProof, Speaker};
use chela_reply::{Reply, Silence};
use chela_session::EntryBody;
use chela_store::WaitHere as _;
use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, ScriptedEndpoint};
use chela_tools::{ApprovalQuestion, ApprovalScope, Approver, OwnerAnswer};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::swept::Swept;

/// A home with one model: the scripted endpoint.
pub(crate) struct Home {
    pub(crate) dir: Swept,
    pub(crate) endpoint: ScriptedEndpoint,
    pub(crate) host: Host,
    pub(crate) talk: Conversation,
    pub(crate) runtime: Runtime,
}

/// Remembers what it was shown, and says no to everything.
#[derive(Default)]
pub(crate) struct Watched(Mutex<Vec<TurnEvent>>);

impl TurnSurface for Watched {
    fn event(&self, event: TurnEvent) {
        self.0.lock().expect("no test panics here").push(event);
    }
}

impl Approver for Watched {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        Box::pin(std::future::ready(OwnerAnswer::of_owner(
            ApprovalScope::Deny,
            question,
        )))
    }
}

impl Watched {
    pub(crate) fn text(&self) -> String {
        let events = self.0.lock().expect("no test panics here");
        events
            .iter()
            .filter_map(|event| match event {
                TurnEvent::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn results(&self) -> Vec<String> {
        let events = self.0.lock().expect("no test panics here");
        events
            .iter()
            .filter_map(|event| match event {
                TurnEvent::ToolEnded { text, .. } => Some(text.clone()),
                _ => None,
            })
            .collect()
    }
}

impl Home {
    pub(crate) fn new(script: EndpointScript) -> Self {
        Self::with(script, json!({}))
    }

    pub(crate) fn with(script: EndpointScript, more: Value) -> Self {
        let dir = Swept::new();
        let endpoint = ScriptedEndpoint::start(script).expect("an endpoint");
        dir.asks(&endpoint);
        let host = dir.host();
        let workspace = host.state_dir().join("workspace");
        std::fs::create_dir_all(&workspace).expect("a workspace");
        std::fs::write(workspace.join("note.txt"), "the safe is blue\n").expect("a note");
        let talk = open(&host, &endpoint, &more);
        Self {
            dir,
            endpoint,
            host,
            talk,
            runtime: runtime(),
        }
    }

    pub(crate) fn say(&self, text: &str) -> (Result<TurnOutcome, TurnError>, Watched) {
        say(&self.runtime, &self.talk, text)
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.endpoint
            .calls()
            .iter()
            .map(chela_testkit::ReceivedRequest::json)
            .collect()
    }
}

pub(crate) fn open(host: &Host, endpoint: &ScriptedEndpoint, more: &Value) -> Conversation {
    let mut config = json!({
        "models": { "providers": { "kit": {
            "baseUrl": format!("{}/v1", endpoint.url()),
            "api": "openai-completions",
            "models": [{ "id": "scripted", "contextWindow": 100_000 }],
        } } },
        "agents": { "defaults": { "model": "kit/scripted" } },
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        merge(&mut config[key], value);
    }
    let loaded = chela_config::load_text(host, &config.to_string());
    let agents = Agents::open(host, Arc::new(loaded));
    block_on(agents.conversation(ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))))
        .expect("a conversation")
}

fn merge(into: &mut Value, more: &Value) {
    match (into.as_object_mut(), more.as_object()) {
        (Some(into), Some(more)) => {
            for (key, value) in more {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        _ => *into = more.clone(),
    }
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

pub(crate) fn say(
    runtime: &Runtime,
    talk: &Conversation,
    text: &str,
) -> (Result<TurnOutcome, TurnError>, Watched) {
    let watched = Watched::default();
    let message = InboundMessage {
        text: text.into(),
        ..InboundMessage::default()
    };
    let outcome = runtime.block_on(talk.say(message, &watched));
    (outcome, watched)
}

fn delivered(outcome: &TurnOutcome) -> &str {
    match &outcome.reply {
        Reply::Deliver(delivery) => &delivery.text,
        Reply::Silent { .. } => "",
    }
}

#[test]
fn a_message_goes_in_and_an_answer_comes_out() {
    let home = Home::new(EndpointScript::steps([ScriptStep::reply("Hello there.")]));
    let (outcome, watched) = home.say("hi");
    let outcome = outcome.expect("an answer");
    assert_eq!(delivered(&outcome), "Hello there.");
    assert_eq!(watched.text(), "Hello there.");
    assert_eq!(outcome.ended, TurnEnd::Done);
    let request = &home.requests()[0];
    assert_eq!(request["messages"][0]["role"], "system");
    let last = request["messages"][1].to_string();
    assert!(
        last.contains("runtime-context") && last.contains("hi"),
        "{last}"
    );
}

#[test]
fn tools_run_and_the_model_sees_what_came_of_it() {
    let home = Home::new(EndpointScript::steps([
        ScriptStep::tool("read", json!({ "path": "note.txt" })),
        ScriptStep::reply("It is blue."),
    ]));
    let (outcome, watched) = home.say("what colour is the safe?");
    let outcome = outcome.expect("an answer");
    assert_eq!(outcome.steps, 2);
    assert_eq!(outcome.tool_calls, 1);
    assert_eq!(delivered(&outcome), "It is blue.");
    assert!(watched.results()[0].contains("the safe is blue"));
    let second = home.requests()[1].to_string();
    assert!(second.contains("the safe is blue"), "{second}");
}

#[test]
fn what_was_sent_before_is_sent_again_to_the_byte() {
    let home = Home::new(EndpointScript::steps([
        ScriptStep::tool("read", json!({ "path": "note.txt" })),
        ScriptStep::reply("Blue."),
        ScriptStep::reply("Yes."),
        ScriptStep::reply("Still."),
    ]));
    for text in ["what colour?", "sure?", "and now?"] {
        home.say(text).0.expect("an answer");
    }
    let requests = home.requests();
    for pair in requests.windows(2) {
        let [before, after] = pair else { continue };
        assert_eq!(before["tools"], after["tools"]);
        let before = before["messages"].as_array().expect("messages");
        let after = after["messages"].as_array().expect("messages");
        assert_eq!(before[..], after[..before.len()], "the prefix moved");
    }
    let told: usize = requests[3]["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(|message| message.to_string().contains("name=\\\"facts\\\""))
        .count();
    assert_eq!(told, 1, "unchanged facts are said once");
}

#[test]
fn a_later_process_goes_on_where_the_first_ended() {
    let home = Home::new(EndpointScript::steps([
        ScriptStep::reply("One."),
        ScriptStep::reply("Two."),
    ]));
    home.say("first").0.expect("an answer");
    let later = open(&home.host, &home.endpoint, &json!({}));
    say(&home.runtime, &later, "second").0.expect("an answer");
    let requests = home.requests();
    let before = requests[0]["messages"].as_array().expect("messages");
    let after = requests[1]["messages"].as_array().expect("messages");
    assert_eq!(before[..], after[..before.len()]);
    assert_eq!(after.len(), before.len() + 2);
    assert!(home.dir.path().exists());
}

#[test]
fn a_tool_that_does_not_exist_and_arguments_that_are_none() {
    let home = Home::new(EndpointScript::steps([
        ScriptStep::tool("raed", json!({ "path": "note.txt" })),
        ScriptStep::reply("I see."),
    ]));
    let (outcome, watched) = home.say("read it");
    assert_eq!(delivered(&outcome.expect("an answer")), "I see.");
    assert!(
        watched.results()[0].contains("Did you mean `read`"),
        "{:?}",
        watched.results()
    );
}

#[test]
fn silence_is_an_outcome_and_never_a_text() {
    let home = Home::new(EndpointScript::steps([ScriptStep::reply("**NO_REPLY**")]));
    let (outcome, watched) = home.say("nothing for you");
    assert_eq!(
        outcome.expect("an outcome").reply,
        Reply::Silent {
            why: Silence::NoReply
        }
    );
    assert_eq!(watched.text(), "");
}

#[test]
fn going_round_in_circles_ends() {
    let again = ScriptStep::tool("read", json!({ "path": "note.txt" }));
    let home = Home::with(
        EndpointScript::always(again),
        json!({ "tools": { "loopDetection": { "enabled": true } } }),
    );
    let outcome = home.say("go").0.expect("an outcome");
    assert!(
        matches!(outcome.ended, TurnEnd::Loop(_)),
        "{:?}",
        outcome.ended
    );
    assert_eq!(outcome.tool_calls, 6);
}

#[test]
fn steps_are_limited() {
    let home = Home::with(
        EndpointScript::always(ScriptStep::tool("read", json!({ "path": "note.txt" }))),
        json!({ "agents": { "defaults": { "maxSteps": 3 } } }),
    );
    let outcome = home.say("go").0.expect("an outcome");
    assert!(matches!(&outcome.ended, TurnEnd::Limit(why) if why.contains("maxSteps")));
    assert_eq!(outcome.steps, 3);
}

#[test]
fn a_broken_stream_is_an_error_and_the_message_is_kept() {
    let cut = ScriptStep::reply("half an answer that never ends").fault(AnswerFault::Cut(200));
    let home = Home::new(EndpointScript::always(cut));
    let (outcome, _) = home.say("tell me");
    assert!(matches!(outcome, Err(TurnError::Model(_))), "{outcome:?}");
    let later = open(&home.host, &home.endpoint, &json!({}));
    let session = later.session();
    let branch = block_on(later.store().branch(&session)).expect("a branch");
    let kept = format!("{branch:?}");
    assert!(kept.contains("tell me"), "{kept}");
    let last = branch.last().map(|entry| &entry.body);
    assert!(matches!(last, Some(EntryBody::TurnEnded { .. })), "{kept}");
}

#[test]
fn messages_that_come_meanwhile_are_heard_between_steps() {
    let home = Home::new(EndpointScript::steps([
        ScriptStep::tool("read", json!({ "path": "note.txt" })),
        ScriptStep::reply("Done."),
        ScriptStep::reply("And that too."),
    ]));
    home.talk.steer("and mind the gap");
    home.say("read the note").0.expect("an answer");
    let all = home.requests().last().expect("a request").to_string();
    assert!(all.contains("and mind the gap"));
}

#[test]
fn stop_ends_a_turn_at_once() {
    let slow = ScriptStep::reply("slow answer").fault(AnswerFault::Stall(0));
    let home = Home::new(EndpointScript::always(slow));
    let watched = Watched::default();
    let outcome = home.runtime.block_on(async {
        let message = InboundMessage {
            text: "go".into(),
            ..InboundMessage::default()
        };
        let (outcome, ()) = tokio::join!(home.talk.say(message, &watched), async {
            while home.endpoint.calls().is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            home.talk.stop();
        });
        outcome
    });
    assert_eq!(outcome.expect("an outcome").ended, TurnEnd::Stopped);
}

#[test]
fn stop_ends_the_wait_for_another_process() {
    let home = Home::new(EndpointScript::always(ScriptStep::reply("Hi.")));
    home.say("hi").0.expect("an answer");
    let spool = home.host.state_dir().join("state/spool/main");
    let session = std::fs::read_dir(spool).expect("a spool").next();
    let lane = session.expect("a session").expect("a session").path();
    let other = chela_files::LockFile::try_take(&lane.join(".lane")).expect("a lock");
    assert!(other.is_some());
    let watched = Watched::default();
    let outcome = home.runtime.block_on(async {
        let (outcome, ()) = tokio::join!(home.talk.say("go".into(), &watched), async {
            while watched.0.lock().expect("no test panics here").is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            home.talk.stop();
        });
        outcome
    });
    assert!(
        matches!(outcome, Err(TurnError::StoppedWaiting)),
        "{outcome:?}"
    );
    drop(other);
    home.say("again").0.expect("an answer");
}

#[test]
fn a_long_conversation_is_made_short_and_nothing_is_lost() {
    let home = Home::with(
        EndpointScript::always(ScriptStep::reply("word ".repeat(300))),
        json!({ "agents": { "defaults": { "compaction": { "keepRecentTokens": 500, "recentTurnsPreserve": 1 } } } }),
    );
    for turn in 0..4 {
        home.say(&format!("about file-{turn}.md"))
            .0
            .expect("an answer");
    }
    let done = home
        .runtime
        .block_on(home.talk.compact(None))
        .expect("room");
    assert!(done.tokens_after < done.tokens_before / 2, "{done:?}");
    home.say("go on").0.expect("an answer");
    let last = home.requests().pop().expect("a request");
    let messages = last["messages"].as_array().expect("messages");
    let summary = messages[1].to_string();
    assert!(
        summary.contains("file-0.md") && summary.contains("## Goals"),
        "{summary}"
    );
    assert!(
        messages
            .iter()
            .any(|message| message.to_string().contains("name=\\\"facts\\\""))
    );
}

#[test]
fn every_request_is_on_record_and_can_be_sent_again() {
    let home = Home::new(EndpointScript::steps([
        ScriptStep::tool("write", json!({ "path": "new.txt", "content": "hello" })),
        ScriptStep::reply("Written."),
        ScriptStep::reply("Yes."),
    ]));
    home.say("write it").0.expect("an answer");
    home.say("sure?").0.expect("an answer");
    let ledger = home.talk.agents().ledger().expect("a ledger");
    let mut records = ledger
        .list(&chela_ledger::RecordFilter::default())
        .wait()
        .expect("a list");
    assert_eq!(records.len(), 3);
    records.sort_by_key(|record| record.id);
    for (record, sent) in records.iter().zip(home.endpoint.calls()) {
        let replayed = ledger
            .replay(record.id, &|_| None)
            .wait()
            .expect("a replay");
        assert!(replayed.matches());
        assert!(
            replayed.bytes == sent.body.as_bytes(),
            "what was sent is on record"
        );
    }
    let verdict = ledger.verify().wait().expect("a verdict");
    assert!(verdict.is_sound(), "{verdict:?}");
    let session = home.talk.session();
    let report = ledger
        .cache_report(session.id.as_str(), &|_| None)
        .wait()
        .expect("a report")
        .expect("a session");
    assert_eq!(report.avoidable_breaks, 0, "{report:?}");
}

#[test]
fn an_edited_file_is_told_once_and_the_prefix_does_not_move() {
    let home = Home::new(EndpointScript::always(ScriptStep::reply("Fine.")));
    let memory = home.host.state_dir().join("workspace/MEMORY.md");
    std::fs::write(&memory, "The safe is blue.\n").expect("a memory");
    home.say("one").0.expect("an answer");
    std::fs::write(&memory, "The safe is green.\n").expect("a memory");
    home.say("two").0.expect("an answer");
    home.say("three").0.expect("an answer");
    let requests = home.requests();
    let system = |request: &Value| request["messages"][0].clone();
    assert_eq!(system(&requests[0]), system(&requests[2]));
    assert!(
        system(&requests[0])
            .to_string()
            .contains("The safe is blue.")
    );
    let last = requests[2]["messages"].to_string();
    assert_eq!(last.matches("The safe is green.").count(), 1);
}

#[test]
fn a_spending_limit_stops_before_the_call() {
    let home = Home::with(
        EndpointScript::always(ScriptStep::reply("Fine.")),
        json!({ "limits": { "session": { "tokens": 30_000 } } }),
    );
    let mut ended = TurnEnd::Done;
    for _ in 0..20 {
        ended = home.say("go on").0.expect("an outcome").ended;
        if ended != TurnEnd::Done {
            break;
        }
    }
    assert!(
        matches!(&ended, TurnEnd::Limit(why) if why.contains("limits.session")),
        "{ended:?}"
    );
}
