use std::path::Path;

use serde_json::{Value, json};

use super::{PackageForm, PluginManifest, ProgramKind, plain_id};
use crate::HookName;

const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";

fn package(files: &[(&str, Value)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, value) in files {
        write(dir.path(), name, &value.to_string());
    }
    dir
}

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(files: &[(&str, Value)]) -> Result<PluginManifest, String> {
    let dir = package(files);
    PluginManifest::read(dir.path()).map_err(|error| error.to_string())
}

#[test]
fn agent_plugins_are_read_with_what_they_ask() {
    let manifest = read(&[(
        "plugin.json",
        json!({ "$schema": SCHEMA, "name": "notes.kit", "version": "1.2", "license": "MIT", "unknown": 1,
            "extensions": { "dev.chela": {
                "process": { "command": ["python3", "hooks.py"] },
                "hooks": { "before_prompt_build": { "priority": 5 }, "after_tool_call": {} },
                "grants": ["prompt:tail=300", "host:example.org"],
                "required": true,
            }, "com.other": { "x": 1 } } }),
    )])
    .unwrap();
    assert_eq!(
        (manifest.id.as_str(), manifest.form),
        ("notes.kit", PackageForm::AgentPlugin)
    );
    assert!(manifest.is_required && manifest.left_out.len() == 1);
    let program = manifest.parts.program.clone().unwrap();
    assert!(program.hooks.contains(&(HookName::BeforePromptBuild, 5)));
    let asks: Vec<String> = manifest.asks.iter().map(ToString::to_string).collect();
    for asked in [
        "hook:before_prompt_build",
        "conversation",
        "prompt:tail=300",
        "host:example.org",
    ] {
        assert!(asks.iter().any(|one| one == asked), "{asked}: {asks:?}");
    }
}

#[test]
fn manifests_that_are_wrong_say_what_is() {
    let with = |more: Value| {
        let mut manifest = json!({ "$schema": SCHEMA, "name": "x" });
        manifest
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        read(&[("plugin.json", manifest)]).unwrap_err()
    };
    assert!(with(json!({ "name": "Bad Name" })).contains("name"));
    assert!(
        with(json!({ "$schema": "https://agent-plugins.org/schemas/9/x" })).contains("$schema")
    );
    assert!(with(json!({ "version": 1 })).contains("version"));
    assert!(with(json!({ "author": { "twitter": "x" } })).contains("author"));
    let ours = |ours: Value| with(json!({ "extensions": { "dev.chela": ours } }));
    assert!(ours(json!({ "proces": {} })).contains("did you mean `process`"));
    assert!(
        ours(json!({ "process": ["x"], "hooks": ["before_tool_cal"] }))
            .contains("before_tool_call")
    );
    assert!(ours(json!({ "hooks": ["agent_end"] })).contains("no `process`"));
    assert!(ours(json!({ "grants": ["all"] })).contains("no grant"));
    assert!(ours(json!({ "commands": "../x.json" })).contains("out of the package"));
    assert!(read(&[]).unwrap_err().contains("no plugin"));
}

#[test]
fn claude_plugins_bring_their_command_hooks() {
    let manifest = read(&[
        (".claude-plugin/plugin.json", json!({ "name": "Guard Rails", "author": { "name": "A" } })),
        ("hooks/hooks.json", json!({ "hooks": { "PreToolUse": [
            { "matcher": "Bash", "hooks": [{ "type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/check.sh" }] } ] } })),
        ("commands/x.md", json!("x")),
    ])
    .unwrap();
    assert_eq!(
        (manifest.id.as_str(), manifest.form),
        ("guard-rails", PackageForm::Claude)
    );
    assert_eq!(manifest.hooks(), [HookName::BeforeToolCall]);
    assert_eq!(manifest.left_out.len(), 1);
}

#[test]
fn openclaw_plugins_ask_for_what_their_source_registers() {
    let dir = package(&[
        (
            "openclaw.plugin.json",
            json!({ "id": "@me/Search", "configSchema": {}, "channels": ["x"] }),
        ),
        (
            "package.json",
            json!({ "openclaw": { "extensions": ["./src/main.ts"] } }),
        ),
    ]);
    write(
        dir.path(),
        "src/main.ts",
        "export default (api: any) => { api.on('agent_end', () => {}); api.on(\"before_agent_start\", f); api.on('llm_input', g) }",
    );
    let manifest = PluginManifest::read(dir.path()).unwrap();
    assert_eq!(manifest.id, "me-search");
    assert_eq!(
        manifest.hooks(),
        [HookName::BeforePromptBuild, HookName::AgentEnd]
    );
    assert_eq!(manifest.left_out.len(), 2, "{:?}", manifest.left_out);
    let program = manifest.parts.program.unwrap();
    assert_eq!(
        program.kind,
        ProgramKind::OpenClaw {
            entry: "src/main.ts".into()
        }
    );
}

#[test]
fn ids_of_others_become_ids_of_ours() {
    for (given, id) in [
        ("@a/b_c", "a-b-c"),
        ("Hello World!", "hello-world"),
        ("..x..", "x"),
        ("///", ""),
    ] {
        assert_eq!(plain_id(given), id, "{given}");
    }
}
