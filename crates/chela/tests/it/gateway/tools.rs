//! `/tools/invoke`: one call of a tool over HTTP, under the rules of a turn.

use chela_testkit::{EndpointScript, ScriptStep, find_part};
use serde_json::{Value, json};

use super::TestGateway;
use crate::parts::installed_by;
use crate::scene::{APIS, ScriptedHome};

fn scene(more: Value) -> ScriptedHome {
    let script = EndpointScript::always(ScriptStep::reply("A model was asked."));
    ScriptedHome::with(APIS[0], script, more)
}

#[test]
fn a_tool_is_called_by_the_owners_program_and_no_model_is_asked() {
    let scene = scene(json!({}));
    scene
        .home
        .write(".chela/workspace/notes.txt", "the plum is ripe\n");
    let gateway = TestGateway::start(&scene.home);
    let read = json!({ "tool": "read", "args": { "path": "notes.txt" } });
    let answer = gateway.post("/tools/invoke", &read);
    assert_eq!(answer.status, 200, "{answer:?}");
    let said = answer.json()["result"]["content"][0]["text"].to_string();
    assert!(
        answer.json()["ok"] == true && said.contains("the plum is ripe"),
        "{answer:?}"
    );
    // Bad arguments, files and names are told as a model would be told.
    for (ask, words) in [
        (
            json!({ "tool": "read", "args": { "path": "missing.txt" } }),
            "missing.txt",
        ),
        (json!({ "tool": "read", "args": { "line": 1 } }), "path"),
        (json!({ "tool": "no_such_tool" }), "no_such_tool"),
    ] {
        let answer = gateway.post("/tools/invoke", &ask);
        assert_eq!(answer.status, 422, "{answer:?}");
        assert!(answer.body.contains(words), "{answer:?}");
    }
    assert_eq!(
        gateway
            .post("/tools/invoke", &json!({ "tool": " " }))
            .status,
        400
    );
    let stranger = gateway.ask(
        "POST",
        "/tools/invoke",
        &[("authorization", "Bearer x")],
        &read.to_string(),
    );
    assert_eq!(stranger.status, 401);
    assert!(scene.endpoint.calls().is_empty());
}

#[test]
fn the_same_call_again_is_answered_from_the_record() {
    let scene = scene(json!({ "tools": { "exec": { "mode": "full" } } }));
    let gateway = TestGateway::start(&scene.home);
    let ask = json!({
        "tool": "exec", "args": { "command": "echo did >> did.txt; wc -l < did.txt" },
        "sessionKey": "explicit:calls",
    });
    let call = || gateway.post_with("/tools/invoke", &[("idempotency-key", "one")], &ask);
    let first = call();
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(call().body, first.body);
    assert_eq!(scene.home.read(".chela/workspace/did.txt"), "did\n");
    // It is on record like any call.
    let audit = scene.home.run(&["audit", "show", "--json"]).ok();
    assert!(audit.contains("exec"), "{audit}");
}

#[test]
fn policy_and_guard_hold_for_it() {
    let scene = scene(json!({
        "tools": { "deny": ["read"], "exec": { "mode": "ask", "security": "full", "ask": "always" } },
        "guard": { "approvals": { "headless": "queue" } },
    }));
    scene
        .home
        .write(".chela/workspace/notes.txt", "the plum is ripe\n");
    let gateway = TestGateway::start(&scene.home);
    let read = json!({ "tool": "read", "args": { "path": "notes.txt" } });
    let answer = gateway.post("/tools/invoke", &read);
    assert_eq!(answer.status, 422, "{answer:?}");
    assert!(!answer.body.contains("the plum is ripe"), "{answer:?}");
    // What asks in a turn asks here: nobody watches, so the question waits for its answer.
    let exec = json!({ "tool": "exec", "args": { "command": "echo did >> did.txt" } });
    let answer = gateway.post("/tools/invoke", &exec);
    assert_eq!(answer.status, 422, "{answer:?}");
    let waiting = scene.home.run(&["approvals", "list"]).ok();
    assert!(waiting.contains("did.txt"), "{answer:?} {waiting}");
    assert!(!scene.home.exists(".chela/workspace/did.txt"));
}

#[test]
fn the_document_lists_what_the_router_serves() {
    let hooks =
        json!({ "hooks": { "enabled": true, "token": "hook-token-of-the-test-0123456789" } });
    let scene = scene(hooks);
    let gateway = TestGateway::start(&scene.home);
    let document = gateway.get("/openapi.json").json();
    let paths = document["paths"].as_object().unwrap();
    for path in [
        "/tools/invoke",
        "/hooks/wake",
        "/hooks/agent",
        "/hooks/{name}",
        "/v1/messages",
        "/v1/models/{id}",
        "/ws",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().unwrap() {
            // What it names is there, and what it says is guarded is.
            let url = path.replace("{id}", "chela").replace("{name}", "x");
            let answer = gateway.ask(&method.to_uppercase(), &url, &[], "");
            let expected: &[u16] = match operation.get("security") {
                Some(_) => &[401],
                None => &[200],
            };
            assert!(
                expected.contains(&answer.status),
                "{method} {path}: {answer:?}"
            );
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = parameter["name"].as_str().unwrap();
                assert!(path.contains(&format!("{{{name}}}")), "{path}: {name}");
            }
        }
    }
    assert_eq!(gateway.get("/not/there").status, 404);
}

#[test]
fn the_counters_are_in_the_form_prometheus_reads() {
    let scene = scene(json!({}));
    let gateway = TestGateway::start(&scene.home);
    let text = gateway.get("/metrics").body;
    let is_name = |name: &str| {
        name.starts_with("chela_")
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let mut seen = std::collections::BTreeSet::new();
    let mut lines = text.lines();
    while let Some(help) = lines.next() {
        let name = help
            .strip_prefix("# HELP ")
            .and_then(|rest| rest.split_once(' '));
        let (name, words) = name.unwrap_or_else(|| panic!("no help: {help}"));
        assert!(
            is_name(name) && !words.is_empty() && seen.insert(name),
            "{help}"
        );
        let kind = lines
            .next()
            .and_then(|line| line.strip_prefix("# TYPE ")?.strip_prefix(name));
        let kind = kind.map(str::trim);
        assert!(
            matches!(kind, Some("counter" | "gauge")),
            "{name}: {kind:?}"
        );
        assert_eq!(kind == Some("counter"), name.ends_with("_total"), "{name}");
        let sample = lines.next().and_then(|line| line.strip_prefix(name));
        let value = sample.and_then(|value| value.strip_prefix(' ')?.parse::<f64>().ok());
        assert!(
            value.is_some_and(|value| value >= 0.0),
            "{name}: {sample:?}"
        );
    }
    assert!(text.ends_with('\n') && seen.contains("chela_deliveries_waiting"));
    let Some(folder) = find_part("promtool", installed_by("promtool.sh")) else {
        return;
    };
    // Prometheus' own check: what it does not like ends with a code of its own.
    let file = scene.home.write("metrics.txt", &text);
    let checked = std::process::Command::new(folder.join("promtool"))
        .args(["check", "metrics"])
        .stdin(std::fs::File::open(file).unwrap())
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}
