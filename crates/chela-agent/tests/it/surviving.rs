//! What breaks ends alone: a tool its call, a turn itself, and whoever drops a turn at any moment
//! leaves a conversation that goes on.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up fails here, and breaking is what is tested"
)]

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use chela_agent::agent::Agents;
use chela_agent::conversation::{
    Conversation, ConversationAsk, InboundMessage, MessageStanding, OwnTools,
};
use chela_agent::turn::{TurnError, TurnEvent, TurnOutcome, TurnSurface};
use chela_core::{OwnerProof, SessionKey, Speaker};
use chela_ledger::{LimitOf, LimitScope, RecordFilter, ReserveAsk, SpendingBound};
use chela_model::{MessagePart, ModelMessage, ToolCall};
use chela_reply::Reply;
use chela_session::{EntryBody, EntryMeta};
use chela_store::block_on;
use chela_testkit::{EndpointScript, ScriptStep, ScriptedCall, ScriptedEndpoint, StepRule};
use chela_tools::{
    ApprovalQuestion, ApprovalScope, Approver, CallFuture, Effect, OwnerAnswer, RunCall, Tool,
    ToolOutput, ToolSpec,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::swept::Swept;
use crate::turning::{Watched, runtime, say};

/// Counts what it did, with a pause in the middle of it.
struct Counting {
    spec: ToolSpec,
    done: Arc<AtomicUsize>,
}

impl Tool for Counting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, _: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async {
            tokio::task::yield_now().await;
            self.done.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            ToolOutput::said("Counted.")
        })
    }
}

/// Breaks, before its first step or after it.
struct Breaking(ToolSpec);

impl Tool for Breaking {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        if call.arguments.contains_key("what") {
            panic!("broken before it began");
        }
        Box::pin(async {
            tokio::task::yield_now().await;
            panic!("broken on the way")
        })
    }
}

fn spec(name: &'static str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "For a test.".into(),
        parameters: json!({ "type": "object", "properties": { "what": { "type": "string" } } })
            .into(),
        effect: Effect::WriteReversible,
        sinks: [].into(),
    }
}

/// A home whose model does two things when it is told to go, and answers otherwise.
struct Home {
    _dir: Swept,
    endpoint: ScriptedEndpoint,
    agents: Arc<Agents>,
    runtime: Runtime,
}

impl Home {
    fn new(steps: impl IntoIterator<Item = ScriptStep>) -> Self {
        let dir = Swept::new();
        let endpoint = ScriptedEndpoint::start(EndpointScript {
            otherwise: Some(ScriptStep::reply("Done.")),
            ..EndpointScript::steps(steps)
        })
        .expect("an endpoint");
        dir.asks(&endpoint);
        let host = dir.host();
        std::fs::create_dir_all(host.state_dir().join("workspace")).expect("a workspace");
        let config = json!({
            "models": { "providers": { "kit": {
                "baseUrl": format!("{}/v1", endpoint.url()),
                "api": "openai-completions",
                // Answers cost, questions do not: what is still reserved stands out.
                "models": [{ "id": "scripted", "contextWindow": 100_000, "maxTokens": 4_000,
                    "cost": { "input": 0, "output": 1_000, "cacheRead": 0, "cacheWrite": 0 } }],
            } } },
            "agents": { "defaults": { "model": "kit/scripted" } },
        });
        let loaded = chela_config::load_text(&host, &config.to_string());
        Self {
            _dir: dir,
            endpoint,
            agents: Agents::open(&host, Arc::new(loaded)),
            runtime: runtime(),
        }
    }

    fn open(&self, session: &str) -> Opened {
        let done = Arc::new(AtomicUsize::new(0));
        let own: Vec<Arc<dyn Tool>> = vec![
            Arc::new(Counting {
                spec: spec("count"),
                done: Arc::clone(&done),
            }),
            Arc::new(Breaking(spec("break"))),
        ];
        let ask = ConversationAsk {
            own: OwnTools(own),
            session: Some(SessionKey::parse(session).expect("a key")),
            ..ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))
        };
        let talk = block_on(self.agents.conversation(ask)).expect("a conversation");
        Opened { talk, done }
    }

    fn say(&self, talk: &Conversation, text: &str) -> (Result<TurnOutcome, TurnError>, Watched) {
        say(&self.runtime, talk, text)
    }

    /// Whatever was begun before can be gone on with, and nothing of it hangs about.
    fn goes_on(&self, talk: &Conversation, after: &str) {
        let (outcome, _) = self.say(talk, "and now?");
        let outcome = outcome.unwrap_or_else(|error| panic!("after {after}: {error}"));
        let Reply::Deliver(reply) = &outcome.reply else {
            panic!("silence after {after}")
        };
        assert_eq!(reply.text, "Done.", "after {after}");
        assert_eq!(talk.questions_waiting(), 0, "after {after}");
        let request = self.endpoint.calls().last().expect("a request").json();
        assert_well_formed(&request["messages"], after);
        let ledger = self.agents.ledger().expect("a ledger");
        for record in block_on(ledger.list(&RecordFilter::default())).expect("a list") {
            assert!(record.ended.is_some(), "after {after}: {record:?}");
        }
        let reserved = self.reserved_dollars();
        assert!(
            reserved < 1.0,
            "after {after}: ${reserved} are still reserved"
        );
    }

    /// What counts against the agent in dollars: a reservation has an answer of 4,000 tokens in
    /// it, four dollars; what was really said costs cents.
    fn reserved_dollars(&self) -> f64 {
        let limit = SpendingBound {
            scope: LimitScope::Day,
            of: LimitOf::Agent,
            tokens: None,
            micro_dollars: Some(1),
            key: String::new(),
        };
        let ask = ReserveAsk {
            agent: "main".into(),
            day: "2023-11-14".into(),
            ..ReserveAsk::default()
        };
        let ledger = self.agents.ledger().expect("a ledger");
        let used = block_on(ledger.used(&ask, &limit))
            .expect("an amount")
            .micro_dollars;
        let said = self.endpoint.calls().len();
        used as f64 / 1_000_000.0 - said as f64 * 0.1
    }
}

