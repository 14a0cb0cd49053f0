//! A home with the real agent in it: a model that says what it is told to say, tools that give
//! back what was recorded, and an owner who answers.

use chela_core::lock;
use chela_store::block_on;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use chela_agent::agent::Agents;
use chela_agent::conversation::{ConversationAsk, InboundMessage, OwnTools};
use chela_agent::turn::{TurnEvent, TurnSurface};
use chela_config::model::GuardPolicy;
use chela_core::{ContentHash, Entropy, Host, Origin, OwnerProof, SessionKey, Speaker, Trust};
use chela_guard::approval::shown;
use chela_guard::{Effect, ExternalSource, LabelledText};
use chela_reply::Reply;
use chela_testkit::{EndpointScript, ScriptStep, ScriptedCall, ScriptedEndpoint, StepRule};
use chela_tools::{
    ApprovalQuestion, ApprovalScope, Approver, CallFuture, OwnerAnswer, RunCall, Tool, ToolOutput,
    ToolSpec,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::traces::{self, Declared, Traces};

/// Everything one conversation after another needs.
pub struct Stage {
    _dir: TempDir,
    pub workspace: PathBuf,
    endpoint: ScriptedEndpoint,
    agents: Arc<Agents>,
    entropy: Arc<dyn Entropy>,
    runtime: Runtime,
    played: AtomicUsize,
}

/// What happens in one conversation.
#[derive(Default)]
pub struct Play {
    pub turns: Vec<Exchange>,
    /// What sub-agents answer: to whoever is told this, these calls.
    pub children: Vec<(String, Vec<Made>)>,
}

/// The owner says something, the model answers with calls, and at last in words.
#[derive(Default)]
pub struct Exchange {
    pub says: String,
    pub answers: Vec<Vec<Made>>,
    pub reply: String,
}

/// A call the model makes.
#[derive(Clone)]
pub struct Made {
    /// By which it is known again when it runs.
    pub id: String,
    pub tool: String,
    pub args: Map<String, Value>,
    /// What it brings back, unless the tool is a real one.
    pub output: String,
}

/// What the owner says to a question.
pub enum Owner {
    /// Yes to these calls and no to all others.
    Allows(HashSet<Known>),
    /// Yes to whatever this tool wants.
    AllowsTool(&'static str),
    Absent,
}

/// A call as a question shows it.
pub type Known = (String, Vec<(String, String)>);

/// What came of a play.
#[derive(Default)]
pub struct Came {
    /// Calls of tools of the traces that were run, in order.
    pub ran: Vec<(String, Effect)>,
    pub questions: Vec<ApprovalQuestion>,
    /// What real tools and others gave back, in order.
    pub results: Vec<String>,
    pub replies: Vec<String>,
}

impl Stage {
    pub fn new(policy: GuardPolicy) -> Result<Self, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let dir = TempDir::new().map_err(|error| text(&error))?;
        let endpoint =
            ScriptedEndpoint::start(EndpointScript::default()).map_err(|error| text(&error))?;
        let host = Host::fixed(dir.path());
        let workspace = host.state_dir().join("workspace");
        std::fs::create_dir_all(&workspace).map_err(|error| text(&error))?;
        let config = json!({
            "models": { "providers": { "kit": {
                "baseUrl": format!("{}/v1", endpoint.url()),
                "api": "openai-completions",
                "models": [{ "id": "scripted", "contextWindow": 1_000_000 }],
            } } },
            "agents": { "defaults": { "model": "kit/scripted" } },
            "guard": { "policy": policy.as_str() },
        });
        let loaded = chela_config::load_text(&host, &config.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| text(&error))?;
        Ok(Self {
            _dir: dir,
            workspace,
            endpoint,
            entropy: Arc::clone(&host.entropy),
            agents: Agents::open(&host, Arc::new(loaded)),
            runtime,
            played: AtomicUsize::new(0),
        })
    }

    /// A number no other play of this stage has.
    pub fn number(&self) -> usize {
        self.played.fetch_add(1, Ordering::Relaxed)
    }

    /// One conversation, in a session of its own.
    pub fn play(&self, traces: &Traces, play: &Play, owner: &Owner) -> Result<Came, String> {
        let key = format!("agent:main:bench:direct:{}", self.number());
        let session = SessionKey::try_from(key).map_err(|error| error.to_string())?;
        let memory = Arc::new(Mutex::new(Came::default()));
        let talk = block_on(self.agents.conversation(ConversationAsk {
            session: Some(session),
            own: OwnTools(self.tools(traces, play, &memory)),
            ..ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))
        }))
        .map_err(|error| error.to_string())?;
        let surface = Watching {
            owner,
            came: &memory,
        };
        for turn in &play.turns {
            self.endpoint.play(script(turn, &play.children));
            let message = InboundMessage {
                text: turn.says.clone(),
                ..InboundMessage::default()
            };
            let outcome = self.runtime.block_on(async {
                let outcome = talk.say(message, &surface).await;
                while talk.background().subagents_running() > 0 {
                    talk.background().until_news(&surface).await;
                    tokio::task::yield_now().await;
                }
                outcome
            });
            let outcome = outcome.map_err(|error| error.to_string())?;
            if let Reply::Deliver(delivery) = outcome.reply {
                lock(&memory).replies.push(delivery.text);
            }
        }
        drop(talk);
        Ok(std::mem::take(&mut *lock(&memory)))
    }

    /// The tools of the traces that the play uses.
    fn tools(&self, traces: &Traces, play: &Play, came: &Arc<Mutex<Came>>) -> Vec<Arc<dyn Tool>> {
        let answers = play.turns.iter().flat_map(|turn| &turn.answers);
        let children = play.children.iter().map(|(_, calls)| calls);
        let mut outputs: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
        for made in answers.chain(children).flatten() {
            outputs
                .entry(&made.tool)
                .or_default()
                .insert(made.id.clone(), made.output.clone());
        }
        let made = outputs.into_iter().filter_map(|(name, outputs)| {
            let (name, declared) = traces.tool(name)?;
            Some(Arc::new(Recorded {
                spec: spec(name, &declared),
                foreign: declared.foreign,
                outputs,
                came: Arc::clone(came),
                entropy: Arc::clone(&self.entropy),
            }) as Arc<dyn Tool>)
        });
        made.collect()
    }
}

