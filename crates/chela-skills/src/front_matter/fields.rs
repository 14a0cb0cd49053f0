//! From a map of anything to the fields of a skill: wrong shapes are noted, never fatal.

use serde_json::{Map, Value};

use super::{SplitFile, yaml};
use crate::finding::SkillFinding;

/// What a SKILL.md says about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrontMatter {
    pub name: Option<String>,
    pub description: Option<String>,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub homepage: Option<String>,
    /// `allowed-tools`: calls the skill would have pre-approved while it is in use. A request: what
    /// comes of it is decided when the skill is trusted.
    pub allowed_tools: Option<Vec<String>>,
    /// `metadata.chela.onlyTools`: while the skill is in use no other tools may be called; `None`
    /// sets no bound.
    pub only_tools: Option<Vec<String>>,
    /// `argument-hint`: what may follow its command.
    pub argument_hint: Option<String>,
    pub context: SkillContext,
    /// `model`: which model is to answer while a person has it called.
    pub model: Option<String>,
    /// `metadata.chela.draft`: it is being written and not to be used yet.
    pub draft: bool,
    /// Whether a person may call it as a command.
    pub user_invocable: bool,
    /// Whether it stays out of the prompt and is only called by name.
    pub disable_model_invocation: bool,
    pub dispatch: Option<CommandDispatch>,
    pub gating: SkillGating,
    pub metadata: Map<String, Value>,
    /// The version its author gave it.
    pub version: Option<String>,
    /// Top-level keys nobody defined, in the order written.
    pub unknown: Vec<String>,
}

/// `context`: where a skill that a person calls does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillContext {
    /// In the conversation.
    #[default]
    Inline,
    /// In a sub-agent that knows nothing of the conversation.
    Fork,
}

/// `command-dispatch: tool`: the command goes straight to a tool, past the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDispatch {
    pub tool: String,
    /// `command-arg-mode`; `raw` passes what was typed.
    pub arg_mode: String,
}

/// `metadata.chela`, `metadata.openclaw` or one of its older names: when and how it may be used.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SkillGating {
    /// Skips every requirement but the operating system.
    pub always: bool,
    pub os: Vec<String>,
    pub requires: SkillNeeds,
    pub primary_env: Option<String>,
    pub skill_key: Option<String>,
    pub emoji: Option<String>,
    /// How to install what is missing, as written.
    pub install: Vec<Value>,
    /// `invocation.allowRemote`.
    pub allow_remote: Option<bool>,
}

/// What the machine and the session must have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillNeeds {
    pub bins: Vec<String>,
    pub any_bins: Vec<String>,
    pub env: Vec<String>,
    pub config: Vec<String>,
    /// Tools of the session. A skill that leads to a tool that is not there leads nowhere.
    pub tools: Vec<String>,
}

/// Keys of the Agent Skills format.
pub(crate) const STANDARD_KEYS: [&str; 6] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];
/// Keys that other runtimes added and that are understood here.
pub(crate) const ADDED_KEYS: [&str; 10] = [
    "homepage",
    "version",
    "argument-hint",
    "context",
    "model",
    "user-invocable",
    "disable-model-invocation",
    "command-dispatch",
    "command-tool",
    "command-arg-mode",
];
/// Where gating may stand inside `metadata`; the first found counts.
pub(crate) const GATING_KEYS: [&str; 5] = ["chela", "openclaw", "clawdbot", "moltbot", "clawdis"];

pub(super) fn read(
    mut map: Map<String, Value>,
    split: &SplitFile<'_>,
    findings: &mut Vec<SkillFinding>,
) -> FrontMatter {
    let mut fields = Fields { split, findings };
    let unknown = map
        .keys()
        .filter(|key| !STANDARD_KEYS.contains(&key.as_str()) && !ADDED_KEYS.contains(&key.as_str()))
        .cloned()
        .collect();
    let metadata = match map.remove("metadata") {
        Some(value) => fields.object("metadata", value),
        None => Map::new(),
    };
    let block = fields.block(&metadata);
    let gating = fields.gating(&block);
    let hidden = fields.invocation(&block);
    FrontMatter {
        name: fields.text(map.get("name"), "name"),
        description: fields.text(map.get("description"), "description"),
        license: fields.text(map.get("license"), "license"),
        compatibility: fields.text(map.get("compatibility"), "compatibility"),
        homepage: fields.text(map.get("homepage"), "homepage"),
        allowed_tools: map
            .get("allowed-tools")
            .and_then(|value| fields.tools(value)),
        only_tools: fields.only_tools(&metadata),
        argument_hint: fields.hint(map.get("argument-hint")),
        context: fields.context(map.get("context")),
        model: fields
            .text(map.get("model"), "model")
            .filter(|model| !model.eq_ignore_ascii_case("inherit")),
        draft: fields
            .flag(
                own(&metadata).and_then(|own| own.get("draft")),
                "metadata.chela.draft",
            )
            .unwrap_or(false),
        version: fields.version(&map, &metadata),
        user_invocable: fields
            .flag(map.get("user-invocable"), "user-invocable")
            .unwrap_or(true),
        disable_model_invocation: fields
            .flag(
                map.get("disable-model-invocation"),
                "disable-model-invocation",
            )
            .unwrap_or(hidden),
        dispatch: fields.dispatch(&map),
        gating,
        metadata,
        unknown,
    }
}

