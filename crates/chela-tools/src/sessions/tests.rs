use std::sync::{Arc, Mutex};

use chela_config::model::{AgentToAgent, SessionVisibility};
use chela_core::{AgentId, FixedClock, FixedEntropy, SessionKey, Trust};
use serde_json::{Value, json};

use super::SessionSight;
use super::{SessionToolset, status_tool, tools};
use crate::sessions_view::*;
use crate::{CallSuccess, OutputBound, ToolOutput, schema};

const NOW: u64 = 1_772_640_309;

#[derive(Default)]
struct Kept {
    model: Mutex<Option<String>>,
}

fn key(text: &str) -> SessionKey {
    SessionKey::parse(text).unwrap()
}

fn row(text: &str, parent: Option<&str>, age: u64) -> SessionRow {
    let key = key(text);
    SessionRow {
        agent: AgentId::normalize(key.agent.as_deref().unwrap_or("main")),
        id: format!("id-{age}"),
        parent: parent.map(self::key),
        label: (age == 60).then(|| "Shopping\nlist".to_owned()),
        model: Some("local/small".to_owned()),
        updated_at: NOW - age,
        context_tokens: Some(12_345),
        messages: 7,
        trust: Trust::Agent,
        key,
    }
}

impl SessionsView for Kept {
    fn sessions(&self) -> Result<Vec<SessionRow>, SessionsError> {
        Ok(vec![
            row("agent:main:main", None, 0),
            row("agent:main:telegram:group:9", None, 60),
            row("agent:main:subagent:1", Some("agent:main:main"), 7_200),
            row(
                "agent:main:subagent:1:subagent:2",
                Some("agent:main:subagent:1"),
                7_300,
            ),
            row("agent:main:explicit:incognito-x", None, 7_400),
            row("agent:other:main", None, 200_000),
        ])
    }

    fn history(&self, ask: &HistoryAsk<'_>) -> Result<HistoryPage, SessionsError> {
        let all: Vec<HistoryMessage> = (0..30)
            .map(|n| HistoryMessage {
                role: ["user", "assistant"][n % 2].to_owned(),
                text: format!("message {n} {}", "x".repeat(n * 300)),
                at: Some(NOW + n as u64),
                trust: Trust::Agent,
            })
            .collect();
        let end = all.len().saturating_sub(ask.offset);
        Ok(HistoryPage {
            messages: all[end.saturating_sub(ask.limit)..end].to_vec(),
            total: all.len(),
        })
    }

    fn status(&self, _: &SessionKey) -> Result<StatusCard, SessionsError> {
        Ok(StatusCard {
            model: "local/small".to_owned(),
            fallback: Some(("cloud/big".to_owned(), "429".to_owned())),
            context_used: Some(8_192),
            context_window: Some(32_768),
            input_tokens: 12_000,
            output_tokens: 345,
            cached_tokens: 9_000,
            cost: Some(0.0123),
            compactions: 2,
            thinking: Some("low".to_owned()),
            reasoning: None,
            verbose: None,
            elevated: Some("ask".to_owned()),
            started_at: Some(NOW - 3_600),
            tasks: vec!["exec p1: make".to_owned()],
        })
    }

    fn set_model(&self, _: &SessionKey, model: Option<&str>) -> Result<String, SessionsError> {
        if model == Some("none/such") {
            return Err(SessionsError::Refused(
                "There is no model none/such.".to_owned(),
            ));
        }
        *self.model.lock().unwrap() = model.map(str::to_owned);
        Ok(model.unwrap_or("local/small").to_owned())
    }

    fn agents(&self) -> Vec<AgentRow> {
        vec![AgentRow {
            id: AgentId::main(),
            name: Some("Chela".to_owned()),
            description: None,
        }]
    }
}

fn sight(visibility: SessionVisibility) -> SessionSight {
    SessionSight {
        visibility,
        agents: AgentToAgent::default(),
        spawned_only: false,
    }
}

fn sessions(own: &str, sight: SessionSight) -> Arc<SessionToolset> {
    Arc::new(SessionToolset {
        view: Arc::new(Kept::default()),
        own: key(own),
        agent: AgentId::main(),
        sight,
        bound: Arc::new(OutputBound::new(None, None)),
        clock: Arc::new(FixedClock(
            std::time::UNIX_EPOCH + std::time::Duration::from_secs(NOW),
        )),
        entropy: Arc::new(FixedEntropy(1)),
        time_zone: None,
        time_format: Default::default(),
    })
}

fn run(sessions: &Arc<SessionToolset>, tool: &str, arguments: Value) -> ToolOutput {
    let mut tools = tools(sessions);
    tools.push(status_tool(sessions));
    let tool = tools.iter().find(|t| &*t.spec().name == tool).unwrap();
    let Value::Object(arguments) = arguments else {
        panic!("an object")
    };
    let arguments = schema::check(&tool.spec().parameters, &arguments).unwrap();
    crate::testing::run(tool.as_ref(), &arguments)
}

fn seen(own: &str, sight: SessionSight) -> Vec<String> {
    let visible = sessions(own, sight).visible().unwrap();
    visible.iter().map(|row| row.key.to_string()).collect()
}

