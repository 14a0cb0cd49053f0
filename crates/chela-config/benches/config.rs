//! How long it takes from the file to the view of every agent, for a config of 2,000 lines.
//!
//! The baseline is serde_json reading the same file into plain values: everything beyond that
//! is what places, migration, the strict check, types and provenance cost.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops where it cannot go on"
)]

use std::time::Instant;

use chela_config::sources::gather;
use chela_config::{load, schema, validate};
use chela_core::Host;
use chela_testkit::bench::measure;
use serde_json::{Value, json};

const LINES: usize = 2_000;

fn main() {
    let source = config();
    let folder = tempfile::tempdir().unwrap();
    let host = Host::fixed(folder.path());
    std::fs::create_dir_all(host.state_dir()).unwrap();
    std::fs::write(host.config_file(), &source).unwrap();

    let start = Instant::now();
    let loaded = load(&host);
    let ids = loaded.agents();
    let views = ids.iter().filter_map(|id| loaded.agent(id)).count();
    let first = start.elapsed();
    println!(
        "a config of {} lines, {} KiB, {views} agents, {} diagnostics",
        source.lines().count(),
        source.len() / 1024,
        loaded.diagnostics.len(),
    );
    println!("first load and resolve in this process: {first:?}");

    let bytes = source.len();
    let baseline = measure("serde_json", bytes, || {
        serde_json::from_str::<Value>(&std::fs::read_to_string(host.config_file()).unwrap())
            .unwrap()
    });
    baseline.print(None);
    measure("gather", bytes, || gather(&host)).print(Some(&baseline));
    measure("load", bytes, || load(&host)).print(Some(&baseline));
    measure("load and resolve every agent", bytes, || {
        let loaded = load(&host);
        loaded
            .agents()
            .iter()
            .filter_map(|id| loaded.agent(id))
            .count()
    })
    .print(Some(&baseline));
    measure("load and resolve one agent", bytes, || {
        let loaded = load(&host);
        loaded.agent(&loaded.default_agent()).is_some()
    })
    .print(Some(&baseline));
    measure("validate", bytes, || validate(&host).len()).print(Some(&baseline));

    let start = Instant::now();
    let size = schema().to_string().len();
    println!(
        "first schema in this process: {:?}, {} KiB",
        start.elapsed(),
        size / 1024
    );
}

/// Providers, models and agents in the later shape, so that migrating has work to do.
fn config() -> String {
    let model = |index: usize| {
        json!({
            "id": format!("model-{index}"), "name": format!("Model {index}"), "reasoning": index.is_multiple_of(2),
            "input": ["text", "image"], "contextWindow": 200_000, "maxTokens": 8192,
            "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
        })
    };
    let agent = |index: usize| {
        json!({
            "name": format!("Agent {index}"),
            "model": { "primary": format!("p{}/model-{index}", index % 4), "fallbacks": ["p0/model-1"] },
            "workspace": format!("~/agents/{index}"),
            "identity": { "name": format!("A{index}"), "emoji": "🦀" },
            "skills": ["a", "b", "c"],
            "heartbeat": { "every": "30m", "activeHours": { "start": "08:00", "end": "22:00" } },
            "sandbox": { "mode": "all", "docker": { "network": "none" } },
            "tools": { "profile": "coding", "deny": ["browser"], "exec": { "security": "allowlist", "ask": "on-miss" } },
        })
    };
    let mut agents = 20;
    loop {
        let providers: serde_json::Map<String, Value> = (0..4)
            .map(|index| {
                let models: Vec<Value> = (0..12).map(|at| model(index * 12 + at)).collect();
                let provider = json!({
                    "baseUrl": "http://127.0.0.1:1/v1", "apiKey": "none",
                    "api": "openai-completions", "models": models,
                });
                (format!("p{index}"), provider)
            })
            .collect();
        let entries: serde_json::Map<String, Value> = (0..agents)
            .map(|index| (format!("agent-{index}"), agent(index)))
            .collect();
        let config = json!({
            "models": { "mode": "merge", "providers": providers },
            "agents": { "defaults": { "bootstrapMaxChars": 15_000 }, "entries": entries },
            "memory": { "search": { "provider": "local" } },
            "gateway": { "port": 18_789, "auth": { "mode": "token", "token": "none" } },
        });
        let text = serde_json::to_string_pretty(&config).unwrap();
        if text.lines().count() >= LINES {
            return text;
        }
        agents += 1;
    }
}
