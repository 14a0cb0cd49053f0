use serde_json::{Value, json};

use super::{MIGRATIONS, migrate, written_at};
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, NodeSpan};

/// The migrated config, and which migrations spoke.
fn migrated(value: &Value) -> (Value, Vec<&'static str>) {
    let mut root = ConfigNode::from_json(value, NodeSpan::default());
    let done = migrate(&mut root);
    let mut spoke: Vec<&str> = done.findings.iter().map(|finding| finding.code).collect();
    spoke.dedup();
    (root.to_json(), spoke)
}

/// One example of every migration: before, after.
fn examples() -> Vec<(&'static str, Value, Value)> {
    vec![
        (
            "metadata",
            json!({ "metadata": { "a": 1 } }),
            json!({ "meta": { "a": 1 } }),
        ),
        (
            "agent-root",
            json!({ "agent": {
                "model": "a/b", "modelFallbacks": ["c/d"], "modelAliases": { "x": "a/b" },
                "allowedModels": ["a/*"], "tools": { "deny": ["exec"] }, "elevated": { "enabled": true },
                "bash": { "timeoutSeconds": 5 }, "workspace": "w", "thinkingLevel": "low",
            } }),
            json!({
                "tools": { "deny": ["exec"], "elevated": { "enabled": true }, "exec": { "timeoutSeconds": 5 } },
                "agents": { "defaults": {
                    "thinkingDefault": "low",
                    "models": { "a/b": { "alias": "x" } },
                    "modelPolicy": { "allow": ["a/*"] },
                    "workspace": "w",
                    "model": { "primary": "a/b", "fallbacks": ["c/d"] },
                } },
            }),
        ),
        (
            "routing-root",
            json!({ "routing": {
                "agents": { "a": { "mentionPatterns": ["@a"] } }, "defaultAgentId": "a",
                "bindings": [], "queue": { "cap": 2 }, "allowFrom": ["1"],
            } }),
            json!({
                "agents": { "list": [{ "id": "a", "groupChat": { "mentionPatterns": ["@a"] }, "default": true }] },
                "bindings": [], "messages": { "queue": { "cap": 2 } },
                "channels": { "whatsapp": { "allowFrom": ["1"] } },
            }),
        ),
        (
            "channel-roots",
            json!({ "slack": { "enabled": true } }),
            json!({ "channels": { "slack": { "enabled": true } } }),
        ),
        (
            "provider-roots",
            json!({ "providers": { "telegram": { "dm": { "policy": "open" } }, "mine": { "baseUrl": "u" } } }),
            json!({ "channels": { "telegram": { "dm": {}, "dmPolicy": "open" } }, "models": { "providers": { "mine": { "baseUrl": "u" } } } }),
        ),
        (
            "heartbeat-root",
            json!({ "heartbeat": { "every": "1h", "showOk": true } }),
            json!({ "channels": { "defaults": { "heartbeatVisibility": { "showOk": true } } }, "agents": { "defaults": { "heartbeat": { "every": "1h" } } } }),
        ),
        (
            "mcp-root",
            json!({ "mcpServers": { "a": {} } }),
            json!({ "mcp": { "servers": { "a": {} } } }),
        ),
        (
            "tool-roots",
            json!({ "sandbox": { "mode": "all" }, "exec": { "host": "auto" } }),
            json!({ "agents": { "defaults": { "sandbox": { "mode": "all" } } }, "tools": { "exec": { "host": "auto" } } }),
        ),
        (
            "roster-map",
            json!({ "agents": { "entries": { "b": { "name": "B" }, "a": {} } } }),
            json!({ "agents": { "list": [{ "id": "b", "name": "B" }, { "id": "a" }] } }),
        ),
        (
            "roster-names",
            json!({ "agents": { "defaults": { "model": "m/n" }, "a": { "name": "A" } } }),
            json!({ "agents": { "defaults": { "model": "m/n" }, "list": [{ "id": "a", "name": "A" }] } }),
        ),
        (
            "plain-values",
            json!({ "agents": { "defaults": { "timeFormat": 24, "elevatedDefault": true } } }),
            json!({ "agents": { "defaults": { "timeFormat": "24", "elevatedDefault": "on" } } }),
        ),
        (
            "roster-keys",
            json!({ "agents": { "default": "a", "list": [{ "agentId": "a", "model": "m/n", "fallbacks": "o/p", "temperature": 0.5 }] } }),
            json!({ "agents": { "list": [{ "id": "a", "default": true, "params": { "temperature": 0.5 }, "model": { "primary": "m/n", "fallbacks": ["o/p"] } }] } }),
        ),
        (
            "identity-root",
            json!({ "identity": { "name": "K" } }),
            json!({ "agents": { "list": [{ "id": "main", "identity": { "name": "K" } }] } }),
        ),
        (
            "memory-root",
            json!({ "memory": { "search": { "provider": "none" } }, "agents": { "list": [{ "id": "a", "memory": { "search": { "enabled": false } } }] } }),
            json!({ "agents": { "list": [{ "id": "a", "memorySearch": { "enabled": false } }], "defaults": { "memorySearch": { "provider": "none" } } } }),
        ),
        (
            "memory-qmd",
            json!({ "memory": { "backend": "qmd", "qmd": { "paths": [{ "path": "n", "name": "x" }, { "path": "d", "pattern": "*" }] } } }),
            json!({ "memory": { "qmd": {} }, "agents": { "defaults": { "memorySearch": { "extraPaths": ["n", { "path": "d", "pattern": "*" }] } } } }),
        ),
        (
            "bash-alias",
            json!({ "tools": { "bash": { "host": "auto" } } }),
            json!({ "tools": { "exec": { "host": "auto" } } }),
        ),
        (
            "exec-policy",
            json!({ "tools": { "exec": { "security": "full", "ask": "off" } } }),
            json!({ "tools": { "exec": { "mode": "full" } } }),
        ),
        (
            "channel-keys",
            json!({ "channels": { "telegram": { "token": "t", "requireMention": true }, "x": { "heartbeat": { "showOk": true } } } }),
            json!({ "channels": { "telegram": { "botToken": "t", "groups": { "*": { "requireMention": true } } }, "x": { "heartbeatVisibility": { "showOk": true } } } }),
        ),
        (
            "gateway-auth",
            json!({ "gateway": { "token": "t", "bind": "0.0.0.0" } }),
            json!({ "gateway": { "bind": "lan", "auth": { "token": "t" } } }),
        ),
        (
            "session-reset",
            json!({ "session": { "idleMinutes": 5, "resetByType": { "dm": {} }, "maintenance": { "pruneDays": 9 } } }),
            json!({ "session": { "resetByType": { "direct": {} }, "maintenance": { "pruneAfter": "9d" }, "reset": { "mode": "idle", "idleMinutes": 5 } } }),
        ),
        (
            "peer-dm",
            json!({ "bindings": [{ "match": { "peer": { "kind": "dm" } } }] }),
            json!({ "bindings": [{ "match": { "peer": { "kind": "direct" } } }] }),
        ),
        (
            "queue-modes",
            json!({ "messages": { "queue": { "mode": "queue", "byChannel": { "x": "steer+backlog" } } } }),
            json!({ "messages": { "queue": { "mode": "followup", "byChannel": { "x": "steer" } } } }),
        ),
        (
            "tts-enabled",
            json!({ "messages": { "tts": { "enabled": false } } }),
            json!({ "messages": { "tts": { "auto": "off" } } }),
        ),
        (
            "audio-transcription",
            json!({ "audio": { "transcription": { "command": ["w", "-f"], "timeoutSeconds": 3 } } }),
            json!({ "tools": { "media": { "audio": { "models": [{ "type": "cli", "command": "w", "args": ["-f"], "timeoutSeconds": 3 }] } } } }),
        ),
        (
            "sandbox-keys",
            json!({ "agents": { "defaults": { "sandbox": { "perSession": true } } } }),
            json!({ "agents": { "defaults": { "sandbox": { "scope": "session" } } } }),
        ),
        (
            "renamed-keys",
            json!({ "tools": { "exec": { "timeoutSec": 3 } } }),
            json!({ "tools": { "exec": { "timeoutSeconds": 3 } } }),
        ),
    ]
}

