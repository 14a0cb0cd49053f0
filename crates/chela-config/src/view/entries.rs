//! The view as a table: every key that is set, and the defaults of the rest.

use serde_json::{Value, json};

use super::lookup::ValueLookup;
use super::{AgentView, ResolvedValue, ValueProvenance, ViewEntry};
use crate::model::{AgentDefaults, AgentEntry};
use crate::node::{ConfigNode, NodeKind};
use crate::redact::redact;
use crate::shape::{FieldShape, HasShape, ValueShape};

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

pub fn entries(lookup: &ValueLookup, view: &AgentView) -> Vec<ViewEntry> {
    let list = vec![
        entry(
            "id",
            json!(view.id.as_str()),
            ValueProvenance::Derived {
                why: "the agent".to_owned(),
            },
        ),
        given("default", &view.is_default),
        given("workspace", &view.workspace),
        given("agentDir", &view.agent_dir),
        given("userTimezone", &view.user_timezone),
        entry("aliases", aliases(view), view.model_aliases.from.clone()),
        given("params", &view.params),
        entry("heartbeat", heartbeat(view), view.heartbeat.from.clone()),
        given("ownerAllowFrom", &view.owner_allow_from),
        given("ownerDisplay", &view.owner_display),
        given("citations", &view.citations),
        given("context.pin", &view.context_pin),
        given("context.dynamic", &view.context_dynamic),
        given("context.inherit", &view.context_inherit),
        given("context.placement", &view.context_placement),
        given("guard.policy", &view.guard_policy),
        given("guard.egress", &view.guard_egress),
        given("guard.confirm", &view.guard_confirm),
        entry(
            "skillsLimits.maxSkillsPromptChars",
            json!(view.skills_limits.value.max_skills_prompt_chars),
            view.skills_limits.from.clone(),
        ),
    ];
    let layers = Layers {
        own: lookup
            .entry
            .as_ref()
            .and_then(|entry| lookup.tree.at_path(entry)),
        shared: lookup.tree.at_path(&lookup.defaults),
    };
    let mut walk = ShapeWalk { lookup, list };
    if let Some(all) = AgentDefaults::SHAPE.as_object()
        && let Some(own) = AgentEntry::SHAPE.as_object()
    {
        let only_own = own
            .fields
            .iter()
            .filter(|field| all.field(field.key).is_none());
        for field in all.fields.iter().chain(only_own) {
            if !LEFT_OUT.contains(&field.key) {
                walk.field(field, &mut vec![field.key], layers.under(field.key));
            }
        }
    }
    let mut list = walk.list;
    list.sort_by(|a, b| a.name.cmp(&b.name));
    list
}

/// A value of the agent and the one for all agents, side by side.
#[derive(Clone, Copy)]
struct Layers<'l> {
    own: Option<&'l ConfigNode>,
    shared: Option<&'l ConfigNode>,
}

impl<'l> Layers<'l> {
    fn under(self, key: &str) -> Self {
        let set = |node: Option<&'l ConfigNode>| {
            node?
                .get(key)
                .filter(|inner| !matches!(inner.kind, NodeKind::Null))
        };
        Self {
            own: set(self.own),
            shared: set(self.shared),
        }
    }
}

struct ShapeWalk<'l> {
    lookup: &'l ValueLookup,
    list: Vec<ViewEntry>,
}

impl<'l> ShapeWalk<'l> {
    fn field(
        &mut self,
        field: &'static FieldShape,
        keys: &mut Vec<&'static str>,
        layers: Layers<'l>,
    ) {
        let set = layers.own.or(layers.shared);
        if let ValueShape::Object(object) = field.shape {
            let opened = keys.len() == 1 && OPENED.contains(&field.key);
            if set.is_some() || opened {
                for inner in object.fields {
                    keys.push(inner.key);
                    self.field(inner, keys, layers.under(inner.key));
                    keys.pop();
                }
            }
            return;
        }
        let (value, from) = match set {
            Some(node) => {
                let home = match (layers.own, &self.lookup.entry) {
                    (Some(_), Some(entry)) => entry,
                    _ => &self.lookup.defaults,
                };
                let path = keys.iter().fold(home.clone(), |path, key| path.key(*key));
                let mut value = node.to_json();
                redact(&mut value, &path);
                (value, self.lookup.from(node, path))
            }
            None => match (field.default)() {
                Some(default) => (default, ValueProvenance::Default),
                None => return,
            },
        };
        self.list.push(entry(&keys.join("."), value, from));
    }
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

/// A value of the view under its key.
fn given<T: serde::Serialize>(name: &str, resolved: &ResolvedValue<T>) -> ViewEntry {
    entry(name, json!(resolved.value), resolved.from.clone())
}

fn entry(name: &str, value: Value, from: ValueProvenance) -> ViewEntry {
    ViewEntry {
        name: name.to_owned(),
        value,
        from,
    }
}
