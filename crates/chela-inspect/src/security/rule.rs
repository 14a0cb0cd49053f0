//! Settings that are risky by themselves: a table, one row each.

use chela_config::{ConfigNode, KeyPath};

use super::{AuditInput, RiskFinding, RiskSeverity, SecurityRemedy};
use RiskSeverity::{Critical, Note, Warning};

/// When a value is risky.
#[derive(Debug, Clone, Copy)]
pub enum RiskyValue {
    Is(&'static str),
    True,
    False,
    /// A list with this entry, or an object with a list that has it.
    Has(&'static str),
    /// A list with one of these.
    HasOneOf(&'static [&'static str]),
    /// A text of fewer characters.
    Shorter(usize),
    /// A text that begins so and does not lead to this machine.
    Begins(&'static str),
    /// A text or a list with an entry that contains this.
    Contains(&'static str),
    /// Written out rather than named by a variable.
    WrittenOut,
    /// A list of folders, one of which others may write to or which is relative.
    OpenFolder,
}

/// Whether it can be taken out without asking what was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleMend {
    Unset,
    ByHand,
}

/// One risky setting.
#[derive(Debug, Clone, Copy)]
pub struct RiskRule {
    pub id: &'static str,
    pub severity: RiskSeverity,
    /// Where it stands: `*` is any key, `@` in front stands for all agents and each agent.
    pub key: &'static str,
    pub bad: RiskyValue,
    pub message: &'static str,
    pub fix: &'static str,
    pub mend: RuleMend,
}

const fn rule(
    id: &'static str,
    severity: RiskSeverity,
    key: &'static str,
    bad: RiskyValue,
    says: (&'static str, &'static str, RuleMend),
) -> RiskRule {
    RiskRule {
        id,
        severity,
        key,
        bad,
        message: says.0,
        fix: says.1,
        mend: says.2,
    }
}

use RuleMend::{ByHand, Unset};

/// Programs that run whatever they are given.
const INTERPRETERS: &[&str] = &[
    "bash", "sh", "zsh", "python", "python3", "node", "perl", "ruby", "php", "awk", "sed", "env",
    "xargs", "find", "tee",
];

/// The rules, in the order of the config.
#[rustfmt::skip]
pub const RULES: &[RiskRule] = &[
    rule("gateway.no-auth", Critical, "gateway.auth.mode", RiskyValue::Is("none"),
        ("anyone who reaches the gateway can give the agent instructions", "set gateway.auth.mode to token or password", Unset)),
    rule("gateway.short-token", Warning, "gateway.auth.token", RiskyValue::Shorter(20),
        ("the gateway token is short enough to guess", "use 32 random characters, from an \
            environment variable", ByHand)),
    rule("gateway.short-password", Warning, "gateway.auth.password", RiskyValue::Shorter(12),
        ("the gateway password is short", "use 12 characters or more, from an environment variable", ByHand)),
    rule("gateway.insecure-sign-in", Warning, "gateway.controlUi.allowInsecureAuth", RiskyValue::True,
        ("people may sign in to the web page without encryption", "remove it, and use TLS or a \
            tunnel", Unset)),
    rule("gateway.no-device-check", Critical, "gateway.controlUi.dangerouslyDisableDeviceAuth", RiskyValue::True,
        ("the web page does not ask for a paired device", "remove it", Unset)),
    rule("gateway.host-header", Warning, "gateway.controlUi.dangerouslyAllowHostHeaderOriginFallback", RiskyValue::True,
        ("the web page trusts the Host header, which any page can set", "remove it", Unset)),
    rule("gateway.any-origin", Warning, "gateway.controlUi.allowedOrigins", RiskyValue::Has("*"),
        ("any web page can reach the gateway from your browser", "list the origins", ByHand)),
    rule("gateway.any-proxy", Warning, "gateway.trustedProxies", RiskyValue::HasOneOf(&["*", "0.0.0.0/0", "::/0"]),
        ("anyone is trusted as a proxy that names the caller", "list the proxy's address", ByHand)),
    rule("gateway.plain-remote", Warning, "gateway.remote.url", RiskyValue::Begins("ws://"),
        ("the token goes to the remote gateway unencrypted", "use wss:// or a tunnel", ByHand)),
    rule("hooks.session-from-caller", Warning, "hooks.allowRequestSessionKey", RiskyValue::True,
        ("a webhook may choose its session", "remove it, or list allowedSessionKeyPrefixes", Unset)),
    rule("hooks.any-agent", Warning, "hooks.allowedAgentIds", RiskyValue::Has("*"),
        ("a webhook may choose any agent", "list the agents", ByHand)),
    rule("hooks.unmarked-text", Critical, "hooks.mappings.*.allowUnsafeExternalContent", RiskyValue::True,
        ("webhook content is read as if you had written it", "remove it", Unset)),
    rule("hooks.unmarked-mail", Critical, "hooks.gmail.allowUnsafeExternalContent", RiskyValue::True,
        ("emails are read as if you had written them", "remove it", Unset)),
    rule("hooks.short-token", Warning, "hooks.token", RiskyValue::Shorter(20),
        ("the webhook token is short enough to guess", "use 32 random characters, from \
            an environment variable", ByHand)),
    rule("channel.open-direct", Critical, "channels.*.dmPolicy", RiskyValue::Is("open"),
        ("anyone may message the agent", "set it to pairing or allowlist", Unset)),
    rule("channel.anybody", Critical, "channels.*.allowFrom", RiskyValue::Has("*"),
        ("the list of allowed people contains everyone", "list the people", ByHand)),
    rule("channel.open-groups", Warning, "channels.*.groupPolicy", RiskyValue::Is("open"),
        ("every group the account is in can give the agent instructions", "set it to allowlist", Unset)),
    rule("channel.open-groups-by-default", Warning, "channels.defaults.groupPolicy", RiskyValue::Is("open"),
        ("every group on every channel can give agents instructions", "set it to allowlist", Unset)),
    rule("channel.open-account", Critical, "channels.*.accounts.*.dmPolicy", RiskyValue::Is("open"),
        ("anyone may message this account of the agent", "set it to pairing or allowlist", Unset)),
    rule("commands.anybody", Critical, "commands.allowFrom", RiskyValue::Has("*"),
        ("everyone may use owner commands", "list yourself", ByHand)),
    rule("commands.anybody-owns", Critical, "commands.ownerAllowFrom", RiskyValue::Has("*"),
        ("everyone counts as the owner", "list yourself", ByHand)),
    rule("commands.shell", Warning, "commands.bash", RiskyValue::True,
        ("a chat message that starts with ! runs on this machine", "remove it", Unset)),
    rule("commands.config", Warning, "commands.config", RiskyValue::True,
        ("the config can be changed from a chat", "remove it and use `chela config`", Unset)),
    rule("commands.debug", Note, "commands.debug", RiskyValue::True,
        ("settings can be overridden from a chat", "remove it", Unset)),
    rule("owner.raw-ids", Warning, "commands.ownerDisplay", RiskyValue::Is("raw"),
        ("your phone numbers and ids are in every prompt", "remove it: they are hashed then", Unset)),
    rule("owner.weak-secret", Warning, "commands.ownerDisplaySecret", RiskyValue::Shorter(16),
        ("the secret behind hashed owner ids is easy to guess, and with it every id", "remove \
            it: a random one is created", Unset)),
    rule("secret.written-out", Warning, "models.providers.*.apiKey", RiskyValue::WrittenOut,
        ("an API key is in plain text in the config", "put it in ~/.chela/.env and write ${NAME}", ByHand)),
    rule("secret.written-out", Warning, "channels.*.botToken", RiskyValue::WrittenOut,
        ("a token is in plain text in the config", "put it in ~/.chela/.env and write ${NAME}", ByHand)),
    rule("secret.written-out", Warning, "gateway.auth.token", RiskyValue::WrittenOut,
        ("a token is in plain text in the config", "put it in ~/.chela/.env and write ${NAME}", ByHand)),
    rule("secret.to-any-host", Critical, "secrets.named.*.hosts", RiskyValue::HasOneOf(&["*", "*.*"]),
        ("a secret may be sent to any host", "list the hosts", ByHand)),
    rule("model.plain-http", Critical, "models.providers.*.baseUrl", RiskyValue::Begins("http://"),
        ("prompts and the key go to the model unencrypted", "use https://", ByHand)),
    rule("mcp.plain-http", Warning, "mcp.servers.*.url", RiskyValue::Begins("http://"),
        ("the connection to a tool server is unencrypted", "use https://", ByHand)),
    rule("mcp.unpinned", Warning, "mcp.servers.*.args", RiskyValue::Contains("@latest"),
        ("a tool server is downloaded at each start, in whatever version is published", "pin a \
            version", ByHand)),
    rule("tools.exec-full", Critical, "@tools.exec.mode", RiskyValue::Is("full"),
        ("every command runs without asking", "set it to ask or allowlist", ByHand)),
    rule("tools.exec-security-full", Critical, "@tools.exec.security", RiskyValue::Is("full"),
        ("every command runs without asking (older form of mode: full)", "use tools.exec.mode: ask", ByHand)),
    rule("tools.exec-unasked", Warning, "@tools.exec.askFallback", RiskyValue::Is("full"),
        ("commands run when nobody can be asked", "remove it", Unset)),
    rule("tools.state-open", Warning, "@tools.exec.protectState", RiskyValue::False,
        ("commands outside the sandbox can change Chela's own files: config, approvals, records",
            "remove it", Unset)),
    rule("tools.safe-interpreter", Critical, "@tools.exec.safeBins", RiskyValue::HasOneOf(INTERPRETERS),
        ("a program that can run anything needs no approval", "remove it from the list", ByHand)),
    rule("tools.safe-folder", Warning, "@tools.exec.safeBinTrustedDirs", RiskyValue::OpenFolder,
        ("programs in a folder others can write to count as safe", "list system folders only", ByHand)),
    rule("tools.path-folder", Warning, "@tools.exec.pathPrepend", RiskyValue::OpenFolder,
        ("programs are looked up first in a folder others can write to", "list only folders that \
            you alone can write to", ByHand)),
    rule("tools.files-everywhere", Warning, "@tools.fs.workspaceOnly", RiskyValue::False,
        ("file tools reach beyond the workspace", "remove it", Unset)),
    rule("tools.patches-everywhere", Warning, "@tools.exec.applyPatch.workspaceOnly", RiskyValue::False,
        ("patches reach beyond the workspace", "remove it", Unset)),
    rule("tools.private-addresses", Warning, "tools.web.fetch.ssrfPolicy.*", RiskyValue::True,
        ("pages may be fetched from this machine and the private network", "remove it, or list \
            single hosts", Unset)),
    rule("tools.all-sessions", Warning, "tools.sessions.visibility", RiskyValue::Is("all"),
        ("an agent can read the conversations of every other", "remove it", Unset)),
    rule("tools.any-agent", Warning, "tools.agentToAgent.allow", RiskyValue::Has("*"),
        ("any agent may message any other", "list the agents", ByHand)),
    rule("tools.no-loop-check", Note, "@tools.loopDetection.enabled", RiskyValue::False,
        ("an agent stuck in a loop is stopped late", "remove it", Unset)),
    rule("elevated.anybody", Critical, "@tools.elevated.allowFrom.*", RiskyValue::Has("*"),
        ("anyone may have commands run outside the sandbox", "list yourself", ByHand)),
    rule("elevated.default", Critical, "agents.defaults.elevatedDefault", RiskyValue::Is("full"),
        ("commands leave the sandbox without asking, from the first message on", "remove it; ask \
            for it when it is needed", Unset)),
    rule("elevated.default-on", Warning, "agents.defaults.elevatedDefault", RiskyValue::Is("on"),
        ("commands leave the sandbox from the first message on", "remove it; ask for it when it \
            is needed", Unset)),
    rule("sandbox.host-network", Critical, "@sandbox.docker.network", RiskyValue::Is("host"),
        ("the sandbox shares the network of this machine", "use none, and list egress hosts", Unset)),
    rule("sandbox.any-host", Warning, "@sandbox.egress", RiskyValue::Has("*"),
        ("the sandbox may reach any host", "list the hosts", ByHand)),
    rule("sandbox.docker-socket", Critical, "@sandbox.docker.binds", RiskyValue::Contains("docker.sock"),
        ("the sandbox contains a socket through which commands can escape", "remove the mount", ByHand)),
    rule("sandbox.outside-mount", Warning, "@sandbox.docker.dangerouslyAllowExternalBindSources", RiskyValue::True,
        ("folders from outside the workspace may be mounted into the sandbox", "remove it", Unset)),
    rule("sandbox.reserved-mount", Warning, "@sandbox.docker.dangerouslyAllowReservedContainerTargets", RiskyValue::True,
        ("mounts may cover folders the sandbox relies on", "remove it", Unset)),
    rule("sandbox.join", Warning, "@sandbox.docker.dangerouslyAllowContainerNamespaceJoin", RiskyValue::True,
        ("the sandbox may join the network of another container", "remove it", Unset)),
    rule("sandbox.no-seccomp", Warning, "@sandbox.docker.seccompProfile", RiskyValue::Is("unconfined"),
        ("the sandbox may use every system call", "remove it", Unset)),
    rule("subagents.any", Warning, "@subagents.allowAgents", RiskyValue::Has("*"),
        ("an agent may start any other, with that agent's permissions", "list the agents", ByHand)),
    rule("guard.open", Critical, "guard.policy", RiskyValue::Is("open"),
        ("untrusted content may steer what agents do", "set it to standard", Unset)),
    rule("guard.open-channel", Critical, "guard.byChannel.*", RiskyValue::Is("open"),
        ("text from this channel may steer what agents do", "set it to standard", Unset)),
    rule("guard.any-host", Warning, "guard.egress", RiskyValue::Has("*"),
        ("any host may be reached without asking", "list the hosts", ByHand)),
    rule("guard.no-detection", Warning, "guard.detection.enabled", RiskyValue::False,
        ("injected instructions are not detected", "remove it", Unset)),
    rule("guard.changes-allowed", Warning, "guard.trust.workspace", RiskyValue::Is("allow"),
        ("persona files changed by someone else are used without a warning", "remove it: warn is \
            the default", Unset)),
    rule("guard.foreign-allowed", Critical, "guard.trust.foreign", RiskyValue::Is("allow"),
        ("files from untrusted folders shape the agent without review", "remove it: quarantine \
            is the default", Unset)),
    rule("skills.changes-allowed", Warning, "skills.trust.onChange", RiskyValue::Is("allow"),
        ("changed skills are used without a warning", "remove it: warn is the default", Unset)),
    rule("skills.uploads", Warning, "skills.install.allowUploadedArchives", RiskyValue::True,
        ("skills may come from uploaded archives", "remove it", Unset)),
    rule("plugins.prompt", Warning, "plugins.entries.*.hooks.allowPromptInjection", RiskyValue::True,
        ("a plugin may write into the prompt", "remove it unless the plugin is yours", ByHand)),
    rule("plugins.conversation", Note, "plugins.entries.*.hooks.allowConversationAccess", RiskyValue::True,
        ("a plugin reads every conversation", "remove it unless the plugin is yours", ByHand)),
    rule("logging.unredacted", Warning, "logging.redactSensitive", RiskyValue::Is("off"),
        ("text that looks like a secret is shown on screen while tools run", "remove it", Unset)),
    rule("diagnostics.content", Warning, "diagnostics.otel.captureContent", RiskyValue::True,
        ("conversations are sent with the telemetry", "remove it", Unset)),
    rule("diagnostics.plain-http", Warning, "diagnostics.otel.endpoint", RiskyValue::Begins("http://"),
        ("telemetry is sent unencrypted", "use https://", ByHand)),
    rule("cron.plain-webhook", Warning, "cron.webhook", RiskyValue::Begins("http://"),
        ("job results are sent unencrypted", "use https://", ByHand)),
];

/// Every setting that breaks a rule.
pub(super) fn settings(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    let tree = &ground.loaded.tree;
    let written = &ground.loaded.written().root;
    let mut findings = Vec::new();
    for rule in RULES {
        for pattern in patterns(rule.key) {
            for (key, node) in places(tree, &pattern) {
                if !is_bad(ground, rule.bad, node) {
                    continue;
                }
                let finding = RiskFinding::new(rule.id, rule.severity, rule.message).fix(rule.fix);
                let finding = ground.at_key(finding, &key);
                // What was read under an older name is not where it could be taken out.
                let there = written.at_path(&key).is_some();
                findings.push(match rule.mend {
                    RuleMend::Unset if there => finding.remedy(SecurityRemedy::Unset(key)),
                    _ => finding,
                });
            }
        }
    }
    findings
}

fn patterns(key: &str) -> Vec<String> {
    match key.strip_prefix('@') {
        None => vec![key.to_owned()],
        Some(rest) => {
            let all = match rest.starts_with("tools.") {
                true => rest.to_owned(),
                false => format!("agents.defaults.{rest}"),
            };
            vec![
                all,
                format!("agents.list.*.{rest}"),
                format!("agents.entries.*.{rest}"),
            ]
        }
    }
}

/// Every value a pattern fits.
pub(super) fn places<'n>(tree: &'n ConfigNode, pattern: &str) -> Vec<(KeyPath, &'n ConfigNode)> {
    let mut found = vec![(KeyPath::root(), tree)];
    for word in pattern.split('.') {
        found = found
            .into_iter()
            .flat_map(|(path, node)| -> Vec<(KeyPath, &ConfigNode)> {
                if word != "*" {
                    let next = node.get(word);
                    return next
                        .map(|next| (path.key(word), next))
                        .into_iter()
                        .collect();
                }
                let members = node
                    .members()
                    .iter()
                    .map(|member| (path.key(&member.key), &member.value));
                let items = node.items().iter().enumerate();
                members
                    .chain(items.map(|(at, item)| (path.index(at), item)))
                    .collect()
            })
            .collect();
    }
    found
}

fn is_bad(ground: &AuditInput<'_>, bad: RiskyValue, node: &ConfigNode) -> bool {
    let value = node.to_json();
    let text = value.as_str();
    let texts = || {
        let items = value.as_array().into_iter().flatten();
        items
            .filter_map(|item| item.as_str().map(str::to_owned))
            .chain(text.map(str::to_owned))
            .collect::<Vec<_>>()
    };
    match bad {
        RiskyValue::Is(word) => text == Some(word),
        RiskyValue::True => value.as_bool() == Some(true),
        RiskyValue::False => value.as_bool() == Some(false),
        RiskyValue::Has(word) => {
            let inner = value.as_object().into_iter().flat_map(|map| map.values());
            let inner = inner.filter_map(|list| list.as_array()).flatten();
            let own = value.as_array().into_iter().flatten();
            own.chain(inner).any(|item| item.as_str() == Some(word))
        }
        RiskyValue::HasOneOf(words) => texts().iter().any(|item| words.contains(&item.as_str())),
        RiskyValue::Shorter(least) => {
            text.is_some_and(|text| !text.is_empty() && text.len() < least)
        }
        RiskyValue::Begins(start) => {
            text.is_some_and(|text| text.starts_with(start) && !is_here(text))
        }
        RiskyValue::Contains(part) => texts().iter().any(|item| item.contains(part)),
        RiskyValue::WrittenOut => {
            let named = !node.vars.is_empty();
            text.is_some_and(|text| !named && text.len() >= 8 && !is_variable_name(text))
        }
        RiskyValue::OpenFolder => texts().iter().any(|folder| {
            let relative = !folder.starts_with(['/', '~']);
            relative || super::file::others_may_write(&ground.host.expand(folder))
        }),
    }
}

/// `OPENAI_API_KEY` in place of a key means the variable.
fn is_variable_name(text: &str) -> bool {
    text.contains('_')
        && text
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Whether an address leads to this machine.
fn is_here(address: &str) -> bool {
    let host = address.split("://").nth(1).unwrap_or_default();
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    ["localhost", "127.", "[::1]", "0.0.0.0"]
        .iter()
        .any(|start| host.starts_with(start))
}
