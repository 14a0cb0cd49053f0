//! Reading facts: what is refused, and what the refusal says.

use chela_prompt::{PromptInput, SectionId};
use serde_json::{Value, json};

use super::{everything, input, prompt};

fn refusal(document: &Value) -> String {
    PromptInput::from_facts(&document.to_string())
        .unwrap_err()
        .to_string()
}

#[test]
fn refusals_name_the_place_and_the_way_out() {
    let documents = [
        json!({}),
        json!({ "workspaceDir": "  " }),
        json!([]),
        json!({ "workspaceDir": 1 }),
        json!({ "workspaceDir": "/w", "toolName": [] }),
        json!({ "workspaceDir": "/w", "zebra": 1 }),
        json!({ "workspaceDir": "/w", "toolNames": "read" }),
        json!({ "workspaceDir": "/w", "toolNames": ["read", 3] }),
        json!({ "workspaceDir": "/w", "toolSummaries": { "a": [] } }),
        json!({ "workspaceDir": "/w", "promptMode": "ful" }),
        json!({ "workspaceDir": "/w", "contextFiles": [{ "path": "a" }, { "pth": "b" }] }),
        json!({ "workspaceDir": "/w", "contextFiles": ["a"] }),
        json!({ "workspaceDir": "/w", "sandboxInfo": { "enabled": "yes" } }),
        json!({ "workspaceDir": "/w", "sandboxInfo": { "elevated": { "alowed": true } } }),
        json!({ "workspaceDir": "/w", "runtimeInfo": { "capabilities": [{}] } }),
        json!({ "workspaceDir": "/w", "ownerDisplay": "hash" }),
        json!({ "workspaceDir": "/w", "ownerDisplay": "hash", "ownerDisplaySecret": " " }),
        json!({ "workspaceDir": "/w", "promptContribution": { "sectionOverrides": { "safety": "" } } }),
        json!({ "workspaceDir": "/w", "promptContribution": { "sectionOverrides": { "toolCallStyle": "x" } } }),
    ];
    let mut said: Vec<_> = documents.iter().map(refusal).collect();
    said.push(
        PromptInput::from_facts("{\n  workspaceDir: 1 }")
            .unwrap_err()
            .to_string(),
    );
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn blank_values_count_as_absent() {
    let mut facts = everything();
    let blank = [
        "skillsPrompt",
        "userTimezone",
        "ttsHint",
        "heartbeatPrompt",
        "extraSystemPrompt",
    ];
    for key in blank {
        facts[key] = json!(" \n\t");
    }
    for key in ["ownerNumbers", "modelAliasLines"] {
        facts[key] = json!(["", "  "]);
    }
    facts["promptMode"] = json!("");
    facts["promptContribution"] = json!({ "stablePrefix": "\r\n", "sectionOverrides": {} });
    facts["runtimeInfo"] = json!({ "host": " ", "channel": "" });
    let prompt = prompt(&facts);
    let gone = [
        SectionId::Skills,
        SectionId::Time,
        SectionId::TimeHint,
        SectionId::Voice,
        SectionId::Heartbeats,
        SectionId::ExtraContext,
        SectionId::AuthorizedSenders,
        SectionId::ModelAliases,
        SectionId::ProviderPrefix,
        SectionId::WebEmbed,
    ];
    for id in gone {
        assert!(prompt.section(id).is_none(), "{id}");
    }
    assert!(prompt.text.contains("\nRuntime: thinking=off\n"));
}

#[test]
fn an_empty_tool_list_describes_the_standard_set() {
    for tools in [json!([]), json!(null), json!([" "])] {
        let text = prompt(&json!({ "workspaceDir": "/w", "toolNames": tools })).text;
        assert!(text.contains("The standard set"), "{text}");
    }
    assert!(!prompt(&everything()).text.contains("The standard set"));
}

#[test]
fn contributions_are_normalised() {
    let facts = json!({
        "workspaceDir": "/w",
        "promptContribution": { "stablePrefix": "\r\n\r\n## Own  \r\none \t\r\n\r\ntwo\r\n\r\n" },
    });
    let prompt = prompt(&facts);
    let section = prompt.section(SectionId::ProviderPrefix).unwrap();
    assert_eq!(prompt.slice(&section.range), "## Own\none\n\ntwo\n\n");
    assert_eq!(section.heading.as_deref(), Some("## Own"));
}

#[test]
fn names_are_trimmed_and_compared_without_case() {
    let facts = json!({
        "workspaceDir": "/w",
        "toolNames": [" Zed ", "zed", "EXEC", "exec", "alpha"],
        "toolSummaries": { "ZED": "the last letter", "exec": "ignored" },
    });
    let prompt = prompt(&facts);
    let lines: Vec<_> = prompt
        .parts_of(SectionId::Tooling)
        .map(|part| prompt.slice(&part.range))
        .collect();
    let exec = "- EXEC: Run a shell command (`pty` for interactive programs)";
    assert_eq!(lines, [exec, "- alpha", "- Zed: the last letter"]);
}

#[test]
fn inline_buttons_switch_the_guidance() {
    let mut facts = everything();
    facts["runtimeInfo"]["channel"] = json!("telegram");
    assert!(
        prompt(&facts)
            .text
            .contains("channels.telegram.capabilities.inlineButtons")
    );
    facts["runtimeInfo"]["capabilities"] = json!(["INLINEBUTTONS"]);
    let text = prompt(&facts).text;
    assert!(
        text.contains("callback_data") && text.contains("its own approval card"),
        "{text}"
    );
}

#[test]
fn the_secret_is_trimmed_like_every_pasted_value() {
    let facts = |secret: &str| {
        json!({
            "workspaceDir": "/w", "ownerNumbers": ["1"], "ownerDisplay": "hash",
            "ownerDisplaySecret": secret,
        })
    };
    assert_eq!(input(&facts("s")), input(&facts(" s\n")));
}
