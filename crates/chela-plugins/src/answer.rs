//! What hooks answer, read and held to what was granted. An answer that says more than it may is cut to
//! what it may, and what was cut is told.

use chela_core::{sanitize, tokens};
use serde_json::{Map, Value};

use crate::grant::{GrantSet, PromptPlace};

/// Files one answer may bring.
const MOST_FILES: usize = 8;
const LONGEST_REASON: usize = 500;

/// An answer, and what of it was not allowed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeldAnswer<T> {
    pub answer: T,
    pub refused: Vec<String>,
}

/// The model of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelAnswer {
    pub model: Option<String>,
    pub provider: Option<String>,
}

/// Text for a prompt, and tools to take away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptAnswer {
    pub prepend: Option<String>,
    pub append: Option<String>,
    pub prepend_system: Option<String>,
    pub append_system: Option<String>,
    pub system_prompt: Option<String>,
    pub tools_allow: Option<Vec<String>>,
}

/// A context file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAnswer {
    pub name: String,
    pub text: String,
}

/// Sections of a provider, and what stands around them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContributionAnswer {
    pub interaction_style: Option<String>,
    pub tool_call_style: Option<String>,
    pub execution_bias: Option<String>,
    pub stable_prefix: Option<String>,
    pub dynamic_suffix: Option<String>,
}

/// A word about a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallAnswer {
    pub word: CallWord,
    pub arguments: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CallWord {
    #[default]
    Pass,
    Ask(String),
    Refuse(String),
}

/// What becomes of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TextAnswer {
    #[default]
    Keep,
    Text(String),
    Withhold,
}

/// `modelOverride`, `providerOverride`.
pub fn read_model(value: &Value) -> ModelAnswer {
    let name = |key: &str| {
        let text = value[key].as_str()?.trim();
        let plain = !text.is_empty() && text.len() <= 200 && !text.contains(char::is_control);
        plain.then(|| text.to_owned())
    };
    ModelAnswer {
        model: name("modelOverride"),
        provider: name("providerOverride"),
    }
}

/// Text for a prompt, within its budgets.
pub fn read_prompt(value: &Value, grants: &GrantSet) -> HeldAnswer<PromptAnswer> {
    let mut held = TextBounds::new(grants);
    let answer = PromptAnswer {
        prepend: held.text(value, "prependContext", PromptPlace::Tail),
        append: held.text(value, "appendContext", PromptPlace::Tail),
        prepend_system: held.text(value, "prependSystemContext", PromptPlace::System),
        append_system: held.text(value, "appendSystemContext", PromptPlace::System),
        system_prompt: held.replacement(value),
        tools_allow: value["toolsAllow"].as_array().map(|names| {
            let names = names.iter().filter_map(Value::as_str);
            names.map(str::to_owned).take(500).collect()
        }),
    };
    HeldAnswer {
        answer,
        refused: held.refused,
    }
}

/// What a plugin adds to a session's files. One of the owner's files is replaced by grant only.
pub fn read_files(value: &Value, grants: &GrantSet) -> HeldAnswer<Vec<FileAnswer>> {
    let mut held = TextBounds::new(grants);
    let mut files = Vec::new();
    let given = value["files"].as_array().into_iter().flatten();
    for file in given.take(MOST_FILES) {
        let name = file["name"].as_str().or(file["path"].as_str());
        let name = name.unwrap_or("notes.md").trim();
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) || name.starts_with('.') {
            held.refused.push("a file whose name is a path".to_owned());
            continue;
        }
        if let Some(text) = held.text(file, "content", PromptPlace::System) {
            files.push(FileAnswer {
                name: name.to_owned(),
                text,
            });
        }
    }
    HeldAnswer {
        answer: files,
        refused: held.refused,
    }
}

