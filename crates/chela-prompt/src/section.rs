//! The names of the sections, in prompt order.

use std::fmt;

/// Which section of the prompt a span belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SectionId {
    Identity,
    Tooling,
    InteractionStyle,
    ToolCallStyle,
    ExecutionBias,
    Delegation,
    ProviderPrefix,
    Safety,
    Control,
    Skills,
    MemoryRecall,
    SelfUpdate,
    ModelAliases,
    TimeHint,
    Workspace,
    Documentation,
    Sandbox,
    AuthorizedSenders,
    Time,
    WorkspaceFiles,
    OutputDirectives,
    ReasoningFormat,
    ProjectContext,
    SilentReplies,
    DynamicContext,
    WebEmbed,
    Messaging,
    Voice,
    ExtraContext,
    Reactions,
    ProviderSuffix,
    Heartbeats,
    Runtime,
    /// What a plugin put in place of the prompt. Not a row of the table: it stands in for the
    /// rows it replaced, beside those that no plugin may remove.
    Replacement,
}

impl SectionId {
    /// Every row of the table, in prompt order.
    pub const ALL: [Self; 33] = [
        Self::Identity,
        Self::Tooling,
        Self::InteractionStyle,
        Self::ToolCallStyle,
        Self::ExecutionBias,
        Self::Delegation,
        Self::ProviderPrefix,
        Self::Safety,
        Self::Control,
        Self::Skills,
        Self::MemoryRecall,
        Self::SelfUpdate,
        Self::ModelAliases,
        Self::TimeHint,
        Self::Workspace,
        Self::Documentation,
        Self::Sandbox,
        Self::AuthorizedSenders,
        Self::Time,
        Self::WorkspaceFiles,
        Self::OutputDirectives,
        Self::ReasoningFormat,
        Self::ProjectContext,
        Self::SilentReplies,
        Self::DynamicContext,
        Self::WebEmbed,
        Self::Messaging,
        Self::Voice,
        Self::ExtraContext,
        Self::Reactions,
        Self::ProviderSuffix,
        Self::Heartbeats,
        Self::Runtime,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Tooling => "tooling",
            Self::InteractionStyle => "interaction_style",
            Self::ToolCallStyle => "tool_call_style",
            Self::ExecutionBias => "execution_bias",
            Self::Delegation => "delegation",
            Self::ProviderPrefix => "provider_prefix",
            Self::Safety => "safety",
            Self::Control => "control",
            Self::Skills => "skills",
            Self::MemoryRecall => "memory_recall",
            Self::SelfUpdate => "self_update",
            Self::ModelAliases => "model_aliases",
            Self::TimeHint => "time_hint",
            Self::Workspace => "workspace",
            Self::Documentation => "documentation",
            Self::Sandbox => "sandbox",
            Self::AuthorizedSenders => "authorized_senders",
            Self::Time => "time",
            Self::WorkspaceFiles => "workspace_files",
            Self::OutputDirectives => "output_directives",
            Self::ReasoningFormat => "reasoning_format",
            Self::ProjectContext => "project_context",
            Self::SilentReplies => "silent_replies",
            Self::DynamicContext => "dynamic_context",
            Self::WebEmbed => "web_embed",
            Self::Messaging => "messaging",
            Self::Voice => "voice",
            Self::ExtraContext => "extra_context",
            Self::Reactions => "reactions",
            Self::ProviderSuffix => "provider_suffix",
            Self::Heartbeats => "heartbeats",
            Self::Runtime => "runtime",
            Self::Replacement => "replacement",
        }
    }

    /// The section of this id, as [`as_str`](Self::as_str) writes it.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .chain([Self::Replacement])
            .find(|section| section.as_str() == id)
    }
}

impl fmt::Display for SectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
