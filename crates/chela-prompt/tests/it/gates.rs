//! Which sections are there, in which order, with which lines: against a second, simple
//! statement of the specification that reads the facts document itself.

use chela_prompt::{SectionId, owner_digest};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::documents::facts;
use super::oracle::{Oracle, shown};
use super::{everything, ids, prompt};

/// For each section, what to take from [`everything`] so that it goes, and the modes it is in.
const ROWS: [(&str, &str, &[&str]); 33] = [
    ("identity", "F", &["full", "minimal", "none"]),
    ("tooling", "F", &["full", "minimal"]),
    (
        "interaction_style",
        "promptContribution",
        &["full", "minimal"],
    ),
    ("tool_call_style", "F", &["full", "minimal"]),
    ("execution_bias", "F", &["full"]),
    ("delegation", "delegationMode", &["full"]),
    (
        "provider_prefix",
        "promptContribution",
        &["full", "minimal"],
    ),
    ("safety", "F", &["full", "minimal"]),
    ("control", "F", &["full", "minimal"]),
    ("skills", "skillsPrompt", &["full", "minimal"]),
    ("memory_recall", "toolNames", &["full"]),
    ("self_update", "toolNames", &["full"]),
    ("model_aliases", "modelAliasLines", &["full"]),
    ("time_hint", "userTimezone", &["full", "minimal"]),
    ("workspace", "F", &["full", "minimal"]),
    ("documentation", "F", &["full"]),
    ("sandbox", "sandboxInfo", &["full", "minimal"]),
    ("authorized_senders", "ownerNumbers", &["full"]),
    ("time", "userTimezone", &["full", "minimal"]),
    ("workspace_files", "F", &["full", "minimal"]),
    ("output_directives", "F", &["full"]),
    ("reasoning_format", "reasoningTagHint", &["full", "minimal"]),
    ("project_context", "contextFiles", &["full", "minimal"]),
    ("silent_replies", "F", &["full"]),
    ("dynamic_context", "contextFiles", &["full", "minimal"]),
    ("web_embed", "runtimeInfo", &["full"]),
    ("messaging", "F", &["full"]),
    ("voice", "ttsHint", &["full"]),
    ("extra_context", "extraSystemPrompt", &["full", "minimal"]),
    ("reactions", "reactionGuidance", &["full", "minimal"]),
    (
        "provider_suffix",
        "promptContribution",
        &["full", "minimal"],
    ),
    ("heartbeats", "heartbeatPrompt", &["full"]),
    ("runtime", "F", &["full", "minimal"]),
];

#[test]
fn every_row_stands_in_its_modes_and_behind_its_gate() {
    assert_eq!(
        ROWS.map(|(id, ..)| id),
        SectionId::ALL.map(SectionId::as_str)
    );
    for mode in ["full", "minimal", "none"] {
        let mut facts = everything();
        facts["promptMode"] = json!(mode);
        let expected: Vec<_> = ROWS
            .iter()
            .filter(|(.., modes)| modes.contains(&mode))
            .map(|(id, ..)| *id)
            .collect();
        assert_eq!(ids(&prompt(&facts)), expected, "{mode}");
    }
    for (id, gate, modes) in ROWS.iter().filter(|(_, gate, _)| *gate != "F") {
        for mode in *modes {
            let mut facts = everything();
            facts["promptMode"] = json!(mode);
            facts.as_object_mut().unwrap().remove(*gate);
            assert!(
                !ids(&prompt(&facts)).contains(id),
                "{id} without {gate} in {mode}"
            );
        }
    }
}

#[test]
fn an_overridden_execution_bias_also_shows_in_minimal() {
    let mut facts = everything();
    facts["promptMode"] = json!("minimal");
    facts["promptContribution"]["sectionOverrides"] = json!({ "execution_bias": "Finish." });
    let prompt = prompt(&facts);
    let section = prompt.section(SectionId::ExecutionBias).unwrap();
    assert_eq!(
        prompt.slice(&section.range),
        "## Execution Bias\nFinish.\n\n"
    );
}

#[test]
fn other_gates_of_the_table() {
    let absent = |id: &str, change: &dyn Fn(&mut Value)| {
        let mut facts = everything();
        change(&mut facts);
        assert!(!ids(&prompt(&facts)).contains(&id), "{id}");
    };
    absent("silent_replies", &|facts| {
        facts["silentReplyPromptMode"] = json!("none")
    });
    absent("memory_recall", &|facts| {
        facts["includeMemorySection"] = json!(false)
    });
    absent("delegation", &|facts| facts["toolNames"] = json!(["read"]));
    absent("delegation", &|facts| {
        facts["delegationMode"] = json!("suggest")
    });
    absent("sandbox", &|facts| {
        facts["sandboxInfo"]["enabled"] = json!(false)
    });
    absent("web_embed", &|facts| {
        facts["runtimeInfo"]["channel"] = json!("telegram")
    });
    absent("time", &|facts| facts["userTimezone"] = json!(" \u{200b}"));
}

#[test]
fn acp_lines_need_acp_a_host_and_sessions_spawn() {
    let line = "ACP harness";
    let mut facts = everything();
    facts["acpEnabled"] = json!(true);
    assert!(!prompt(&facts).text.contains(line), "sandboxed");
    facts["sandboxInfo"] = json!(null);
    assert!(prompt(&facts).text.contains(line));
    facts["toolNames"] = json!(["read"]);
    assert!(!prompt(&facts).text.contains(line), "no sessions_spawn");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_document_gives_what_the_specification_says(document in facts()) {
        let oracle = Oracle::new(&document);
        let prompt = prompt(&document);
        prop_assert_eq!(ids(&prompt), oracle.sections());
        if oracle.text("promptMode") == "none" {
            return Ok(());
        }
        let named = |id| {
            prompt.parts_of(id).filter_map(|part| part.kind.name()).collect::<Vec<_>>()
        };
        prop_assert_eq!(named(SectionId::Tooling), oracle.tool_lines());
        prop_assert_eq!(named(SectionId::ProjectContext), oracle.files(false));
        prop_assert_eq!(named(SectionId::DynamicContext), oracle.files(true));
        let runtime = prompt.slice(&prompt.section(SectionId::Runtime).unwrap().range);
        prop_assert_eq!(runtime.lines().nth(1).unwrap(), oracle.runtime_line());
        if let Some(section) = prompt.section(SectionId::AuthorizedSenders) {
            let hashed = oracle.text("ownerDisplay") == "hash";
            let ids = document["ownerNumbers"].as_array().unwrap().iter();
            let expected: Vec<_> = ids
                .filter(|id| !shown(id).is_empty())
                .map(|id| match hashed {
                    true => owner_digest("secret", id.as_str().unwrap().trim()),
                    false => shown(id),
                })
                .collect();
            let line = format!("Authorized senders: {}", expected.join(", "));
            prop_assert_eq!(prompt.slice(&section.range).lines().nth(1), Some(line.as_str()));
        }
        prop_assert_eq!(&super::prompt(&document), &prompt);
    }
}
