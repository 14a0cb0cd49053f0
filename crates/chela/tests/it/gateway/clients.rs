//! The official clients of OpenAI and Anthropic, unchanged, against a gateway.

use std::path::PathBuf;
use std::process::Command;

use chela_testkit::{EndpointScript, ScriptStep, StepRule, find_part};
use serde_json::json;

use super::TestGateway;
use crate::scene::{ScriptedHome, after_tool};

/// Where `scripts/clients.sh` puts them.
fn folder() -> Result<PathBuf, String> {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.parent().map(|target| target.join("clients"));
    let folder = folder.filter(|folder| folder.join("node/node_modules/openai").is_dir());
    folder.ok_or_else(|| "scripts/clients.sh installs them".to_owned())
}

fn scene() -> ScriptedHome {
    let weather = ScriptStep::tool("get_weather", json!({ "city": "Oslo" }));
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("Hello to you.")),
        ..EndpointScript::steps([
            after_tool(ScriptStep::reply("Rain in Oslo.")),
            ScriptStep::reply("Rain in Oslo.").when(StepRule {
                contains: Some("7 degrees and rain".into()),
                ..StepRule::default()
            }),
            weather.when(StepRule {
                contains: Some("What is the weather".into()),
                ..StepRule::default()
            }),
        ])
    };
    ScriptedHome::new(script)
}

fn run(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn script(name: &str) -> String {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.join("tests/it/gateway/clients")
        .join(name)
        .display()
        .to_string()
}

#[test]
fn the_python_clients_work_as_they_are() {
    let Some(folder) = find_part("clients", folder()) else {
        return;
    };
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let url = format!("http://127.0.0.1:{}", gateway.port);
    let python = folder.join("python/bin/python").display().to_string();
    run(&python, &[&script("clients.py"), &url, &gateway.token]);
    let calls = scene.endpoint.calls();
    // What came of the program's tool is external wherever the agent reads it.
    let told = calls
        .iter()
        .filter(|call| call.body.contains("7 degrees and rain"));
    for call in told.clone() {
        let before = call.body.split("7 degrees and rain").next().unwrap();
        assert!(
            before.contains("<<<EXTERNAL_UNTRUSTED_CONTENT"),
            "{}",
            call.body
        );
    }
    assert!(told.count() >= 5);
}

#[test]
fn the_node_clients_work_as_they_are() {
    let Some(folder) = find_part("clients", folder()) else {
        return;
    };
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let url = format!("http://127.0.0.1:{}", gateway.port);
    let node = folder.join("node").display().to_string();
    run(
        "node",
        &[&script("clients.mjs"), &node, &url, &gateway.token],
    );
}
