//! Sub-agents against the scripted endpoint: what they are given, how they end, who is told.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use chela_agent::agent::Agents;
use chela_agent::conversation::{Conversation, ConversationAsk, Inbound};
use chela_agent::turn::{Surface, TurnEvent};
use chela_core::{Host, SessionKey};
use chela_ledger::{Amount, AuditFilter, AuditKind, Limit, LimitOf, LimitScope, ReserveAsk};
use chela_testkit::{Endpoint, Fault, Rule, Script, Step};
use chela_tools::{Answer, Approver, Question, Scope};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

struct Home {
    _dir: TempDir,
    endpoint: Endpoint,
    host: Host,
    config: Value,
    agents: Arc<Agents>,
    talk: Option<Conversation>,
    runtime: Option<Runtime>,
    watched: Watched,
}

/// Remembers results and questions, and says yes.
#[derive(Default)]
struct Watched {
    results: Mutex<Vec<String>>,
    asked: Mutex<Vec<Question>>,
}

impl Surface for Watched {
    fn event(&self, event: TurnEvent) {
        if let TurnEvent::ToolEnded { text, .. } = event {
            self.results.lock().expect("a lock").push(text);
        }
    }
}

impl Approver for Watched {
    fn ask<'a>(
        &'a self,
        request: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        self.asked.lock().expect("a lock").push(request.clone());
        Box::pin(std::future::ready(Answer::of_owner(Scope::Once, request)))
    }
}

