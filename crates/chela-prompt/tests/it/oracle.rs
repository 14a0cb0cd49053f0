//! A second, simple statement of the specification, to compare the renderer with.

use chela_prompt::core_tools;
use serde_json::Value;

/// The words of the specification, applied to the document with no help from the renderer.
pub(crate) struct Oracle<'a>(&'a Value);

impl<'a> Oracle<'a> {
    pub(crate) fn new(document: &'a Value) -> Self {
        Self(document)
    }

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
    pub(crate) fn text(&self, pointer: &str) -> String {
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

    pub(crate) fn files(&self, dynamic: bool) -> Vec<String> {
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

    pub(crate) fn sections(&self) -> Vec<&'static str> {
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

    pub(crate) fn tool_lines(&self) -> Vec<String> {
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

    pub(crate) fn runtime_line(&self) -> String {
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

pub(crate) fn shown(value: &Value) -> String {
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
