#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

//! What is spent: reserved before, settled after, and known also of calls that came to nothing.

use chela_store::block_on;

use std::sync::Arc;
use std::time::Duration;

use chela_agent::agent::Agents;
use chela_agent::conversation::{Conversation, ConversationAsk, InboundMessage};
use chela_agent::turn::TurnEnd;
use chela_core::{Host, OwnerProof, SessionKey, Speaker, Usage};
use chela_ledger::{LimitOf, LimitScope, RecordFilter, RequestSummary, ReserveAsk, SpendingBound};
use chela_store::WaitHere as _;
use chela_testkit::{
    AnswerFault, EndpointScript, ScriptStep, ScriptedEndpoint, TokenCounts, wait_until,
};
use serde_json::{Value, json};

use crate::swept::Swept;
use crate::turning::{Home, Watched, runtime, say};

/// Tokens that count against a session.
pub(crate) fn spent_by(agents: &Agents, session: &str) -> u64 {
    let limit = SpendingBound {
        scope: LimitScope::Session,
        of: LimitOf::Agent,
        tokens: Some(1),
        micro_dollars: None,
        key: String::new(),
    };
    let ask = ReserveAsk {
        agent: "main".into(),
        session: session.into(),
        ..ReserveAsk::default()
    };
    let ledger = agents.ledger().expect("a ledger");
    ledger.used(&ask, &limit).wait().expect("an amount").tokens
}

fn records(talk: &Conversation) -> Vec<RequestSummary> {
    let ledger = talk.agents().ledger().expect("a ledger");
    ledger
        .list(&RecordFilter::default())
        .wait()
        .expect("a list")
}

fn all(usage: &Usage) -> u64 {
    usage.input + usage.output
}

/// Says something and stops it once a word was heard.
fn stopped(home: &Home) -> TurnEnd {
    let watched = Watched::default();
    let message = InboundMessage {
        text: "go".into(),
        ..InboundMessage::default()
    };
    let (outcome, ()) = home.runtime.block_on(async {
        tokio::join!(home.talk.say(message, &watched), async {
            while watched.text().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            home.talk.stop();
        })
    });
    outcome.expect("an outcome").ended
}

#[test]
fn a_call_that_is_stopped_is_paid_as_far_as_it_is_known() {
    let long = ScriptStep::reply("word ".repeat(100)).fault(AnswerFault::Stall(4_000));
    let home = Home::new(EndpointScript::always(long));
    assert_eq!(stopped(&home), TurnEnd::Stopped);
    let record = records(&home.talk).pop().expect("a record");
    let usage = record.usage.expect("what is known");
    assert!(usage.estimated && usage.output > 0, "{usage:?}");
    let close = record.tokens / 2..record.tokens * 2;
    assert!(
        close.contains(&usage.input),
        "{usage:?} of {}",
        record.tokens
    );
    assert_eq!(record.error.as_deref(), Some("stopped"));
    let session = home.talk.session();
    let spent = spent_by(home.talk.agents(), session.id.as_str());
    assert_eq!(spent, all(&usage));
    let totals = block_on(home.talk.store().info(&session))
        .expect("info")
        .totals;
    assert_eq!(totals.input + totals.output, spent);
}

#[test]
fn a_turn_that_is_dropped_is_paid_too() {
    let home = Home::new(EndpointScript::always(
        ScriptStep::reply("x").fault(AnswerFault::Stall(0)),
    ));
    let watched = Watched::default();
    let message = InboundMessage {
        text: "go".into(),
        ..InboundMessage::default()
    };
    home.runtime.block_on(async {
        tokio::select! {
            _ = home.talk.say(message, &watched) => {}
            () = async {
                while home.endpoint.calls().is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            } => {}
        }
    });
    // Nobody waits for the record of a turn that went away.
    let newest = || records(&home.talk).pop().expect("a record");
    wait_until("the record has an end", || newest().ended.is_some());
    let record = newest();
    let usage = record.usage.expect("what is known");
    assert_eq!(record.error.as_deref(), Some("broken off"));
    let session = home.talk.session();
    let spent = spent_by(home.talk.agents(), session.id.as_str());
    assert!(spent > 0 && spent == all(&usage), "{spent}");
}

