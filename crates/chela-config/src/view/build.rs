//! Puts a view together.

use std::sync::OnceLock;

use chela_core::AgentId;

use super::lookup::{FoundLayers, ValueLookup, overlay_json};
use super::workspace::{agent_dir, entry_path, from_config, workspace_dir};
use super::{AgentView, ModelAlias, ResolvedValue, ValueProvenance, heartbeat};
use crate::key_path::KeyPath;
use crate::load::Loaded;
use crate::model::{AgentDefaults, IdText, ModelChoice, OpenMap};
use crate::node::ConfigNode;

pub fn view(loaded: &Loaded, id: &AgentId) -> AgentView {
    let top = KeyPath::root();
    let lookup = ValueLookup::new(loaded, entry_path(loaded, id));
    let (commands, context, memory) = (top.key("commands"), top.key("context"), top.key("memory"));
    let (messages, tools, guard) = (top.key("messages"), top.key("tools"), top.key("guard"));
    let defaults = AgentDefaults::default();
    let model: ResolvedValue<Option<ModelChoice>> = lookup.optional(lookup.find("model"));
    let heartbeat = heartbeat::resolve(loaded, &lookup, id);
    AgentView {
        id: id.clone(),
        is_default: is_default(loaded, &lookup, id),
        name: lookup.optional(own(&lookup, "name")),
        description: lookup.optional(own(&lookup, "description")),
        identity: lookup.merged(own(&lookup, "identity")),
        workspace: workspace_dir(loaded, id),
        agent_dir: agent_dir(loaded, id),
        repo_root: lookup
            .optional::<String>(lookup.find("repoRoot"))
            .map(|root| root.map(|root| from_config(loaded, &root))),
        utility_model: lookup.optional(lookup.find("utilityModel")),
        model_policy: lookup.one(lookup.find("modelPolicy"), Default::default()),
        model_aliases: aliases(&lookup),
        params: params(&lookup, model.value.as_ref().and_then(ModelChoice::primary)),
        model,
        thinking: lookup.optional(lookup.find("thinkingDefault")),
        reasoning: lookup.one(lookup.find("reasoningDefault"), Default::default()),
        verbose: lookup.one(lookup.find("verboseDefault"), Default::default()),
        context_tokens: lookup.optional(lookup.find("contextTokens")),
        timeout_seconds: lookup.one(lookup.find("timeoutSeconds"), defaults.timeout_seconds),
        max_steps: lookup.one(lookup.find("maxSteps"), defaults.max_steps),
        skills: lookup.optional(lookup.find("skills")),
        skills_limits: skills_limits(&lookup),
        memory_search: lookup.merged(lookup.find("memorySearch")),
        citations: lookup.one(lookup.shared(&memory, "citations"), Default::default()),
        skip_bootstrap: lookup.one(lookup.find("skipBootstrap"), defaults.skip_bootstrap),
        skip_optional_bootstrap_files: lookup
            .one(lookup.find("skipOptionalBootstrapFiles"), Vec::new()),
        context_injection: lookup.one(lookup.find("contextInjection"), Default::default()),
        bootstrap_max_chars: lookup.one(
            lookup.find("bootstrapMaxChars"),
            defaults.bootstrap_max_chars,
        ),
        bootstrap_total_max_chars: lookup.one(
            lookup.find("bootstrapTotalMaxChars"),
            defaults.bootstrap_total_max_chars,
        ),
        bootstrap_max_tokens: lookup.optional(lookup.find("bootstrapMaxTokens")),
        bootstrap_total_max_tokens: lookup.optional(lookup.find("bootstrapTotalMaxTokens")),
        truncation_warning: lookup.one(
            lookup.find("bootstrapPromptTruncationWarning"),
            Default::default(),
        ),
        context_limits: lookup.merged(lookup.find("contextLimits")),
        startup_context: lookup.merged(lookup.find("startupContext")),
        context_pruning: lookup.merged(lookup.find("contextPruning")),
        compaction: lookup.merged(lookup.find("compaction")),
        context_pin: lookup.one(lookup.find_in("context.pin", &context, "pin"), Vec::new()),
        context_dynamic: lookup.one(
            lookup.find_in("context.dynamic", &context, "dynamic"),
            Vec::new(),
        ),
        context_placement: lookup.one(
            lookup.find_in("context.placement", &context, "placement"),
            Default::default(),
        ),
        context_inherit: lookup.one(
            lookup.find_in("context.inherit", &context, "inherit"),
            Vec::new(),
        ),
        additional_system_prompt: lookup.optional(lookup.find("additionalSystemPrompt")),
        user_timezone: timezone(loaded, &lookup),
        time_format: lookup.one(lookup.find("timeFormat"), Default::default()),
        owner_allow_from: lookup
            .one(lookup.shared(&commands, "ownerAllowFrom"), Vec::new())
            .map(|ids: Vec<IdText>| {
                ids.into_iter()
                    .map(|id| id.0.trim().to_owned())
                    .filter(|id| !id.is_empty())
                    .collect()
            }),
        owner_display: lookup.one(lookup.shared(&commands, "ownerDisplay"), Default::default()),
        owner_display_secret: lookup.optional(lookup.shared(&commands, "ownerDisplaySecret")),
        heartbeat,
        subagents: lookup.merged(lookup.find("subagents")),
        delegation_mode: lookup.optional(lookup.find("subagents.delegationMode")),
        group_chat: lookup.merged(lookup.find_in("groupChat", &messages, "groupChat")),
        silent_reply: lookup.optional(lookup.find("silentReply")),
        human_delay: lookup.merged(lookup.find("humanDelay")),
        typing_mode: lookup.optional(lookup.find("typingMode")),
        tts: lookup.merged(lookup.find_in("tts", &messages, "tts")),
        reactions: reactions(loaded, &lookup),
        global_tools: lookup.merged(lookup.shared(&top, "tools")),
        tools: lookup.merged(own(&lookup, "tools")),
        elevated: lookup.merged(lookup.find_in("tools.elevated", &tools, "elevated")),
        elevated_default: lookup.one(lookup.find("elevatedDefault"), Default::default()),
        sandbox: lookup.merged(lookup.find("sandbox")),
        guard_policy: lookup.one(
            lookup.find_in("guard.policy", &guard, "policy"),
            Default::default(),
        ),
        guard_egress: lookup.one(lookup.find_in("guard.egress", &guard, "egress"), Vec::new()),
        guard_confirm: lookup.one(
            lookup.find_in("guard.confirm", &guard, "confirm"),
            Vec::new(),
        ),
        limits: lookup.merged(lookup.find_in("limits", &top, "limits")),
        runtime: lookup.optional(own(&lookup, "runtime")),
        lookup: lookup.clone(),
        entries: OnceLock::new(),
    }
}

