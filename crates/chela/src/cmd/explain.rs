//! `chela config explain`: one key, from every side.

use chela_config::{KeyExplanation, KeyPath, ValueSource, explain};
use chela_core::Host;
use serde_json::{Value, json};

use super::config::{key_path, unknown_hint};
use super::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, path: &str, json: bool) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    setup.warn_on_stderr(screen.paint);
    let path = key_path(path)?;
    let Some(explanation) = explain(&setup.loaded, &path) else {
        return Err(CommandError::new(format!("there is no key {path}")).hint(unknown_hint(&path)));
    };
    if json {
        screen.json(&as_json(&setup, &explanation))?;
    } else {
        print(screen, &setup, &explanation)?;
    }
    Ok(CommandExit::Fine)
}

fn source(setup: &CommandSetup, source: &ValueSource) -> String {
    let at = |place: &Option<chela_config::SourcePlace>| {
        place
            .as_ref()
            .map(|place| format!("{}:{}", setup.host.compact(&place.file), place.line))
            .unwrap_or_else(|| "the file".to_owned())
    };
    match source {
        ValueSource::File { place, vars } if vars.is_empty() => at(place),
        ValueSource::File { place, vars } => format!(
            "{}, with {} from the environment",
            at(place),
            vars.join(", ")
        ),
        ValueSource::Migrated { from, place, .. } => {
            format!("{}, written there as {from}", at(place))
        }
        ValueSource::Default => "default".to_owned(),
        ValueSource::Unset => "not set, and there is no default".to_owned(),
    }
}

fn print(
    screen: &mut Screen,
    setup: &CommandSetup,
    explanation: &KeyExplanation,
) -> std::io::Result<()> {
    let paint = screen.paint;
    screen.line(paint.bold(&explanation.path))?;
    if let Some(doc) = &explanation.doc {
        screen.paragraph("  ", doc)?;
    }
    if let Some(kept) = &explanation.kept {
        screen.line(format!("  {}", paint.warn(kept)))?;
    }
    let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), compact);
    let rows = vec![
        vec![paint.dim("value"), shown(&explanation.value)],
        vec![paint.dim("from"), source(setup, &explanation.source)],
        vec![paint.dim("default"), shown(&explanation.default)],
        vec![paint.dim("takes"), explanation.kind.clone()],
    ];
    screen.table("  ", &rows)?;
    if !explanation.allowed.is_empty() {
        let words: Vec<Vec<String>> = explanation
            .allowed
            .iter()
            .map(|(word, doc)| vec![paint.accent(word), doc.clone()])
            .collect();
        screen.table("    ", &words)?;
    }
    let inside = inner_keys(&explanation.path);
    if !inside.is_empty() {
        screen.line(format!("  {}", paint.dim("its keys")))?;
        let rows: Vec<Vec<String>> = inside
            .into_iter()
            .map(|(key, doc)| vec![paint.accent(key), doc])
            .collect();
        screen.table("    ", &rows)?;
    }
    if !explanation.overridden_by.is_empty() {
        screen.line(format!("  {}", paint.dim("overridden by")))?;
        let rows: Vec<Vec<String>> = explanation
            .overridden_by
            .iter()
            .map(|other| {
                let place = other
                    .place
                    .as_ref()
                    .map(|place| format!("{}:{}", setup.host.compact(&place.file), place.line));
                vec![
                    other.agent.to_string(),
                    compact(&other.value),
                    paint.dim(other.path.to_string()),
                    paint.dim(place.unwrap_or_default()),
                ]
            })
            .collect();
        screen.table("    ", &rows)?;
    }
    Ok(())
}

/// The keys of a section, each with what it is for.
fn inner_keys(path: &KeyPath) -> Vec<(String, String)> {
    let Some(schema) = chela_config::schema_at(path) else {
        return Vec::new();
    };
    let referred = schema["$ref"]
        .as_str()
        .and_then(|to| to.strip_prefix("#/$defs/"));
    let shape = match referred {
        Some(name) => &schema["$defs"][name],
        None => &schema,
    };
    let doc = |key: &Value| key["description"].as_str().unwrap_or_default().to_owned();
    let keys = shape["properties"].as_object().into_iter().flatten();
    keys.map(|(name, key)| (name.clone(), doc(key))).collect()
}

fn compact(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn as_json(setup: &CommandSetup, explanation: &KeyExplanation) -> Value {
    json!({
        "path": explanation.path.to_string(),
        "value": explanation.value,
        "source": source(setup, &explanation.source),
        "default": explanation.default,
        "doc": explanation.doc,
        "kept": explanation.kept,
        "type": explanation.kind,
        "allowed": explanation.allowed.iter().map(|(word, doc)| json!({ "value": word, "doc": doc })).collect::<Vec<_>>(),
        "overriddenBy": explanation.overridden_by.iter().map(|other| json!({
            "agent": other.agent, "path": other.path.to_string(), "value": other.value,
        })).collect::<Vec<_>>(),
    })
}
