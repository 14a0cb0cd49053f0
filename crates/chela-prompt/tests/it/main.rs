//! What the renderer promises, seen from outside.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod budget;
mod documents;
mod facts;
mod gates;
mod hostile;
mod oracle;
mod scenarios;
mod spans;

use chela_prompt::{Prompt, PromptInput, render};
use serde_json::Value;

fn input(facts: &Value) -> PromptInput {
    PromptInput::from_facts(&facts.to_string()).unwrap()
}

fn prompt(facts: &Value) -> Prompt {
    let prompt = render(&input(facts)).unwrap();
    spans::assert_sound(&prompt);
    prompt
}

fn ids(prompt: &Prompt) -> Vec<&'static str> {
    prompt
        .sections
        .iter()
        .map(|section| section.id.as_str())
        .collect()
}

/// A document in which every section has what it needs.
fn everything() -> Value {
    serde_json::json!({
        "workspaceDir": "/w",
        "toolNames": ["read", "exec", "gateway", "sessions_spawn", "memory_search", "message",
            "session_status", "zeta"],
        "toolSummaries": { "zeta": "last" },
        "contextFiles": [
            { "path": "AGENTS.md", "content": "rules" },
            { "path": "HEARTBEAT.md", "content": "look" },
        ],
        "skillsPrompt": "<skill><name>notes</name></skill>",
        "ownerNumbers": ["tg:1"],
        "userTimezone": "UTC",
        "reasoningTagHint": true,
        "modelAliasLines": ["- opus: a/b"],
        "docsPath": "/docs",
        "sourcePath": "/src",
        "ttsHint": "short",
        "heartbeatPrompt": "beat",
        "messageToolHints": ["hint"],
        "messageChannels": ["webchat", "telegram"],
        "reactionGuidance": { "level": "minimal", "channel": "telegram" },
        "extraSystemPrompt": "group",
        "workspaceNotes": ["note"],
        "nativeCommandGuidanceLines": ["native"],
        "delegationMode": "prefer",
        "sandboxInfo": {
            "enabled": true, "workspaceDir": "/host", "containerWorkspaceDir": "/box",
            "workspaceAccess": "rw", "agentWorkspaceMount": "/agent",
            "browserBridgeUrl": "http://b",
            "elevated": { "allowed": true, "defaultLevel": "ask", "fullAccessAvailable": true },
        },
        "promptContribution": {
            "stablePrefix": "## Prefix\nstable", "dynamicSuffix": "suffix",
            "sectionOverrides": { "interaction_style": "## Style\nwarm" },
        },
        "runtimeInfo": {
            "agentId": "main", "host": "h", "os": "o", "arch": "a", "model": "m",
            "defaultModel": "d", "shell": "s", "channel": "webchat", "capabilities": ["c"],
            "repoRoot": "/r", "canvasRootDir": "/canvas",
        },
    })
}
