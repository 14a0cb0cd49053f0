//! The steps of a policy, from the config.

use std::collections::BTreeMap;

use chela_config::model::{
    Exec, ExecMode, ExecSecurity, ProviderTools, ToolPolicy, ToolProfile, Tools,
};
use chela_config::{
    ConfigDiagnostic, ConfigSource, DefaultsReason, LoadedConfig, PathSegment, Severity,
};

use super::names::{CODING, MESSAGING, MINIMAL};
use super::{PolicyAsk, PolicyRule, PolicyStep, SandboxChoice, ToolNames, sender};

/// Tools that reach what is the owner's: files, commands, jobs, servers, and agents that have those.
const NEVER_FOR_STRANGERS: [&str; 10] = [
    "group:fs",
    "group:runtime",
    "group:ui",
    "group:nodes",
    "image",
    "view_image",
    "cron",
    "gateway",
    "sessions_spawn",
    "bundle-mcp",
];
/// Tools a sub-agent never has.
const NEVER_FOR_SUBAGENTS: [&str; 7] = [
    "gateway",
    "agents_list",
    "session_status",
    "cron",
    "message",
    "sessions_send",
    "conversations_*",
];
/// Tools a sub-agent that may start no others does not have either.
const NEVER_FOR_LEAVES: [&str; 4] = [
    "subagents",
    "sessions_list",
    "sessions_history",
    "sessions_spawn",
];
/// Deeper sub-agents start none, whatever the config says.
const DEEPEST_SPAWNER: usize = 1;

/// Why no agent has tools, for the owner in a line: a limit was written that could not be
/// understood.
pub fn tools_closed(loaded: &LoadedConfig) -> Option<String> {
    let why = broken_limit(loaded)?;
    Some(match why {
        BrokenLimit::WholeConfig => {
            "no agent has tools until the config file can be used: what it limits is unknown"
                .to_owned()
        }
        BrokenLimit::Key(finding) => format!(
            "no agent has tools until {} is fixed: it limits them and cannot be used",
            finding.path
        ),
    })
}

/// The same for a tool that is asked for.
pub(super) fn broken(loaded: &LoadedConfig) -> Option<String> {
    Some(match broken_limit(loaded)? {
        BrokenLimit::WholeConfig => {
            "the config file cannot be used, so what it limits is unknown; run `chela config validate`"
                .to_owned()
        }
        BrokenLimit::Key(finding) => format!(
            "{} limits tools and cannot be used, so no tools are available until it is fixed: {}",
            finding.path, finding.message
        ),
    })
}

/// A limit that could not be understood.
enum BrokenLimit<'c> {
    WholeConfig,
    Key(&'c ConfigDiagnostic),
}

fn broken_limit(loaded: &LoadedConfig) -> Option<BrokenLimit<'_>> {
    if loaded.source == ConfigSource::Defaults(DefaultsReason::Unusable) {
        return Some(BrokenLimit::WholeConfig);
    }
    let finding = loaded.diagnostics.iter().find(|finding| {
        let has = |word: &str| {
            finding
                .path
                .segments()
                .iter()
                .any(|segment| matches!(segment, PathSegment::Key(key) if key == word))
        };
        let about_tools = has("tools") || has("sandbox") || has("guard");
        let profile = has("profile") && finding.severity >= Severity::Warning;
        about_tools && (finding.severity == Severity::Error || profile)
    });
    finding.map(BrokenLimit::Key)
}

