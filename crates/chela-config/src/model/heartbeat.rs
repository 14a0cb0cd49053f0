//! `heartbeat`: periodic runs without a message.

use super::*;

section! {
    /// Periodic runs without a message. Off unless this is configured.
    struct Heartbeat {
        /// How often; a bare number is minutes, `0m` turns it off.
        every: Option<DurationText>,
        /// Agent that runs when no agent has a block of its own.
        agent_id: Option<String>,
        /// Only in these hours.
        active_hours: ActiveHours,
        /// Model for these runs.
        model: Option<String>,
        /// Session they run in: `main` or a session key; one of their own unless set.
        session: Option<String>,
        /// Where alerts go: `owner` (the main conversation), `last`, `none` or a session key.
        target: String = "owner".into(),
        /// Whether alerts may go to direct messages.
        [later]
        direct_policy: AllowBlock,
        /// Address, with an explicit channel as target.
        [later]
        to: Option<IdText>,
        /// Account, with an explicit channel as target.
        [later]
        account_id: Option<String>,
        /// What the agent is asked; replaces the built-in text.
        prompt: Option<String>,
        /// Longest run in seconds.
        [min 1]
        timeout_seconds: Option<u64>,
        /// Leave the workspace files out.
        light_context: bool,
        /// A fresh session for each run.
        isolated_session: bool,
        /// Most model calls in a day.
        max_calls_per_day: u32 = 24,
        /// An answer with `HEARTBEAT_OK` and at most this many other characters is dropped.
        ack_max_chars: u64 = 300,
        /// Deliver the reasoning as well.
        [later]
        include_reasoning: bool,
        /// Explain heartbeats in the system prompt.
        include_system_prompt_section: bool = true,
        /// Skip a run while the agent is busy.
        [later]
        skip_when_busy: bool,
        /// Leave tool errors out of alerts.
        [later]
        suppress_tool_error_warnings: bool,
    }

    /// Hours in which heartbeats run.
    struct ActiveHours {
        /// First minute, `HH:MM`.
        start: Option<TimeOfDay>,
        /// First minute after, `HH:MM`; `24:00` is midnight.
        end: Option<TimeOfDay>,
        /// `user`, `local` or a zone name.
        timezone: Option<String>,
    }
}

words! {
    /// Let through or hold back.
    enum AllowBlock { Allow = "allow", Block = "block" }
}
