//! A conversation as commands see it.

use std::path::PathBuf;

use chela_core::SessionKey;
use chela_ledger::UsageSum;
use chela_model::Usage;

use crate::surface::ContextMeter;
use chela_inspect::report::ContextReport;

/// One conversation. Whoever holds conversations implements this; commands know nothing else. What
/// waits for a store is a future: a command holds nobody up.
pub trait CommandContext: Sync {
    fn session(&self) -> SessionKey;

    /// Who is writing, as the config names them.
    fn sender(&self) -> String;

    /// Reads anew what another process may have changed.
    fn refresh(&self) -> impl Future<Output = ()> + Send;

    /// A setting of this session, as it was last read; `None` when the config's counts.
    fn setting(&self, which: SessionSetting) -> Option<String>;

    /// `agents.defaults.thinkingDefault` and its kin, for settings the session leaves open.
    fn default_of(&self, which: SessionSetting) -> Option<String>;

    fn set(
        &self,
        which: SessionSetting,
        value: Option<&str>,
    ) -> impl Future<Output = Result<(), CommandTrouble>> + Send;

    fn model(&self) -> ModelState;

    /// The models that can be chosen, in the order they are shown and numbered.
    fn models(&self) -> Vec<ModelRow>;

    /// What the endpoints that can be reached have besides, by their own lists; with a name only
    /// what this provider has.
    fn served_models(&self, provider: Option<&str>) -> impl Future<Output = Vec<ModelRow>> + Send;

    /// Begins a new conversation under the same key. The old one is kept; gives the note that was
    /// written of it, if one was.
    fn begin(&self) -> impl Future<Output = Result<Option<String>, CommandTrouble>> + Send;

    /// The conversations that can be gone back to, newest first.
    fn conversations(
        &self,
    ) -> impl Future<Output = Result<Vec<ConversationRow>, CommandTrouble>> + Send;

    /// The conversation a person means by an id, a name, or words that were written in it.
    fn find_conversation(
        &self,
        given: &str,
    ) -> impl Future<Output = Result<ConversationRow, CommandTrouble>> + Send;

    /// Takes back the last message and what came of it.
    fn undo(&self) -> impl Future<Output = Result<Option<UndoOutcome>, CommandTrouble>> + Send;

    /// What the last turn that changed files did to them: each file with a diff.
    fn changed_files(
        &self,
    ) -> impl Future<Output = Result<Vec<(String, String)>, CommandTrouble>> + Send;

    /// Takes back what the last turn that changed files did to them: a line for each.
    fn undo_files(&self) -> impl Future<Output = Result<Vec<String>, CommandTrouble>> + Send;

    /// Writes the conversation to a file; without a path the place is chosen.
    fn export(
        &self,
        path: Option<&str>,
    ) -> impl Future<Output = Result<PathBuf, CommandTrouble>> + Send;

    fn report(&self) -> impl Future<Output = Result<ContextReport, CommandTrouble>> + Send;

    fn why(
        &self,
        what: &str,
    ) -> impl Future<Output = Result<Vec<chela_inspect::why::WhyAnswer>, CommandTrouble>> + Send;

    fn tools(&self) -> impl Future<Output = Vec<ToolRow>> + Send;

    fn skills(&self) -> Vec<SkillRow>;

    /// Whether a word after a slash is a skill's: its name, or that in the letters of a command.
    fn is_skill(&self, word: &str) -> bool {
        let plain = |word: &str| word.to_ascii_lowercase().replace('-', "_");
        let is_it = |name: &str| plain(name) == plain(word);
        let mut skills = self.skills().into_iter();
        skills.any(|skill| is_it(&skill.name) || is_it(&skill.command))
    }

    /// The message with which a person calls a skill, by its name or its command.
    fn call_skill(
        &self,
        name: &str,
        args: &str,
    ) -> impl Future<Output = Result<CalledSkill, CommandTrouble>> + Send;

    fn status(&self) -> impl Future<Output = SessionStatus> + Send;

    /// Shows a question that waits for the owner, or answers it; `None` when none has this id.
    fn answer_queued(
        &self,
        _id: &str,
        _answer: Option<&str>,
    ) -> impl Future<Output = Result<Option<String>, CommandTrouble>> + Send {
        std::future::ready(Ok(None))
    }

    /// Whether the one who writes is the owner, as code has checked it.
    fn is_owner(&self) -> bool;

    /// Stops every agent of this home.
    fn stop_all(&self) -> Result<(), CommandTrouble>;

    /// Lifts the taint; says what tainted the conversation, if anything did.
    fn release(&self) -> impl Future<Output = Result<Option<String>, CommandTrouble>> + Send;

    /// Shows what a file or a folder holds, or takes the owner's yes for it.
    fn trust_path(
        &self,
        path: &str,
        word: TrustWord,
    ) -> impl Future<Output = Result<String, CommandTrouble>> + Send;
}

/// What the owner says about a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustWord {
    Show,
    Yes,
}

/// Why a command could not be carried out, in words for the person.
pub type CommandTrouble = String;

/// What a session remembers for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SessionSetting {
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

impl SessionSetting {
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

/// A conversation that can be gone back to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationRow {
    pub id: String,
    /// Its name, or what it began with.
    pub title: String,
    /// What the person wrote last in it.
    pub last: Option<String>,
    /// `now`, `5m`, `3h`, `12d`.
    pub age: String,
    /// Entries of its transcript.
    pub entries: u64,
    /// Under which key, where that is not the main one.
    pub key: Option<String>,
    /// Whether this is the one that is open.
    pub is_open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRow {
    pub name: String,
    pub description: String,
    /// The model is not told of it until it looks for it.
    pub is_deferred: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRow {
    pub name: String,
    /// What follows the slash.
    pub command: String,
    pub description: String,
    /// What may follow it.
    pub hint: Option<String>,
}

/// A skill that can be called, as a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CalledSkill {
    /// Understood where the turn runs.
    pub message: String,
    /// The model that is to answer this message.
    pub model: Option<String>,
}

/// What `/undo` took back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoOutcome {
    Message {
        /// As it was written.
        message: String,
        /// Messages, replies and results taken back with it.
        entries: usize,
    },
    /// The conversation is as long again as it was.
    Compaction { tokens: u64 },
}

/// What was spent, on this conversation and by everybody today.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpentSums {
    pub session: UsageSum,
    pub today: UsageSum,
}

/// What `/status` knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionStatus {
    pub context: ContextMeter,
    /// Of the last turn.
    pub last: Usage,
    /// By the record; `None` where there is none.
    pub spent: Option<SpentSums>,
    pub turns: u64,
    pub compactions: u64,
    /// What the guard goes by, and what text from outside was read first.
    pub guard: String,
    pub tainted_by: Option<String>,
    /// Questions that wait for the owner.
    pub waiting: usize,
    /// Where commands run: `direct`, `sandbox`.
    pub execution: String,
}
