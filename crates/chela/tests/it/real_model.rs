//! The binary against what we did not write: a real model, and a mock of others.
//!
//! Both come from package registries. Where those cannot be reached a test says so and passes.

#![expect(
    clippy::print_stderr,
    reason = "a test that is left out says why it was"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::home::Home;
use crate::scene::APIS;

/// A server that ends with the test.
struct Server {
    child: Child,
    url: String,
    /// Kept open: a server whose output has nowhere to go would stop.
    _out: BufReader<ChildStdout>,
    _err: Option<ChildStderr>,
}

impl Server {
    /// Sets up what `script` describes and starts it; `None` when it cannot be had here.
    fn start(script: &str, arguments: &[&Path]) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let setup = Command::new(root.join("scripts").join(script))
            .output()
            .unwrap();
        if setup.status.code() == Some(75) {
            let why = String::from_utf8_lossy(&setup.stderr);
            eprintln!("left out: {}", why.lines().last().unwrap_or_default());
            return None;
        }
        assert!(setup.status.success(), "{script}: {setup:?}");
        let serve = PathBuf::from(String::from_utf8(setup.stdout).unwrap().trim());
        let mut child = Command::new(serve)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let url = loop {
            let mut line = String::new();
            assert!(
                out.read_line(&mut line).unwrap() > 0,
                "{script}: the server ended"
            );
            if let Some(at) = line.find("http://127.0.0.1:") {
                break line[at..].trim().to_owned();
            }
        };
        Some(Self {
            _err: child.stderr.take(),
            child,
            url,
            _out: out,
        })
    }

    fn home(&self, api: &str, model: &Value) -> Home {
        let home = Home::empty();
        let config = json!({
            "models": { "providers": { "there": {
                "baseUrl": self.url, "api": api, "apiKey": "none", "models": [model],
            } } },
            "agents": { "defaults": { "model": format!("there/{}", model["id"].as_str().unwrap()) } },
        });
        home.write(".chela/chela.json", &config.to_string());
        home.run(&["init"]).ok();
        home
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Its words are not to be trusted; that it is asked and cached as it should be is.
#[test]
fn a_real_model_holds_a_conversation() {
    let Some(server) = Server::start("real-model.sh", &[]) else {
        return;
    };
    let model = json!({
        "id": "smollm2",
        "contextWindow": 8192,
        "maxTokens": 12,
        "params": { "temperature": 0 },
    });
    for api in ["openai-completions", "anthropic-messages"] {
        let home = server.home(api, &model);
        let turns: Vec<Value> = [
            "My dog is called Rex. Say hello to Rex.",
            "What is the name of my dog?",
            "Say goodbye to the dog.",
        ]
        .iter()
        .map(|said| {
            home.run(&[
                "chat",
                "-m",
                said,
                "--session",
                "real",
                "--no-tools",
                "--json",
            ])
            .json()
        })
        .collect();
        let evaluated: Vec<u64> = turns
            .iter()
            .map(|turn| {
                let count = |name: &str| turn["usage"][name].as_u64().unwrap();
                assert_eq!(turn["usage"]["estimated"], false, "{api}: {turn}");
                count("input") - count("cacheRead")
            })
            .collect();
        assert!(
            turns.iter().all(|turn| turn["reply"] != ""),
            "{api}: {turns:?}"
        );
        // The new message, the answer before it and a few facts; not the history, not the prompt.
        assert!(
            evaluated[1..].iter().all(|tokens| *tokens < 150),
            "{api}: {evaluated:?}"
        );
        let growth = evaluated[2].abs_diff(evaluated[1]);
        assert!(growth < 60, "{api}: {evaluated:?}");
        let shown = home.run(&["sessions", "show", "agent:main:real"]).ok();
        assert!(shown.contains("My dog is called Rex."), "{api}: {shown}");
    }
}

/// Another reading of the protocols than ours.
#[test]
fn an_independent_mock_is_understood() {
    let fixtures = json!({ "fixtures": [
        {
            "match": { "toolResultContains": "soup" },
            "response": { "content": "It says soup." },
        },
        {
            "match": { "userMessage": "lunch" },
            "response": { "toolCalls": [
                { "name": "read", "arguments": "{\"path\":\"lunch.md\"}" },
            ] },
        },
        {
            "match": { "userMessage": "busy", "sequenceIndex": 0 },
            "response": {
                "error": { "message": "Slow down", "type": "rate_limit_error" },
                "status": 429,
                "retryAfter": 1,
            },
        },
        { "match": { "userMessage": "busy" }, "response": { "content": "Now I am free." } },
        {
            "match": { "userMessage": "greetings" },
            "response": { "content": "Good day — 你好.", "reasoning": "A greeting." },
        },
    ] });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fixtures.json");
    std::fs::write(&file, fixtures.to_string()).unwrap();
    let Some(server) = Server::start("independent-mock.sh", &[&file]) else {
        return;
    };
    let model = json!({ "id": "mock", "contextWindow": 64_000 });
    std::thread::scope(|scope| {
        for api in APIS {
            let (server, model) = (&server, &model);
            scope.spawn(move || {
                let home = server.home(api, model);
                let greeting = home.run(&["chat", "-m", "greetings"]).ok();
                assert_eq!(greeting, "Good day — 你好.\n", "{api}");
                home.write(".chela/workspace/lunch.md", "soup & bread\n");
                let lunch = home
                    .run(&["chat", "-m", "what is for lunch?", "--json"])
                    .json();
                assert_eq!(lunch["reply"], "It says soup.", "{api}: {lunch}");
                assert_eq!(lunch["toolCalls"], 1, "{api}: {lunch}");
            });
        }
    });
    let home = server.home(APIS[0], &model);
    let waited = home.run(&["chat", "-m", "are you busy?"]).ok();
    assert_eq!(waited, "Now I am free.\n");
}