impl Home {
    fn new(steps: impl IntoIterator<Item = Step>, more: Value) -> Self {
        let dir = TempDir::new().expect("a folder");
        let endpoint = Endpoint::start(Script {
            // However often the parent hears news, it has an answer.
            otherwise: Some(Step::reply("I see.")),
            ..Script::steps(steps)
        })
        .expect("an endpoint");
        let host = Host::fixed(dir.path());
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
        let talk = agents
            .conversation(ConversationAsk::default())
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
            while self.talk().subagents_running() > 0 {
                self.talk().until_news(&self.watched).await;
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
            .map(chela_testkit::Recorded::json)
            .collect()
    }

    /// What sub-agents sent.
    fn childrens(&self) -> Vec<Value> {
        let all = self.requests().into_iter();
        all.filter(|request| request["messages"].to_string().contains("[Subagent Task]"))
            .collect()
    }

    /// As after a crash: the conversation and everything that ran for it are gone.
    fn crash(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        self.talk = None;
        self.runtime = Some(runtime());
        self.agents = open(&self.host, &self.config);
        let talk = self.agents.conversation(ConversationAsk::default());
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

fn message(text: &str) -> Inbound {
    Inbound {
        text: text.into(),
        images: Vec::new(),
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
fn child(task: &str, step: Step) -> Step {
    step.when(Rule {
        body: Some(format!("[Subagent Task]\\n{task}")),
        ..Rule::default()
    })
}

fn spawn(arguments: Value) -> Step {
    Step::tool("sessions_spawn", arguments)
}

fn stalled() -> Step {
    child("", Step::reply("never").fault(Fault::Stall(0)))
}

fn tools_of(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().expect("tools");
    tools
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_task_is_handed_on_and_its_result_comes_back() {
    let home = Home::new(
        [
            child("", Step::reply("The safe is blue.")),
            spawn(json!({ "task": "look into the safe", "label": "safe" })),
            Step::reply("Started."),
            Step::reply("Blue."),
        ],
        json!({}),
    );
    let results = home.say("what colour is the safe?");
    for part in [
        "Started run",
        "agent:main:subagent:",
        "tools: read",
        "paths: ~/.chela/workspace",
        "model calls",
        "trust: agent",
        "depth: 1 of 1",
        "Do not poll",
    ] {
        assert!(results[0].contains(part), "{part}: {}", results[0]);
    }
    let news = home.news();
    for part in ["Sub-agent `safe`", "Status: done", "The safe is blue."] {
        assert!(news.contains(part), "{part}: {news}");
    }
    let childrens = home.childrens();
    assert_eq!(childrens.len(), 1);
    let sent = childrens[0]["messages"].to_string();
    assert!(sent.contains("[Subagent Task]\\nlook into the safe"));
    assert!(!sent.contains("what colour"), "isolated");
    let tools = tools_of(&childrens[0]);
    assert!(tools.iter().any(|tool| tool == "read"), "{tools:?}");
    for never in [
        "sessions_spawn",
        "subagents",
        "sessions_send",
        "sessions_list",
        "session_status",
        "agents_list",
    ] {
        assert!(!tools.iter().any(|tool| tool == never), "{never}");
    }
    home.say("again");
    let last = home.requests().pop().expect("a request").to_string();
    assert_eq!(last.matches("Status: done").count(), 1, "told once");
}

#[test]
fn a_start_is_on_record_before_it_happens() {
    let home = Home::new(
        [
            child("", Step::reply("Done.")),
            spawn(json!({ "task": "x" })),
            Step::reply("Started."),
        ],
        json!({}),
    );
    home.say("go");
    home.settle();
    let ledger = home.agents.ledger().expect("a ledger");
    let verdict = ledger.verify().expect("a verdict");
    assert!(verdict.is_sound(), "{verdict:?}");
    let entries = ledger.audit(&AuditFilter::default()).expect("a list");
    assert!(
        entries
            .iter()
            .any(|entry| entry.kind == AuditKind::Spawn.as_str())
    );
}

#[test]
fn a_turn_that_runs_hears_of_it_between_two_steps() {
    let slow = |step: Step| Step {
        delay_ms: 400,
        ..step
    };
    let home = Home::new(
        [
            child("", Step::reply("Nothing in it.")),
            spawn(json!({ "task": "x" })),
            slow(Step::tool("read", json!({ "path": "note.txt" }))),
            Step::reply("Fine."),
        ],
        json!({}),
    );
    home.say("go");
    let last = home.requests().pop().expect("a request").to_string();
    assert!(last.contains("Nothing in it."), "{last}");
}

#[test]
fn there_are_never_more_than_the_config_allows() {
    let home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "one" })),
            spawn(json!({ "task": "two" })),
            Step::reply("Only one."),
        ],
        subagents(json!({ "maxChildrenPerAgent": 1 })),
    );
    let results = home.say("go");
    assert!(results[0].contains("Started run"), "{results:?}");
    assert!(results[1].contains("maxChildrenPerAgent"), "{results:?}");
    assert_eq!(home.talk().subagents_running(), 1);

    let home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "one" })),
            spawn(json!({ "task": "two" })),
            spawn(json!({ "task": "three", "agentId": "other" })),
            Step::reply("Only one."),
        ],
        subagents(json!({ "maxConcurrent": 1 })),
    );
    let results = home.say("go");
    assert!(results[1].contains("maxConcurrent"), "{results:?}");
    assert!(results[2].contains("may not be started"), "{results:?}");
}

#[test]
fn a_sub_agent_can_be_ended_by_its_parent_and_by_the_person() {
    let home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "wait", "label": "waiter" })),
            Step::tool("subagents", json!({ "action": "list" })),
            Step::tool("subagents", json!({ "action": "kill", "target": "waiter" })),
            Step::reply("Ended."),
        ],
        json!({}),
    );
    let results = home.say("go");
    assert!(results[1].contains("`waiter`: running"), "{results:?}");
    assert!(results[2].contains("Ending"), "{results:?}");
    assert!(home.news().contains("Status: stopped"));

    let home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "wait again" })),
            Step::reply("Started."),
        ],
        json!({}),
    );
    home.say("go");
    home.talk().stop();
    assert!(home.news().contains("Status: stopped"));
}

