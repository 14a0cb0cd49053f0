//! A conversation as commands see it.

use std::path::PathBuf;

use chela_core::SessionKey;
use chela_model::{Prices, Usage};

use crate::turn::ContextMeter;
use chela_inspect::report::ContextReport;

/// One conversation. Whoever holds conversations implements this; commands know nothing else.
pub trait Talk {
    fn session(&self) -> SessionKey;

    /// Who is writing, as the config names them.
    fn sender(&self) -> String;

    /// A setting of this session; `None` when the config's counts.
    fn setting(&self, which: Setting) -> Option<String>;

    fn set(&self, which: Setting, value: Option<&str>) -> Result<(), Trouble>;

    fn model(&self) -> ModelState;

    /// The models that can be chosen, in the order they are shown and numbered.
    fn models(&self) -> Vec<ModelRow>;

    /// Begins a new conversation under the same key. The old one is kept.
    fn begin(&self) -> Result<(), Trouble>;

    /// Takes back the last message and what came of it.
    fn undo(&self) -> Result<Option<Undone>, Trouble>;

    /// Takes back what the last turn that changed files did to them: a line for each.
    fn undo_files(&self) -> Result<Vec<String>, Trouble>;

    /// Writes the conversation to a file; without a path the place is chosen.
    fn export(&self, path: Option<&str>) -> Result<PathBuf, Trouble>;

    fn report(&self) -> Result<ContextReport, Trouble>;

    fn why(&self, what: &str) -> Result<Vec<chela_inspect::why::Answer>, Trouble>;

    fn tools(&self) -> Vec<ToolRow>;

    fn skills(&self) -> Vec<SkillRow>;

    /// The message with which a person calls a skill, by its name or its command.
    fn call_skill(&self, name: &str, args: &str) -> Result<String, Trouble>;

    fn status(&self) -> Status;

    /// Whether the one who writes is the owner, as code has checked it.
    fn is_owner(&self) -> bool;

    /// Stops every agent of this home.
    fn stop_all(&self) -> Result<(), Trouble>;

    /// Lifts the taint; says what tainted the conversation, if anything did.
    fn release(&self) -> Result<Option<String>, Trouble>;
}

/// Why a command could not be carried out, in words for the person.
pub type Trouble = String;

/// What a session remembers for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Setting {
    Model,
    Thinking,
    Reasoning,
    Verbose,
    /// Leaving the sandbox.
    Elevated,
    /// The line under each reply.
    Usage,
    Title,
}

impl Setting {
    /// The name it is stored under.
    pub fn key(self) -> &'static str {
        match self {
            Self::Model => "modelOverride",
            Self::Thinking => "thinkingLevel",
            Self::Reasoning => "reasoningLevel",
            Self::Verbose => "verboseLevel",
            Self::Elevated => "elevatedLevel",
            Self::Usage => "responseUsage",
            Self::Title => "displayName",
        }
    }
}

/// Who answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelState {
    /// What the config or the person chose, as `provider/model`. `None`: there is no model.
    pub selected: Option<String>,
    /// Who answered last, where that is someone else, and why.
    pub fallback: Option<(String, String)>,
    /// What to do, where there is no model.
    pub missing: Vec<String>,
}

/// A model that can be chosen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelRow {
    /// `provider/model`.
    pub name: String,
    pub alias: Option<String>,
    pub window: Option<u64>,
    /// Why it cannot be used now, or what there is to know.
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRow {
    pub name: String,
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRow {
    pub name: String,
    /// What follows the slash: letters, digits and `_`.
    pub command: String,
    pub description: String,
}

/// What `/undo` took back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    Message {
        /// As it was written.
        message: String,
        /// Messages, replies and results taken back with it.
        entries: usize,
    },
    /// The conversation is as long again as it was.
    Compaction { tokens: u64 },
}

/// What `/status` knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    pub context: ContextMeter,
    /// Of the last turn.
    pub last: Usage,
    /// Of the whole conversation.
    pub total: Usage,
    pub price: Option<Prices>,
    pub turns: u64,
    pub compactions: u64,
    /// What the guard goes by, and what text from outside was read first.
    pub guard: String,
    pub tainted_by: Option<String>,
    /// Questions that wait for the owner.
    pub waiting: usize,
    /// Where commands run: `direct`, `sandbox`.
    pub execution: String,
    /// `agents.defaults.thinkingDefault` and its kin, for settings the session leaves open.
    pub defaults: Vec<(Setting, String)>,
}
