//! Tool servers through the binary: set up, started in walls, called by a scripted model, and going wrong
//! in every way one can.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod attacks;
mod hostile;
mod over_http;
mod project_file;
mod real;
mod record;
mod servers;
mod serving;
mod smuggling;
mod turns;
mod walls;

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use crate::home::{CommandRun, TestHome, text};
use crate::scene::{APIS, ScriptedHome, is_sandbox_unwanted};

/// A home with an agent and servers that follow scripts.
struct McpHome {
    scene: ScriptedHome,
}

impl McpHome {
    fn new() -> Self {
        Self::with(json!({}))
    }

    fn with(more: Value) -> Self {
        let script = EndpointScript::always(ScriptStep::reply("Done."));
        Self {
            scene: ScriptedHome::without_canary(APIS[0], script, more),
        }
    }

    fn home(&self) -> &TestHome {
        &self.scene.home
    }

    /// Sets up a server that follows a script. `more` is added to the command line.
    fn add(&self, name: &str, script: &Value, more: &[&str]) -> CommandRun {
        self.write_script(name, script);
        let kit = self.home().path("kit");
        let program = env!("CARGO_BIN_EXE_chela");
        let file = kit.join(format!("{name}.json"));
        let mut words = vec!["mcp", "add", name, "--read", text(&kit)];
        words.extend_from_slice(more);
        if is_sandbox_unwanted() {
            words.push("--no-sandbox");
        }
        words.extend(["--", program, "testkit", "mcp", text(&file)]);
        self.home().run(&words)
    }

    /// What the server does the next time it is started.
    fn write_script(&self, name: &str, script: &Value) {
        let file = format!("kit/{name}.json");
        self.home().write(&file, &script.to_string());
    }

    /// The model says these things, one after the other, to one message.
    fn say(&self, message: &str, steps: impl IntoIterator<Item = ScriptStep>) -> CommandRun {
        let script = EndpointScript {
            otherwise: Some(ScriptStep::reply("Done.")),
            ..EndpointScript::steps(steps)
        };
        self.scene.endpoint.play(script);
        self.scene.chat(message)
    }

    /// What the model was told of the results of its calls in the last conversation.
    fn results(&self) -> Vec<String> {
        let body = self.scene.endpoint.calls().last().unwrap().json();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        results
            .map(|message| words_of(&message["content"]))
            .collect()
    }

    /// The newest message of the owner, as it was sent: with what the runtime says before it.
    fn last_user_message(&self) -> String {
        let body = self.scene.endpoint.calls().last().unwrap().json();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let users = messages.iter().filter(|message| message["role"] == "user");
        users
            .map(|message| words_of(&message["content"]))
            .next_back()
            .unwrap()
    }
}

/// The text of a message, in whichever form it is sent.
fn words_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// A server with one tool that does this.
fn one_tool(name: &str, deeds: Value) -> Value {
    json!({ "tools": [{
        "name": name,
        "description": format!("The tool {name}."),
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
        "deeds": deeds,
    }] })
}

/// A call of a tool.
fn call(tool: &str, arguments: Value) -> ScriptStep {
    ScriptStep::tool(tool, arguments)
}

/// Everything is granted as reading.
const READ_ALL: [&str; 2] = ["--effect", "*=read"];
