//! Settings that are risky by themselves: a table, one row each.

use chela_config::{ConfigNode, KeyPath};

use super::{AuditGround, Finding, Remedy, Severity};
use Severity::{Critical, Note, Warning};

/// When a value is risky.
#[derive(Debug, Clone, Copy)]
pub enum Bad {
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
pub enum Mend {
    Unset,
    ByHand,
}

/// One risky setting.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub id: &'static str,
    pub severity: Severity,
    /// Where it stands: `*` is any key, `@` in front stands for all agents and each agent.
    pub key: &'static str,
    pub bad: Bad,
    pub message: &'static str,
    pub fix: &'static str,
    pub mend: Mend,
}

const fn rule(
    id: &'static str,
    severity: Severity,
    key: &'static str,
    bad: Bad,
    says: (&'static str, &'static str, Mend),
) -> Rule {
    Rule {
        id,
        severity,
        key,
        bad,
        message: says.0,
        fix: says.1,
        mend: says.2,
    }
}

use Mend::{ByHand, Unset};

/// Programs that run whatever they are given.
const INTERPRETERS: &[&str] = &[
    "bash", "sh", "zsh", "python", "python3", "node", "perl", "ruby", "php", "awk", "sed", "env",
    "xargs", "find", "tee",
];

/// The rules, in the order of the config.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule("gateway.no-auth", Critical, "gateway.auth.mode", Bad::Is("none"),
        ("whoever reaches the gateway may give the agent orders", "set gateway.auth.mode to token or password", Unset)),
    rule("gateway.short-token", Warning, "gateway.auth.token", Bad::Shorter(20),
        ("the token of the gateway is short enough to be guessed", "use 32 random characters, from a variable", ByHand)),
    rule("gateway.short-password", Warning, "gateway.auth.password", Bad::Shorter(12),
        ("the password of the gateway is short", "use 12 characters or more, from a variable", ByHand)),
    rule("gateway.insecure-sign-in", Warning, "gateway.controlUi.allowInsecureAuth", Bad::True,
        ("people may sign in to the web page without encryption", "take it out, and use TLS or a tunnel", Unset)),
    rule("gateway.no-device-check", Critical, "gateway.controlUi.dangerouslyDisableDeviceAuth", Bad::True,
        ("the web page does not ask for a paired device", "take it out", Unset)),
    rule("gateway.host-header", Warning, "gateway.controlUi.dangerouslyAllowHostHeaderOriginFallback", Bad::True,
        ("the web page believes the Host header, which any page can set", "take it out", Unset)),
    rule("gateway.any-origin", Warning, "gateway.controlUi.allowedOrigins", Bad::Has("*"),
        ("any web page may speak to the gateway from the owner's browser", "name the addresses", ByHand)),
    rule("gateway.any-proxy", Warning, "gateway.trustedProxies", Bad::HasOneOf(&["*", "0.0.0.0/0", "::/0"]),
        ("anybody counts as a proxy whose word about the caller is believed", "name the proxy's address", ByHand)),
    rule("gateway.plain-remote", Warning, "gateway.remote.url", Bad::Begins("ws://"),
        ("the token goes to the remote gateway unencrypted", "use wss:// or a tunnel", ByHand)),
    rule("hooks.session-from-caller", Warning, "hooks.allowRequestSessionKey", Bad::True,
        ("a webhook may choose the session it speaks in", "take it out, or list allowedSessionKeyPrefixes", Unset)),
    rule("hooks.any-agent", Warning, "hooks.allowedAgentIds", Bad::Has("*"),
        ("a webhook may choose any agent", "name the agents", ByHand)),
    rule("hooks.unmarked-text", Critical, "hooks.mappings.*.allowUnsafeExternalContent", Bad::True,
        ("what a webhook brings is read as if the owner had said it", "take it out", Unset)),
    rule("hooks.unmarked-mail", Critical, "hooks.gmail.allowUnsafeExternalContent", Bad::True,
        ("mails are read as if the owner had written them", "take it out", Unset)),
    rule("hooks.short-token", Warning, "hooks.token", Bad::Shorter(20),
        ("the token of webhooks is short enough to be guessed", "use 32 random characters, from a variable", ByHand)),
    rule("channel.open-direct", Critical, "channels.*.dmPolicy", Bad::Is("open"),
        ("anybody may write to the agent", "set it to pairing or allowlist", Unset)),
    rule("channel.anybody", Critical, "channels.*.allowFrom", Bad::Has("*"),
        ("everybody is on the list of those who are let in", "name the people", ByHand)),
    rule("channel.open-groups", Warning, "channels.*.groupPolicy", Bad::Is("open"),
        ("every group the account is in can give the agent orders", "set it to allowlist", Unset)),
    rule("channel.open-groups-by-default", Warning, "channels.defaults.groupPolicy", Bad::Is("open"),
        ("every group of every channel can give agents orders", "set it to allowlist", Unset)),
    rule("channel.open-account", Critical, "channels.*.accounts.*.dmPolicy", Bad::Is("open"),
        ("anybody may write to this account of the agent", "set it to pairing or allowlist", Unset)),
    rule("commands.anybody", Critical, "commands.allowFrom", Bad::Has("*"),
        ("everybody may use the owner's commands", "name the owner", ByHand)),
    rule("commands.anybody-owns", Critical, "commands.ownerAllowFrom", Bad::Has("*"),
        ("everybody counts as the owner", "name the owner", ByHand)),
    rule("commands.shell", Warning, "commands.bash", Bad::True,
        ("a chat message that begins with ! runs on this machine", "take it out", Unset)),
    rule("commands.config", Warning, "commands.config", Bad::True,
        ("the config can be changed from a chat", "take it out and use `chela config`", Unset)),
    rule("commands.debug", Note, "commands.debug", Bad::True,
        ("settings can be overridden from a chat", "take it out", Unset)),
    rule("owner.raw-ids", Warning, "commands.ownerDisplay", Bad::Is("raw"),
        ("the owner's phone numbers and ids stand in every prompt", "take it out: they are hashed then", Unset)),
    rule("owner.weak-secret", Warning, "commands.ownerDisplaySecret", Bad::Shorter(16),
        ("the secret behind hashed owner ids can be guessed, and with it every id", "take it out: a random one is made", Unset)),
    rule("secret.written-out", Warning, "models.providers.*.apiKey", Bad::WrittenOut,
        ("a key is written out in the config", "put it into ~/.chela/.env and write ${NAME}", ByHand)),
    rule("secret.written-out", Warning, "channels.*.botToken", Bad::WrittenOut,
        ("a token is written out in the config", "put it into ~/.chela/.env and write ${NAME}", ByHand)),
    rule("secret.written-out", Warning, "gateway.auth.token", Bad::WrittenOut,
        ("a token is written out in the config", "put it into ~/.chela/.env and write ${NAME}", ByHand)),
    rule("secret.to-any-host", Critical, "secrets.named.*.hosts", Bad::HasOneOf(&["*", "*.*"]),
        ("a secret may be sent to any host", "name the hosts", ByHand)),
    rule("model.plain-http", Critical, "models.providers.*.baseUrl", Bad::Begins("http://"),
        ("prompts and the key go to the model unencrypted", "use https://", ByHand)),
    rule("mcp.plain-http", Warning, "mcp.servers.*.url", Bad::Begins("http://"),
        ("a tool server is spoken to unencrypted", "use https://", ByHand)),
    rule("mcp.unpinned", Warning, "mcp.servers.*.args", Bad::Contains("@latest"),
        ("a tool server is fetched anew at each start, whatever its maker put there", "name a version", ByHand)),
    rule("tools.exec-full", Critical, "@tools.exec.mode", Bad::Is("full"),
        ("every command runs without a question", "set it to ask or allowlist", ByHand)),
    rule("tools.exec-security-full", Critical, "@tools.exec.security", Bad::Is("full"),
        ("every command runs without a question (older form of mode: full)", "use tools.exec.mode: ask", ByHand)),
    rule("tools.exec-unasked", Warning, "@tools.exec.askFallback", Bad::Is("full"),
        ("commands run when nobody can be asked", "take it out", Unset)),
    rule("tools.safe-interpreter", Critical, "@tools.exec.safeBins", Bad::HasOneOf(INTERPRETERS),
        ("a program that runs whatever it is given needs no approval", "take it off the list", ByHand)),
    rule("tools.safe-folder", Warning, "@tools.exec.safeBinTrustedDirs", Bad::OpenFolder,
        ("programs count as safe in a folder others may write to", "list system folders only", ByHand)),
    rule("tools.path-folder", Warning, "@tools.exec.pathPrepend", Bad::OpenFolder,
        ("programs are taken first from a folder others may write to", "list folders only the owner can write to", ByHand)),
    rule("tools.files-everywhere", Warning, "@tools.fs.workspaceOnly", Bad::False,
        ("file tools reach beyond the workspace", "take it out", Unset)),
    rule("tools.patches-everywhere", Warning, "@tools.exec.applyPatch.workspaceOnly", Bad::False,
        ("patches reach beyond the workspace", "take it out", Unset)),
    rule("tools.private-addresses", Warning, "tools.web.fetch.ssrfPolicy.*", Bad::True,
        ("pages may be fetched from this machine and the private network", "take it out, or name single hosts", Unset)),
    rule("tools.all-sessions", Warning, "tools.sessions.visibility", Bad::Is("all"),
        ("an agent can read the conversations of every other", "take it out", Unset)),
    rule("tools.any-agent", Warning, "tools.agentToAgent.allow", Bad::Has("*"),
        ("any agent may write to any other", "name the agents", ByHand)),
    rule("tools.no-loop-check", Note, "@tools.loopDetection.enabled", Bad::False,
        ("an agent that repeats itself is stopped late", "take it out", Unset)),
    rule("elevated.anybody", Critical, "@tools.elevated.allowFrom.*", Bad::Has("*"),
        ("anybody may have commands run outside the sandbox", "name the owner", ByHand)),
    rule("elevated.default", Critical, "agents.defaults.elevatedDefault", Bad::Is("full"),
        ("commands leave the sandbox without a question, from the first message on", "take it out; ask for it when it is needed", Unset)),
    rule("elevated.default-on", Warning, "agents.defaults.elevatedDefault", Bad::Is("on"),
        ("commands leave the sandbox from the first message on", "take it out; ask for it when it is needed", Unset)),
    rule("sandbox.host-network", Critical, "@sandbox.docker.network", Bad::Is("host"),
        ("the sandbox shares the network of this machine", "use none, and list egress hosts", Unset)),
    rule("sandbox.any-host", Warning, "@sandbox.egress", Bad::Has("*"),
        ("the sandbox may reach any host", "name the hosts", ByHand)),
    rule("sandbox.docker-socket", Critical, "@sandbox.docker.binds", Bad::Contains("docker.sock"),
        ("the sandbox holds the socket with which it can leave itself", "take the mount out", ByHand)),
    rule("sandbox.outside-mount", Warning, "@sandbox.docker.dangerouslyAllowExternalBindSources", Bad::True,
        ("folders from outside the workspace may be mounted into the sandbox", "take it out", Unset)),
    rule("sandbox.reserved-mount", Warning, "@sandbox.docker.dangerouslyAllowReservedContainerTargets", Bad::True,
        ("mounts may cover what the sandbox rests on", "take it out", Unset)),
    rule("sandbox.join", Warning, "@sandbox.docker.dangerouslyAllowContainerNamespaceJoin", Bad::True,
        ("the sandbox may join the network of another container", "take it out", Unset)),
    rule("sandbox.no-seccomp", Warning, "@sandbox.docker.seccompProfile", Bad::Is("unconfined"),
        ("the sandbox may use every system call", "take it out", Unset)),
    rule("subagents.any", Warning, "@subagents.allowAgents", Bad::Has("*"),
        ("an agent may start any other, with that one's rights", "name the agents", ByHand)),
    rule("guard.open", Critical, "guard.policy", Bad::Is("open"),
        ("foreign text may steer what agents do", "set it to standard", Unset)),
    rule("guard.open-channel", Critical, "guard.byChannel.*", Bad::Is("open"),
        ("text of this channel may steer what agents do", "set it to standard", Unset)),
    rule("guard.any-host", Warning, "guard.egress", Bad::Has("*"),
        ("any host may be reached without asking", "name the hosts", ByHand)),
    rule("guard.no-detection", Warning, "guard.detection.enabled", Bad::False,
        ("nobody looks for injected instructions", "take it out", Unset)),
    rule("guard.changes-allowed", Warning, "guard.trust.workspace", Bad::Is("allow"),
        ("persona files that somebody else changed are used without a word", "take it out: warn is the default", Unset)),
    rule("guard.foreign-allowed", Critical, "guard.trust.foreign", Bad::Is("allow"),
        ("files of foreign folders shape the agent unseen", "take it out: quarantine is the default", Unset)),
    rule("skills.changes-allowed", Warning, "skills.trust.onChange", Bad::Is("allow"),
        ("skills that changed are used without a word", "take it out: warn is the default", Unset)),
    rule("skills.uploads", Warning, "skills.install.allowUploadedArchives", Bad::True,
        ("skills may come from uploaded archives", "take it out", Unset)),
    rule("plugins.prompt", Warning, "plugins.entries.*.hooks.allowPromptInjection", Bad::True,
        ("a plugin may write into the prompt", "take it out unless the plugin is yours", ByHand)),
    rule("plugins.conversation", Note, "plugins.entries.*.hooks.allowConversationAccess", Bad::True,
        ("a plugin reads every conversation", "take it out unless the plugin is yours", ByHand)),
    rule("logging.unredacted", Warning, "logging.redactSensitive", Bad::Is("off"),
        ("what looks like a secret is shown on the screen while tools run", "take it out", Unset)),
    rule("diagnostics.content", Warning, "diagnostics.otel.captureContent", Bad::True,
        ("conversations are sent with the telemetry", "take it out", Unset)),
    rule("diagnostics.plain-http", Warning, "diagnostics.otel.endpoint", Bad::Begins("http://"),
        ("telemetry is sent unencrypted", "use https://", ByHand)),
    rule("cron.plain-webhook", Warning, "cron.webhook", Bad::Begins("http://"),
        ("what jobs did is told to an address unencrypted", "use https://", ByHand)),
];