/// A conversation, and how often its tool did what it does.
struct Opened {
    talk: Conversation,
    done: Arc<AtomicUsize>,
}

impl Opened {
    fn times(&self) -> usize {
        self.done.load(Ordering::SeqCst)
    }
}

/// Every call has one result, before anybody speaks again.
fn assert_well_formed(messages: &Value, after: &str) {
    let mut open: Vec<String> = Vec::new();
    for message in messages.as_array().expect("messages") {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let at = open.iter().position(|one| one == id);
                let at = at.unwrap_or_else(|| {
                    panic!("after {after}: a result without a call: {messages}")
                });
                open.remove(at);
            }
            _ => assert!(
                open.is_empty(),
                "after {after}: calls without results: {messages}"
            ),
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.filter_map(|call| call["id"].as_str().map(str::to_owned)));
    }
    assert!(
        open.is_empty(),
        "after {after}: calls without results: {messages}"
    );
}

/// Told to go, the model counts and writes a file; then it says so.
fn going() -> Vec<ScriptStep> {
    let newest = |contains: &str| StepRule {
        contains: Some(contains.to_owned()),
        after_tool: Some(false),
        ..StepRule::default()
    };
    let both = ScriptStep {
        tool_calls: vec![
            ScriptedCall {
                name: "count".to_owned(),
                arguments: json!({ "what": "this" }),
                id: None,
            },
            ScriptedCall {
                name: "write".to_owned(),
                arguments: json!({ "path": "out.txt", "content": "written\n" }),
                id: None,
            },
        ],
        ..ScriptStep::default()
    };
    vec![both.when(newest("go "))]
}

#[test]
fn a_tool_that_panics_ends_its_call_and_nothing_else() {
    let home = Home::new([
        ScriptStep::tool("break", json!({ "what": "now" })),
        ScriptStep::tool("break", json!({})),
        ScriptStep::tool("count", json!({ "what": "after" })),
        ScriptStep::reply("It broke twice."),
    ]);
    let opened = home.open("agent:main:tool");
    let talk = &opened.talk;
    let (outcome, watched) = home.say(talk, "try it");
    let outcome = outcome.expect("the turn goes on");
    assert_eq!((outcome.steps, outcome.tool_calls), (4, 3));
    let results = watched.results();
    for result in &results[..2] {
        assert!(result.contains("break broke while it ran"), "{result}");
        assert!(result.contains("look before you try again"), "{result}");
    }
    assert_eq!(opened.times(), 1);
    home.goes_on(talk, "a tool that broke");
}

/// Breaks at the nth event it is shown.
struct Fragile {
    left: AtomicUsize,
    shown: Mutex<Vec<String>>,
}

impl TurnSurface for Fragile {
    fn event(&self, event: TurnEvent) {
        let name = format!("{event:?}");
        let name = name
            .split([' ', '(', '{'])
            .next()
            .unwrap_or_default()
            .to_owned();
        // The lock is held while it breaks, as a careless surface would hold it.
        let mut shown = self
            .shown
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        shown.push(name.clone());
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            panic!("the surface breaks at {name}");
        }
    }
}

