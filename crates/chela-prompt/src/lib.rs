//! What the model reads: a pure renderer, facts in, attributed text out.

mod clean_text;
mod files;
mod input;
mod out;
mod owners;
mod prompt;
mod render;
mod runtime_line;
mod section;
mod table;
mod template;
mod texts;
mod tool_list;
mod view;

pub use clean_text::CleanText;
pub use input::{
    Acp, Citations, Completeness, ContextFile, Contribution, Delegation, Elevated, ElevatedLevel,
    ElevatedPermission, FullAccess, FullAccessBlock, HostBrowser, MemoryRecall, OwnerDisplay,
    Owners, PromptInput, PromptMode, ReactionLevel, Reactions, ReasoningLevel, Replacement,
    ReplyFormat, RuntimeFacts, Sandbox, SilentReplies, SkillEntry, SkillsListing, Sourced, Tool,
    TruncationNotice, WorkspaceAccess,
};
pub use owners::digest as owner_digest;
pub use prompt::{PartKind, PartSpan, Prompt, RenderError, SectionSpan};
pub use render::{Absence, render, why_absent};
pub use section::SectionId;
pub use tool_list::core_tools;