#[test]
fn who_sees_whom() {
    use SessionVisibility::{Agent, All, Own, Tree};
    let main = "agent:main:main";
    let group = "agent:main:telegram:group:9";
    let sub = "agent:main:subagent:1";
    let subsub = "agent:main:subagent:1:subagent:2";
    let other = "agent:other:main";
    assert_eq!(seen(main, sight(Own)), [main]);
    // The main session sees all of its agent; others what they started.
    assert_eq!(seen(main, sight(Tree)), [main, group, sub, subsub]);
    assert_eq!(seen(sub, sight(Tree)), [sub, subsub]);
    assert_eq!(seen(group, sight(Tree)), [group]);
    assert_eq!(seen(group, sight(Agent)), [main, group, sub, subsub]);
    // Other agents only where both are allowed to know each other.
    assert_eq!(seen(group, sight(All)), [main, group, sub, subsub]);
    let mut all = sight(All);
    all.agents = AgentToAgent {
        enabled: true,
        allow: vec!["main".to_owned()],
    };
    assert_eq!(seen(group, all.clone()).len(), 4);
    all.agents.allow = vec!["*".to_owned()];
    assert_eq!(seen(group, all.clone()), [main, group, sub, subsub, other]);
    all.spawned_only = true;
    assert_eq!(seen(main, all), [main, sub, subsub]);
}

#[test]
fn the_list() {
    let main = sessions("agent:main:main", sight(SessionVisibility::Tree));
    insta::assert_snapshot!(run(&main, "sessions_list", json!({})).text(), @r#"
    4 sessions, newest first:
    - agent:main:main · this session · local/small · 7 messages · 12,345 tokens · just now
    - agent:main:telegram:group:9 · “Shopping list” · local/small · 7 messages · 12,345 tokens · 1 min ago
    - agent:main:subagent:1 · local/small · 7 messages · 12,345 tokens · 2 h ago · started by agent:main:main
    - agent:main:subagent:1:subagent:2 · local/small · 7 messages · 12,345 tokens · 2 h ago · started by agent:main:subagent:1
    "#);
    let recent = json!({"activeMinutes": 5, "kinds": ["group"], "limit": 1});
    insta::assert_snapshot!(run(&main, "sessions_list", recent).text(), @r#"
    1 session:
    - agent:main:telegram:group:9 · “Shopping list” · local/small · 7 messages · 12,345 tokens · 1 min ago
    "#);
    insta::assert_snapshot!(run(&main, "agents_list", json!({})).text(), @r#"- main (Chela)"#);
}

#[test]
fn the_card() {
    let main = sessions("agent:main:main", sight(SessionVisibility::Tree));
    insta::assert_snapshot!(run(&main, "session_status", json!({})).text(), @r#"
    Time: 2026-03-04 16:05:09 +00:00 (UTC, Wednesday)
    Session: agent:main:main
    Model: local/small (answered by cloud/big: 429)
    Context: 8,192 of 32,768 tokens (25 %)
    Tokens: 12,000 in (9,000 cached), 345 out
    Cost: $0.0123
    Compactions: 2
    Thinking: low
    Elevated: ask
    Started: 2026-03-04 15:05:09 +00:00 (UTC, Wednesday)
    Running: exec p1: make
    "#);
    let set = json!({"sessionKey": "current", "model": "default"});
    let said = run(&main, "session_status", set).text();
    assert!(said.starts_with("Model set: local/small from the next reply on."));
    let wrong = run(&main, "session_status", json!({"model": "none/such"}));
    assert_eq!(wrong.success, CallSuccess::Failed);
}

#[test]
fn history_is_cut_and_paged() {
    let main = sessions("agent:main:main", sight(SessionVisibility::Tree));
    let ask = |offset: usize| {
        let arguments = json!({"sessionKey": "agent:main:telegram:group:9", "offset": offset});
        run(&main, "sessions_history", arguments)
    };
    let first = ask(0);
    assert!(first.text().chars().count() <= 16_000 + 300);
    assert!(first.text().contains("[4,711 more characters]"));
    assert_eq!(first.details["nextOffset"], 3);
    // Every message is reached, each once.
    let (mut offset, mut reached) = (0, Vec::new());
    loop {
        let page = ask(offset);
        let text = page.text();
        let mut numbers: Vec<usize> = text
            .lines()
            .filter_map(|line| {
                line.strip_prefix("message ")?
                    .split(' ')
                    .next()?
                    .parse()
                    .ok()
            })
            .collect();
        numbers.reverse();
        reached.extend(numbers);
        match page.details["nextOffset"].as_u64() {
            Some(next) => offset = next as usize,
            None => break,
        }
    }
    assert_eq!(reached, (0..30).rev().collect::<Vec<_>>());
}

#[test]
fn what_may_not_be_seen_does_not_exist() {
    let group = sessions(
        "agent:main:telegram:group:9",
        sight(SessionVisibility::Tree),
    );
    for key in [
        "agent:main:main",
        "agent:other:main",
        "id-0",
        "agent:main:explicit:incognito-x",
    ] {
        let refused = run(&group, "sessions_history", json!({ "sessionKey": key }));
        assert_eq!(refused.success, CallSuccess::Failed, "{key}");
        assert!(refused.text().starts_with("There is no session"));
    }
}