#[test]
fn every_migration_does_what_it_says_and_says_so() {
    let examples = examples();
    for migration in MIGRATIONS {
        let found = examples.iter().find(|(id, ..)| *id == migration.id);
        let (id, before, after) = found.unwrap_or_else(|| panic!("no example of {}", migration.id));
        let (done, spoke) = migrated(before);
        assert_eq!(&done, after, "{id}: {done}");
        assert!(spoke.contains(id), "{id} said nothing: {spoke:?}");
        // Nothing is left to do.
        let (again, spoke) = migrated(after);
        assert_eq!((&again, spoke.len()), (after, 0), "{id}: {spoke:?}");
    }
}

#[test]
fn every_pair_of_exec_keys_has_a_mode() {
    for (security, ask, expected) in [
        (
            Some("deny"),
            Some("always"),
            json!({ "ask": "always", "mode": "deny" }),
        ),
        (Some("deny"), None, json!({ "mode": "deny" })),
        (
            Some("allowlist"),
            Some("off"),
            json!({ "mode": "allowlist" }),
        ),
        (Some("allowlist"), Some("on-miss"), json!({ "mode": "ask" })),
        (Some("allowlist"), None, json!({ "mode": "ask" })),
        (
            Some("allowlist"),
            Some("always"),
            json!({ "ask": "always", "mode": "ask" }),
        ),
        (Some("full"), None, json!({ "mode": "full" })),
        (Some("full"), Some("on-miss"), json!({ "mode": "full" })),
        (
            Some("full"),
            Some("always"),
            json!({ "ask": "always", "mode": "ask" }),
        ),
        (None, Some("on-miss"), json!({ "mode": "ask" })),
        (
            None,
            Some("always"),
            json!({ "ask": "always", "mode": "ask" }),
        ),
        (None, Some("off"), json!({ "ask": "off" })),
    ] {
        let mut exec = serde_json::Map::new();
        exec.extend(security.map(|word| ("security".to_owned(), json!(word))));
        exec.extend(ask.map(|word| ("ask".to_owned(), json!(word))));
        let (done, _) = migrated(&json!({ "tools": { "exec": exec } }));
        let mut found = done["tools"]["exec"].clone();
        if security == Some("deny") {
            // Nobody is asked about what never runs.
            found.as_object_mut().unwrap().remove("ask");
            assert_eq!(found, json!({ "mode": "deny" }));
        } else {
            assert_eq!(found, expected, "{security:?} {ask:?}");
        }
    }
}

