//! An owner at a terminal, before a question.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::time::Duration;

use chela_testkit::{EndpointScript, ScriptStep, ScriptedCall};
use serde_json::{Value, json};

use crate::chat::terminal::ChatTerminal;
use crate::scene::{APIS, ScriptedHome};

/// What the next choice is, to the keyboard.
pub(super) const NEXT: &str = "\t";
pub(super) const PREVIOUS: &str = "\u{1b}[Z";
pub(super) const ENTER: &str = "\r";
pub(super) const ASKED: &str = "Allow this?";

/// Every command asks.
pub(super) fn asking_home(steps: impl IntoIterator<Item = ScriptStep>) -> ScriptedHome {
    home_with(steps, json!({ "tools": { "exec": { "mode": "ask" } } }))
}

pub(super) fn home_with(
    steps: impl IntoIterator<Item = ScriptStep>,
    config: Value,
) -> ScriptedHome {
    ScriptedHome::with(APIS[0], EndpointScript::steps(steps), config)
}

pub(super) fn command(line: &str) -> ScriptStep {
    ScriptStep::tool("exec", json!({ "command": line }))
}

/// One answer with several calls.
pub(super) fn commands(lines: impl IntoIterator<Item = String>) -> ScriptStep {
    let calls = lines.into_iter().map(|line| ScriptedCall {
        name: "exec".to_owned(),
        arguments: json!({ "command": line }),
        id: None,
    });
    ScriptStep {
        tool_calls: calls.collect(),
        ..ScriptStep::default()
    }
}

/// A chat in which something was just said.
pub(super) fn open_and_say(scene: &ScriptedHome, message: &str) -> ChatTerminal {
    let mut terminal = ChatTerminal::open(&scene.home, &[]);
    terminal.sees("lists commands");
    terminal.types(message);
    terminal.types(ENTER);
    terminal
}

/// Looks at what is on the screen, then presses a key.
pub(super) fn press(terminal: &mut ChatTerminal, key: &str) {
    // A key pressed at once is meant for something else.
    std::thread::sleep(Duration::from_millis(700));
    terminal.types(key);
}

pub(super) fn press_all(terminal: &mut ChatTerminal, keys: &[&str]) {
    keys.iter().for_each(|key| press(terminal, key));
}

/// Leaves the chat and waits for its end.
pub(super) fn leave(mut terminal: ChatTerminal) {
    std::thread::sleep(Duration::from_millis(200));
    terminal.types("\u{3}");
    std::thread::sleep(Duration::from_millis(200));
    terminal.types("\u{3}");
    terminal.ends();
}

pub(super) fn is_made(scene: &ScriptedHome, file: &str) -> bool {
    scene.home.exists(&format!(".chela/workspace/{file}"))
}

/// Everything the audit chain says about questions.
pub(super) fn audited(scene: &ScriptedHome) -> String {
    let path = scene.home.path("audit.jsonl");
    let path = path.to_str().unwrap();
    scene.home.run(&["audit", "export", "-o", path]).ok();
    scene.home.read("audit.jsonl")
}