/// What stands in place of the sections a provider may have its own of.
pub fn read_contribution(value: &Value, grants: &GrantSet) -> HeldAnswer<ContributionAnswer> {
    let mut held = TextBounds::new(grants);
    let sections = &value["sectionOverrides"];
    let answer = ContributionAnswer {
        interaction_style: held.text(sections, "interaction_style", PromptPlace::System),
        tool_call_style: held.text(sections, "tool_call_style", PromptPlace::System),
        execution_bias: held.text(sections, "execution_bias", PromptPlace::System),
        stable_prefix: held.text(value, "stablePrefix", PromptPlace::System),
        dynamic_suffix: held.text(value, "dynamicSuffix", PromptPlace::System),
    };
    let known = ["interaction_style", "tool_call_style", "execution_bias"];
    for (name, _) in sections.as_object().into_iter().flatten() {
        if !known.contains(&name.as_str()) {
            held.refused.push(format!(
                "the section {}: it is not open to plugins",
                shown(name)
            ));
        }
    }
    HeldAnswer {
        answer,
        refused: held.refused,
    }
}

/// `block` with `blockReason`, `requireApproval`, `params`.
pub fn read_call(value: &Value) -> CallAnswer {
    let reason = |texts: [&Value; 3], otherwise: &str| {
        let text = texts.into_iter().find_map(Value::as_str);
        shown(text.unwrap_or(otherwise))
    };
    let ask = &value["requireApproval"];
    let word = match (value["block"].as_bool(), ask) {
        (Some(true), _) => CallWord::Refuse(reason(
            [&value["blockReason"], &value["reason"], &Value::Null],
            "it gives no reason",
        )),
        (_, Value::Object(_) | Value::String(_) | Value::Bool(true)) => CallWord::Ask(reason(
            [&ask["description"], &ask["title"], ask],
            "it gives no reason",
        )),
        _ => CallWord::Pass,
    };
    CallAnswer {
        word,
        arguments: value["params"].as_object().cloned(),
    }
}

/// A text as it is to read instead, by any of the names it has; `cancel` and `silent` keep it back.
pub fn read_text(value: &Value) -> TextAnswer {
    if value["cancel"] == Value::Bool(true) || value["silent"] == Value::Bool(true) {
        return TextAnswer::Withhold;
    }
    let names = ["text", "content", "result", "reply"];
    let text = names.into_iter().find_map(|name| value[name].as_str());
    match text {
        Some(text) => TextAnswer::Text(sanitize::content(text).0.into_owned()),
        None => TextAnswer::Keep,
    }
}

fn shown(text: &str) -> String {
    let short: String = text.chars().take(LONGEST_REASON).collect();
    sanitize::literal(&short).into_owned()
}

/// Cuts texts to what is left of their budgets.
struct TextBounds<'g> {
    grants: &'g GrantSet,
    tail: usize,
    system: usize,
    refused: Vec<String>,
}

impl<'g> TextBounds<'g> {
    fn new(grants: &'g GrantSet) -> Self {
        Self {
            grants,
            tail: grants.budget(PromptPlace::Tail),
            system: grants.budget(PromptPlace::System),
            refused: Vec::new(),
        }
    }

    fn text(&mut self, value: &Value, key: &str, place: PromptPlace) -> Option<String> {
        let text = value.get(key)?.as_str()?;
        if text.trim().is_empty() {
            return None;
        }
        let left = match place {
            PromptPlace::Tail => &mut self.tail,
            PromptPlace::System => &mut self.system,
        };
        if *left == 0 {
            let place = match place {
                PromptPlace::Tail => "prompt:tail",
                PromptPlace::System => "prompt:system",
            };
            self.refused.push(format!(
                "{key}: there is no grant {place}, or nothing left of it"
            ));
            return None;
        }
        // Nobody counts a text that is certainly too long.
        let bound = left.saturating_mul(32).max(256);
        let start = text
            .char_indices()
            .nth(bound)
            .map_or(text.len(), |(at, _)| at);
        let start = text.get(..start).unwrap_or(text);
        let (clean, _) = sanitize::content(start);
        let end = tokens::prefix_within(&clean, *left);
        let kept = clean.get(..end).unwrap_or_default().trim_end();
        if end < clean.len() || start.len() < text.len() {
            self.refused
                .push(format!("{key}: it is longer than its budget, and was cut"));
        }
        *left = left.saturating_sub(tokens::count(kept));
        (!kept.is_empty()).then(|| kept.to_owned())
    }

