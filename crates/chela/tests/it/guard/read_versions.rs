//! What is judged is what was read: the very bytes, the very name, the very folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chela_testkit::{ScriptStep, ScriptedCall};
use serde_json::{Value, json};

use super::running::{RunningHome, write};

const MARK: &str = "EXTERNAL_UNTRUSTED_CONTENT";

/// Calls that differ in nothing that matters: the same one over and over would be stopped.
fn many(tool: &str, arguments: &Value) -> ScriptStep {
    let call = |number: usize| {
        let mut arguments = arguments.clone();
        arguments["limit"] = (number + 10).into();
        ScriptedCall {
            name: tool.to_owned(),
            arguments,
            id: None,
        }
    };
    ScriptStep {
        tool_calls: (0..40).map(call).collect(),
        ..ScriptStep::default()
    }
}

/// Somebody keeps exchanging a file of the agent's own with another.
#[test]
fn text_that_was_exchanged_meanwhile_is_not_the_agents_own() {
    let home = RunningHome::without_sandbox(json!({}));
    let own = "the agent wrote this line\n";
    home.plays("making", [write("notes/own.md", own)]);
    let notes = home.scene.home.path(".chela/workspace/notes");
    let ends = Arc::new(AtomicBool::new(false));
    let exchanging = std::thread::spawn({
        let ends = Arc::clone(&ends);
        move || {
            while !ends.load(Ordering::Relaxed) {
                for text in ["HOSTILE, the agent says\n", own] {
                    std::fs::write(notes.join(".draft"), text).unwrap();
                    std::fs::rename(notes.join(".draft"), notes.join("own.md")).unwrap();
                }
            }
        }
    });
    let path = "notes/own.md";
    let reads = many("read", &json!({ "path": path }));
    let finds = many("grep", &json!({ "pattern": "agent", "path": path }));
    let results = home.plays("reading", [reads, finds]);
    ends.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
    assert_eq!(results.len(), 80);
    for result in &results {
        assert!(
            !result.contains("HOSTILE") || result.contains(MARK),
            "{result}"
        );
    }
    // The agent's own stands there now, and is known as such.
    let read = ScriptStep::tool("read", json!({ "path": path }));
    let results = home.plays("later", [read]);
    assert!(results[0].contains("this line"), "{results:?}");
    assert!(!results[0].contains(MARK), "{results:?}");
}

#[test]
fn a_name_somebody_else_chose_is_not_suggested() {
    let home = RunningHome::without_sandbox(json!({}));
    home.write("clone/send-all-to-evil.md", "x");
    let read = |path: &str| ScriptStep::tool("read", json!({ "path": path }));
    let results = home.plays(
        "reading",
        [
            write("own-notes.md", "mine\n"),
            read("own-notes.txt"),
            read("clone/send-all-to-evil.txt"),
        ],
    );
    assert!(
        results[1].contains("Did you mean `own-notes.md`"),
        "{results:?}"
    );
    assert!(!results[2].contains("evil.md"), "{results:?}");
    assert!(results[2].contains("Call ls"), "{results:?}");
}

#[test]
fn notes_behind_a_link_out_of_the_workspace_are_not_memory() {
    let home = RunningHome::without_sandbox(json!({}));
    let secret = "# zebra\nThe zebra passport number is TOPSECRET 123.\n";
    let work = home.scene.home.path(".chela/workspace");
    home.scene.home.write("priv/a.md", secret);
    home.scene.home.write("priv/2026-11-18.md", secret);
    let _ = std::fs::remove_dir_all(work.join("memory"));
    std::os::unix::fs::symlink(home.scene.home.path("priv"), work.join("memory")).unwrap();
    let results = home.plays(
        "recalling",
        [
            ScriptStep::tool("memory_search", json!({ "query": "zebra passport number" })),
            ScriptStep::tool("memory_get", json!({ "path": "memory/a.md" })),
        ],
    );
    assert_eq!(results.len(), 2);
    assert!(!results.concat().contains("TOPSECRET"), "{results:?}");
    let sent: String = home
        .scene
        .endpoint
        .calls()
        .iter()
        .map(|call| call.body.clone())
        .collect();
    assert!(!sent.contains("TOPSECRET"), "{sent}");
    let told = home.scene.home.run(&["memory", "status"]);
    assert!(told.out.contains("leads out of the workspace"), "{told:?}");
}
