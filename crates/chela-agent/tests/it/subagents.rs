//! Sub-agents against the scripted endpoint: what they are given, how they end, who is told.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

mod given;
mod limits;
mod talking;
mod waking;

use chela_store::block_on;

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use chela_agent::agent::Agents;
use chela_agent::conversation::{Conversation, ConversationAsk, InboundMessage};
use chela_agent::turn::{TurnEvent, TurnSurface};
use chela_core::{Clock, Host, OwnerProof, Speaker};
use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, ScriptedEndpoint, StepRule};
use chela_tools::{ApprovalQuestion, ApprovalScope, Approver, OwnerAnswer};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::swept::Swept;

struct Home {
    _dir: Swept,
    endpoint: ScriptedEndpoint,
    host: Host,
    config: Value,
    agents: Arc<Agents>,
    talk: Option<Conversation>,
    runtime: Option<Runtime>,
    watched: Watched,
}

/// The clock of [`Host::fixed`], but later.
struct Later(u64);

impl Clock for Later {
    fn now(&self) -> SystemTime {
        Host::fixed("/nowhere").clock.now() + Duration::from_secs(self.0)
    }
}

/// Remembers results and questions, and says yes.
#[derive(Default)]
struct Watched {
    results: Mutex<Vec<String>>,
    asked: Mutex<Vec<ApprovalQuestion>>,
    notices: Mutex<Vec<String>>,
}

impl TurnSurface for Watched {
    fn event(&self, event: TurnEvent) {
        match event {
            TurnEvent::ToolEnded { text, .. } => self.results.lock().expect("a lock").push(text),
            TurnEvent::Notice(text) => self.notices.lock().expect("a lock").push(text),
            _ => {}
        }
    }
}

impl Approver for Watched {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        self.asked.lock().expect("a lock").push(request.clone());
        Box::pin(std::future::ready(OwnerAnswer::of_owner(
            ApprovalScope::Once,
            request,
        )))
    }
}

impl Home {
    fn new(steps: impl IntoIterator<Item = ScriptStep>, more: Value) -> Self {
        let dir = Swept::new();
        let endpoint = ScriptedEndpoint::start(EndpointScript {
            // However often the parent hears news, it has an answer.
            otherwise: Some(ScriptStep::reply("I see.")),
            ..EndpointScript::steps(steps)
        })
        .expect("an endpoint");
        dir.asks(&endpoint);
        let host = dir.host();
        let workspace = host.state_dir().join("workspace");
        std::fs::create_dir_all(&workspace).expect("a workspace");
        std::fs::write(workspace.join("note.txt"), "the safe is blue\n").expect("a note");
        let mut config = json!({
            "models": { "providers": { "kit": {
                "baseUrl": format!("{}/v1", endpoint.url()),
                "api": "openai-completions",
                "models": [{ "id": "scripted", "contextWindow": 100_000 }],
            } } },
            "agents": { "defaults": { "model": "kit/scripted" } },
        });
        merge(&mut config, &more);
        let agents = open(&host, &config);
        let talk = block_on(
            agents.conversation(ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))),
        )
        .expect("a conversation");
        Self {
            _dir: dir,
            endpoint,
            host,
            config,
            agents,
            talk: Some(talk),
            runtime: Some(runtime()),
            watched: Watched::default(),
        }
    }

    fn talk(&self) -> &Conversation {
        self.talk.as_ref().expect("a conversation")
    }

    fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.as_ref().expect("a runtime").block_on(work)
    }

    /// Says something; gives the results of the tools.
    fn say(&self, text: &str) -> Vec<String> {
        self.run(self.talk().say(message(text), &self.watched))
            .expect("an outcome");
        std::mem::take(&mut *self.watched.results.lock().expect("a lock"))
    }

    /// Waits until every sub-agent has ended.
    fn settle(&self) {
        self.run(async {
            while self.talk().background().subagents_running() > 0 {
                self.talk().background().until_news(&self.watched).await;
                tokio::task::yield_now().await;
            }
        });
    }

    /// What the parent is told next.
    fn news(&self) -> String {
        self.settle();
        self.say("and?");
        self.requests().last().expect("a request")["messages"].to_string()
    }

    fn requests(&self) -> Vec<Value> {
        self.endpoint
            .calls()
            .iter()
            .map(chela_testkit::ReceivedRequest::json)
            .collect()
    }

    /// What sub-agents sent.
    fn childrens(&self) -> Vec<Value> {
        let all = self.requests().into_iter();
        all.filter(|request| request["messages"].to_string().contains("[Subagent Task]"))
            .collect()
    }

    /// As in another process, so many seconds later.
    fn pass(&mut self, seconds: u64) {
        self.host.clock = Arc::new(Later(seconds));
        self.crash();
    }

    /// As after a crash: the conversation and everything that ran for it are gone.
    fn crash(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        self.talk = None;
        self.runtime = Some(runtime());
        self.agents = open(&self.host, &self.config);
        let talk = block_on(
            self.agents
                .conversation(ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))),
        );
        self.talk = Some(talk.expect("a conversation"));
    }
}

fn open(host: &Host, config: &Value) -> Arc<Agents> {
    let loaded = chela_config::load_text(host, &config.to_string());
    Agents::open(host, Arc::new(loaded))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn message(text: &str) -> InboundMessage {
    InboundMessage {
        text: text.into(),
        ..InboundMessage::default()
    }
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

fn subagents(settings: Value) -> Value {
    json!({ "agents": { "defaults": { "subagents": settings } } })
}

/// A step for whatever a sub-agent with this task sends.
fn child(task: &str, step: ScriptStep) -> ScriptStep {
    step.when(StepRule {
        body: Some(format!("[Subagent Task]\\n{task}")),
        ..StepRule::default()
    })
}

fn spawn(arguments: Value) -> ScriptStep {
    ScriptStep::tool("sessions_spawn", arguments)
}

/// The script of one sub-agent that answers `says`.
fn one_child(says: &str) -> [ScriptStep; 3] {
    [
        child("", ScriptStep::reply(says)),
        spawn(json!({ "task": "x" })),
        ScriptStep::reply("Started."),
    ]
}

/// The script of a sub-agent that has one of its own and waits for it.
fn child_of_a_child() -> [ScriptStep; 6] {
    let once = |step| ScriptStep {
        times: Some(1),
        ..child("middle", step)
    };
    [
        child("low", ScriptStep::reply("From below.")),
        once(spawn(json!({ "task": "low down" }))),
        once(ScriptStep::reply("Waiting.")),
        child("middle", ScriptStep::reply("All told.")),
        spawn(json!({ "task": "middle of it" })),
        ScriptStep::reply("Started."),
    ]
}

fn stalled() -> ScriptStep {
    child("", ScriptStep::reply("never").fault(AnswerFault::Stall(0)))
}

fn tools_of(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().expect("tools");
    tools
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str().map(str::to_owned))
        .collect()
}
