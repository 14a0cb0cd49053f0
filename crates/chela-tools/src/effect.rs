//! What a tool does to the world, declared once and known to the guard.

use serde::Serialize;

/// The kind of effect a call has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads what the owner or the agent wrote.
    Read,
    /// Brings in text from outside.
    ReadUntrusted,
    /// Sends something to another machine.
    Egress,
    /// Changes something here that can be put back.
    WriteReversible,
    /// Changes something others see: a message, a post.
    WriteOutward,
    /// Cannot be undone: deletion, payment, a command.
    Irreversible,
    /// Changes who the agent is: persona, memory.
    Persona,
    /// Changes what the agent may do.
    Config,
}

/// An argument through which a call reaches the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sink {
    /// Name of the argument.
    pub argument: &'static str,
    pub kind: SinkKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SinkKind {
    Recipient,
    Url,
    Path,
    Command,
    Amount,
    /// Free text that leaves the machine or stays in a file.
    Text,
    /// A name or id of something here.
    Name,
}
