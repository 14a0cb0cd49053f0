//! What is ours in a manifest: a program that answers hooks, commands that do, what they need.

use serde_json::Value;

use super::{ManifestError, ManifestFile, PluginProgram, ProgramKind, asks_of, inside, read_json};
use crate::command_hooks::{CommandHook, read_command_hooks};
use crate::grant::{GrantSet, PluginGrant};
use crate::hook_name::HookName;

const KEYS: [&str; 5] = ["process", "hooks", "commands", "grants", "required"];
const MOST_WORDS: usize = 64;

pub(super) struct PluginExtension {
    pub program: Option<PluginProgram>,
    pub commands: Vec<CommandHook>,
    pub asks: GrantSet,
    pub is_required: bool,
    pub left_out: Vec<String>,
}

pub(super) fn read_extension(
    file: &ManifestFile<'_>,
    given: &Value,
) -> Result<PluginExtension, ManifestError> {
    let wrong = |why: String| file.wrong(format!("extensions.\"dev.chela\": {why}"));
    let fields = given
        .as_object()
        .ok_or_else(|| wrong("it is not an object".to_owned()))?;
    for key in fields.keys() {
        if !KEYS.contains(&key.as_str()) {
            let near = chela_core::suggest::nearest(key, KEYS);
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(wrong(format!(
                "`{}` is unknown{near}",
                super::one_line(key)
            )));
        }
    }
    let hooks = read_hooks(&given["hooks"]).map_err(wrong)?;
    let program = match &given["process"] {
        Value::Null => None,
        process => Some(PluginProgram {
            kind: ProgramKind::Command(read_words(process).map_err(wrong)?),
            hooks: hooks.clone(),
        }),
    };
    if program.is_none() && !hooks.is_empty() {
        return Err(wrong(
            "`hooks` are answered by a program, and there is no `process`".to_owned(),
        ));
    }
    if program.is_some() && hooks.is_empty() {
        return Err(wrong(
            "`process` is there and `hooks` does not say which hooks it answers".to_owned(),
        ));
    }
    let settings = match &given["commands"] {
        Value::String(path) => {
            let path = inside(path)
                .ok_or_else(|| wrong("`commands` leads out of the package".to_owned()))?;
            let file = read_json(&file.folder.join(&path))?;
            file.ok_or_else(|| wrong(format!("there is no {}", path.display())))?
        }
        other => other.clone(),
    };
    let settings = match settings.get("hooks") {
        Some(inner) => inner.clone(),
        None => settings,
    };
    let (commands, left_out) = read_command_hooks(&settings);
    let mut asks = asks_of(hooks.iter().map(|(hook, _)| *hook));
    asks.extend(asks_of(commands.iter().map(|command| command.hook)));
    for one in given["grants"].as_array().into_iter().flatten() {
        let text = one.as_str().unwrap_or_default();
        asks.push(PluginGrant::parse(text).map_err(|error| wrong(error.to_string()))?);
    }
    Ok(PluginExtension {
        program,
        commands,
        asks: GrantSet::of(asks),
        is_required: given["required"].as_bool().unwrap_or(false),
        left_out,
    })
}

/// `["name"]`, or `{ "name": { "priority": 10 } }`.
fn read_hooks(given: &Value) -> Result<Vec<(HookName, i32)>, String> {
    let read = |name: &str, priority: i64| {
        let hook = HookName::parse(name).ok_or_else(|| {
            let known = HookName::ALL.map(HookName::as_str);
            let near = chela_core::suggest::nearest(name, known);
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            format!("there is no hook `{}`{near}", super::one_line(name))
        })?;
        let priority = i32::try_from(priority.clamp(-1_000, 1_000)).unwrap_or(0);
        Ok((hook, priority))
    };
    match given {
        Value::Null => Ok(Vec::new()),
        Value::Array(names) => names
            .iter()
            .map(|name| read(name.as_str().unwrap_or_default(), 0))
            .collect(),
        Value::Object(hooks) => hooks
            .iter()
            .map(|(name, more)| read(name, more["priority"].as_i64().unwrap_or(0)))
            .collect(),
        _ => Err("`hooks` is a list of names, or an object of them".to_owned()),
    }
}

/// A program and its arguments.
fn read_words(given: &Value) -> Result<Vec<String>, String> {
    let words = given["command"].as_array().or(given.as_array());
    let words: Option<Vec<String>> = words.and_then(|words| {
        let texts = words.iter().map(|word| word.as_str().map(str::to_owned));
        texts.collect()
    });
    match words {
        Some(words) if !words.is_empty() && words.len() <= MOST_WORDS => Ok(words),
        _ => Err("`process` is { \"command\": [\"program\", \"argument\"] }".to_owned()),
    }
}