/// A key that only agents have.
fn own<'l>(lookup: &'l ValueLookup, key: &str) -> FoundLayers<'l> {
    FoundLayers {
        shared: None,
        ..lookup.find(key)
    }
}

fn is_default(loaded: &Loaded, lookup: &ValueLookup, id: &AgentId) -> ResolvedValue<bool> {
    let marked: ResolvedValue<Option<bool>> = lookup.optional(own(lookup, "default"));
    let value = loaded.default_agent() == *id;
    let from = if marked.value == Some(true) && value {
        marked.from
    } else if value && loaded.config.agents.list.len() > 1 {
        ValueProvenance::Derived {
            why: "the first agent of the list".to_owned(),
        }
    } else if value {
        ValueProvenance::Derived {
            why: "the only agent".to_owned(),
        }
    } else {
        ValueProvenance::Derived {
            why: format!("the default is `{}`", loaded.default_agent()),
        }
    };
    ResolvedValue { value, from }
}

/// Aliases of models: those for all agents, then the agent's own, which win.
fn aliases(lookup: &ValueLookup) -> ResolvedValue<Vec<ModelAlias>> {
    let found = lookup.find("models");
    let mut list: Vec<ModelAlias> = Vec::new();
    let mut from = ValueProvenance::Default;
    for (node, path) in [found.shared, found.own].into_iter().flatten() {
        for member in node.members() {
            let alias = member
                .value
                .get("alias")
                .and_then(ConfigNode::as_str)
                .map(str::trim);
            let Some(alias) = alias.filter(|alias| !alias.is_empty()) else {
                continue;
            };
            list.retain(|known| known.alias != alias && known.model != member.key);
            list.push(ModelAlias {
                alias: alias.to_owned(),
                model: member.key.clone(),
            });
            from = lookup.from(node, path.clone());
        }
    }
    ResolvedValue { value: list, from }
}

