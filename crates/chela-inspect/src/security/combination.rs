//! Settings that are harmless one by one and risky together, and agents that are weaker than the
//! rest in several ways at once.

use std::path::Path;

use chela_config::model::{
    DmPolicy, ElevatedLevel, Exec, ExecMode, ExecSecurity, GatewayAuthMode, GatewayBind,
    GroupPolicy, GuardPolicy, SandboxMode, SecretSetting,
};
use chela_config::{AgentView, KeyPath};
use chela_core::ok_or_warn;
use chela_sandbox::{is_known, keys_without_effect};
use chela_tools::approvals::ApprovalsDocument;

use super::{AuditInput, RiskFinding, RiskSeverity};
use RiskSeverity::{Critical, Warning};

/// Words in names of models that are made small.
const SMALL: [&str; 12] = [
    "mini", "nano", "haiku", "flash", "lite", "small", "tiny", "-1b", "-3b", "-4b", "-7b", "-8b",
];

pub(super) fn combinations(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    let views: Vec<AgentView> = ground
        .agents
        .iter()
        .filter_map(|agent| ground.loaded.agent(&agent.id))
        .collect();
    let mut findings = doors(ground);
    for view in &views {
        findings.extend(powers(ground, view));
        findings.extend(no_protection(ground, view));
    }
    findings.extend(beside_each_other(ground, &views));
    findings.extend(approvals(ground));
    findings
}

/// Where others come in.
fn doors(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    let config = &ground.loaded.config;
    let mut findings = Vec::new();
    let gateway = &config.gateway;
    let far = gateway.bind != GatewayBind::Loopback;
    let shown = gateway.auth.token.is_some() || gateway.auth.password.is_some();
    if far
        && (gateway.auth.mode == Some(GatewayAuthMode::None)
            || gateway.auth.mode.is_none() && !shown)
    {
        let finding = RiskFinding::new(
            "gateway.open",
            Critical,
            "the gateway listens beyond this machine without authentication",
        );
        let finding = finding.fix("set gateway.bind to loopback, or gateway.auth.mode to token");
        findings.push(ground.at_key(finding, &key("gateway.bind")));
    }
    let hooks = &config.hooks;
    if hooks.enabled && hooks.token.is_none() {
        let finding = RiskFinding::new(
            "hooks.no-token",
            Critical,
            "webhooks are accepted from anyone",
        );
        let finding = finding.fix("set hooks.token, from a variable");
        findings.push(ground.at_key(finding, &key("hooks.enabled")));
    }
    if let (Some(SecretSetting::Text(hook)), Some(SecretSetting::Text(own))) =
        (&hooks.token, &gateway.auth.token)
        && hook == own
    {
        let finding = RiskFinding::new(
            "hooks.gateway-token",
            Warning,
            "anyone who may send webhooks can do everything: the token is also the gateway's",
        );
        findings.push(ground.at_key(
            finding.fix("use a separate token for each"),
            &key("hooks.token"),
        ));
    }
    findings
}

/// Settings of a sandbox that look like protection and are none here.
fn no_protection(ground: &AuditInput<'_>, view: &AgentView) -> Vec<RiskFinding> {
    let sandbox = &view.sandbox.value;
    if sandbox.mode == SandboxMode::Off {
        return Vec::new();
    }
    let at = key("agents.defaults.sandbox");
    let keys = keys_without_effect(sandbox).into_iter().map(|why| {
        let finding = RiskFinding::new(
            "sandbox.no-effect",
            RiskSeverity::Note,
            format!("agent {}: {why}", view.id),
        );
        ground.at_key(finding.fix("remove the key"), &at)
    });
    let mut findings: Vec<RiskFinding> = keys.collect();
    if let Some(backend) = &sandbox.backend
        && !is_known(backend)
    {
        let finding = RiskFinding::new(
            "sandbox.backend",
            Warning,
            format!(
                "agent {} must be sandboxed by `{backend}`, which is not supported: its commands \
                    are refused",
                view.id
            ),
        );
        let finding = finding.fix("set sandbox.backend to bwrap or landlock, or remove it");
        findings.push(ground.at_key(finding, &at));
    }
    findings
}