struct Fields<'a, 'b> {
    split: &'a SplitFile<'b>,
    findings: &'a mut Vec<SkillFinding>,
}

impl Fields<'_, '_> {
    fn note(&mut self, key: &str, what: &str) {
        let top = key.split('.').next().unwrap_or(key);
        let finding = SkillFinding::warning("wrong-shape", format!("`{key}` {what}"));
        self.findings.push(finding.at(self.split.line_of(top)));
    }

    /// Text, or a number or truth value written where text belongs; blank counts as absent.
    fn text(&mut self, value: Option<&Value>, key: &str) -> Option<String> {
        let text = match value? {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null => return None,
            // `description: [a, b]` and the like: what was meant can still be read.
            Value::Array(items) if items.iter().all(Value::is_string) => items
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(", "),
            Value::Array(_) | Value::Object(_) => {
                self.note(key, "is not text and was ignored");
                return None;
            }
        };
        Some(text).filter(|text| !text.is_empty())
    }

    fn flag(&mut self, value: Option<&Value>, key: &str) -> Option<bool> {
        match value? {
            Value::Bool(flag) => Some(*flag),
            Value::Null => None,
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some(true),
                "false" | "no" | "off" | "0" => Some(false),
                _ => {
                    self.note(key, "is neither true nor false and was ignored");
                    None
                }
            },
            Value::Number(number) => Some(number.as_f64() != Some(0.0)),
            Value::Array(_) | Value::Object(_) => {
                self.note(key, "is neither true nor false and was ignored");
                None
            }
        }
    }

    /// A list of words, or one word, or words with commas between them.
    fn words(&mut self, value: Option<&Value>, key: &str) -> Vec<String> {
        let clean = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) => text.split(',').filter_map(clean).collect(),
            Some(Value::Array(items)) => {
                if items.iter().any(|item| !item.is_string()) {
                    self.note(key, "contains something that is not text; that was ignored");
                }
                items
                    .iter()
                    .filter_map(Value::as_str)
                    .filter_map(clean)
                    .collect()
            }
            Some(_) => {
                self.note(key, "is not a list of words and was ignored");
                Vec::new()
            }
        }
    }

    /// `allowed-tools` is a line of words in the standard and a list in many files. Blanks inside
    /// brackets belong to a tool: `Bash(git add *) Read`.
    fn tools(&mut self, value: &Value) -> Option<Vec<String>> {
        let Value::String(line) = value else {
            return (!value.is_null()).then(|| self.words(Some(value), "allowed-tools"));
        };
        let mut tools = vec![String::new()];
        let mut open = 0usize;
        for c in line.chars() {
            match c {
                '(' => open += 1,
                ')' => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 && (c.is_whitespace() || c == ',') {
                tools.push(String::new());
            } else if let Some(tool) = tools.last_mut() {
                tool.push(c);
            }
        }
        tools.retain(|tool| !tool.is_empty());
        Some(tools)
    }

    /// `[issue] [priority]`, which YAML may take for a list.
    fn hint(&mut self, value: Option<&Value>) -> Option<String> {
        let text = self.text(value, "argument-hint")?;
        match value {
            Some(Value::Array(_)) => Some(format!("[{text}]")),
            _ => Some(text),
        }
    }

    /// A bound stands under a key of our own: elsewhere lists of tools ask for more, not for less.
    fn only_tools(&mut self, metadata: &Map<String, Value>) -> Option<Vec<String>> {
        let written = own(metadata)?.get("onlyTools")?.clone();
        match written {
            Value::Null => None,
            // What cannot be read leaves nothing: a bound that is written down is not dropped.
            other => Some(self.tools(&other).unwrap_or_default()),
        }
    }

    fn context(&mut self, value: Option<&Value>) -> SkillContext {
        match self.text(value, "context").as_deref() {
            Some(word) if word.eq_ignore_ascii_case("fork") => SkillContext::Fork,
            None => SkillContext::Inline,
            Some(word) if word.eq_ignore_ascii_case("inline") => SkillContext::Inline,
            Some(_) => {
                self.note("context", "knows only `fork`; it runs in the conversation");
                SkillContext::Inline
            }
        }
    }

    /// `version` at the top, as many write it, or in `metadata`, as the format has it.
    fn version(
        &mut self,
        map: &Map<String, Value>,
        metadata: &Map<String, Value>,
    ) -> Option<String> {
        let top = self.text(map.get("version"), "version");
        top.or_else(|| self.text(metadata.get("version"), "metadata.version"))
    }

    /// A map, or text that holds one as JSON5.
    fn object(&mut self, key: &str, value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            Value::Null => Map::new(),
            Value::String(text) => match embedded(&text) {
                Some(map) => map,
                None => {
                    self.note(key, "is neither a map nor JSON and was ignored");
                    Map::new()
                }
            },
            _ => {
                self.note(key, "is not a map and was ignored");
                Map::new()
            }
        }
    }

    fn block(&mut self, metadata: &Map<String, Value>) -> Map<String, Value> {
        for key in GATING_KEYS {
            if let Some(value) = metadata.get(key) {
                return self.object(&format!("metadata.{key}"), value.clone());
            }
        }
        Map::new()
    }

    fn gating(&mut self, block: &Map<String, Value>) -> SkillGating {
        let requires = match block.get("requires") {
            Some(Value::Object(map)) => map.clone(),
            Some(Value::Null) | None => Map::new(),
            Some(_) => {
                self.note(
                    "metadata.requires",
                    "is not a map of lists, so it gates nothing",
                );
                Map::new()
            }
        };
        let invocation = block.get("invocation").and_then(Value::as_object);
        SkillGating {
            always: self
                .flag(block.get("always"), "metadata.always")
                .unwrap_or(false),
            os: self.words(block.get("os"), "metadata.os"),
            requires: SkillNeeds {
                bins: self.words(requires.get("bins"), "metadata.requires.bins"),
                any_bins: self.words(requires.get("anyBins"), "metadata.requires.anyBins"),
                env: self.words(requires.get("env"), "metadata.requires.env"),
                config: self.words(requires.get("config"), "metadata.requires.config"),
                tools: self.words(requires.get("tools"), "metadata.requires.tools"),
            },
            primary_env: self.text(block.get("primaryEnv"), "metadata.primaryEnv"),
            skill_key: self.text(block.get("skillKey"), "metadata.skillKey"),
            emoji: self.text(block.get("emoji"), "metadata.emoji"),
            install: match block.get("install") {
                Some(Value::Array(items)) => items.clone(),
                Some(Value::Null) | None => Vec::new(),
                Some(other) => vec![other.clone()],
            },
            allow_remote: invocation.and_then(|map| {
                let key = "metadata.invocation.allowRemote";
                let set = self.flag(map.get("allowRemote"), key);
                if set.is_some() {
                    let told = format!("`{key}` is accepted, but nothing uses it yet");
                    let finding = SkillFinding::note("not-in-use", told);
                    self.findings
                        .push(finding.at(self.split.line_of("metadata")));
                }
                set
            }),
        }
    }

    /// `metadata.….invocation.disableModelInvocation`.
    fn invocation(&mut self, block: &Map<String, Value>) -> bool {
        let invocation = block.get("invocation").and_then(Value::as_object);
        let flag = invocation.and_then(|map| map.get("disableModelInvocation"));
        self.flag(flag, "metadata.invocation.disableModelInvocation")
            .unwrap_or(false)
    }

    fn dispatch(&mut self, map: &Map<String, Value>) -> Option<CommandDispatch> {
        let kind = self.text(map.get("command-dispatch"), "command-dispatch")?;
        if !kind.eq_ignore_ascii_case("tool") {
            self.note(
                "command-dispatch",
                "knows only `tool`; the model answers instead",
            );
            return None;
        }
        let Some(tool) = self.text(map.get("command-tool"), "command-tool") else {
            self.note(
                "command-dispatch",
                "names no `command-tool`; the model answers instead",
            );
            return None;
        };
        let arg_mode = self.text(map.get("command-arg-mode"), "command-arg-mode");
        Some(CommandDispatch {
            tool,
            arg_mode: arg_mode.unwrap_or_else(|| "raw".to_owned()),
        })
    }
}

/// The block that is read by nobody else.
fn own(metadata: &Map<String, Value>) -> Option<&Map<String, Value>> {
    metadata.get("chela")?.as_object()
}

/// A map inside text: JSON5 first, then YAML's own braces.
fn embedded(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let json5 = chela_config::text::parse(text, chela_config::FileId::default());
    let value = json5
        .root
        .map(|root| root.to_json())
        .or_else(|| yaml::read(text).ok());
    value.and_then(|value| value.as_object().cloned())
}
