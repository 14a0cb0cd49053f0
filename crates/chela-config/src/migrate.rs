//! Older shapes of the config, read as the present one.
//!
//! The user's file is not touched: only the tree in memory changes, and moved values keep their
//! place in the file, so that messages and `config explain` still point at the user's own line.
//! Each migration is one row of [`MIGRATIONS`], applied in order.

mod agent_root;
mod channels;
mod exec;
mod memory;
mod roster;
mod routing;
mod small;
mod tree;

use crate::check::CheckFinding;
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, FileId};
use crate::text;
use crate::text::edit::EditError;

pub(crate) use tree::MigrationTree;

/// One older shape and what it is read as.
pub struct KeyMigration {
    pub id: &'static str,
    /// In words, for the reference page.
    pub does: &'static str,
    run: fn(&mut MigrationTree<'_>),
}

impl std::fmt::Debug for KeyMigration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Migration")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// All migrations, in the order they are applied: first whole areas find their place, then the
/// keys inside them.
pub const MIGRATIONS: &[KeyMigration] = &[
    KeyMigration {
        id: "metadata",
        does: "`metadata` is `meta`",
        run: small::metadata,
    },
    KeyMigration {
        id: "channel-roots",
        does: "`telegram`, `whatsapp`, `discord`, … at the top are `channels.telegram`, …; Telegram's `requireMention` is a setting of its groups",
        run: channels::roots,
    },
    KeyMigration {
        id: "agent-root",
        does: "`agent` is `agents.defaults`; its tools, models and elevated keys go to `tools` and `models`",
        run: agent_root::run,
    },
    KeyMigration {
        id: "routing-root",
        does: "`routing` is split into `agents.list`, `bindings`, `messages`, `tools` and `channels`",
        run: routing::run,
    },
    KeyMigration {
        id: "provider-roots",
        does: "`providers` at the top holds channels (`channels`) or model endpoints (`models.providers`)",
        run: channels::providers,
    },
    KeyMigration {
        id: "heartbeat-root",
        does: "`heartbeat` at the top is `agents.defaults.heartbeat`",
        run: small::heartbeat_root,
    },
    KeyMigration {
        id: "mcp-root",
        does: "`mcpServers` is `mcp.servers`",
        run: small::mcp_root,
    },
    KeyMigration {
        id: "tool-roots",
        does: "`sandbox` and `exec` at the top are `agents.defaults.sandbox` and `tools.exec`",
        run: small::tool_roots,
    },
    KeyMigration {
        id: "roster-map",
        does: "`agents.entries.<id>` (or a map in `agents.list`) is an entry of `agents.list`",
        run: roster::entries,
    },
    KeyMigration {
        id: "roster-keys",
        does: "`agents.default` marks the default agent; `agentId` of an agent is its `id`; fallbacks of a model are in the model's `fallbacks`; `temperature`, `maxTokens` and `topP` are in `params`",
        run: roster::keys,
    },
    KeyMigration {
        id: "identity-root",
        does: "`identity` at the top belongs to the default agent",
        run: roster::identity,
    },
    KeyMigration {
        id: "memory-root",
        does: "`memory.search` is `agents.defaults.memorySearch`; `memory.search` of an agent is its `memorySearch`; `memory.query` is the `query` in it",
        run: memory::roots,
    },
    KeyMigration {
        id: "memory-qmd",
        does: "paths of the retired `memory.qmd` are `memorySearch.extraPaths`",
        run: memory::qmd,
    },
    KeyMigration {
        id: "bash-alias",
        does: "`tools.bash` is `tools.exec`",
        run: exec::bash,
    },
    KeyMigration {
        id: "exec-policy",
        does: "`tools.exec.security` and `ask` are `tools.exec.mode`",
        run: exec::policy,
    },
    KeyMigration {
        id: "channel-keys",
        does: "older keys of channels: Telegram's `token` is `botToken`, `heartbeat` is `heartbeatVisibility`",
        run: channels::keys,
    },
    KeyMigration {
        id: "gateway-auth",
        does: "`gateway.token` is `gateway.auth.token`; addresses in `gateway.bind` are names",
        run: small::gateway,
    },
    KeyMigration {
        id: "session-reset",
        does: "`session.resetByType.dm` is `direct`, `session.idleMinutes` is `session.reset`, `pruneDays` is `pruneAfter`",
        run: small::session,
    },
    KeyMigration {
        id: "peer-dm",
        does: "the peer kind `dm` of bindings is `direct`",
        run: small::peer_kind,
    },
    KeyMigration {
        id: "queue-modes",
        does: "the queue modes `queue`, `steer-backlog` and `steer+backlog` are `followup` and `steer`",
        run: small::queue_modes,
    },
    KeyMigration {
        id: "tts-enabled",
        does: "`messages.tts.enabled` is `messages.tts.auto`",
        run: small::tts,
    },
    KeyMigration {
        id: "audio-transcription",
        does: "`audio.transcription` is a model of `tools.media.audio`",
        run: small::transcription,
    },
    KeyMigration {
        id: "sandbox-keys",
        does: "`sandbox.perSession` is `sandbox.scope`",
        run: small::sandbox,
    },
    KeyMigration {
        id: "renamed-keys",
        does: "`timeoutSec` is `timeoutSeconds`, `pdfMaxBytesMb` is `pdfMaxMb`, and other plain renamings",
        run: small::renamed,
    },
];

/// One value that was read from another place than it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedKey {
    /// Which migration.
    pub id: &'static str,
    pub from: KeyPath,
    pub to: KeyPath,
}

/// What migrating a tree did.
#[derive(Debug, Default)]
pub(crate) struct Migrated {
    pub moves: Vec<MovedKey>,
    pub findings: Vec<CheckFinding>,
}

/// Brings a tree into the present shape.
pub(crate) fn migrate(root: &mut ConfigNode) -> Migrated {
    let mut done = Migrated::default();
    for migration in MIGRATIONS {
        let mut tree = MigrationTree::new(root, migration.id, &mut done);
        (migration.run)(&mut tree);
    }
    done
}

/// Where a value of the migrated tree was written by the user.
pub(crate) fn written_at(moves: &[MovedKey], path: &KeyPath) -> Option<(KeyPath, &'static str)> {
    let mut written = path.clone();
    let mut id = None;
    for moved in moves.iter().rev() {
        if let Some(before) = written.rebased(&moved.to, &moved.from) {
            written = before;
            id = Some(moved.id);
        }
    }
    id.map(|id| (written, id))
}

/// The text of a config file rewritten to the present shape, or nothing if it has it already.
/// Comments and `${VAR}` stay; what is included stays included.
pub fn migrated_text(source: &str) -> Result<Option<String>, EditError> {
    let Some(mut root) = text::parse(source, FileId(0)).root else {
        return Ok(None);
    };
    let before = root.to_json();
    migrate(&mut root);
    let after = root.to_json();
    if before == after {
        return Ok(None);
    }
    text::edit::replace_all(source, &after).map(Some)
}

#[cfg(test)]
mod tests;