/// What one agent may do, taken together.
fn powers(ground: &AuditInput<'_>, view: &AgentView) -> Vec<RiskFinding> {
    let config = &ground.loaded.config;
    let id = &view.id;
    let unasked = runs_unasked(ground, view);
    let boxed = view.sandbox.value.mode != SandboxMode::Off;
    let elevated = is_elevated(view);
    let mut found = Vec::new();
    let mut add = |name, severity, message: String, fix: &str, at: &str| {
        let finding = RiskFinding::new(name, severity, message).fix(fix);
        found.push(ground.at_key(finding, &key(at)));
    };
    if unasked && is_open(ground) {
        add(
            "together.strangers-run-commands",
            Critical,
            format!(
                "strangers can have agent {id} run any command: anyone may message it and \
                    commands do not ask"
            ),
            "close the channel (dmPolicy: pairing) or ask about commands (tools.exec.mode: ask)",
            "tools.exec",
        );
    }
    if unasked && !boxed {
        add(
            "together.unasked-unboxed",
            Critical,
            format!("agent {id} runs every command without asking and without a sandbox"),
            "set tools.exec.mode to ask, or sandbox.mode to non-main or all",
            "tools.exec",
        );
    }
    if unasked && view.heartbeat.value.every.is_some() {
        add(
            "together.unattended-commands",
            Warning,
            format!("agent {id} runs by itself on a timer and may run any command"),
            "set tools.exec.mode to ask or allowlist",
            "agents.defaults.heartbeat",
        );
    }
    if unasked && config.secrets.named.values().any(|secret| secret.exec) {
        add(
            "together.secrets-unasked",
            Warning,
            format!("agent {id} may put secrets into commands without asking"),
            "set tools.exec.mode to ask, or remove `exec` from the secret",
            "secrets.named",
        );
    }
    if view.guard_policy.value == GuardPolicy::Open && reaches_everything(ground) {
        add(
            "together.open-guard-any-host",
            Critical,
            format!("untrusted content can steer agent {id}, and it may send anything anywhere"),
            "set guard.policy to standard and name the hosts in guard.egress",
            "guard.policy",
        );
    }
    if elevated && !boxed {
        add(
            "together.elevated-unboxed",
            Critical,
            format!(
                "agent {id} starts elevated and has no sandbox to leave: nothing limits its \
                    commands"
            ),
            "remove elevatedDefault",
            "agents.defaults.elevatedDefault",
        );
    }
    let model = view.model.value.as_ref().and_then(|model| model.primary());
    if let Some(model) = model.filter(|model| is_small(model))
        && (unasked || elevated)
    {
        add(
            "together.small-model-powers",
            Warning,
            format!(
                "agent {id} may run commands without asking and uses {model}, which is easily \
                    manipulated"
            ),
            "give it a larger model or fewer permissions",
            "agents.defaults.model",
        );
    }
    let workspace = &view.workspace.value;
    if ground.host.state_dir().starts_with(workspace)
        && workspace != &ground.host.state_dir().join("workspace")
    {
        add(
            "together.workspace-holds-state",
            Critical,
            format!(
                "the workspace of agent {id} contains Chela's own files: {}",
                ground.host.compact(workspace)
            ),
            "choose a separate folder",
            "agents.defaults.workspace",
        );
    }
    found
}

/// Agents compared with each other.
fn beside_each_other(ground: &AuditInput<'_>, views: &[AgentView]) -> Vec<RiskFinding> {
    let mut findings = Vec::new();
    let default = ground.loaded.default_agent();
    let Some(main) = views.iter().find(|view| view.id == default) else {
        return findings;
    };
    let main_is_small = |view: &AgentView| {
        let model = view.model.value.as_ref().and_then(|model| model.primary());
        model.is_some_and(is_small)
    };
    for view in views.iter().filter(|view| view.id != default) {
        let mut weaker: Vec<&str> = Vec::new();
        if main_is_small(view) && !main_is_small(main) {
            weaker.push("a smaller model");
        }
        if !view.workspace.value.starts_with(ground.host.state_dir()) {
            weaker.push("a workspace elsewhere");
        }
        if is_elevated(view) && !is_elevated(main) {
            weaker.push("elevated from the start");
        }
        if runs_unasked(ground, view) && !runs_unasked(ground, main) {
            weaker.push("commands without asking");
        }
        if rank(view.guard_policy.value) < rank(main.guard_policy.value) {
            weaker.push("a laxer guard");
        }
        if view.sandbox.value.mode == SandboxMode::Off
            && main.sandbox.value.mode != SandboxMode::Off
        {
            weaker.push("no sandbox");
        }
        if weaker.len() >= 2 {
            let message = format!(
                "agent {} is riskier than {default} in {} ways: {}",
                view.id,
                weaker.len(),
                weaker.join(", ")
            );
            let finding = RiskFinding::new("together.weak-agent", Critical, message).fix(format!(
                "compare them: chela agents matrix; then undo what {} does not need",
                view.id
            ));
            findings.push(ground.at_key(finding, &key("agents.list")));
        }
    }
    for (at, one) in views.iter().enumerate() {
        for other in views.get(at + 1..).unwrap_or_default() {
            if shares(&one.workspace.value, &other.workspace.value) {
                let message = format!(
                    "agents {} and {} share a workspace: each can rewrite the other's files",
                    one.id, other.id
                );
                let finding = RiskFinding::new("together.shared-workspace", Warning, message)
                    .fix("give each its own folder");
                findings.push(ground.at_key(finding, &key("agents.list")));
            }
        }
        let may = one
            .subagents
            .value
            .allow_agents
            .as_deref()
            .unwrap_or_default();
        let raised = views.iter().find(|other| {
            let named = may
                .iter()
                .any(|name| name == other.id.as_str() || name == "*");
            named && runs_unasked(ground, other) && !runs_unasked(ground, one)
        });
        if let Some(other) = raised {
            let message = format!(
                "agent {} must ask before running commands but may start {}, which does not ask",
                one.id, other.id
            );
            let finding = RiskFinding::new("together.sub-agent-raises", Critical, message)
                .fix("remove it from subagents.allowAgents");
            findings.push(ground.at_key(finding, &key("agents.list")));
        }
    }
    findings
}

