//! Why is it so?
//!
//! Questions about what a model reads and what an installation risks: what the context is made of
//! and what each part costs, why something is in it or is not, what changed between two prompts,
//! what is unwise about its words, what is set up and what is risky about it, whether what it keeps
//! can be used, what a turn decided and did, which files and skills are trusted, what waits for the
//! owner.
//! Every answer is data; commands, the chat and whoever else prints it.

pub mod approvals_report;
mod assembled;
pub mod diff;
pub mod lint;
pub mod mcp_report;
pub mod report;
pub mod saved;
pub mod security;
pub mod skill_report;
pub mod status;
pub mod store_health;
pub mod trust_report;
pub mod turn_audit;
pub mod why;

pub use assembled::{AssembledPrompt, RequestShape, ToolPlace};
