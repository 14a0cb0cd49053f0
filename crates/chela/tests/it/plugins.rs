//! Plugins through the binary: added, granted, asked at every hook, and going wrong in every way one can.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod hooks;
mod hostile;
mod packages;

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use crate::home::{CommandRun, TestHome, text};
use crate::scene::{APIS, ScriptedHome};

const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";

/// A home with an agent and plugins that follow scripts.
struct PluginHome {
    scene: ScriptedHome,
}

impl PluginHome {
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

    /// Writes a package whose program follows a script: what it does at each hook.
    fn write(&self, id: &str, hooks: &Value, more: &Value) -> String {
        let program = env!("CARGO_BIN_EXE_chela");
        let names: Value = hooks
            .as_object()
            .unwrap()
            .keys()
            .map(|name| (name.clone(), json!({})))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let mut extension = json!({
            "process": { "command": [program, "testkit", "mcp", "script.json"] },
            "hooks": names,
        });
        let fields = extension.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let manifest = json!({
            "$schema": SCHEMA, "name": id, "version": "1.0.0",
            "extensions": { "dev.chela": extension },
        });
        self.home()
            .write(&format!("kit/{id}/plugin.json"), &manifest.to_string());
        let script = json!({ "hooks": hooks });
        self.home()
            .write(&format!("kit/{id}/script.json"), &script.to_string());
        text(&self.home().path(&format!("kit/{id}"))).to_owned()
    }

    /// Adds a plugin that does this at these hooks, with these grants.
    fn add(&self, id: &str, hooks: &Value, grants: &[&str]) -> CommandRun {
        self.add_with(id, hooks, &json!({}), grants)
    }

    fn add_with(&self, id: &str, hooks: &Value, more: &Value, grants: &[&str]) -> CommandRun {
        let folder = self.write(id, hooks, more);
        let mut words = vec!["plugins", "add", &folder, "--yes"];
        for grant in grants {
            words.extend(["--grant", grant]);
        }
        self.home().run(&words)
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

    /// Everything the model was sent in the last request.
    fn sent(&self) -> String {
        self.scene.endpoint.calls().last().unwrap().body.clone()
    }

    fn system(&self) -> String {
        let body = self.scene.endpoint.calls().last().unwrap().json();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let system = messages
            .iter()
            .filter(|message| message["role"] == "system");
        system
            .map(|message| message["content"].to_string())
            .collect()
    }

    /// What the audit chain holds of hooks.
    fn on_record(&self) -> String {
        self.home()
            .run(&["audit", "show", "--kind", "hook", "-n", "100", "--json"])
            .ok()
    }
}

/// What a hook answers.
fn says(answer: Value) -> Value {
    json!([{ "result": answer }])
}

/// All that was printed.
fn printed(run: &CommandRun) -> String {
    format!("{}\n{}", run.out, run.err)
}