pub(super) fn steps(ask: &PolicyAsk<'_>) -> Vec<PolicyStep> {
    let mut steps = Steps(Vec::new());
    let global = &ask.loaded.config.tools;
    let own = &ask.view.tools.value;
    let own_key = format!("agents.{}.tools", ask.view.id.as_str());
    let global_provider = by_provider(&global.by_provider, ask);
    let own_provider = by_provider(&own.by_provider, ask);

    let profile = own.profile.or(global.profile);
    let also = own.also_allow.as_ref().or(global.also_allow.as_ref());
    let from = match own.profile {
        Some(_) => format!("{own_key}.profile"),
        None => "tools.profile".to_owned(),
    };
    steps.profile(&from, profile, also);

    let chosen = own_provider
        .filter(|(_, tools)| tools.profile.is_some())
        .map(|found| (own_key.as_str(), found))
        .or(global_provider.map(|found| ("tools", found)));
    if let Some((scope, (key, tools))) = chosen {
        let from = format!("{scope}.byProvider.{key}.profile");
        steps.profile(&from, tools.profile, tools.also_allow.as_ref());
    }

    steps.lists(
        "tools",
        global.allow.as_ref(),
        global.also_allow.as_ref(),
        &global.deny,
    );
    steps.provider("tools", global_provider);
    steps.lists(
        &own_key,
        own.allow.as_ref(),
        own.also_allow.as_ref(),
        &own.deny,
    );
    steps.provider(&own_key, own_provider);

    let sender = sender::policy_for(&own.tools_by_sender, ask.sender)
        .map(|found| (own_key.as_str(), found))
        .or_else(|| {
            sender::policy_for(&global.tools_by_sender, ask.sender).map(|found| ("tools", found))
        });
    match sender {
        Some((scope, (key, policy))) => {
            steps.policy(&format!("{scope}.toolsBySender.{key}"), policy);
        }
        None if is_stranger(ask) => steps.never(
            "someone who is not the owner speaks; tools.toolsBySender lets them use it",
            ToolNames::new(NEVER_FOR_STRANGERS),
        ),
        None => {}
    }
    steps.switches(ask, global);
    if ask.sandboxed == SandboxChoice::Yes {
        steps.policy("tools.sandbox.tools", &global.sandbox.tools);
        if let Some(sandbox) = &own.sandbox {
            steps.policy(&format!("{own_key}.sandbox.tools"), &sandbox.tools);
        }
    }
    if ask.session.is_subagent() {
        steps.subagent(ask);
        steps.policy("tools.subagents.tools", &global.subagents.tools);
        if let Some(subagents) = &own.subagents {
            steps.policy(&format!("{own_key}.subagents.tools"), &subagents.tools);
        }
    }
    steps.0
}

/// Whether somebody speaks who is not the owner: what the agent finds out, they are told.
fn is_stranger(ask: &PolicyAsk<'_>) -> bool {
    let owners = &ask.view.owner_allow_from.value;
    ask.sender.is_some_and(|sender| !sender.is_one_of(owners))
}

/// The set for `provider/model`, else for the provider.
fn by_provider<'p>(
    map: &'p BTreeMap<String, ProviderTools>,
    ask: &PolicyAsk<'_>,
) -> Option<(&'p str, &'p ProviderTools)> {
    let provider = ask.provider?;
    let full = ask.model.map(|model| format!("{provider}/{model}"));
    full.as_deref()
        .into_iter()
        .chain([provider])
        .find_map(|wanted| {
            map.iter()
                .find(|(key, _)| key.trim().eq_ignore_ascii_case(wanted))
                .map(|(key, tools)| (key.as_str(), tools))
        })
}

struct Steps(Vec<PolicyStep>);

impl Steps {
    fn only(&mut self, from: impl Into<String>, names: ToolNames) {
        self.0.push(PolicyStep {
            from: from.into(),
            rule: PolicyRule::Only(names),
        });
    }

    fn never(&mut self, from: impl Into<String>, names: ToolNames) {
        self.0.push(PolicyStep {
            from: from.into(),
            rule: PolicyRule::Never(names),
        });
    }

    fn profile(&mut self, from: &str, profile: Option<ToolProfile>, also: Option<&Vec<String>>) {
        let Some(profile) = profile else { return };
        let names: &[&str] = match profile {
            ToolProfile::Full => return,
            ToolProfile::Coding => &CODING,
            ToolProfile::Messaging => &MESSAGING,
            ToolProfile::Minimal => &MINIMAL,
        };
        let also = also.into_iter().flatten().map(String::as_str);
        let names = ToolNames::new(names.iter().copied().chain(also));
        self.only(format!("{from}: {}", profile.as_str()), names);
    }

