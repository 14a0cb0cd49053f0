//! Which sections are there, in which order, with which lines: against a second, simple
//! statement of the specification that reads the facts document itself.

use std::collections::BTreeMap;

use chela_prompt::{SectionId, core_tools, owner_digest};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

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

/// The words of the specification, applied to the document with no help from the renderer.
struct Oracle<'a>(&'a Map<String, Value>);

impl Oracle<'_> {
    fn at(&self, pointer: &str) -> &Value {
        let mut value = self
            .0
            .get(pointer.split('.').next().unwrap())
            .unwrap_or(&Value::Null);
        for key in pointer.split('.').skip(1) {
            value = value.get(key).unwrap_or(&Value::Null);
        }
        value
    }

    /// A value as a line would show it; empty when absent.
    fn text(&self, pointer: &str) -> String {
        shown(self.at(pointer))
    }

    fn has(&self, pointer: &str) -> bool {
        !self.text(pointer).is_empty()
    }

    fn list(&self, pointer: &str) -> Vec<String> {
        let items = self.at(pointer).as_array().cloned().unwrap_or_default();
        items
            .iter()
            .map(shown)
            .filter(|item| !item.is_empty())
            .collect()
    }

    /// Lines that still say something without the marks at their beginning.
    fn lines(&self, pointer: &str) -> bool {
        self.list(pointer).iter().any(|line| says_something(line))
    }

    fn tool(&self, name: &str) -> bool {
        self.list("toolNames")
            .iter()
            .any(|given| given.to_lowercase() == name)
    }

    fn files(&self, dynamic: bool) -> Vec<String> {
        let files = self
            .at("contextFiles")
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut paths: Vec<(usize, String, String, String)> = files
            .iter()
            .map(|file| shown(&file["path"]))
            .filter(|path| !path.is_empty())
            .map(|path| {
                let slashed = path.replace('\\', "/");
                let base = slashed.split('/').next_back().unwrap().to_lowercase();
                let rank = [
                    "agents",
                    "soul",
                    "identity",
                    "user",
                    "tools",
                    "bootstrap",
                    "memory",
                ]
                .iter()
                .position(|name| base == format!("{name}.md"))
                .unwrap_or(99);
                (rank, base, slashed, path)
            })
            .filter(|(_, base, ..)| (base == "heartbeat.md") == dynamic)
            .collect();
        paths.sort_by(|a, b| (a.0, &a.1, &a.2).cmp(&(b.0, &b.1, &b.2)));
        paths.into_iter().map(|(.., path)| path).collect()
    }

    fn sections(&self) -> Vec<&'static str> {
        let mode = self.text("promptMode");
        let (full, none) = (mode.is_empty() || mode == "full", mode == "none");
        let given = |id: &'static str, gate: bool| gate.then_some(id);
        if none {
            return vec!["identity"];
        }
        let overrides = "promptContribution.sectionOverrides";
        let bias = self.has(&format!("{overrides}.execution_bias"));
        let memory = self.tool("memory_search") || self.tool("memory_get");
        [
            given("identity", true),
            given("tooling", true),
            given(
                "interaction_style",
                self.has(&format!("{overrides}.interaction_style")),
            ),
            given("tool_call_style", true),
            given("execution_bias", full || bias),
            given(
                "delegation",
                full && self.text("delegationMode") == "prefer" && self.tool("sessions_spawn"),
            ),
            given(
                "provider_prefix",
                self.has("promptContribution.stablePrefix"),
            ),
            given("safety", true),
            given("control", true),
            given("skills", self.has("skillsPrompt")),
            given(
                "memory_recall",
                full && memory && self.at("includeMemorySection") != false,
            ),
            given("self_update", full && self.tool("gateway")),
            given("model_aliases", full && self.lines("modelAliasLines")),
            given("time_hint", self.has("userTimezone")),
            given("workspace", true),
            given("documentation", full),
            given("sandbox", self.at("sandboxInfo.enabled") == true),
            given(
                "authorized_senders",
                full && !self.list("ownerNumbers").is_empty(),
            ),
            given("time", self.has("userTimezone")),
            given("workspace_files", true),
            given("output_directives", full),
            given("reasoning_format", self.at("reasoningTagHint") == true),
            given("project_context", !self.files(false).is_empty()),
            given(
                "silent_replies",
                full && self.text("silentReplyPromptMode") != "none",
            ),
            given("dynamic_context", !self.files(true).is_empty()),
            given(
                "web_embed",
                full && self.text("runtimeInfo.channel").to_lowercase() == "webchat",
            ),
            given("messaging", full),
            given("voice", full && says_something(&self.text("ttsHint"))),
            given("extra_context", self.has("extraSystemPrompt")),
            given("reactions", self.at("reactionGuidance").is_object()),
            given(
                "provider_suffix",
                self.has("promptContribution.dynamicSuffix"),
            ),
            given(
                "heartbeats",
                full && says_something(&self.text("heartbeatPrompt")),
            ),
            given("runtime", true),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn tool_lines(&self) -> Vec<String> {
        let mut first: Vec<(String, String)> = Vec::new();
        for name in self.list("toolNames") {
            let key = name.to_lowercase();
            if !first.iter().any(|(known, _)| *known == key) {
                first.push((key, name));
            }
        }
        let core: Vec<_> = core_tools().collect();
        let mut names: Vec<String> = Vec::new();
        for core in &core {
            names.extend(
                first
                    .iter()
                    .filter(|(key, _)| key == core)
                    .map(|(_, name)| name.clone()),
            );
        }
        first.retain(|(key, _)| !core.contains(&key.as_str()));
        first.sort();
        names.extend(first.into_iter().map(|(_, name)| name));
        names
    }

    fn runtime_line(&self) -> String {
        let info = |key: &str| self.text(&format!("runtimeInfo.{key}"));
        let mut fields = Vec::new();
        let mut field = |name: &str, value: String| {
            if !value.is_empty() {
                fields.push(format!("{name}={value}"));
            }
        };
        field("agent", info("agentId"));
        field("host", info("host"));
        field("repo", info("repoRoot"));
        match (info("os"), info("arch")) {
            (os, arch) if os.is_empty() => field("arch", arch),
            (os, arch) if arch.is_empty() => field("os", os),
            (os, arch) => field("os", format!("{os} ({arch})")),
        }
        field("model", info("model"));
        field("default_model", info("defaultModel"));
        field("shell", info("shell"));
        if self.has("runtimeInfo.channel") {
            field("channel", info("channel").to_lowercase());
            let mut capabilities: Vec<_> = self
                .list("runtimeInfo.capabilities")
                .iter()
                .map(|c| c.to_lowercase())
                .collect();
            capabilities.sort();
            capabilities.dedup();
            let listed = capabilities.join(",");
            field(
                "capabilities",
                if listed.is_empty() {
                    "none".into()
                } else {
                    listed
                },
            );
        }
        let thinking = self.text("defaultThinkLevel");
        field(
            "thinking",
            if thinking.is_empty() {
                "off".into()
            } else {
                thinking
            },
        );
        format!("Runtime: {}", fields.join(" | "))
    }
}

fn shown(value: &Value) -> String {
    let visible = |c: &char| !c.is_control() && !matches!(c, '\u{200b}' | '\u{202e}');
    value
        .as_str()
        .unwrap_or_default()
        .chars()
        .filter(visible)
        .collect::<String>()
        .trim()
        .to_owned()
}

fn says_something(line: &str) -> bool {
    line.split_whitespace()
        .any(|word| word.contains(|c| c != '#' && c != '-'))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_document_gives_what_the_specification_says(document in facts()) {
        let oracle = Oracle(document.as_object().unwrap());
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