impl Approver for Fragile {
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

#[test]
fn a_surface_that_panics_ends_one_turn_with_an_error_that_says_so() {
    let home = Home::new(going());
    let mut broken = Vec::new();
    for nth in 1.. {
        assert!(nth < 200, "it never ends");
        let opened = home.open(&format!("agent:main:surface-{nth}"));
        let talk = &opened.talk;
        let surface = Fragile {
            left: AtomicUsize::new(nth),
            shown: Mutex::default(),
        };
        let message = InboundMessage {
            text: "go on".to_owned(),
            ..InboundMessage::default()
        };
        let outcome = home.runtime.block_on(talk.say(message, &surface));
        let Err(error) = outcome else {
            break;
        };
        let told = error.to_string();
        let at = surface
            .shown
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .last()
            .expect("an event")
            .clone();
        assert!(matches!(error, TurnError::Broken(_)), "{told}");
        assert!(told.contains("a bug in Chela ended this turn"), "{told}");
        assert!(told.contains(&format!("breaks at {at}")), "{told}");
        assert!(told.contains("send your message again"), "{told}");
        let branch = block_on(talk.store().branch(&talk.session())).expect("a transcript");
        let ends = branch
            .iter()
            .filter(|entry| matches!(&entry.body, EntryBody::TurnEnded { how } if how == "failed"));
        let accepted = branch
            .iter()
            .any(|entry| matches!(entry.body, EntryBody::Message { .. }));
        assert_eq!(
            ends.count(),
            usize::from(accepted),
            "the outcome is on disk ({at})"
        );
        home.goes_on(talk, &format!("a surface that broke at {at}"));
        assert!(opened.times() <= 1, "done again after {at}");
        broken.push(at);
    }
    for event in ["Calling", "ToolStarted", "ToolEnded", "Called", "Text"] {
        assert!(
            broken.iter().any(|at| at == event),
            "never broke at {event}: {broken:?}"
        );
    }
}

/// Polls a future so often, then lets it go.
struct DroppedAfter<'a, T> {
    inner: Pin<Box<dyn Future<Output = T> + 'a>>,
    polls: usize,
}

impl<T> Future for DroppedAfter<'_, T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        match self.inner.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => {
                self.polls -= 1;
                match self.polls {
                    0 => Poll::Ready(None),
                    _ => Poll::Pending,
                }
            }
        }
    }
}

#[test]
fn a_turn_may_be_dropped_wherever_it_waits() {
    let home = Home::new(going());
    let mut dropped = 0;
    loop {
        assert!(dropped < 5_000, "it never ends");
        let opened = home.open(&format!("agent:main:dropped-{dropped}"));
        let talk = &opened.talk;
        let surface = Watched::default();
        let message = InboundMessage {
            text: "go on".to_owned(),
            ..InboundMessage::default()
        };
        let outcome = home.runtime.block_on(DroppedAfter {
            inner: Box::pin(talk.say(message, &surface)),
            polls: dropped + 1,
        });
        if let Some(outcome) = outcome {
            outcome.expect("nobody dropped it");
            assert_eq!(opened.times(), 1);
            break;
        }
        home.goes_on(talk, &format!("{dropped} polls"));
        assert!(opened.times() <= 1, "done again after {dropped} polls");
        // A file tool still writes what it writes for itself.
        let (outcome, watched) = home.say(talk, "go once more");
        outcome.unwrap_or_else(|error| panic!("after {dropped} polls: {error}"));
        let results = watched.results().join("\n");
        assert!(
            results.contains("Counted."),
            "after {dropped} polls: {results}"
        );
        // Every early place, and later ones ever further apart.
        dropped += 1 + dropped / 8;
    }
    assert!(dropped >= 5, "it waited only {dropped} times");
    let written = home.agents.host().state_dir().join("workspace/out.txt");
    assert_eq!(
        std::fs::read_to_string(written).expect("a file"),
        "written\n"
    );
}

/// The process died between the last word of a turn and the record of its end: the answer stands, and
/// no model is asked a second time.
#[test]
fn a_turn_that_had_its_last_word_is_over() {
    let home = Home::new([]);
    let opened = home.open("agent:main:main");
    let talk = &opened.talk;
    let add = |message: ModelMessage, id: Option<&str>| {
        let meta = EntryMeta {
            inbox_ids: id.into_iter().map(str::to_owned).collect(),
            ..EntryMeta::default()
        };
        let body = EntryBody::Message { message, meta };
        block_on(talk.store().append(&talk.session(), body)).expect("an entry");
    };
    let said = |content: Vec<MessagePart>| ModelMessage::Assistant {
        content,
        model: None,
    };
    let standing = |id: &str| block_on(talk.standing_of(id)).expect("a standing");
    let over = |reply: &str| MessageStanding::Ended {
        how: "done".to_owned(),
        reply: reply.to_owned(),
    };
    assert_eq!(standing("one"), MessageStanding::Unknown);
    add(ModelMessage::user("count the crabs"), Some("one"));
    assert_eq!(standing("one"), MessageStanding::Begun);
    // A call stands open: the turn goes on.
    let call = MessagePart::ToolCall(ToolCall {
        id: "c1".into(),
        name: "count".into(),
        arguments: serde_json::Map::new(),
        malformed: None,
    });
    add(said(vec![call]), None);
    assert_eq!(standing("one"), MessageStanding::Begun);
    let result = ModelMessage::ToolResult {
        call_id: "c1".into(),
        tool: "count".into(),
        content: vec![MessagePart::text("seven")],
        is_error: false,
    };
    add(result, None);
    assert_eq!(standing("one"), MessageStanding::Begun);
    add(said(vec![MessagePart::text("Seven crabs.")]), None);
    for _ in 0..2 {
        assert_eq!(standing("one"), over("Seven crabs."));
    }
    let branch = block_on(talk.store().branch(&talk.session())).expect("a branch");
    let ends = branch
        .iter()
        .filter(|entry| matches!(entry.body, EntryBody::TurnEnded { .. }));
    assert_eq!(ends.count(), 1, "its end is written down once");
    assert!(home.endpoint.calls().is_empty());
}
