//! What of the config an agent may change on the owner's word. A list of what is open and not of
//! what is closed: a key nobody thought of is the owner's.

use chela_config::is_secret_key;

/// How an agent answers: for all of them, and for each.
const OF_AGENTS: [&str; 27] = [
    "model",
    "imageModel",
    "utilityModel",
    "name",
    "description",
    "identity",
    "userTimezone",
    "timeFormat",
    "envelopeTimezone",
    "envelopeTimestamp",
    "envelopeElapsed",
    "contextPruning",
    "compaction",
    "contextLimits",
    "bootstrapMaxChars",
    "bootstrapTotalMaxChars",
    "bootstrapMaxTokens",
    "bootstrapTotalMaxTokens",
    "contextTokens",
    "thinkingDefault",
    "verboseDefault",
    "reasoningDefault",
    "humanDelay",
    "typingMode",
    "typingIntervalSeconds",
    "heartbeat",
    "silentReply",
];
/// Parts of the whole.
const OF_ALL: [&str; 9] = [
    "messages.queue",
    "messages.ackReaction",
    "messages.removeAckAfterReply",
    "messages.responsePrefix",
    "session.reset",
    "session.resetByType",
    "session.resetByChannel",
    "cron",
    "ui",
];
/// Wherever they stand, these lead words elsewhere, name files or programs, or say who may speak.
const NEVER: [&str; 17] = [
    "url",
    "baseUrl",
    "endpoint",
    "headers",
    "command",
    "args",
    "env",
    "cwd",
    "path",
    "file",
    "script",
    "to",
    "target",
    "accountId",
    "allowFrom",
    "webhook",
    "session",
];

/// Whether a key, in dots, is one of those.
pub(super) fn is_changeable(key: &str) -> bool {
    let parts: Vec<String> = key.split('.').map(str::to_owned).collect();
    may_change(&parts)
}

/// The same of a key whose parts may hold dots themselves, as names that people give do. Agents of a
/// list stand there by their ids.
pub(super) fn may_change(parts: &[String]) -> bool {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if parts.iter().skip(1).any(|part| NEVER.contains(part)) {
        return false;
    }
    if parts
        .iter()
        .any(|part| is_secret_key(part) && !part.ends_with("Tokens"))
    {
        return false;
    }
    match parts.as_slice() {
        ["agents", "defaults", setting, ..] | ["agents", "list" | "entries", _, setting, ..] => {
            OF_AGENTS.contains(setting)
        }
        parts => OF_ALL.iter().any(|open| {
            let open: Vec<&str> = open.split('.').collect();
            parts.starts_with(&open)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::is_changeable;

    #[test]
    fn what_widens_authority_is_never_the_agents_to_change() {
        for key in [
            "agents.defaults.model",
            "agents.defaults.model.primary",
            "agents.list.work.heartbeat.every",
            "messages.queue.mode",
            "cron.enabled",
            "session.reset.idleMinutes",
        ] {
            assert!(is_changeable(key), "{key}");
        }
        for key in [
            "tools.exec.ask",
            "tools.exec.security",
            "tools.exec.mode",
            "tools.bash.ask",
            "tools.elevated.enabled",
            "tools.allow",
            "agents.defaults.sandbox.mode",
            "agents.defaults.elevatedDefault",
            "agents.defaults.workspace",
            "agents.list.work.tools.exec.mode",
            "agents.list.work.guard.policy",
            "agents.list.work.limits.day",
            "agents.defaults.heartbeat.to",
            "agents.defaults.heartbeat.target",
            "guard.policy",
            "guard",
            "approvals.exec",
            "auth.profiles",
            "secrets.providers",
            "env.vars",
            "gateway.bind",
            "gateway.auth.token",
            "hooks.token",
            "hooks.mappings",
            "commands.ownerAllowFrom",
            "channels.telegram.allowFrom",
            "models.providers.kit.baseUrl",
            "models.providers.kit.apiKey",
            "mcp.servers",
            "plugins.entries",
            "skills.load",
            "limits.day",
            "logging.file",
            "diagnostics.otel.endpoint",
            "$include",
            "a.key.of.tomorrow",
            "",
        ] {
            assert!(!is_changeable(key), "{key}");
        }
    }
}
