//! A home whose agent talks to a scripted endpoint.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::time::Duration;

use chela_core::{AgentId, Host};
use chela_session::journal::{FileJournal, JournalRetention};
use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint, StepRule};
use serde_json::json;

use crate::home::{CommandRun, TestHome};

/// The wire formats, by their names in the config.
pub const APIS: [&str; 5] = [
    "openai-completions",
    "openai-responses",
    "anthropic-messages",
    "google-generative-ai",
    "ollama",
];

/// A key that must never be seen again: it holds the mark of bait.
pub const KEY: &str = "sk-kit-Ba1tQ7xW9zK4P1easeHide";

pub struct ScriptedHome {
    pub home: TestHome,
    pub endpoint: ScriptedEndpoint,
}

impl ScriptedHome {
    pub fn new(script: EndpointScript) -> Self {
        Self::speaking(APIS[0], script)
    }

    /// In this wire format.
    pub fn speaking(api: &str, script: EndpointScript) -> Self {
        Self::with(api, script, json!({}))
    }

    /// With more in the config than the endpoint, and a canary in the workspace.
    pub fn with(api: &str, script: EndpointScript, more: serde_json::Value) -> Self {
        let mut scene = Self::without_canary(api, script, more);
        let host = Host::fixed(scene.home.path(""));
        let workspace = scene.home.path(".chela/workspace");
        let canary = chela_agent::canary::plant(&host, &workspace).unwrap();
        let retention = JournalRetention {
            age: Duration::from_secs(86_400),
            bytes: 1 << 20,
        };
        let journal = FileJournal::of(&host, &AgentId::main(), retention);
        canary.answer_for(&journal).unwrap();
        scene.home.watches(canary.value());
        scene
    }

    pub fn without_canary(api: &str, script: EndpointScript, more: serde_json::Value) -> Self {
        let endpoint = ScriptedEndpoint::start(script).unwrap();
        let mut home = TestHome::empty();
        home.asks(&endpoint);
        let mut config = json!({
            "models": { "providers": { "kit": {
                "baseUrl": endpoint.url(),
                "api": api,
                "apiKey": KEY,
                "models": [{ "id": "scripted", "contextWindow": 64_000 }],
            } } },
            "agents": { "defaults": { "model": "kit/scripted" } },
        });
        if let Some(backend) = wanted_backend() {
            config["agents"]["defaults"]["sandbox"] = json!({ "backend": backend });
        }
        merge(&mut config, more);
        home.write(".chela/chela.json", &config.to_string());
        home.run(&["init"]).ok();
        Self { home, endpoint }
    }

    /// One message in the main session.
    pub fn chat(&self, message: &str) -> CommandRun {
        self.home.run(&["chat", "-m", message])
    }

    pub fn chat_json(&self, message: &str) -> serde_json::Value {
        let run = self.home.run(&["chat", "-m", message, "--json"]);
        serde_json::from_str(&run.answered()).unwrap()
    }

    /// The messages of the main session as it was written down.
    pub fn exported(&self) -> Vec<serde_json::Value> {
        let text = self
            .home
            .run(&["sessions", "export", "agent:main:main"])
            .ok();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Whether the tests run as on a machine that has no sandbox.
pub fn is_sandbox_unwanted() -> bool {
    wanted_backend().is_some_and(|backend| backend == "absent")
}

/// The sandbox the tests run with, where it is named: `CHELA_TEST_SANDBOX=landlock`, `bwrap`, or
/// `absent` for a machine that has none.
fn wanted_backend() -> Option<String> {
    std::env::var("CHELA_TEST_SANDBOX").ok()
}

/// A step for the request that carries a tool's result.
pub fn after_tool(step: ScriptStep) -> ScriptStep {
    step.when(StepRule {
        after_tool: Some(true),
        ..StepRule::default()
    })
}

fn merge(base: &mut serde_json::Value, more: serde_json::Value) {
    match (base, more) {
        (serde_json::Value::Object(base), serde_json::Value::Object(more)) => {
            for (name, value) in more {
                merge(base.entry(name).or_insert(serde_json::Value::Null), value);
            }
        }
        (base, more) => *base = more,
    }
}