fn spec(name: &str, declared: &Declared) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Recorded.".into(),
        parameters: Arc::new(json!({ "type": "object", "properties": {} })),
        effect: declared.effect,
        sinks: Arc::clone(&declared.sinks),
    }
}

/// In turn for whoever speaks with the owner; by what they are told for sub-agents.
fn script(turn: &Exchange, children: &[(String, Vec<Made>)]) -> EndpointScript {
    let answers = turn.answers.iter().map(|calls| answer(calls));
    let children = children.iter().map(|(told, calls)| ScriptStep {
        when: Some(StepRule {
            contains: Some(told.clone()),
            after_tool: Some(false),
            ..StepRule::default()
        }),
        ..answer(calls)
    });
    let reply = match turn.reply.is_empty() {
        true => "Done.",
        false => &turn.reply,
    };
    EndpointScript {
        otherwise: Some(ScriptStep::reply(reply)),
        ..EndpointScript::steps(children.chain(answers))
    }
}

fn answer(calls: &[Made]) -> ScriptStep {
    ScriptStep {
        tool_calls: calls
            .iter()
            .map(|made| ScriptedCall {
                name: made.tool.clone(),
                arguments: Value::Object(made.args.clone()),
                id: Some(made.id.clone()),
            })
            .collect(),
        piece: Some(100_000),
        ..ScriptStep::default()
    }
}

/// A tool of the traces.
struct Recorded {
    spec: ToolSpec,
    foreign: bool,
    outputs: BTreeMap<String, String>,
    came: Arc<Mutex<Came>>,
    entropy: Arc<dyn Entropy>,
}

impl Tool for Recorded {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        lock(&self.came)
            .ran
            .push((call.id.to_owned(), self.spec.effect));
        let text = self.outputs.get(call.id).map_or("Done.", String::as_str);
        let origin = Origin::Tool {
            call: call.id.to_owned(),
            hash: ContentHash::of(text),
        };
        let source = ExternalSource::Api {
            name: self.spec.name.to_string(),
        };
        let labelled = match self.foreign {
            true => LabelledText::external(text, &source, origin, self.entropy.as_ref()),
            false => LabelledText::local(text, Trust::Agent, origin),
        };
        Box::pin(std::future::ready(ToolOutput::of(labelled)))
    }
}

/// Sees and hears everything.
struct Watching<'a> {
    owner: &'a Owner,
    came: &'a Mutex<Came>,
}

impl TurnSurface for Watching<'_> {
    fn event(&self, event: TurnEvent) {
        if let TurnEvent::ToolEnded { text, .. } = event {
            lock(self.came).results.push(text);
        }
    }
}

impl Approver for Watching<'_> {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        lock(self.came).questions.push(question.clone());
        let says = match self.owner {
            Owner::Absent => None,
            Owner::AllowsTool(tool) => Some(question.calls.iter().all(|call| call.tool == *tool)),
            Owner::Allows(own) => {
                let known = |call: &chela_guard::approval::AskedCall| {
                    own.contains(&(call.tool.clone(), call.exact.clone()))
                };
                Some(question.calls.iter().all(known))
            }
        };
        let scope = says.map(|yes| {
            if yes {
                ApprovalScope::Once
            } else {
                ApprovalScope::Deny
            }
        });
        Box::pin(std::future::ready(OwnerAnswer::given(scope, question)))
    }
}

impl Made {
    pub fn new(id: impl Into<String>, call: &traces::Call) -> Self {
        Self {
            id: id.into(),
            tool: call.tool.clone(),
            args: call.args.clone(),
            output: call.output.clone().unwrap_or_default(),
        }
    }

    /// A call of a real tool.
    pub fn real(id: &str, tool: &str, args: &Value) -> Self {
        Self {
            id: id.to_owned(),
            tool: tool.to_owned(),
            args: args.as_object().cloned().unwrap_or_default(),
            output: String::new(),
        }
    }

    /// As a question shows it.
    pub fn known(&self) -> Known {
        let plain = |value: &Value| match value {
            Value::String(text) => shown(text),
            other => shown(&other.to_string()),
        };
        let exact = self.args.iter();
        let exact = exact.map(|(name, value)| (shown(name), plain(value)));
        (shown(&self.tool), exact.collect())
    }
}
