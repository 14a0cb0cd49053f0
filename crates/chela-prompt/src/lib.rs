//! What the model reads: a pure renderer, facts in, attributed text out.
//!
//! A [`PromptInput`] says what is so; [`render`] makes the [`Prompt`] of it: one text, the spans
//! that tile it, and the offset up to which it stays the same from turn to turn. The sections are
//! rows of one table in prompt order, and their sentences are files under `text/`.
//!
//! ```
//! use chela_core::Zone;
//! use chela_prompt::{ContextFile, PromptInput, SectionId, PromptTool, render};
//!
//! let mut input = PromptInput::new("/home/ada/.chela/workspace");
//! input.tools = vec![PromptTool::core("exec"), PromptTool::core("read")];
//! input.files = vec![ContextFile::new("AGENTS.md", "Ask before you delete.\n")];
//! input.time_zone = Some("Europe/Berlin".to_owned());
//!
//! let prompt = render(&input)?;
//! assert!(prompt.text.starts_with("You are a personal assistant running inside Chela."));
//!
//! // The sections tile the text, and every part of it has a source.
//! let context = prompt.section(SectionId::ProjectContext).unwrap();
//! assert_eq!(context.zone, Zone::Stable);
//! let file = prompt.parts_of(SectionId::ProjectContext).next().unwrap();
//! assert_eq!(prompt.slice(&file.range), "## AGENTS.md\n\nAsk before you delete.");
//! assert_eq!(file.origin.to_string(), "file:AGENTS.md");
//!
//! // Above the boundary lies what a provider may cache.
//! assert!(prompt.stable().contains("Time zone: Europe/Berlin"));
//! assert!(prompt.volatile().contains("Runtime: "));
//! # Ok::<(), chela_prompt::RenderError>(())
//! ```
//!
//! The same input can be read from one JSON document with [`PromptInput::from_facts`], and the
//! prompt written as one with [`Prompt::to_json`].
//!
//! The crate deliberately knows nothing of files, clocks, config, models or providers' wire
//! formats: whoever calls it says what is so, and turns the boundary into what a provider offers.

mod clean_text;
mod facts;
mod files;
mod headings;
mod input;
mod json;
mod names;
mod out;
mod owners;
mod prompt;
mod providers;
mod render;
mod runtime_line;
mod section;
mod span_origin;
mod table;
mod template;
mod texts;
mod tool_list;
mod view;

pub use clean_text::CleanText;
pub use facts::FactsError;
pub use headings::{BorrowedHeading, borrowed_headings};
pub use input::{
    AcpDelegation, ApprovalWay, CitationMode, ContextFile, ElevatedExec, ElevatedLevel,
    ElevatedPermission, EmptyTools, ExtraKind, FamilyContribution, FileCompleteness, FullAccess,
    FullAccessBlock, HostBrowser, MemoryRecall, OwnerDisplay, OwnerList, PromptExtent, PromptInput,
    PromptMode, PromptReplacement, PromptTool, ReactionLevel, ReactionSettings, ReasoningLevel,
    ReplyFormat, ReplySurface, RuntimeFacts, SandboxExtent, SandboxFacts, SandboxWalls,
    SilentReplies, SkillEntry, SkillsListing, SourcedValue, ToolListing, TruncationNotice,
    WorkDelegation, WorkspaceAccess,
};
pub use json::TokenCount;
pub use owners::digest as owner_digest;
pub use prompt::{PartKind, PartSpan, Prompt, RenderError, SectionSpan};
pub use providers::{FamilyPersonality, contribution_for};
pub use render::{SectionAbsence, needs, render, usual_heading, why_absent};
pub use section::SectionId;
pub use span_origin::SpanOrigin;
pub use tool_list::core_tools;
