//! Random facts documents.

use std::collections::BTreeMap;

use chela_prompt::core_tools;
use proptest::prelude::*;
use serde_json::{Value, json};

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[A-Za-z][A-Za-z0-9_.-]{0,8}",
        1 => Just(String::new()),
        1 => Just("  \t ".to_owned()),
        1 => "[ a-zA-Zé中#\\\\/|\\n\u{202e}\u{200b}-]{1,10}",
    ]
}

fn tool_name() -> impl Strategy<Value = String> {
    let core: Vec<String> = core_tools().map(str::to_owned).collect();
    let known = proptest::sample::select(core);
    prop_oneof![
        4 => known.clone(),
        1 => known.prop_map(|name| format!(" {} ", name.to_uppercase())),
        1 => Just("update_plan".to_owned()),
        2 => word(),
    ]
}

fn file() -> impl Strategy<Value = Value> {
    let name = proptest::sample::select(vec![
        "AGENTS.md",
        "SOUL.md",
        "IDENTITY.md",
        "USER.md",
        "TOOLS.md",
        "BOOTSTRAP.md",
        "MEMORY.md",
        "memory.md",
        "HEARTBEAT.md",
        "heartbeat.md",
        "extra.md",
        "a.md",
        "Z.md",
        "b\\agents.md",
        "dir/soul.md",
        "dir\\HEARTBEAT.md",
        "",
        " ",
    ]);
    let path = prop_oneof![4 => name.prop_map(str::to_owned), 1 => word()];
    (path, "[a-z#\\n \\r]{0,20}")
        .prop_map(|(path, content)| json!({ "path": path, "content": content }))
}

fn optional(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![1 => Just(Value::Null), 2 => value].boxed()
}

fn text() -> BoxedStrategy<Value> {
    optional(word().prop_map(Value::from))
}

fn texts() -> BoxedStrategy<Value> {
    optional(proptest::collection::vec(word(), 0..4).prop_map(Value::from))
}

fn one_of(words: &'static [&'static str]) -> BoxedStrategy<Value> {
    optional(proptest::sample::select(words).prop_map(Value::from))
}

fn flag() -> BoxedStrategy<Value> {
    optional(any::<bool>().prop_map(Value::from))
}

fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let (keys, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    values
        .prop_map(move |values| {
            let fields = keys
                .iter()
                .zip(values)
                .filter(|(_, value)| !value.is_null());
            Value::Object(
                fields
                    .map(|(key, value)| ((*key).to_owned(), value))
                    .collect(),
            )
        })
        .boxed()
}

/// Any facts document.
pub(crate) fn facts() -> impl Strategy<Value = Value> {
    let elevated = object(vec![
        ("allowed", flag()),
        ("defaultLevel", one_of(&["on", "off", "ask", "full"])),
        ("fullAccessAvailable", flag()),
        (
            "fullAccessBlockedReason",
            one_of(&["host-policy", "channel", "sandbox", "else"]),
        ),
    ]);
    let sandbox = object(vec![
        ("enabled", flag()),
        ("workspaceDir", text()),
        ("containerWorkspaceDir", text()),
        ("workspaceAccess", one_of(&["none", "ro", "rw"])),
        ("agentWorkspaceMount", text()),
        ("browserBridgeUrl", text()),
        ("hostBrowserAllowed", flag()),
        ("elevated", optional(elevated)),
    ]);
    let overrides = object(vec![
        ("interaction_style", text()),
        ("tool_call_style", text()),
        ("execution_bias", text()),
    ]);
    let contribution = object(vec![
        ("stablePrefix", text()),
        ("dynamicSuffix", text()),
        ("sectionOverrides", optional(overrides)),
    ]);
    let runtime = object(vec![
        ("agentId", text()),
        ("host", text()),
        ("os", text()),
        ("arch", text()),
        ("model", text()),
        ("defaultModel", text()),
        ("shell", text()),
        ("channel", one_of(&["webchat", "WebChat ", "telegram", " "])),
        (
            "capabilities",
            optional(
                proptest::collection::vec(
                    prop_oneof![word(), Just("inlineButtons".to_owned())],
                    0..4,
                )
                .prop_map(Value::from),
            ),
        ),
        ("repoRoot", text()),
        ("canvasRootDir", text()),
    ]);
    let reactions = object(vec![
        (
            "level",
            proptest::sample::select(vec!["minimal", "extensive"])
                .prop_map(Value::from)
                .boxed(),
        ),
        ("channel", text()),
    ]);
    object(vec![
        ("workspaceDir", Just(json!("/w")).boxed()),
        (
            "promptMode",
            one_of(&["full", "full", "full", "minimal", "none"]),
        ),
        (
            "toolNames",
            optional(proptest::collection::vec(tool_name(), 0..12).prop_map(Value::from)),
        ),
        (
            "toolSummaries",
            optional(
                proptest::collection::btree_map(tool_name(), word(), 0..4)
                    .prop_map(|summaries: BTreeMap<String, String>| json!(summaries)),
            ),
        ),
        (
            "contextFiles",
            optional(proptest::collection::vec(file(), 0..6).prop_map(Value::from)),
        ),
        ("skillsPrompt", text()),
        ("ownerNumbers", texts()),
        ("ownerDisplay", one_of(&["raw", "hash"])),
        ("ownerDisplaySecret", Just(json!("secret")).boxed()),
        ("userTimezone", text()),
        ("reasoningLevel", one_of(&["off", "on", "stream"])),
        ("defaultThinkLevel", text()),
        ("reasoningTagHint", flag()),
        ("modelAliasLines", texts()),
        ("docsPath", text()),
        ("sourcePath", text()),
        ("acpEnabled", flag()),
        ("ttsHint", text()),
        ("heartbeatPrompt", text()),
        ("messageToolHints", texts()),
        ("messageChannels", texts()),
        ("reactionGuidance", optional(reactions)),
        ("memoryCitationsMode", one_of(&["on", "off", "auto"])),
        ("includeMemorySection", flag()),
        ("extraSystemPrompt", text()),
        ("workspaceNotes", texts()),
        ("nativeCommandGuidanceLines", texts()),
        ("silentReplyPromptMode", one_of(&["generic", "none"])),
        ("delegationMode", one_of(&["suggest", "prefer"])),
        ("sandboxInfo", optional(sandbox)),
        ("promptContribution", optional(contribution)),
        ("runtimeInfo", optional(runtime)),
    ])
}
