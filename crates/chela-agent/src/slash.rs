//! Slash commands, the same wherever a person writes: terminal, channel or web page.
//!
//! The [`COMMANDS`] table says what there is; help, completion and the reference page read it and
//! nothing else. [`parse`] tells commands, directives and plain messages apart; [`run`] carries a
//! command out against a [`CommandContext`] and answers in Markdown. What only the surface can do - stop the
//! turn, say the next message, leave - comes back as [`SurfaceAction`].

mod choose_model;
mod command_context;
mod complete;
mod context;
mod known_elsewhere;
mod levels;
mod parse;
mod run;
mod status;
mod table;
#[cfg(test)]
mod tests;

pub use command_context::{
    CalledSkill, CommandContext, CommandTrouble, ConversationRow, ModelRow, ModelState,
    SessionSetting, SessionStatus, SkillRow, SpentSums, ToolRow, TrustWord, UndoOutcome,
};
pub use complete::{CommandCompletion, complete};
pub use levels::thinking_level;
pub use parse::{InlineDirective, ParsedLine, parse, parse_beside};
pub use run::{AnswerOutcome, CommandAnswer, SurfaceAction, apply, list_conversations, run};
pub use status::value;
pub use table::{COMMANDS, CommandGroup, CommandId, CommandKind, SlashCommand, find, help};
