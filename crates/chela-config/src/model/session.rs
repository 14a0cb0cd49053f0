//! `session`: who shares a conversation, when it starts anew, how long it is kept.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Conversations.
    struct Session {
        /// One per sender, or one for everyone.
        [later]
        scope: SessionScope,
        /// What direct messages share.
        [later]
        dm_scope: DmScope,
        /// What groups share.
        [later]
        group_scope: GroupScope,
        /// The same person on several channels: one name to a list of `channel:id`.
        [later]
        identity_links: BTreeMap<String, Vec<IdText>>,
        /// Name of the main session.
        [later]
        main_key: String = "main".into(),
        /// When a session starts over.
        reset: SessionReset,
        /// The same, by kind of chat.
        reset_by_type: ResetByType,
        /// The same, by channel; wins over the others.
        reset_by_channel: BTreeMap<String, SessionReset>,
        /// Messages that start a session over.
        [later]
        reset_triggers: Vec<String> = ["/new", "/reset"].map(String::from).to_vec(),
        /// Older form of `reset.idleMinutes`.
        [min 1]
        idle_minutes: Option<u64>,
        /// Where sessions are stored.
        [later]
        store: Option<String>,
        /// How long sessions are kept.
        maintenance: SessionMaintenance,
        /// Who may be written to.
        [later]
        send_policy: Option<SendPolicy>,
        /// Agents writing to each other.
        [later]
        agent_to_agent: SessionAgentToAgent,
        /// Threads that have a session of their own.
        [later]
        thread_bindings: ThreadBindings,
        /// Largest conversation a new session may start from, in tokens.
        [later]
        parent_fork_max_tokens: u64 = 100_000,
        /// What others may do in a shared session.
        [later]
        sharing: SessionSharing,
        /// When the typing sign is shown.
        [later]
        typing_mode: Option<TypingMode>,
        /// Seconds between typing signs.
        [min 1, later]
        typing_interval_seconds: Option<u64>,
        /// Days a transcript is kept.
        [min 1, later]
        transcript_retention_days: Option<u64>,
        /// Maximum turns kept.
        [min 1, later]
        max_recent_turns: Option<u64>,
        /// Lock of a session file while it is written.
        [later]
        write_lock: ForeignSettings,
    }

    /// When a session starts over.
    struct SessionReset {
        /// Never, every day, or after a pause.
        mode: ResetMode,
        /// Hour of the day.
        [max 23]
        at_hour: u8 = 4,
        /// Length of the pause.
        [min 1]
        idle_minutes: Option<u64>,
    }

    /// When a session starts over, by kind of chat.
    struct ResetByType {
        /// Direct messages.
        direct: Option<SessionReset>,
        /// Groups.
        group: Option<SessionReset>,
        /// Threads.
        thread: Option<SessionReset>,
    }

    /// How long sessions are kept.
    struct SessionMaintenance {
        /// Only warn, or act.
        mode: MaintenanceMode,
        /// Forget sessions unused for this long; a bare number is days.
        prune_after: DurationText = "30d".into(),
        /// Put dashboard sessions away after this long.
        [later]
        archive_dashboard_after: OrOff<DurationText> = OrOff::On("7d".into()),
        /// Maximum sessions.
        [min 1]
        max_entries: u64 = 500,
        /// Newest sessions that are never removed.
        preserve_recent: Option<OrOff<DurationText>>,
        /// Start a new file at this size.
        [later]
        rotate_bytes: Option<ByteSize>,
        /// Keep what a reset archived for this long.
        reset_archive_retention: Option<OrOff<DurationText>>,
        /// Maximum disk space.
        max_disk_bytes: OrOff<ByteSize> = OrOff::On(ByteSize::Text("10gb".into())),
        /// Clean up down to this.
        high_water_bytes: Option<ByteSize>,
    }

    /// Who may be written to.
    struct SendPolicy {
        /// When no rule matches.
        default: AllowDeny,
        /// First denial wins.
        rules: Vec<SendRule>,
    }

    /// One rule.
    struct SendRule {
        /// Allow or deny.
        [required]
        action: AllowDeny,
        /// What it is about.
        matches as "match": SendMatch,
    }

    /// What a rule is about.
    struct SendMatch {
        /// Channel.
        channel: Option<String>,
        /// Kind of chat.
        chat_type: Option<String>,
        /// Start of the session key.
        [later]
        key_prefix: Option<String>,
        /// Start of the session key, as stored.
        [later]
        raw_key_prefix: Option<String>,
    }

    /// Agents writing to each other.
    struct SessionAgentToAgent {
        /// Maximum answers back and forth.
        [max 20, later]
        max_ping_pong_turns: Option<u32>,
    }

    /// Threads that have a session of their own.
    struct ThreadBindings {
        /// Bind threads.
        enabled: bool = true,
        /// Unbind after this many idle hours.
        idle_hours: f64 = 24.0,
        /// Unbind after this many hours; 0: never.
        [later]
        max_age_hours: f64,
        /// Threads may start sessions.
        [later]
        spawn_sessions: bool = true,
        /// What such a session starts from: `fork` or `isolated`.
        [later]
        default_spawn_context: String = "fork".into(),
    }

    /// What others may do in a shared session.
    struct SessionSharing {
        /// Read.
        read_only: bool = true,
        /// Suggest.
        suggest: bool = true,
        /// See drafts.
        drafts: bool = true,
    }
}

words! {
    /// Who shares a session.
    enum SessionScope { PerSender = "per-sender", Global = "global" }
    /// What direct messages share.
    enum DmScope {
        /// The main session.
        Main = "main",
        /// One per person.
        PerPeer = "per-peer",
        /// One per person and channel.
        PerChannelPeer = "per-channel-peer",
        /// One per person, channel and account.
        PerAccountChannelPeer = "per-account-channel-peer",
    }
    /// What groups share.
    enum GroupScope { PerGroup = "per-group", Main = "main" }
    /// When a session starts over.
    enum ResetMode { None = "none", Daily = "daily", Idle = "idle" }
    /// Only warn, or act.
    enum MaintenanceMode { Enforce = "enforce", Warn = "warn" }
    /// Allow or deny.
    enum AllowDeny { Allow = "allow", Deny = "deny" }
}
