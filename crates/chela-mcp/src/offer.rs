//! What a server offers: tools, resources, prompts, as they may be told of.
//!
//! All of it is text of a stranger. It is cleaned and cut here, once, and nothing else of it is kept.

mod header_params;

use chela_core::ContentHash;
use chela_guard::clean;
use chela_guard::detect::{DetectionSeverity, detect};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::schema_bounds::{bound_schema, bound_words};

pub use header_params::HeaderParam;
pub(crate) use header_params::{encode_header, header_params};

/// What a tool says of itself, at most.
const MOST_DESCRIPTION: usize = 1_000;
const MOST_TITLE: usize = 120;
/// What a server says of itself, at most.
const MOST_INSTRUCTIONS: usize = 2_000;
/// An address of a resource.
const MOST_ADDRESS: usize = 2_048;
/// Names are 128 characters at most, by the protocol.
const LONGEST_NAME: usize = 128;

/// A tool of a server, as it may be told of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerTool {
    /// As the server calls it.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
    #[serde(default)]
    pub hints: ToolHints,
    /// Arguments that go along as headers, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<HeaderParam>,
    /// What of its own words is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What in its words is there to deceive somebody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What a server says its tool does. Hints and nothing else: nobody goes by them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolHints {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// A tool that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusableTool {
    pub name: String,
    pub why: String,
}

/// Something to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerResource {
    /// Its address, or a pattern of addresses.
    pub uri: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Whether the address has places to fill in.
    #[serde(default)]
    pub is_pattern: bool,
}

/// A text with places to fill in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerPrompt {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptArgument {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default)]
    pub required: bool,
}

impl ServerTool {
    /// Reads one entry of a list of tools.
    pub(crate) fn read(told: &Value) -> Result<Self, UnusableTool> {
        let name = told["name"].as_str().unwrap_or_default();
        let unusable = |why: String| UnusableTool {
            name: shown_name(name),
            why,
        };
        check_name(name).map_err(unusable)?;
        let bound = bound_schema(&told["inputSchema"]);
        let bound = bound.map_err(|fault| unusable(fault.to_string()))?;
        let headers = header_params(&told["inputSchema"]);
        let headers = headers.map_err(|fault| unusable(fault.to_string()))?;
        let mut notes = bound.notes;
        let description = told["description"].as_str().unwrap_or_default();
        let (description, was_cut) = bound_words(description, MOST_DESCRIPTION);
        if was_cut {
            notes.push("its description is cut".to_owned());
        }
        let warnings = warnings_about(told);
        let hints = &told["annotations"];
        let title = told["title"].as_str().or(hints["title"].as_str());
        Ok(Self {
            name: name.to_owned(),
            title: title.map(|title| bound_words(title, MOST_TITLE).0),
            description,
            schema: bound.schema,
            hints: ToolHints {
                read_only: hints["readOnlyHint"].as_bool(),
                destructive: hints["destructiveHint"].as_bool(),
                open_world: hints["openWorldHint"].as_bool(),
            },
            headers,
            notes,
            warnings,
        })
    }

    /// What it is known by: another one once anything a model reads of it is another.
    pub fn fingerprint(&self) -> ContentHash {
        let told = json!([
            self.name,
            self.title,
            self.description,
            sorted(&self.schema),
            self.hints,
            self.headers,
        ]);
        ContentHash::of(told.to_string())
    }

    /// As people compare it: a line for each thing it says.
    pub fn to_text(&self) -> String {
        let mut text = format!("name: {}\n", self.name);
        if let Some(title) = &self.title {
            text.push_str(&format!("title: {title}\n"));
        }
        text.push_str("description:\n");
        for line in self.description.lines() {
            text.push_str(&format!("  {line}\n"));
        }
        let hint = |name: &str, value: Option<bool>| match value {
            Some(value) => format!("hint {name}: {value}\n"),
            None => String::new(),
        };
        text.push_str(&hint("readOnly", self.hints.read_only));
        text.push_str(&hint("destructive", self.hints.destructive));
        text.push_str(&hint("openWorld", self.hints.open_world));
        let schema = serde_json::to_string_pretty(&sorted(&self.schema)).unwrap_or_default();
        text.push_str(&format!("arguments:\n{schema}\n"));
        text
    }
}

