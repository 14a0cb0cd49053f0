//! What it takes to hold conversations from a program of one's own: `use chela_agent::prelude::*;`.
//!
//! Build a [`Host`] ([`this_machine`]), read the config ([`load`]), open the [`Agents`], ask them
//! for a [`Conversation`] and say something. A [`TurnSurface`] is shown what happens and asked what
//! needs a yes. `examples/embed.rs` does all of it.

pub use crate::agent::{Agents, OpenError};
pub use crate::conversation::{
    Conversation, ConversationAsk, ExternalText, InboundImage, InboundMessage, MessageStanding,
    OwnTools, ToldAnnouncement, ToolUse,
};
pub use crate::hooks::{
    CallFacts, CallWish, EndFacts, HookFuture, HookLimits, HookOutcome, HookVerdict, ModelWish,
    PromptWish, ResultFacts, SessionFile, TextWish, TurnFacts, TurnHook,
};
pub use crate::machine::this_machine;
pub use crate::turn::{
    OwnerCall, OwnerCallOutcome, TurnEnd, TurnError, TurnEvent, TurnOutcome, TurnSurface,
};
pub use chela_config::{LoadedConfig, load, load_text};
pub use chela_core::{AgentId, Host, OwnerProof, Sender, SessionKey, Speaker, Trust};
pub use chela_guard::{ExternalSource, LabelledText};
pub use chela_reply::{Reply, ReplyDelivery};
pub use chela_tools::{
    ApprovalQuestion, ApprovalScope, Approver, CallFuture, CallSink, Effect, HeadlessApprover,
    OwnerAnswer, RunCall, SinkKind, Tool, ToolOutput, ToolSpec, check_own_name,
};