#[test]
fn a_sub_agent_hears_its_parent_between_two_steps() {
    let first = Step {
        times: Some(1),
        delay_ms: 300,
        ..child("", Step::tool("read", json!({ "path": "note.txt" })))
    };
    let home = Home::new(
        [
            first,
            child("", Step::reply("As you say.")),
            spawn(json!({ "task": "look", "label": "eyes" })),
            Step::tool(
                "subagents",
                json!({ "action": "steer", "target": "eyes", "message": "mind the gap" }),
            ),
            Step::reply("Told."),
        ],
        json!({}),
    );
    home.say("go");
    home.settle();
    let last = home.childrens().pop().expect("a request").to_string();
    assert!(last.contains("mind the gap"), "{last}");
}

#[test]
fn a_fork_knows_the_conversation_and_nobody_else_does() {
    let run = |context: &str| {
        let home = Home::new(
            [
                child("", Step::reply("Done.")),
                Step::reply("Noted."),
                spawn(json!({ "task": "go on", "context": context })),
                Step::reply("Started."),
            ],
            json!({}),
        );
        home.say("the elephant is purple");
        home.say("hand it on");
        home.settle();
        home.childrens()[0]["messages"].to_string()
    };
    assert!(run("fork").contains("the elephant is purple"));
    assert!(!run("isolated").contains("the elephant is purple"));
}

#[test]
fn what_the_parent_may_not_the_child_may_not() {
    let home = Home::new(
        [
            child("", Step::reply("Done.")),
            spawn(json!({ "task": "x" })),
            Step::reply("Started."),
        ],
        json!({
            "tools": { "deny": ["exec", "process"], "subagents": { "tools": { "deny": ["write"] } } },
        }),
    );
    home.say("go");
    home.settle();
    let tools = tools_of(&home.childrens()[0]);
    for never in ["exec", "process", "write"] {
        assert!(!tools.iter().any(|tool| tool == never), "{never}");
    }
}

#[test]
fn another_agent_gets_no_folders_its_parent_has_not() {
    let home = Home::new(
        [
            child("", Step::reply("Done.")),
            spawn(json!({ "task": "x", "agentId": "other" })),
            Step::reply("Started."),
        ],
        json!({
            "agents": {
                "defaults": { "subagents": { "allowAgents": ["other"] } },
                "list": [{ "id": "main", "default": true }, { "id": "other" }],
            },
        }),
    );
    let results = home.say("go");
    assert!(results[0].contains("paths: none"), "{results:?}");
    home.settle();
    let tools = tools_of(&home.childrens()[0]);
    assert!(!tools.iter().any(|tool| tool == "read"), "{tools:?}");
    assert!(!tools.iter().any(|tool| tool == "exec"), "{tools:?}");
}

#[test]
fn time_runs_out_and_silence_is_no_result() {
    let home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "wait", "runTimeoutSeconds": 1 })),
            Step::reply("Started."),
        ],
        json!({}),
    );
    home.say("go");
    assert!(home.news().contains("Status: limit: 1 seconds"));

    let home = Home::new(
        [
            child("", Step::reply("NO_REPLY")),
            spawn(json!({ "task": "x" })),
            Step::reply("Started."),
        ],
        json!({}),
    );
    home.say("go");
    assert!(
        home.news()
            .contains("Status: failed: it ended without a result")
    );
}

#[test]
fn a_run_that_a_crash_cut_off_is_reported() {
    let mut home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "wait", "label": "lost" })),
            Step::reply("Started."),
            Step::reply("Yes."),
        ],
        json!({}),
    );
    home.say("go");
    home.crash();
    let news = home.news();
    assert!(
        news.contains("`lost`") && news.contains("Status: interrupted"),
        "{news}"
    );
    let again = home.news();
    assert_eq!(again.matches("Status: interrupted").count(), 1);
}

