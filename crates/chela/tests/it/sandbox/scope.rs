//! Who shares a sandbox with whom.

use serde_json::{Value, json};

use super::{BACKENDS, is_here, with_bwrap};
use crate::home::{CommandRun, TestHome};

/// Two agents in sandboxes of this scope.
fn two(scope: &str, more: &Value) -> Option<TestHome> {
    let backend = BACKENDS
        .into_iter()
        .find(|backend| is_here(backend).is_some())?;
    let mut second = json!({ "id": "second", "sandbox": {
        "docker": { "pidsLimit": 11, "env": { "WHOSE": "second" } }, "egress": ["example.org"] } });
    super::merge(&mut second, more);
    let config = json!({ "agents": {
        "defaults": { "sandbox": {
            "mode": "all", "backend": backend, "scope": scope,
            "docker": { "pidsLimit": 77, "env": { "WHOSE": "everybody" } } } },
        "list": [{ "id": "main", "default": true }, second],
    } });
    let home = with_bwrap(TestHome::with_config(&config.to_string()));
    home.run(&["init"]).ok();
    Some(home)
}

fn run(home: &TestHome, whose: &[&str], script: &str) -> CommandRun {
    let words = [&["sandbox", "run"], whose, &["--", "sh", "-c", script]].concat();
    home.run(&words)
}

const MAIN: &[&str] = &["--agent", "main"];
const SECOND: &[&str] = &["--agent", "second"];

#[test]
fn one_folder_for_all_and_settings_of_nobody_alone() {
    let Some(home) = two("shared", &json!({})) else {
        return;
    };
    assert_eq!(run(&home, MAIN, "echo here > mine").code, 0);
    assert_eq!(
        run(&home, SECOND, "cat mine; echo $WHOSE").out,
        "here\neverybody\n"
    );
    let explained = home
        .run(&["sandbox", "explain", "--json", "--agent", "second"])
        .json();
    assert_eq!(explained["limits"]["processes"], 77, "{explained:#}");
    assert_eq!(explained["hosts"], json!([]), "{explained:#}");
    assert!(
        explained["folder"]
            .as_str()
            .unwrap()
            .ends_with("sandboxes/shared")
    );
    assert_eq!(explained["scope"], "shared");
}

#[test]
fn a_folder_and_settings_for_each_agent() {
    let Some(home) = two("agent", &json!({})) else {
        return;
    };
    assert_eq!(run(&home, MAIN, "echo here > mine").code, 0);
    let main = home.path(".chela/sandboxes/agent-main/work");
    let script = format!(
        "cat mine; cat {0}/mine; ls {0}; echo $WHOSE",
        main.display()
    );
    let other = run(&home, SECOND, &script);
    assert!(!other.out.contains("here\n"), "{other:?}");
    assert!(other.out.contains("second\n"), "{other:?}");
    // Another session of the same agent shares it.
    let cron = run(&home, &["--session", "agent:main:cron:nightly"], "cat mine");
    assert_eq!(cron.out, "here\n", "{cron:?}");
    let explained = home
        .run(&["sandbox", "explain", "--json", "--agent", "second"])
        .json();
    assert_eq!(explained["limits"]["processes"], 11, "{explained:#}");
}

#[test]
fn a_folder_for_each_session() {
    let Some(home) = two("session", &json!({})) else {
        return;
    };
    let first = &["--session", "agent:main:cron:one"];
    assert_eq!(run(&home, first, "echo here > mine").code, 0);
    assert_eq!(run(&home, first, "cat mine").out, "here\n");
    let other = run(&home, &["--session", "agent:main:cron:two"], "cat mine");
    assert_ne!(other.code, 0, "{other:?}");
}
