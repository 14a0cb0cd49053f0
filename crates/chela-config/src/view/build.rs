//! One agent's view: a table of where each value is looked for, and the values that follow rules
//! of their own.

use std::path::PathBuf;
use std::sync::OnceLock;

use chela_core::AgentId;

use super::heartbeat::{self, HeartbeatView};
use super::lookup::{ValueLookup, overlay};
use super::workspace::{agent_dir, entry_path, from_config, workspace_dir};
use super::{ModelAlias, ResolvedValue, ValueProvenance, ViewEntry, entries};
use crate::key_path::KeyPath;
use crate::load::LoadedConfig;
use crate::model::{
    AgentDefaults, AgentRuntime, AgentTools, Citations, Compaction, ContextInjection,
    ContextLimits, ContextPruning, DelegationMode, Elevated, ElevatedLevel, GuardEffect,
    GuardPolicy, IdText, Identity, LimitSet, MemorySearch, ModelChoice, ModelPolicy, OpenMap,
    OwnerDisplay, Placement, ReactionLevel, ReasoningVisibility, Sandbox, SecretSetting,
    SilentReply, SkillsLimits, StartupContext, Subagents, ThinkingLevel, TimeFormat, ToolPolicy,
    TruncationWarning, Tts, VerboseLevel,
};
use crate::node::{ConfigNode, NodeKind};