    fn lists(
        &mut self,
        scope: &str,
        allow: Option<&Vec<String>>,
        also: Option<&Vec<String>>,
        deny: &[String],
    ) {
        if let Some(allow) = allow {
            let names = ToolNames::new(allow.iter().chain(also.into_iter().flatten()));
            self.only(format!("{scope}.allow"), names);
        }
        if !deny.is_empty() {
            self.never(format!("{scope}.deny"), ToolNames::new(deny));
        }
    }

    fn policy(&mut self, scope: &str, policy: &ToolPolicy) {
        let (allow, also) = (policy.allow.as_ref(), policy.also_allow.as_ref());
        self.lists(scope, allow, also, &policy.deny);
    }

    fn provider(&mut self, scope: &str, found: Option<(&str, &ProviderTools)>) {
        if let Some((key, tools)) = found {
            let scope = format!("{scope}.byProvider.{key}");
            let (allow, also) = (tools.allow.as_ref(), tools.also_allow.as_ref());
            self.lists(&scope, allow, also, &tools.deny);
        }
    }

    /// Keys that switch one tool off.
    fn switches(&mut self, ask: &PolicyAsk<'_>, global: &Tools) {
        let own = ask.view.tools.value.exec.as_ref();
        let exec = own.unwrap_or(&global.exec);
        let decides = own
            .filter(|exec| exec.mode.is_some() || exec.security.is_some())
            .unwrap_or(&global.exec);
        let off = |on: bool, from: &str, tools: &[&str]| match on {
            true => None,
            false => Some((from.to_owned(), ToolNames::new(tools))),
        };
        let memory = ask.view.memory_search.value.enabled;
        let all = [
            off(
                global.update_plan,
                "tools.updatePlan is off",
                &["update_plan"],
            ),
            off(
                global.exec.apply_patch.enabled && exec.apply_patch.enabled,
                "tools.exec.applyPatch.enabled is off",
                &["apply_patch"],
            ),
            off(
                patches(&exec.apply_patch.allow_models, ask),
                "tools.exec.applyPatch.allowModels does not name this model",
                &["apply_patch"],
            ),
            off(
                !denied(decides),
                "tools.exec.mode is `deny`",
                &["exec", "process", "code_execution"],
            ),
            off(
                global.web.fetch.enabled != Some(false),
                "tools.web.fetch.enabled is off",
                &["web_fetch"],
            ),
            off(
                global.web.search.enabled != Some(false),
                "tools.web.search.enabled is off",
                &["web_search"],
            ),
            off(
                memory,
                "memory.search.enabled is off",
                &["memory_search", "memory_get"],
            ),
        ];
        for (from, names) in all.into_iter().flatten() {
            self.never(from, names);
        }
    }

    fn subagent(&mut self, ask: &PolicyAsk<'_>) {
        let depth = ask.session.subagent_depth();
        let deepest = ask.view.subagents.value.max_spawn_depth as usize;
        self.never(
            "sub-agents do not have it",
            ToolNames::new(NEVER_FOR_SUBAGENTS),
        );
        if depth >= deepest {
            let from = "sub-agents that start no others do not have it";
            self.never(from, ToolNames::new(NEVER_FOR_LEAVES));
        }
        if depth > DEEPEST_SPAWNER {
            let from = "sub-agents of sub-agents start no others";
            self.never(from, ToolNames::new(["sessions_spawn"]));
        }
    }
}

fn denied(exec: &Exec) -> bool {
    match exec.mode {
        Some(mode) => mode == ExecMode::Deny,
        None => exec.security == Some(ExecSecurity::Deny),
    }
}

/// Whether the patch tool is for this model.
fn patches(allowed: &[String], ask: &PolicyAsk<'_>) -> bool {
    let Some(model) = ask.model else { return true };
    let full = ask.provider.map(|provider| format!("{provider}/{model}"));
    allowed.is_empty()
        || allowed.iter().any(|allowed| {
            let allowed = allowed.trim();
            allowed.eq_ignore_ascii_case(model)
                || full
                    .as_deref()
                    .is_some_and(|full| allowed.eq_ignore_ascii_case(full))
        })
}
