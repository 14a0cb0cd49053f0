//! What it takes to hold conversations from a program of one's own: `use chela_agent::prelude::*;`.
//!
//! Build a [`Host`] ([`this_machine`]), read the config ([`load`]), open the [`Agents`], ask them
//! for a [`Conversation`] and say something. A [`Surface`] is shown what happens and asked what
//! needs a yes. `examples/embed.rs` does all of it.

pub use crate::agent::{Agents, OpenError};
pub use crate::conversation::{Conversation, ConversationAsk, Image, Inbound, OwnTools, ToolUse};
pub use crate::hooks::{
    CallFacts, CallWord, EndFacts, HookFuture, HookLimits, ResultFacts, TurnFacts, TurnHook,
};
pub use crate::machine::this_machine;
pub use crate::turn::{Ended, Surface, TurnError, TurnEvent, TurnOutcome};
pub use chela_config::{Loaded, load, load_text};
pub use chela_core::{AgentId, Host, OwnerProof, Sender, SessionKey, Speaker, Trust};
pub use chela_guard::Labelled;
pub use chela_reply::{Delivery, Reply};
pub use chela_tools::{
    Answer, Approver, Call, Effect, Headless, Output, Question, Running, Scope, Sink, SinkKind,
    Spec, Tool,
};