#[test]
fn who_refuses_to_answer_is_not_paid() {
    let home = Home::new(EndpointScript::always(ScriptStep::status(401)));
    home.say("go").0.expect_err("no answer");
    let session = home.talk.session();
    assert_eq!(spent_by(home.talk.agents(), session.id.as_str()), 0);
    assert_eq!(records(&home.talk)[0].usage, None);
}

#[test]
fn an_attempt_that_broke_off_is_paid_beside_the_one_that_did_not() {
    let home = Home::new(EndpointScript::steps([
        ScriptStep::reply("word ".repeat(50)).fault(AnswerFault::Cut(3_000)),
        ScriptStep::reply("Fine."),
    ]));
    home.say("go").0.expect("an answer");
    let calls = home.endpoint.calls();
    assert_eq!(calls.len(), 2, "tried again");
    let usage = records(&home.talk)[0].usage.expect("usage");
    let reported = calls[1].tokens.input + calls[1].tokens.output;
    assert!(usage.estimated, "{usage:?}");
    assert!(
        all(&usage) > reported + reported / 2,
        "{usage:?} of {reported}"
    );
    let session = home.talk.session();
    assert_eq!(
        spent_by(home.talk.agents(), session.id.as_str()),
        all(&usage)
    );
}

fn config(endpoint: &ScriptedEndpoint, limit: u64) -> Value {
    json!({
        "models": { "providers": { "kit": {
            "baseUrl": format!("{}/v1", endpoint.url()),
            "api": "openai-completions",
            "models": [{ "id": "scripted", "contextWindow": 100_000, "maxTokens": 100 }],
        } } },
        "agents": { "defaults": { "model": "kit/scripted" } },
        "limits": { "day": { "tokens": limit } },
        // Every call is to cost the same, whoever else is there.
        "tools": { "deny": ["group:sessions", "agents_list"] },
    })
}

/// One turn in a session of its own, with a ledger of its own on the same file, as processes
/// have.
fn run(host: &Host, config: &Value, session: &str) -> TurnEnd {
    let loaded = chela_config::load_text(host, &config.to_string());
    let agents = Agents::open(host, Arc::new(loaded));
    let talk = block_on(agents.conversation(ConversationAsk {
        session: Some(SessionKey::parse(session).expect("a key")),
        ..ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))
    }))
    .expect("a conversation");
    let (outcome, _) = say(&runtime(), &talk, "go");
    outcome.expect("an outcome").ended
}

/// What one call reserves, from the words that refuse it.
fn size_of_a_call() -> u64 {
    let dir = Swept::new();
    let endpoint = ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply("no")))
        .expect("an endpoint");
    dir.asks(&endpoint);
    let host = dir.host();
    let ended = run(&host, &config(&endpoint, 1), "agent:main:direct:p00");
    let TurnEnd::Limit(why) = ended else {
        unreachable!("{ended:?}")
    };
    let digits: String = why
        .split("may take ")
        .nth(1)
        .expect("an amount")
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().expect("a number")
}

#[test]
fn twenty_at_once_send_exactly_the_ten_there_is_room_for() {
    let call = size_of_a_call();
    let answer = ScriptStep {
        usage: Some(TokenCounts {
            input: call - 100,
            output: 100,
            ..TokenCounts::default()
        }),
        // Long enough that all want to speak at once.
        delay_ms: 50,
        ..ScriptStep::reply("Fine.")
    };
    let dir = Swept::new();
    let endpoint = ScriptedEndpoint::start(EndpointScript::always(answer)).expect("an endpoint");
    dir.asks(&endpoint);
    let host = dir.host();
    let config = config(&endpoint, 10 * call + call / 2);
    let threads: Vec<_> = (10..30)
        .map(|number| {
            let (host, config) = (host.clone(), config.clone());
            std::thread::spawn(move || run(&host, &config, &format!("agent:main:direct:p{number}")))
        })
        .collect();
    let ends: Vec<TurnEnd> = threads
        .into_iter()
        .map(|thread| thread.join().expect("an end"))
        .collect();
    let done = ends.iter().filter(|end| **end == TurnEnd::Done).count();
    assert_eq!(endpoint.calls().len(), 10, "{ends:?}");
    assert_eq!(done, 10, "{ends:?}");
    let refused = |end: &TurnEnd| matches!(end, TurnEnd::Limit(why) if why.contains("limits.day"));
    assert_eq!(ends.iter().filter(|end| refused(end)).count(), 10);
}