impl ServerResource {
    pub(crate) fn read(told: &Value) -> Option<Self> {
        let pattern = told["uriTemplate"].as_str();
        let uri = pattern.or(told["uri"].as_str())?;
        let is_shown = uri.chars().count() <= MOST_ADDRESS && clean(uri).0 == uri;
        let line = |value: &Value, most| value.as_str().map(|text| bound_words(text, most).0);
        is_shown.then(|| Self {
            uri: uri.to_owned(),
            name: line(&told["name"], MOST_TITLE).unwrap_or_default(),
            description: line(&told["description"], MOST_DESCRIPTION),
            mime: line(&told["mimeType"], MOST_TITLE),
            is_pattern: pattern.is_some(),
        })
    }
}

impl ServerPrompt {
    pub(crate) fn read(told: &Value) -> Option<Self> {
        const MOST_ARGUMENTS: usize = 32;
        let name = told["name"].as_str()?;
        check_name(name).ok()?;
        let words = |value: &Value| {
            value
                .as_str()
                .map(|text| bound_words(text, MOST_DESCRIPTION).0)
        };
        let arguments = told["arguments"].as_array().into_iter().flatten();
        let arguments = arguments.filter_map(|argument| {
            let name = argument["name"].as_str()?;
            check_name(name).ok()?;
            Some(PromptArgument {
                name: name.to_owned(),
                description: words(&argument["description"]),
                required: argument["required"].as_bool() == Some(true),
            })
        });
        Some(Self {
            name: name.to_owned(),
            description: words(&told["description"]),
            arguments: arguments.take(MOST_ARGUMENTS).collect(),
        })
    }
}

/// What is wrong with the words of a tool, wherever they stand.
fn warnings_about(told: &Value) -> Vec<String> {
    /// More words than any honest tool has.
    const MOST_READ: usize = 64 << 10;
    let mut words = String::new();
    for key in ["title", "description", "inputSchema", "annotations"] {
        collect_words(&told[key], &mut words, MOST_READ);
    }
    let mut warnings = Vec::new();
    let (_, found) = clean(&words);
    if found.invisible.total() > 0 {
        warnings.push("it has characters nobody sees".to_owned());
    }
    if found.forged_markers + found.template_tokens > 0 {
        warnings.push("it imitates marks that only the runtime sets".to_owned());
    }
    let detection = detect(&words);
    if detection.severity >= DetectionSeverity::Medium {
        warnings.push("it reads like instructions to the agent".to_owned());
    }
    warnings
}

fn collect_words(value: &Value, words: &mut String, most: usize) {
    if words.len() >= most {
        return;
    }
    match value {
        Value::String(text) => {
            words.extend(text.chars().take(most));
            words.push('\n');
        }
        Value::Array(all) => all.iter().for_each(|one| collect_words(one, words, most)),
        Value::Object(fields) => {
            fields
                .values()
                .for_each(|one| collect_words(one, words, most));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a server says of how to use it.
pub(crate) fn read_instructions(told: &Value) -> Option<String> {
    let text = told["instructions"].as_str()?;
    let (words, _) = bound_words(text, MOST_INSTRUCTIONS);
    (!words.is_empty()).then_some(words)
}

/// A name is sent back as it stands, so it must be what it looks like.
fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("it has no name".to_owned());
    }
    let is_shown = name.chars().count() <= LONGEST_NAME
        && clean(name).0 == name
        && chela_core::sanitize::literal(name) == name;
    match is_shown {
        true => Ok(()),
        false => Err("its name cannot be shown as it is".to_owned()),
    }
}

fn shown_name(name: &str) -> String {
    let (words, _) = bound_words(name, LONGEST_NAME);
    chela_core::sanitize::literal(&words).into_owned()
}

/// The same with the keys of objects in order: a server may write them in any.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut all: Vec<(&String, &Value)> = fields.iter().collect();
            all.sort_by_key(|(name, _)| *name);
            let all = all.into_iter();
            Value::Object(
                all.map(|(name, value)| (name.clone(), sorted(value)))
                    .collect(),
            )
        }
        Value::Array(all) => Value::Array(all.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