/// Parameters: for all, then the model's, then the agent's own; later ones win by key.
fn params(lookup: &ValueLookup, model: Option<&str>) -> ResolvedValue<OpenMap> {
    let mut merged = OpenMap::new();
    let mut from = ValueProvenance::Default;
    let all = lookup.find("params");
    let models = lookup.find("models");
    let of_model = |found: Option<(&ConfigNode, KeyPath)>| -> Option<(ConfigNode, KeyPath)> {
        let (node, path) = found?;
        let entry = node.get(model?)?.get("params")?;
        Some((entry.clone(), path.key(model?).key("params")))
    };
    let layers = [
        all.shared.map(|(node, path)| (node.clone(), path)),
        of_model(models.shared),
        of_model(models.own),
        all.own.map(|(node, path)| (node.clone(), path)),
    ];
    for (node, path) in layers.into_iter().flatten() {
        if let serde_json::Value::Object(map) = node.to_json()
            && !map.is_empty()
        {
            overlay_json(&mut merged, &map);
            from = lookup.from(&node, path);
        }
    }
    ResolvedValue {
        value: merged,
        from,
    }
}

/// The agent's limits over those for all agents over those for all skills.
fn skills_limits(lookup: &ValueLookup) -> ResolvedValue<crate::model::SkillsLimits> {
    let skills = KeyPath::root().key("skills");
    let global = lookup.shared(&skills, "limits").shared;
    let found = lookup.find("skillsLimits");
    let mut merged: Option<(ConfigNode, ValueProvenance)> = None;
    for (node, path) in [global, found.shared, found.own].into_iter().flatten() {
        let from = lookup.from(node, path);
        merged = Some(match merged {
            Some((mut under, _)) => {
                super::lookup::overlay(&mut under, node);
                (under, from)
            }
            None => (node.clone(), from),
        });
    }
    match merged {
        Some((node, from)) => ResolvedValue {
            value: node.read().unwrap_or_default(),
            from,
        },
        None => ResolvedValue {
            value: Default::default(),
            from: ValueProvenance::Default,
        },
    }
}

fn timezone(loaded: &Loaded, lookup: &ValueLookup) -> ResolvedValue<Option<String>> {
    let set: ResolvedValue<Option<String>> = lookup.optional(lookup.find("userTimezone"));
    match (&set.value, &loaded.host.facts.time_zone) {
        (Some(zone), _) if !zone.trim().is_empty() => set,
        (_, Some(zone)) => ResolvedValue {
            value: Some(zone.clone()),
            from: ValueProvenance::Derived {
                why: "the machine's time zone".to_owned(),
            },
        },
        _ => ResolvedValue {
            value: None,
            from: ValueProvenance::Default,
        },
    }
}

fn reactions(
    loaded: &Loaded,
    lookup: &ValueLookup,
) -> ResolvedValue<Vec<(String, crate::model::ReactionLevel)>> {
    let mut levels = Vec::new();
    let mut from = ValueProvenance::Default;
    for (name, channel) in &loaded.config.channels.by_name {
        if let Some(level) = channel.reaction_level {
            let path = KeyPath::root()
                .key("channels")
                .key(name)
                .key("reactionLevel");
            if let Some(node) = loaded.tree.at_path(&path) {
                from = lookup.from(node, path);
            }
            levels.push((name.clone(), level));
        }
    }
    ResolvedValue {
        value: levels,
        from,
    }
}