/// Remembered approvals that allow anything.
fn approvals(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    const ANYTHING: [&str; 12] = [
        "*", "**", "/**", "bash", "sh", "zsh", "python", "python3", "node", "perl", "env", "sudo",
    ];
    let path = ApprovalsDocument::path(ground.host);
    let document = ApprovalsDocument::load(&path);
    let Some(document) = ok_or_warn!(document, "approvals are not looked through") else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (agent, approvals) in &document.agents {
        for entry in &approvals.allowlist {
            let name = entry.pattern.rsplit('/').next().unwrap_or_default();
            let anything = ANYTHING.contains(&entry.pattern.as_str()) || ANYTHING.contains(&name);
            if anything && entry.arg_pattern.is_none() {
                let message = format!(
                    "`{}` runs without asking for agent {agent}, with any arguments: that allows \
                        everything",
                    entry.pattern
                );
                findings.push(
                    RiskFinding::new("approvals.anything", Critical, message)
                        .in_file(&path, None)
                        .fix("chela approvals list, then chela approvals revoke"),
                );
            }
        }
        if approvals.security == Some(ExecSecurity::Full) {
            findings.push(
                RiskFinding::new(
                    "approvals.full",
                    Critical,
                    format!("every command of agent {agent} runs without asking"),
                )
                .in_file(&path, None)
                .fix("remove `security: full`"),
            );
        }
    }
    findings
}

fn exec_of<'g>(ground: &'g AuditInput<'_>, view: &'g AgentView) -> &'g Exec {
    let own = view.tools.value.exec.as_ref();
    own.unwrap_or(&ground.loaded.config.tools.exec)
}

fn runs_unasked(ground: &AuditInput<'_>, view: &AgentView) -> bool {
    let exec = exec_of(ground, view);
    let full = match exec.mode {
        Some(mode) => mode == ExecMode::Full,
        None => exec.security == Some(ExecSecurity::Full),
    };
    let tools = &ground.loaded.config.tools;
    let denied = tools.deny.iter().chain(&view.tools.value.deny);
    full && !denied
        .into_iter()
        .any(|name| name == "exec" || name == "group:runtime")
}

fn is_elevated(view: &AgentView) -> bool {
    let level = view.elevated_default.value;
    let starts = matches!(level, ElevatedLevel::On | ElevatedLevel::Full)
        && view.elevated_default.from.is_set();
    starts && view.elevated.value.enabled != Some(false)
}

/// Whether strangers can write.
fn is_open(ground: &AuditInput<'_>) -> bool {
    let channels = &ground.loaded.config.channels;
    channels.by_name.values().any(|channel| {
        let anybody = channel.allow_from.iter().flatten().any(|id| id.0 == "*");
        let open = channel.dm_policy == Some(DmPolicy::Open)
            || channel.group_policy == Some(GroupPolicy::Open);
        channel.enabled != Some(false) && (open || anybody)
    })
}

fn reaches_everything(ground: &AuditInput<'_>) -> bool {
    ground
        .loaded
        .config
        .guard
        .egress
        .iter()
        .any(|host| host == "*")
}

fn rank(policy: GuardPolicy) -> u8 {
    match policy {
        GuardPolicy::Open => 0,
        GuardPolicy::Standard => 1,
        GuardPolicy::Strict => 2,
    }
}

fn is_small(model: &str) -> bool {
    let model = model.to_lowercase();
    SMALL.iter().any(|word| model.contains(word))
}

fn shares(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// A key of the table above; what does not parse is the whole file.
fn key(path: &str) -> KeyPath {
    KeyPath::parse(path).unwrap_or_else(|_| KeyPath::root())
}
