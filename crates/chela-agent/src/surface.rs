//! What a turn tells whoever is watching, and how it ends.

use chela_core::SessionKey;
use chela_model::{StopReason, Usage};
use chela_reply::Reply;
use chela_tools::{Approver, CallProgress, CallSuccess, HeadlessApprover};
use serde_json::Value;

/// Whoever a turn is run for: shown what happens, asked what needs a yes.
pub trait TurnSurface: Approver {
    /// Called from the turn, in order. Must not block.
    fn event(&self, event: TurnEvent);
}

/// A turn of the runtime, or of a session that another one writes to: nobody watches, and a yes is
/// not to be had.
impl TurnSurface for HeadlessApprover {
    fn event(&self, _: TurnEvent) {}
}

/// What happens during a turn.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    /// A model call begins.
    Calling {
        model: String,
        step: u32,
    },
    /// A piece of the reply, directives and silence already taken out.
    Text(String),
    /// A piece of the model's reasoning.
    Reasoning(String),
    ToolStarted {
        id: String,
        tool: String,
        /// One line about what it is about to do: a path, a command.
        summary: String,
        arguments: Value,
    },
    ToolProgress {
        id: String,
        progress: CallProgress,
    },
    ToolEnded {
        id: String,
        tool: String,
        success: CallSuccess,
        /// What the model was told.
        text: String,
        details: Value,
    },
    /// The text of this step so far was reasoning and does not count as a reply.
    Retracted,
    /// What was streamed since the last step does not count: the call begins again.
    Restarted {
        why: String,
    },
    /// A line for the person, not for the model.
    Notice(String),
    /// Nothing happens for a while, and why: told wherever the person may look.
    Waiting(String),
    /// A request is not on record, and why: told wherever the person may look.
    Unrecorded(String),
    /// Something changed what the agent may do, and it was not the owner: told wherever the person
    /// may look.
    Tampered(String),
    /// A model call has ended.
    Called {
        usage: Usage,
        /// Tokens of the request, and of the window they went into.
        context: ContextMeter,
    },
}

/// How full the context is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextMeter {
    pub used: u64,
    pub window: Option<u64>,
}

/// How a turn ended.
#[derive(Debug, Clone)]
pub struct TurnOutcome {
    pub session: SessionKey,
    /// Its id, under which its requests are on record.
    pub turn: String,
    /// `provider/model` that answered last.
    pub model: String,
    pub reply: Reply,
    pub usage: Usage,
    pub context: ContextMeter,
    /// Model calls made.
    pub steps: u32,
    pub tool_calls: u32,
    /// Why the model stopped speaking the last time it did. `None`: it never came to that.
    pub stop: Option<StopReason>,
    pub ended: TurnEnd,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model was done.
    Done,
    /// The person stopped it.
    Stopped,
    /// A limit was reached; says which.
    Limit(String),
    /// The same calls came again and again; says which.
    Loop(String),
}

impl TurnEnd {
    /// The word under which the transcript keeps it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Limit(_) => "limit",
            Self::Loop(_) => "loop",
        }
    }
}
