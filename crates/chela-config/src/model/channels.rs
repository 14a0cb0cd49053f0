//! `channels`: chat channels by name.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Chat channels by name.
    struct Channels {
        /// Applies to every channel that does not override it.
        defaults: ChannelDefaults,
        /// Model per channel, then per peer.
        [later]
        model_by_channel: BTreeMap<String, BTreeMap<String, String>>,
        ..by_name: BTreeMap<String, Channel>,
    }

    /// Applies to every channel that does not override it.
    struct ChannelDefaults {
        /// Which groups are answered.
        group_policy: Option<GroupPolicy>,
        /// Which quoted and forwarded messages the agent sees.
        [later]
        context_visibility: Option<ContextVisibility>,
        /// What of heartbeats is shown.
        heartbeat_visibility: HeartbeatVisibility,
        ..other: OpenMap,
    }

    /// One channel. What Chela does not know is kept for the channel itself.
    struct Channel {
        /// On or off.
        enabled: Option<bool>,
        /// Who may write directly.
        dm_policy: Option<DmPolicy>,
        /// Who is let in.
        allow_from: Option<Vec<IdText>>,
        /// Which groups are answered.
        group_policy: Option<GroupPolicy>,
        /// Who is let in, in groups.
        group_allow_from: Option<Vec<IdText>>,
        /// Groups by id; `*` for all.
        groups: Option<serde_json::Value>,
        /// Token of the bot.
        bot_token: Option<SecretSetting>,
        /// Token of the app.
        [later]
        app_token: Option<SecretSetting>,
        /// Token.
        token: Option<SecretSetting>,
        /// Accounts by name.
        accounts: BTreeMap<String, ChannelAccount>,
        /// Account used when none is named.
        [later]
        default_account: Option<String>,
        /// Earlier messages shown to the agent.
        [later]
        history_limit: Option<u64>,
        /// The same, in direct messages.
        [later]
        dm_history_limit: Option<u64>,
        /// Longest message sent, in characters.
        [later]
        text_chunk_limit: Option<u64>,
        /// Largest file, in megabytes.
        [later]
        media_max_mb: Option<f64>,
        /// Text before every reply.
        [later]
        response_prefix: Option<String>,
        /// How often the agent reacts with emoji.
        reaction_level: Option<ReactionLevel>,
        /// What of heartbeats is shown.
        heartbeat_visibility: Option<HeartbeatVisibility>,
        /// Which quoted and forwarded messages the agent sees.
        [later]
        context_visibility: Option<ContextVisibility>,
        /// Commands in this channel.
        commands: ChannelCommands,
        ..other: OpenMap,
    }

    /// One account of a channel.
    struct ChannelAccount {
        /// On or off.
        enabled: Option<bool>,
        /// Name shown.
        name: Option<String>,
        /// Who may write directly.
        dm_policy: Option<DmPolicy>,
        /// Who is let in.
        allow_from: Option<Vec<IdText>>,
        /// Which groups are answered.
        group_policy: Option<GroupPolicy>,
        /// Token of the bot.
        bot_token: Option<SecretSetting>,
        ..other: OpenMap,
    }

    /// Commands in one channel.
    struct ChannelCommands {
        /// Only the owner may use commands here.
        [later]
        enforce_owner_for_commands: Option<bool>,
        ..other: OpenMap,
    }
}

section! {
    /// What of heartbeats is shown.
    struct HeartbeatVisibility {
        /// Answers that say all is well.
        show_ok: bool,
        /// Alerts.
        show_alerts: bool = true,
        /// A sign while it runs.
        use_indicator: bool = true,
    }
}

words! {
    /// Who may write directly.
    enum DmPolicy {
        /// Strangers get a code the owner must approve.
        Pairing = "pairing",
        /// Only who is let in.
        Allowlist = "allowlist",
        /// Anyone.
        Open = "open",
        /// Nobody.
        Disabled = "disabled",
    }
    /// Which groups are answered.
    enum GroupPolicy { Allowlist = "allowlist", Open = "open", Disabled = "disabled" }
    /// Which quoted and forwarded messages the agent sees.
    enum ContextVisibility {
        All = "all", Allowlist = "allowlist", AllowlistQuote = "allowlist_quote",
    }
    /// How often the agent reacts with emoji.
    enum ReactionLevel {
        Off = "off", Ack = "ack", Minimal = "minimal", Extensive = "extensive",
    }
}