#[test]
fn the_present_shape_wins_over_the_older_one() {
    let config = json!({
        "agent": { "workspace": "old", "timeoutSeconds": 5 },
        "agents": { "defaults": { "workspace": "new" } },
    });
    let mut root = ConfigNode::from_json(&config, NodeSpan::default());
    let done = migrate(&mut root);
    assert_eq!(
        root.to_json(),
        json!({ "agents": { "defaults": { "workspace": "new", "timeoutSeconds": 5 } } })
    );
    assert!(
        done.findings
            .iter()
            .any(|f| f.message == "`agents.defaults.workspace` is set as well, and wins")
    );
}

#[test]
fn moved_values_remember_where_they_were_written() {
    let config = json!({
        "agent": { "memorySearch": { "model": "m" } },
        "agents": { "entries": { "a": { "memory": { "search": { "provider": "none" } } } } },
    });
    let mut root = ConfigNode::from_json(&config, NodeSpan::default());
    let done = migrate(&mut root);
    let at = |path: &str| {
        let path = KeyPath::parse(path).unwrap();
        assert!(root.at_path(&path).is_some(), "{path}");
        written_at(&done.moves, &path).map(|(path, _)| path.to_string())
    };
    assert_eq!(
        at("agents.defaults.memorySearch.model").unwrap(),
        "agent.memorySearch.model"
    );
    assert_eq!(
        at("agents.list[0].memorySearch.provider").unwrap(),
        "agents.entries.a.memory.search.provider"
    );
}

#[test]
fn what_is_not_understood_is_left_for_the_check() {
    for config in [
        json!({ "agents": { "entries": 5, "list": { "a": 1 } } }),
        json!({ "agent": "x", "routing": [], "identity": 3, "providers": "y", "heartbeat": null }),
        json!({ "tools": { "exec": { "security": {}, "ask": [] } }, "bindings": {}, "memory": [] }),
        json!([1, 2]),
    ] {
        let _ = migrated(&config);
    }
}
