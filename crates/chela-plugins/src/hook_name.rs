//! The points at which plugins may step in, as one table.

/// A point at which a plugin may step in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookName {
    BeforeModelResolve,
    AgentBootstrap,
    BeforePromptBuild,
    HeartbeatPromptContribution,
    ProviderContribution,
    BeforeToolCall,
    AfterToolCall,
    BeforeAgentReply,
    MessageSending,
    SessionStart,
    SessionEnd,
    BeforeCompaction,
    AfterCompaction,
    AgentEnd,
}

/// One row: how it is written, what it lets a plugin do, and the worst of that.
struct HookRow {
    hook: HookName,
    name: &'static str,
    does: &'static str,
    worst: &'static str,
}

const fn row(
    hook: HookName,
    name: &'static str,
    does: &'static str,
    worst: &'static str,
) -> HookRow {
    HookRow {
        hook,
        name,
        does,
        worst,
    }
}

#[rustfmt::skip]
static ROWS: [HookRow; 14] = [
    row(HookName::BeforeModelResolve, "before_model_resolve",
        "name the model of a turn", "only what `model:` lets it name; without that, nothing"),
    row(HookName::AgentBootstrap, "agent:bootstrap",
        "add files to what a session starts with", "tell the agent things that are not so"),
    row(HookName::BeforePromptBuild, "before_prompt_build",
        "add text to your messages, and take tools away for a turn", "only what `prompt:` and `replace:` let it say"),
    row(HookName::HeartbeatPromptContribution, "heartbeat_prompt_contribution",
        "add text to heartbeats", "make heartbeats do or report something else"),
    row(HookName::ProviderContribution, "provider_contribution",
        "replace the style sections of the prompt for a model", "change how the agent works with tools and people"),
    row(HookName::BeforeToolCall, "before_tool_call",
        "see every call before it is made; rewrite its arguments, ask you, or refuse it",
        "point a call at something else; the guard still decides about what it became"),
    row(HookName::AfterToolCall, "after_tool_call",
        "see results of calls, and rewrite them", "show the agent a result that is not so"),
    row(HookName::BeforeAgentReply, "before_agent_reply",
        "see answers, rewrite them or keep them back", "put words into the agent's mouth"),
    row(HookName::MessageSending, "message_sending",
        "see what is delivered, rewrite it or keep it back", "send others something the agent did not say"),
    row(HookName::SessionStart, "session_start", "know when a session starts", "nothing by itself"),
    row(HookName::SessionEnd, "session_end", "know when a session ends", "nothing by itself"),
    row(HookName::BeforeCompaction, "before_compaction", "know before a conversation is summarised", "nothing by itself"),
    row(HookName::AfterCompaction, "after_compaction", "know after a conversation was summarised", "nothing by itself"),
    row(HookName::AgentEnd, "agent_end", "know how a turn ended", "nothing by itself"),
];

impl HookName {
    pub const ALL: [Self; 14] = [
        Self::BeforeModelResolve,
        Self::AgentBootstrap,
        Self::BeforePromptBuild,
        Self::HeartbeatPromptContribution,
        Self::ProviderContribution,
        Self::BeforeToolCall,
        Self::AfterToolCall,
        Self::BeforeAgentReply,
        Self::MessageSending,
        Self::SessionStart,
        Self::SessionEnd,
        Self::BeforeCompaction,
        Self::AfterCompaction,
        Self::AgentEnd,
    ];

    fn row(self) -> &'static HookRow {
        // The table has a row for each, which a test holds.
        let found = ROWS.iter().find(|row| row.hook == self);
        found.unwrap_or(&ROWS[0])
    }

    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// The hook of this name; others spell some of them in other ways.
    pub fn parse(name: &str) -> Option<Self> {
        let name = match name {
            "agent_bootstrap" => "agent:bootstrap",
            "before_agent_start" => "before_prompt_build",
            other => other,
        };
        let row = ROWS.iter().find(|row| row.name == name);
        row.map(|row| row.hook)
    }

    /// What it lets a plugin do, as the end of "may …".
    pub fn does(self) -> &'static str {
        self.row().does
    }

    pub fn worst(self) -> &'static str {
        self.row().worst
    }

    /// Whether it is of no use to a plugin that sees nothing of the conversation.
    pub fn needs_conversation(self) -> bool {
        matches!(
            self,
            Self::AfterToolCall | Self::BeforeAgentReply | Self::MessageSending
        )
    }
}

impl std::fmt::Display for HookName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{HookName, ROWS};

    #[test]
    fn every_hook_has_its_row_and_is_read_as_written() {
        assert_eq!(HookName::ALL.len(), ROWS.len());
        for hook in HookName::ALL {
            assert_eq!(hook.row().hook, hook);
            assert_eq!(HookName::parse(hook.as_str()), Some(hook));
        }
        assert_eq!(
            HookName::parse("before_agent_start"),
            Some(HookName::BeforePromptBuild)
        );
        assert_eq!(HookName::parse("llm_input"), None);
    }
}
