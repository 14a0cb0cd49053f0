//! Slash commands, the same wherever a person writes: terminal, channel or web page.
//!
//! The [`COMMANDS`] table says what there is; help, completion and the reference page read it and
//! nothing else. [`parse`] tells commands, directives and plain messages apart; [`run`] carries a
//! command out against a [`Talk`] and answers in Markdown. What only the surface can do - stop the
//! turn, say the next message, leave - comes back as [`Then`].

mod complete;
mod context;
mod levels;
mod parse;
mod run;
mod status;
mod table;
mod talk;
#[cfg(test)]
mod tests;

pub use complete::{Candidate, complete};
pub use levels::thinking_level;
pub use parse::{Directive, Parsed, parse};
pub use run::{Answer, Then, apply, run};
pub use status::value;
pub use table::{COMMANDS, Command, Group, Id, Kind, find, help};
pub use talk::{ModelRow, ModelState, Setting, SkillRow, Status, Talk, ToolRow, Trouble, Undone};