    fn replacement(&mut self, value: &Value) -> Option<String> {
        /// What a whole prompt of a plugin may have.
        const MOST: usize = 16_000;
        let text = value.get("systemPrompt")?.as_str()?;
        if text.trim().is_empty() {
            return None;
        }
        if !self.grants.may_replace("prompt") {
            self.refused
                .push("systemPrompt: there is no grant replace:prompt".to_owned());
            return None;
        }
        let start = text
            .char_indices()
            .nth(MOST * 8)
            .map_or(text.len(), |(at, _)| at);
        let (clean, _) = sanitize::content(text.get(..start).unwrap_or(text));
        let end = tokens::prefix_within(&clean, MOST);
        Some(clean.get(..end).unwrap_or_default().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use chela_core::tokens;
    use serde_json::json;

    use super::{
        CallWord, TextAnswer, read_call, read_contribution, read_files, read_prompt, read_text,
    };
    use crate::GrantSet;

    fn grants(list: &[&str]) -> GrantSet {
        let list: Vec<String> = list.iter().map(|one| (*one).to_owned()).collect();
        GrantSet::parse(&list).0
    }

    #[test]
    fn a_megabyte_is_cut_to_its_budget_and_nothing_hides_in_it() {
        let long = json!({ "prependContext": "word ".repeat(200_000), "appendContext": "more" });
        let held = read_prompt(&long, &grants(&["prompt:tail=50"]));
        let kept = held.answer.prepend.unwrap();
        assert!(tokens::count(&kept) <= 50, "{}", tokens::count(&kept));
        assert!(!held.refused.is_empty());
        let hidden = json!({ "prependContext": "a\u{e0041}\u{202e}b" });
        let held = read_prompt(&hidden, &grants(&["prompt:tail=50"]));
        assert_eq!(held.answer.prepend.as_deref(), Some("ab"));
    }

    #[test]
    fn what_was_not_granted_does_not_come_through() {
        let value = json!({
            "prependContext": "x", "prependSystemContext": "y", "systemPrompt": "z", "toolsAllow": ["read", 7],
        });
        let held = read_prompt(&value, &grants(&[]));
        assert_eq!(held.refused.len(), 3, "{:?}", held.refused);
        assert_eq!(held.answer.prepend, None);
        assert_eq!(held.answer.system_prompt, None);
        // Taking tools away takes no grant but the hook's.
        assert_eq!(held.answer.tools_allow, Some(vec!["read".to_owned()]));
        let files = json!({ "files": [
            { "name": "../AGENTS.md", "content": "x" }, { "name": "rules.md", "content": "ok" } ] });
        let held = read_files(&files, &grants(&["prompt:system=100"]));
        assert_eq!((held.answer.len(), held.refused.len()), (1, 1));
        let sections =
            json!({ "sectionOverrides": { "safety": "none", "execution_bias": "slow" } });
        let held = read_contribution(&sections, &grants(&["prompt:system=100"]));
        assert_eq!(held.answer.execution_bias.as_deref(), Some("slow"));
        assert!(held.refused[0].contains("safety"), "{:?}", held.refused);
    }

    #[test]
    fn words_about_calls_and_texts_are_read() {
        let no = read_call(&json!({ "block": true, "blockReason": "not\u{1b}[31m here" }));
        assert!(matches!(no.word, CallWord::Refuse(why) if !why.contains('\u{1b}')));
        let ask =
            read_call(&json!({ "requireApproval": { "title": "Sure?" }, "params": { "a": 1 } }));
        assert_eq!(ask.word, CallWord::Ask("Sure?".to_owned()));
        assert!(ask.arguments.is_some());
        for nothing in [json!(null), json!([]), json!({ "allow": true }), json!("x")] {
            assert_eq!(read_call(&nothing).word, CallWord::Pass);
        }
        assert_eq!(
            read_text(&json!({ "text": "b" })),
            TextAnswer::Text("b".to_owned())
        );
        assert_eq!(read_text(&json!({ "cancel": true })), TextAnswer::Withhold);
        assert_eq!(read_text(&json!(null)), TextAnswer::Keep);
    }
}
