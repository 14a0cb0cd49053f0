//! Ways of writing a command so that what it reads is overlooked.

use serde_json::{Value, json};

use chela_testkit::ScriptStep;

use super::provenance::ORDER;
use super::running::{RunningHome, exec, exec_with};

/// Commands run on the machine itself, unasked.
fn home() -> RunningHome {
    RunningHome::without_sandbox(json!({ "tools": { "exec": { "mode": "full" } } }))
}

#[test]
fn however_it_is_written_what_somebody_else_wrote_is_theirs() {
    let calls: &[Value] = &[
        json!({ "command": "cat README.md", "workdir": "~/.chela/workspace/vendor" }),
        json!({ "command": "cat README.md", "workdir": " vendor" }),
        json!({ "command": "cat README.md", "workdir": "vendor " }),
        json!({ "command": "cat README.md", "workdir": "vendor" }),
        json!({ "command": "cat -- vendor/README.md" }),
        json!({ "command": "sed vendor/README.md -e p" }),
        json!({ "command": "sed -n -- p vendor/README.md" }),
        json!({ "command": "grep --recurs Ignore vendor" }),
        json!({ "command": "grep -d recurse Ignore vendor" }),
        json!({ "command": "grep -hr Ignore vendor" }),
        json!({ "command": "grep -f vendor/README.md vendor/README.md" }),
        json!({ "command": "date -uf vendor/README.md" }),
        json!({ "command": "diff --from=vendor/README.md AGENTS.md" }),
        json!({ "command": "wc --files0=vendor/README.md" }),
        json!({ "command": "md5sum -c vendor/README.md" }),
        json!({ "command": "sort -m vendor/README.md" }),
        json!({ "command": "mkdir qq && cat qq/../vendor/README.md" }),
        json!({ "command": "cat vendor/README.md & wait" }),
        json!({ "command": "cat < vendor/README.md" }),
        json!({ "command": "cat vendor/*" }),
        json!({ "argv": ["cat", "vendor/README.md"] }),
    ];
    for call in calls {
        let home = home();
        home.write("vendor/README.md", &format!("{ORDER}\n"));
        let step = ScriptStep::tool("exec", call.clone());
        assert!(home.is_tainted_by("one", [step]), "{call}");
    }
}

/// What runs on in the background and is looked at later.
#[test]
fn nor_in_the_background() {
    let home = home();
    home.write("vendor/README.md", &format!("{ORDER}\n"));
    let read = "cat vendor/README.md; touch done";
    let steps = [
        exec_with(read, json!({ "background": true })),
        exec("sh -c 'while [ ! -e done ]; do sleep 0.1; done'"),
        ScriptStep::tool("process", json!({ "action": "list" })),
    ];
    assert!(home.is_tainted_by("one", steps));
}
