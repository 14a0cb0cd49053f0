//! The binary against what we did not write: a real model, and a mock of others.
//!
//! Both come from package registries. Where those cannot be reached a test says so and passes.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use chela_testkit::find_part;
use serde_json::{Value, json};

use crate::home::TestHome;
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
        let there = match setup.status.code() {
            Some(75) => {
                let why = String::from_utf8_lossy(&setup.stderr);
                Err(why.lines().last().unwrap_or_default().to_owned())
            }
            _ => Ok(()),
        };
        find_part(script.trim_end_matches(".sh"), there)?;
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

    /// A home that knows the server by the name of each wire format.
    fn home(&self, model: &Value) -> TestHome {
        let providers: serde_json::Map<String, Value> = APIS
            .iter()
            .map(|api| {
                let provider = json!({
                    "baseUrl": self.url, "api": api, "apiKey": "none", "models": [model],
                });
                ((*api).to_owned(), provider)
            })
            .collect();
        let home = TestHome::empty();
        let config = json!({ "models": { "providers": providers } });
        home.write(".chela/chela.json", &config.to_string());
        home.run(&["init"]).ok();
        home
    }
}

/// One turn in a session of that wire format.
fn say(home: &TestHome, api: &str, model: &str, message: &str, more: &[&str]) -> Value {
    let model = format!("{api}/{model}");
    let session = format!("agent:main:{api}");
    let args = [
        "chat",
        "-m",
        message,
        "--session",
        &session,
        "--model",
        &model,
        "--json",
    ];
    home.run(&[&args, more].concat()).json()
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
    let home = server.home(&json!({
        "id": "smollm2",
        "contextWindow": 8192,
        "params": { "temperature": 0, "maxTokens": 12 },
    }));
    for api in ["openai-completions", "anthropic-messages"] {
        let turns: Vec<Value> = [
            "My dog is called Rex. Say hello to Rex.",
            "What is the name of my dog?",
            "Say goodbye to the dog.",
        ]
        .iter()
        .map(|said| say(&home, api, "smollm2", said, &["--no-tools"]))
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
        // The new message and a few marks; not the history, not the prompt.
        assert!(
            evaluated[1..].iter().all(|tokens| *tokens < 60),
            "{api}: {evaluated:?}"
        );
        let sent = turns[2]["usage"]["input"].as_u64().unwrap();
        assert!(
            sent > 500,
            "{api}: a prompt of {sent} tokens proves nothing"
        );
        let shown = home
            .run(&["sessions", "show", &format!("agent:main:{api}")])
            .ok();
        assert!(shown.contains("My dog is called Rex."), "{api}: {shown}");
    }
}

/// By its own count, in its own words for tokens: what a small model is sent to say hi.
#[test]
fn a_small_model_counts_less_than_a_thousand_tokens() {
    let Some(server) = Server::start("real-model.sh", &[]) else {
        return;
    };
    let home = TestHome::empty();
    home.run(&["init"]).ok();
    let setup = ["setup", "--base-url", &server.url, "--no-chat"];
    home.run(&setup).ok();
    home.run(&["config", "set", "agents.defaults.maxSteps", "1"])
        .ok();
    let before = home.run(&["context", "json"]).json();
    // What it answers is of no interest: the first request is.
    home.run(&["-p", "hi", "--json"]);
    let list = home.run(&["turn", "list", "--json"]).json();
    let usage = &list[0]["usage"];
    assert_eq!(usage["estimated"], false, "{list}");
    let counted = usage["input"].as_u64().unwrap();
    assert!(counted > 500, "{counted} tokens prove nothing");
    assert!(counted <= 1_000, "{counted} tokens");
    let shown = before["total"]["tokens"].as_u64().unwrap();
    let apart = shown.abs_diff(counted);
    assert!(
        apart * 4 < counted,
        "{shown} shown before, {counted} counted"
    );
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
    let home = server.home(&json!({ "id": "mock", "contextWindow": 64_000 }));
    home.write(".chela/workspace/lunch.md", "soup & bread\n");
    std::thread::scope(|scope| {
        for api in APIS {
            let home = &home;
            scope.spawn(move || {
                let greeting = say(home, api, "mock", "greetings", &[]);
                assert_eq!(greeting["reply"], "Good day — 你好.", "{api}: {greeting}");
                let lunch = say(home, api, "mock", "what is for lunch?", &[]);
                assert_eq!(lunch["reply"], "It says soup.", "{api}: {lunch}");
                assert_eq!(lunch["toolCalls"], 1, "{api}: {lunch}");
            });
        }
    });
    let waited = say(&home, APIS[0], "mock", "are you busy?", &[]);
    assert_eq!(waited["reply"], "Now I am free.", "{waited}");
}
