//! What the model reads: a pure renderer, facts in, attributed text out.

mod clean_text;
mod facts;
mod files;
mod input;
mod json;
mod out;
mod owners;
mod prompt;
mod providers;
mod render;
mod runtime_line;
mod section;
mod table;
mod template;
mod texts;
mod tool_list;
mod view;

pub use clean_text::CleanText;
pub use facts::FactsError;
pub use input::{
    Acp, Citations, Completeness, ContextFile, Contribution, Delegation, Elevated, ElevatedLevel,
    ElevatedPermission, FullAccess, FullAccessBlock, HostBrowser, MemoryRecall, OwnerDisplay,
    Owners, PromptInput, PromptMode, ReactionLevel, Reactions, ReasoningLevel, Replacement,
    ReplyFormat, RuntimeFacts, Sandbox, SilentReplies, SkillEntry, SkillsListing, Sourced, Tool,
    TruncationNotice, WorkspaceAccess,
};
pub use json::TokenCount;
pub use owners::digest as owner_digest;
pub use prompt::{PartKind, PartSpan, Prompt, RenderError, SectionSpan};
pub use providers::{Personality, contribution_for};
pub use render::{Absence, render, why_absent};
pub use section::SectionId;
pub use tool_list::core_tools;
