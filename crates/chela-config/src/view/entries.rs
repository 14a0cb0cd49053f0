//! The view as a table: every key that is set, and the defaults of the rest.

use serde_json::{Value, json};

use super::lookup::{Found, Lookup};
use super::{AgentView, Provenance, ViewEntry};
use crate::key_path::KeyPath;
use crate::model::{AgentDefaults, AgentEntry};
use crate::redact::redact;
use crate::shape::{Field, Object, Shape, Shaped};

/// Objects whose inner keys are listed one by one even when nobody set them.
const OPENED: [&str; 8] = [
    "compaction",
    "contextLimits",
    "heartbeat",
    "humanDelay",
    "memorySearch",
    "sandbox",
    "skillsLimits",
    "subagents",
];

/// Keys that are not the agent's to have or that the view works out itself.
const LEFT_OUT: [&str; 12] = [
    "id",
    "default",
    "workspace",
    "agentDir",
    "models",
    "params",
    "heartbeat",
    "memory",
    "userTimezone",
    "cliBackends",
    "context",
    "skillsLimits",
];

pub fn entries(lookup: &Lookup<'_>, view: &AgentView) -> Vec<ViewEntry> {
    let mut list = vec![
        entry(
            "id",
            json!(view.id.as_str()),
            Provenance::Derived {
                why: "the agent".to_owned(),
            },
        ),
        entry(
            "default",
            json!(view.is_default.value),
            view.is_default.from.clone(),
        ),
        entry(
            "workspace",
            json!(view.workspace.value),
            view.workspace.from.clone(),
        ),
        entry(
            "agentDir",
            json!(view.agent_dir.value),
            view.agent_dir.from.clone(),
        ),
        entry(
            "userTimezone",
            json!(view.user_timezone.value),
            view.user_timezone.from.clone(),
        ),
        entry("aliases", aliases(view), view.model_aliases.from.clone()),
        entry("params", json!(view.params.value), view.params.from.clone()),
        entry("heartbeat", heartbeat(view), view.heartbeat.from.clone()),
        entry(
            "ownerAllowFrom",
            json!(view.owner_allow_from.value),
            view.owner_allow_from.from.clone(),
        ),
        entry(
            "ownerDisplay",
            json!(view.owner_display.value),
            view.owner_display.from.clone(),
        ),
        entry(
            "citations",
            json!(view.citations.value),
            view.citations.from.clone(),
        ),
        entry(
            "context.pin",
            json!(view.context_pin.value),
            view.context_pin.from.clone(),
        ),
        entry(
            "context.dynamic",
            json!(view.context_dynamic.value),
            view.context_dynamic.from.clone(),
        ),
        entry(
            "context.inherit",
            json!(view.context_inherit.value),
            view.context_inherit.from.clone(),
        ),
        entry(
            "guard.policy",
            json!(view.guard_policy.value),
            view.guard_policy.from.clone(),
        ),
        entry(
            "skillsLimits.maxSkillsPromptChars",
            json!(view.skills_limits.value.max_skills_prompt_chars),
            view.skills_limits.from.clone(),
        ),
    ];
    let (own, all) = (
        AgentEntry::SHAPE.as_object(),
        AgentDefaults::SHAPE.as_object(),
    );
    for field in all.into_iter().chain(own).flat_map(|object| object.fields) {
        let first = list.iter().all(|entry| {
            entry.name != field.key && !entry.name.starts_with(&format!("{}.", field.key))
        });
        if first && !LEFT_OUT.contains(&field.key) {
            walk(lookup, field, field.key, &mut list, 0);
        }
    }
    list.sort_by(|a, b| a.name.cmp(&b.name));
    list
}

fn walk(
    lookup: &Lookup<'_>,
    field: &'static Field,
    name: &str,
    list: &mut Vec<ViewEntry>,
    depth: usize,
) {
    let found = lookup.find(name);
    let set = found.own.is_some() || found.shared.is_some();
    if let Shape::Object(object) = field.shape {
        let opened = depth == 0 && OPENED.contains(&field.key);
        if set || opened {
            inner(lookup, object, name, list, depth);
        }
        return;
    }
    match winner(lookup, found) {
        Some((mut value, from)) => {
            redact(&mut value, &KeyPath::root().key(field.key));
            list.push(entry(name, value, from));
        }
        None => {
            if let Some(default) = (field.default)() {
                list.push(entry(name, default, Provenance::Default));
            }
        }
    }
}

fn inner(
    lookup: &Lookup<'_>,
    object: &'static Object,
    name: &str,
    list: &mut Vec<ViewEntry>,
    depth: usize,
) {
    for field in object.fields {
        walk(
            lookup,
            field,
            &format!("{name}.{}", field.key),
            list,
            depth + 1,
        );
    }
}

fn winner(lookup: &Lookup<'_>, found: Found<'_>) -> Option<(Value, Provenance)> {
    let (node, path) = found.own.or(found.shared)?;
    Some((node.to_json(), lookup.from(node, path)))
}

fn heartbeat(view: &AgentView) -> Value {
    match view.heartbeat.value.every {
        Some(every) => json!(format!("every {}", spoken(every.as_secs()))),
        None => json!("off"),
    }
}

fn spoken(seconds: u64) -> String {
    match seconds {
        s if s % 3_600 == 0 => format!("{}h", s / 3_600),
        s if s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

fn aliases(view: &AgentView) -> Value {
    let map = view
        .model_aliases
        .value
        .iter()
        .map(|known| (known.alias.clone(), json!(known.model)));
    Value::Object(map.collect())
}

fn entry(name: &str, value: Value, from: Provenance) -> ViewEntry {
    ViewEntry {
        name: name.to_owned(),
        value,
        from,
    }
}