/// Every setting that breaks a rule.
pub(super) fn settings(ground: &AuditGround<'_>) -> Vec<Finding> {
    let tree = &ground.loaded.tree;
    let written = &ground.loaded.written().root;
    let mut findings = Vec::new();
    for rule in RULES {
        for pattern in patterns(rule.key) {
            for (key, node) in places(tree, &pattern) {
                if !is_bad(ground, rule.bad, node) {
                    continue;
                }
                let finding = Finding::new(rule.id, rule.severity, rule.message).fix(rule.fix);
                let finding = ground.at_key(finding, &key);
                // What was read under an older name is not where it could be taken out.
                let there = written.at_path(&key).is_some();
                findings.push(match rule.mend {
                    Mend::Unset if there => finding.remedy(Remedy::Unset(key)),
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

fn is_bad(ground: &AuditGround<'_>, bad: Bad, node: &ConfigNode) -> bool {
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
        Bad::Is(word) => text == Some(word),
        Bad::True => value.as_bool() == Some(true),
        Bad::False => value.as_bool() == Some(false),
        Bad::Has(word) => {
            let inner = value.as_object().into_iter().flat_map(|map| map.values());
            let inner = inner.filter_map(|list| list.as_array()).flatten();
            let own = value.as_array().into_iter().flatten();
            own.chain(inner).any(|item| item.as_str() == Some(word))
        }
        Bad::HasOneOf(words) => texts().iter().any(|item| words.contains(&item.as_str())),
        Bad::Shorter(least) => text.is_some_and(|text| !text.is_empty() && text.len() < least),
        Bad::Begins(start) => text.is_some_and(|text| text.starts_with(start) && !is_here(text)),
        Bad::Contains(part) => texts().iter().any(|item| item.contains(part)),
        Bad::WrittenOut => {
            let named = !node.vars.is_empty();
            text.is_some_and(|text| !named && text.len() >= 8 && !is_variable_name(text))
        }
        Bad::OpenFolder => texts().iter().any(|folder| {
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
