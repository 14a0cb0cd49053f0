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

const fn row(
    id: &'static str,
    run: fn(&mut MigrationTree<'_>),
    does: &'static str,
) -> KeyMigration {
    KeyMigration { id, does, run }
}

/// All migrations, in the order they are applied: first whole areas find their place, then the
/// keys inside them.
#[rustfmt::skip]
pub const MIGRATIONS: &[KeyMigration] = &[
    row("metadata", small::metadata,
        "`metadata` is `meta`"),
    row("channel-roots", channels::roots,
        "`telegram`, `whatsapp`, `discord`, … at the top are `channels.telegram`, …; Telegram's `requireMention` is a setting of its groups"),
    row("agent-root", agent_root::run,
        "`agent` is `agents.defaults`; its tools, models and elevated keys go to `tools` and `models`"),
    row("routing-root", routing::run,
        "`routing` is split into `agents.list`, `bindings`, `messages`, `tools` and `channels`"),
    row("provider-roots", channels::providers,
        "`providers` at the top holds channels (`channels`) or model endpoints (`models.providers`)"),
    row("heartbeat-root", small::heartbeat_root,
        "`heartbeat` at the top is `agents.defaults.heartbeat`"),
    row("mcp-root", small::mcp_root,
        "`mcpServers` is `mcp.servers`"),
    row("tool-roots", small::tool_roots,
        "`sandbox` and `exec` at the top are `agents.defaults.sandbox` and `tools.exec`"),
    row("roster-map", roster::entries,
        "`agents.entries.<id>` (or a map in `agents.list`) is an entry of `agents.list`"),
    row("roster-names", roster::named,
        "`agents.<id>` beside `agents.defaults` is an entry of `agents.list`"),
    row("roster-keys", roster::keys,
        "`agents.default` marks the default agent; `agentId` of an agent is its `id`; fallbacks of a model are in the model's `fallbacks`; `temperature`, `maxTokens` and `topP` are in `params`"),
    row("identity-root", roster::identity,
        "`identity` at the top belongs to the default agent"),
    row("memory-root", memory::roots,
        "`memory.search` is `agents.defaults.memorySearch`; `memory.search` of an agent is its `memorySearch`; `memory.query` is the `query` in it"),
    row("memory-qmd", memory::qmd,
        "paths of the retired `memory.qmd` are `memorySearch.extraPaths`"),
    row("bash-alias", exec::bash,
        "`tools.bash` is `tools.exec`"),
    row("exec-policy", exec::policy,
        "`tools.exec.security` and `ask` are `tools.exec.mode`"),
    row("channel-keys", channels::keys,
        "older keys of channels: Telegram's `token` is `botToken`, `heartbeat` is `heartbeatVisibility`"),
    row("gateway-auth", small::gateway,
        "`gateway.token` is `gateway.auth.token`; addresses in `gateway.bind` are names"),
    row("session-reset", small::session,
        "`session.resetByType.dm` is `direct`, `session.idleMinutes` is `session.reset`, `pruneDays` is `pruneAfter`"),
    row("peer-dm", small::peer_kind,
        "the peer kind `dm` of bindings is `direct`"),
    row("queue-modes", small::queue_modes,
        "the queue modes `queue`, `steer-backlog` and `steer+backlog` are `followup` and `steer`"),
    row("tts-enabled", small::tts,
        "`messages.tts.enabled` is `messages.tts.auto`"),
    row("audio-transcription", small::transcription,
        "`audio.transcription` is a model of `tools.media.audio`"),
    row("sandbox-keys", small::sandbox,
        "`sandbox.perSession` is `sandbox.scope`"),
    row("plain-values", small::plain_values,
        "`timeFormat: 24` is `\"24\"`; `elevatedDefault: true` is `on`, `false` is `off`"),
    row("renamed-keys", small::renamed,
        "`timeoutSec` is `timeoutSeconds`, `pdfMaxBytesMb` is `pdfMaxMb`, and other plain renamings"),
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
pub(crate) struct MigrationReport {
    pub moves: Vec<MovedKey>,
    pub findings: Vec<CheckFinding>,
}

/// Brings a tree into the present shape.
pub(crate) fn migrate(root: &mut ConfigNode) -> MigrationReport {
    let mut done = MigrationReport::default();
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
