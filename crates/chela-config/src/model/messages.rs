//! `messages`: queueing, prefixes, reactions, voice, silence.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Messages in and out.
    struct Messages {
        /// Text before every message in.
        [later]
        message_prefix: Option<String>,
        /// Text before every reply; `auto` is the agent's name.
        [later]
        response_prefix: Option<String>,
        /// How replies reach the chat.
        [later]
        visible_replies: Option<VisibleReplies>,
        /// Groups.
        [later]
        group_chat: GroupChat,
        /// Direct messages.
        [later]
        direct: ForeignSettings,
        /// Messages that arrive while the agent works.
        queue: Queue,
        /// Joining messages that arrive together.
        [later]
        inbound: Inbound,
        /// Emoji that says a message was seen.
        [later]
        ack_reaction: Option<String>,
        /// Which messages get it.
        [later]
        ack_reaction_scope: Option<AckScope>,
        /// Take it away after the reply.
        [later]
        remove_ack_after_reply: Option<bool>,
        /// Emoji that show what the agent is doing.
        [later]
        status_reactions: ForeignSettings,
        /// Keep tool errors out of the chat.
        [later]
        suppress_tool_errors: Option<bool>,
        /// How usage is shown under replies.
        [later]
        response_usage: Option<String>,
        /// Lines under replies that show usage.
        [later]
        usage_template: Option<serde_json::Value>,
        /// Voice.
        tts: Tts,
    }

    /// Groups.
    struct GroupChat {
        /// Patterns that count as a mention.
        mention_patterns: Option<Vec<String>>,
        /// Earlier messages shown to the agent.
        [later]
        history_limit: Option<u64>,
        /// How replies reach the chat.
        [later]
        visible_replies: Option<VisibleReplies>,
        /// React only when mentioned.
        require_mention: Option<bool>,
    }

    /// Messages that arrive while the agent works.
    struct Queue {
        /// What happens with them.
        mode: QueueMode,
        /// The same, by channel.
        by_channel: BTreeMap<String, QueueMode>,
        /// Wait this many milliseconds for more.
        debounce_ms: u64 = 500,
        /// The same, by channel.
        debounce_ms_by_channel: BTreeMap<String, u64>,
        /// Maximum messages held.
        [min 1]
        cap: u32 = 20,
        /// What happens beyond that.
        drop: QueueDrop,
    }

    /// Joining messages that arrive together.
    struct Inbound {
        /// Wait this many milliseconds for more.
        [later]
        debounce_ms: Option<u64>,
        /// The same, by channel.
        by_channel: BTreeMap<String, u64>,
    }

    /// When the agent may stay silent, by kind of chat.
    struct SilentReply {
        /// Direct messages.
        direct: Option<SilentPolicy>,
        /// Groups.
        group: Option<SilentPolicy>,
        /// Internal runs.
        internal: Option<SilentPolicy>,
    }

    /// One surface.
    struct Surface {
        /// When the agent may stay silent.
        silent_reply: Option<SilentReply>,
        /// What is sent instead of silence.
        [later]
        silent_reply_rewrite: ForeignSettings,
    }
}

section! {
    /// Voice. Settings of the services are kept as they are.
    struct Tts {
        /// When replies are spoken.
        [later]
        auto: Option<TtsAuto>,
        /// Speak only the last message, or all.
        [later]
        mode: Option<TtsMode>,
        /// Service.
        [later]
        provider: Option<String>,
        /// A hint about the voice for the prompt.
        hint: Option<String>,
        /// Model that shortens long replies.
        [later]
        summary_model: Option<String>,
        /// Maximum characters spoken.
        [later]
        max_text_length: Option<u64>,
        /// Give up after this many milliseconds.
        [later]
        timeout_ms: Option<u64>,
        ..other: OpenMap,
    }
}

words! {
    /// How replies reach the chat.
    enum VisibleReplies { Automatic = "automatic", MessageTool = "message_tool" }
    /// What happens with messages that arrive while the agent works.
    enum QueueMode {
        /// They enter the running turn.
        Steer = "steer",
        /// They come next, one by one.
        Followup = "followup",
        /// They come next, together.
        Collect = "collect",
        /// They stop the running turn.
        Interrupt = "interrupt",
    }
    /// What happens when too many messages wait.
    enum QueueDrop { Summarize = "summarize", Old = "old", New = "new" }
    /// Which messages get the acknowledging emoji.
    enum AckScope {
        GroupMentions = "group-mentions", GroupAll = "group-all", Direct = "direct", All = "all",
        Off = "off", None = "none",
    }
    /// Whether the agent may stay silent.
    enum SilentPolicy { Allow = "allow", Disallow = "disallow" }
    /// When replies are spoken.
    enum TtsAuto { Off = "off", Always = "always", Inbound = "inbound", Tagged = "tagged" }
    /// How much is spoken.
    enum TtsMode { Final = "final", All = "all" }
}
