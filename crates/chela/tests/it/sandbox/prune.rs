//! Sandboxes nobody uses any more, and what a newcomer meets.

use serde_json::json;

use super::{SandboxedHome, everywhere, with_bwrap};
use crate::home::TestHome;

/// As if it had been used long ago only.
fn long_ago(cell: &SandboxedHome) {
    let note = ".chela/sandboxes/.agent-main.json";
    let usage: serde_json::Value = serde_json::from_str(&cell.home.read(note)).unwrap();
    assert_eq!(usage["session"], "agent:main:main", "{usage}");
    let old = json!({ "made": 0, "used": 0, "session": usage["session"] });
    cell.home.write(note, &old.to_string());
}

#[test]
fn idle_sandboxes_go_and_their_work_stays() {
    let Some(cell) = SandboxedHome::new(super::BACKENDS[1], &json!({ "workspaceAccess": "none" }))
    else {
        return;
    };
    cell.sh("echo result > result.md; echo cached > ~/cache; echo x > ../note");
    let home = ".chela/sandboxes/agent-main/home";
    let work = ".chela/sandboxes/agent-main/work/result.md";
    let fresh = cell.home.run(&["sandbox", "prune"]).ok();
    assert_eq!(fresh, "Nothing to prune.\n");
    long_ago(&cell);
    let dry = cell.home.run(&["sandbox", "prune", "--dry-run"]).ok();
    assert!(
        dry.contains("Would remove ~/.chela/sandboxes/agent-main"),
        "{dry}"
    );
    assert!(cell.home.exists(home));
    let told = cell.home.run(&["sandbox", "prune", "--json"]).json();
    assert_eq!(told["sandboxes"].as_array().unwrap().len(), 1, "{told}");
    assert!(!cell.home.exists(home) && cell.home.exists(work));
    assert_eq!(
        cell.home.run(&["sandbox", "prune"]).ok(),
        "Nothing to prune.\n"
    );
    cell.home.run(&["sandbox", "prune", "--work"]).ok();
    assert!(!cell.home.exists(".chela/sandboxes/agent-main"));
    // It comes back with the next command.
    assert_eq!(cell.sh("echo back").out, "back\n");
}

#[test]
fn keys_for_containers_are_named_by_explain_and_by_the_audit() {
    let settings = json!({ "docker": { "image": "debian:12", "setupCommand": "apt update",
        "user": "0:0", "readOnlyRoot": false } });
    everywhere(&settings, |cell| {
        let explained = cell.home.run(&["sandbox", "explain"]).flat();
        let audited = cell.home.run(&["security", "audit"]).flat();
        for key in ["image", "setupCommand", "user", "readOnlyRoot false"] {
            let part = format!("sandbox.docker.{key} has no effect");
            assert!(explained.contains(&part), "{part}: {explained}");
            assert!(audited.contains(&part), "{part}: {audited}");
        }
    });
}

#[test]
fn compiled_files_do_not_land_beside_scripts() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        cell.home.write(
            ".chela/workspace/skills/sums/part.py",
            "def add(a, b):\n    return a + b\n",
        );
        let run =
            cell.sh("cd skills/sums && python3 -c 'import part; print(part.add(2, 3))' || true");
        assert!(
            !cell.home.exists(".chela/workspace/skills/sums/__pycache__"),
            "{run:?}"
        );
        assert!(cell.sh("env").out.contains("PYTHONPYCACHEPREFIX="));
    });
    let home = with_bwrap(TestHome::ready());
    home.run(&["config", "set", "tools.exec.mode", "ask"]).ok();
    let outside = home.run(&["sandbox", "run", "--", "env"]).ok();
    assert!(outside.contains("PYTHONDONTWRITEBYTECODE=1"), "{outside}");
}