#[test]
fn what_a_sub_agent_spends_is_its_parents_spending() {
    let home = Home::new(
        [
            child("", Step::reply("Done.")),
            spawn(json!({ "task": "x" })),
            Step::reply("Started."),
        ],
        json!({}),
    );
    home.say("go");
    home.settle();
    let used = spent_by(&home, home.talk().session().id.as_str());
    let infos = home
        .talk()
        .store()
        .list(&chela_agent::session::Filter::default())
        .expect("a list");
    assert_eq!(infos.len(), 2);
    let all: u64 = infos
        .iter()
        .map(|info| info.totals.input + info.totals.output)
        .sum();
    assert_eq!(used, all);
}

/// Tokens that count against a session.
fn spent_by(home: &Home, session: &str) -> u64 {
    let limit = Limit {
        scope: LimitScope::Session,
        of: LimitOf::Agent,
        tokens: Some(1),
        micro_dollars: None,
        key: String::new(),
    };
    let ask = ReserveAsk {
        agent: "main".into(),
        session: session.into(),
        turn: String::new(),
        job: String::new(),
        model: String::new(),
        estimate: Amount::default(),
        limits: Vec::new(),
        day: String::new(),
        month: String::new(),
        lasts: 0,
    };
    let ledger = home.agents.ledger().expect("a ledger");
    ledger.used(&ask, &limit).expect("an amount").tokens
}

#[test]
fn a_question_of_a_sub_agent_reaches_who_watches_its_parent() {
    let first = Step {
        times: Some(1),
        ..child(
            "",
            Step::tool("exec", json!({ "command": "touch asked.txt" })),
        )
    };
    let home = Home::new(
        [
            first,
            child("", Step::reply("Asked.")),
            spawn(json!({ "task": "ask", "label": "curious" })),
            Step::reply("Started."),
        ],
        json!({ "tools": { "exec": { "ask": "always", "security": "allowlist" } } }),
    );
    home.say("go");
    home.settle();
    let asked = home.watched.asked.lock().expect("a lock");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].calls[0].why.contains("`curious`"), "{asked:?}");
}

#[test]
fn a_sub_agent_of_a_sub_agent_reports_to_it() {
    let middle = Step {
        times: Some(1),
        ..child("middle", spawn(json!({ "task": "low down" })))
    };
    let waits = Step {
        times: Some(1),
        ..child("middle", Step::reply("Waiting."))
    };
    let home = Home::new(
        [
            child("low", Step::reply("From below.")),
            middle,
            waits,
            child("middle", Step::reply("All told.")),
            spawn(json!({ "task": "middle of it" })),
            Step::reply("Started."),
        ],
        subagents(json!({ "maxSpawnDepth": 2 })),
    );
    home.say("go");
    let news = home.news();
    assert!(news.contains("All told."), "{news}");
    let heard = home
        .childrens()
        .iter()
        .any(|request| request.to_string().contains("From below."));
    assert!(heard);
}

#[test]
fn sessions_write_to_each_other() {
    let home = Home::new(
        [
            Step::reply("Noted.").when(Rule {
                contains: Some("Inter-session message".into()),
                ..Rule::default()
            }),
            Step::reply("Hello."),
            Step::tool(
                "sessions_send",
                json!({ "sessionKey": "agent:main:work", "message": "lunch is at one" }),
            ),
            Step::tool(
                "sessions_send",
                json!({ "sessionKey": "agent:main:main", "message": "me?" }),
            ),
            Step::reply("Sent."),
        ],
        json!({}),
    );
    let other = home
        .agents
        .conversation(ConversationAsk {
            session: Some(SessionKey::parse("agent:main:work").expect("a key")),
            ..ConversationAsk::default()
        })
        .expect("a conversation");
    home.run(other.say(message("hi"), &Watched::default()))
        .expect("an outcome");
    let results = home.say("tell them");
    assert!(results[0].contains("Noted."), "{results:?}");
    assert!(results[1].contains("this very session"), "{results:?}");
    let told = home.requests();
    let told = told
        .iter()
        .find(|request| {
            request.to_string().contains("lunch is at one\"")
                || request.to_string().contains("isUser=false")
        })
        .expect("a request");
    assert!(told.to_string().contains("isUser=false"), "{told}");
}