/// The fields of a view and how each is found, side by side.
macro_rules! agent_view {
    (|$loaded:ident, $id:ident, $lookup:ident|
        $($(#[doc = $doc:literal])* $field:ident: $type:ty = $found:expr;)*
    ) => {
        /// One agent as the config has it.
        #[derive(Debug, Clone)]
        pub struct AgentView {
            pub id: AgentId,
            $($(#[doc = $doc])* pub $field: ResolvedValue<$type>,)*
            lookup: ValueLookup,
            entries: OnceLock<Vec<ViewEntry>>,
        }

        impl AgentView {
            pub(super) fn of($loaded: &LoadedConfig, $id: &AgentId) -> Self {
                let $lookup = &ValueLookup::new($loaded, entry_path($loaded, $id));
                Self {
                    id: $id.clone(),
                    $($field: $found,)*
                    lookup: $lookup.clone(),
                    entries: OnceLock::new(),
                }
            }
        }
    };
}

agent_view! { |loaded, id, lookup|
    /// Answers what no binding claims.
    is_default: bool = is_default(loaded, lookup, id);
    name: Option<String> = lookup.own("name").or_default();
    description: Option<String> = lookup.own("description").or_default();
    identity: Identity = lookup.own("identity").merged();

    workspace: PathBuf = workspace_dir(loaded, id);
    agent_dir: PathBuf = agent_dir(loaded, id);
    repo_root: Option<PathBuf> = lookup
        .find("repoRoot")
        .or_default()
        .map(|root: Option<String>| root.map(|root| from_config(loaded, &root)));

    model: Option<ModelChoice> = lookup.find("model").or_default();
    model_policy: ModelPolicy = lookup.find("modelPolicy").or_default();
    /// Alias and model, in the order of the file.
    model_aliases: Vec<ModelAlias> = aliases(lookup);
    /// Request parameters: defaults, then the model's, then the agent's own.
    params: OpenMap = params(lookup);
    thinking: Option<ThinkingLevel> = lookup.find("thinkingDefault").or_default();
    reasoning: ReasoningVisibility = lookup.find("reasoningDefault").or_default();
    verbose: VerboseLevel = lookup.find("verboseDefault").or_default();
    context_tokens: Option<u64> = lookup.find("contextTokens").or_default();
    timeout_seconds: u64 = lookup.find("timeoutSeconds").or(AgentDefaults::default().timeout_seconds);
    /// Most model calls of one turn.
    max_steps: u64 = lookup.find("maxSteps").or(AgentDefaults::default().max_steps);

    /// Names of the skills the agent may see; `None`: all.
    skills: Option<Vec<String>> = lookup.find("skills").or_default();
    skills_limits: SkillsLimits = skills_limits(lookup);
    memory_search: MemorySearch = lookup.find("memorySearch").merged();
    citations: Citations = lookup.top("memory.citations").or_default();

    skip_bootstrap: bool = lookup.find("skipBootstrap").or(AgentDefaults::default().skip_bootstrap);
    skip_optional_bootstrap_files: Vec<String> =
        lookup.find("skipOptionalBootstrapFiles").or_default();
    context_injection: ContextInjection = lookup.find("contextInjection").or_default();
    bootstrap_max_chars: u64 =
        lookup.find("bootstrapMaxChars").or(AgentDefaults::default().bootstrap_max_chars);
    bootstrap_total_max_chars: u64 =
        lookup.find("bootstrapTotalMaxChars").or(AgentDefaults::default().bootstrap_total_max_chars);
    bootstrap_max_tokens: Option<u64> = lookup.find("bootstrapMaxTokens").or_default();
    bootstrap_total_max_tokens: Option<u64> = lookup.find("bootstrapTotalMaxTokens").or_default();
    truncation_warning: TruncationWarning =
        lookup.find("bootstrapPromptTruncationWarning").or_default();
    context_limits: ContextLimits = lookup.find("contextLimits").merged();
    startup_context: StartupContext = lookup.find("startupContext").merged();
    context_pruning: ContextPruning = lookup.find("contextPruning").merged();
    compaction: Compaction = lookup.find("compaction").merged();
    /// Headings that survive every cut.
    context_pin: Vec<String> = lookup.find_or_top("context.pin", "context.pin").or_default();
    /// Files that change often.
    context_dynamic: Vec<String> =
        lookup.find_or_top("context.dynamic", "context.dynamic").or_default();
    /// Files that started agents get as well.
    context_inherit: Vec<String> =
        lookup.find_or_top("context.inherit", "context.inherit").or_default();
    /// Where the volatile part of the prompt goes.
    context_placement: Placement =
        lookup.find_or_top("context.placement", "context.placement").or_default();
    additional_system_prompt: Option<String> = lookup.find("additionalSystemPrompt").or_default();

    user_timezone: Option<String> = timezone(loaded, lookup);

    time_format: TimeFormat = lookup.find("timeFormat").or_default();
    owner_allow_from: Vec<String> = lookup.top("commands.ownerAllowFrom").or_default().map(filled);
    owner_display: OwnerDisplay = lookup.top("commands.ownerDisplay").or_default();
    owner_display_secret: Option<SecretSetting> = lookup.top("commands.ownerDisplaySecret").or_default();

    heartbeat: HeartbeatView = heartbeat::resolve(loaded, lookup, id);
    subagents: Subagents = lookup.find("subagents").merged();
    /// `None`: `suggest`.
    delegation_mode: Option<DelegationMode> = lookup.find("subagents.delegationMode").or_default();
    silent_reply: Option<SilentReply> = lookup.find("silentReply").or_default();
    tts: Tts = lookup.find_or_top("tts", "messages.tts").merged();
    /// How often the agent reacts with emoji, by channel.
    reactions: Vec<(String, ReactionLevel)> = reactions(loaded, lookup);

    /// The tool policy of all agents, as written.
    global_tools: ToolPolicy = lookup.top("tools").merged();
    /// The tool policy of this agent, as written; it narrows the global one.
    tools: AgentTools = lookup.own("tools").merged();
    elevated: Elevated = lookup.find_or_top("tools.elevated", "tools.elevated").merged();
    elevated_default: ElevatedLevel = lookup.find("elevatedDefault").or_default();
    sandbox: Sandbox = lookup.find("sandbox").merged();
    guard_policy: GuardPolicy = lookup.find_or_top("guard.policy", "guard.policy").or_default();
    /// Hosts that may be reached without asking.
    guard_egress: Vec<String> = lookup.find_or_top("guard.egress", "guard.egress").or_default();
    /// Effects that are always asked about.
    guard_confirm: Vec<GuardEffect> =
        lookup.find_or_top("guard.confirm", "guard.confirm").or_default();
    limits: LimitSet = lookup.find_or_top("limits", "limits").merged();
    runtime: Option<AgentRuntime> = lookup.own("runtime").or_default();
}

impl AgentView {
    /// Every value of the view that is set or has a default, by key.
    pub fn entries(&self) -> &[ViewEntry] {
        self.entries
            .get_or_init(|| entries::entries(&self.lookup, self))
    }
}

fn filled(ids: Vec<IdText>) -> Vec<String> {
    ids.into_iter()
        .map(|id| id.0.trim().to_owned())
        .filter(|id| !id.is_empty())
        .collect()
}

fn is_default(loaded: &LoadedConfig, lookup: &ValueLookup, id: &AgentId) -> ResolvedValue<bool> {
    let marked: ResolvedValue<Option<bool>> = lookup.own("default").or_default();
    let default = loaded.default_agent();
    if default != *id {
        ResolvedValue::derived(false, format!("the default is `{default}`"))
    } else if marked.value == Some(true) {
        marked.map(|_| true)
    } else if loaded.config.agents.list.len() > 1 {
        ResolvedValue::derived(true, "the first agent of the list")
    } else {
        ResolvedValue::derived(true, "the only agent")
    }
}

/// Aliases of models: those for all agents, then the agent's own, which win.
fn aliases(lookup: &ValueLookup) -> ResolvedValue<Vec<ModelAlias>> {
    let found = lookup.find("models");
    let mut list: ResolvedValue<Vec<ModelAlias>> = ResolvedValue::by_default(Vec::new());
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
            list.value
                .retain(|known| known.alias != alias && known.model != member.key);
            list.value.push(ModelAlias {
                alias: alias.to_owned(),
                model: member.key.clone(),
            });
            list.from = lookup.from(node, path.clone());
        }
    }
    list
}

/// Parameters: for all, then the model's, then the agent's own; later ones win by key.
fn params(lookup: &ValueLookup) -> ResolvedValue<OpenMap> {
    let mut merged = ResolvedValue::by_default(OpenMap::new());
    let chosen: ResolvedValue<Option<ModelChoice>> = lookup.find("model").or_default();
    let model = chosen.value.as_ref().and_then(ModelChoice::primary);
    let (all, models) = (lookup.find("params"), lookup.find("models"));
    let of_model = |(node, path): (&'_ ConfigNode, KeyPath)| {
        let (node, model) = (node.get(model?)?.get("params")?.clone(), model?);
        Some((node, path.key(model).key("params")))
    };
    let whole = |(node, path): (&ConfigNode, KeyPath)| Some((node.clone(), path));
    let layers = [
        all.shared.and_then(whole),
        models.shared.and_then(of_model),
        models.own.and_then(of_model),
        all.own.and_then(whole),
    ];
    for (node, path) in layers.into_iter().flatten() {
        if let serde_json::Value::Object(map) = node.to_json()
            && !map.is_empty()
        {
            merged.value.extend(map);
            merged.from = lookup.from(&node, path);
        }
    }
    merged
}

/// The agent's limits over those for all agents over those for all skills.
fn skills_limits(lookup: &ValueLookup) -> ResolvedValue<SkillsLimits> {
    let global = lookup.top("skills.limits").shared;
    let found = lookup.find("skillsLimits");
    let mut merged = ConfigNode::new(NodeKind::Object(Vec::new()), Default::default());
    let mut from = ValueProvenance::Default;
    for (node, path) in [global, found.shared, found.own].into_iter().flatten() {
        overlay(&mut merged, node);
        from = lookup.from(node, path);
    }
    let value = merged.read().unwrap_or_default();
    ResolvedValue { value, from }
}

fn timezone(loaded: &LoadedConfig, lookup: &ValueLookup) -> ResolvedValue<Option<String>> {
    let set: ResolvedValue<Option<String>> = lookup.find("userTimezone").or_default();
    match (&set.value, &loaded.host.facts.time_zone) {
        (Some(zone), _) if !zone.trim().is_empty() => set,
        (_, Some(zone)) => ResolvedValue::derived(Some(zone.clone()), "the machine's time zone"),
        _ => ResolvedValue::by_default(None),
    }
}

fn reactions(
    loaded: &LoadedConfig,
    lookup: &ValueLookup,
) -> ResolvedValue<Vec<(String, ReactionLevel)>> {
    let mut levels = ResolvedValue::by_default(Vec::new());
    let channels = KeyPath::root().key("channels");
    for (name, channel) in &loaded.config.channels.by_name {
        if let Some(level) = channel.reaction_level {
            let path = channels.key(name).key("reactionLevel");
            if let Some(node) = loaded.tree.at_path(&path) {
                levels.from = lookup.from(node, path);
            }
            levels.value.push((name.clone(), level));
        }
    }
    levels
}
