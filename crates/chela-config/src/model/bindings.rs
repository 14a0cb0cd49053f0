//! `bindings`, `broadcast`: which agent answers which conversation.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Gives conversations to an agent. All parts of `match` must hold.
    struct Binding {
        /// Kind of binding.
        kind as "type": Option<BindingKind>,
        /// Agent that answers.
        [required]
        agent_id: String,
        /// A note for people.
        comment: Option<String>,
        /// Which conversations.
        [required]
        matches as "match": BindingMatch,
        /// What they share.
        session: BindingSession,
        /// Settings of an Agent Client Protocol session.
        acp: ForeignSettings,
    }

    /// Which conversations.
    struct BindingMatch {
        /// Channel.
        [required]
        channel: String,
        /// Account, `*` for any. Unset: the default account.
        [later]
        account_id: Option<String>,
        /// Person, group or channel.
        peer: Option<BindingPeer>,
        /// Discord server.
        [later]
        guild_id: Option<IdText>,
        /// Discord roles.
        [later]
        roles: Vec<IdText>,
        /// Slack team.
        [later]
        team_id: Option<IdText>,
    }

    /// Person, group or channel.
    struct BindingPeer {
        /// Kind.
        [required]
        kind: PeerKind,
        /// Id, `*` for any.
        [required]
        id: IdText = IdText(String::new()),
    }

    /// What bound conversations share.
    struct BindingSession {
        /// Direct messages.
        [later]
        dm_scope: Option<DmScope>,
        /// Groups.
        [later]
        group_scope: Option<GroupScope>,
    }
}

section! {
    /// Groups that several agents answer.
    struct Broadcast {
        /// All at once, or one after the other.
        [later]
        strategy: BroadcastStrategy,
        ..peers: BTreeMap<String, Vec<String>>,
    }
}

words! {
    /// Kind of binding.
    enum BindingKind { Route = "route", Acp = "acp" }
    /// Kind of peer.
    enum PeerKind { Direct = "direct", Group = "group", Channel = "channel" }
    /// How several agents answer.
    enum BroadcastStrategy { Parallel = "parallel", Sequential = "sequential" }
}
