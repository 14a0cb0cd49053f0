//! Where others may step into a turn.
//!
//! A hook is told what the turn is about to do and answers within a limit of time and of text. It
//! can only narrow what may happen: it may refuse a call or demand a question about it, never allow
//! what the guard does not; text it brings is labelled with its name and trusted no further than
//! a plugin's. What it changed stands in the audit chain with the hashes of before and after. A
//! hook that panics or takes too long fails alone: the turn goes on without its word, but a result
//! or a reply that it was to look through is withheld, unless the hook only watches.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chela_core::{AgentId, SessionKey, Speaker, Trust};
use chela_tools::{CallTarget, CallWrites, Effect};
use serde_json::{Map, Value};

/// What a hook is waited for with.
pub type HookFuture<'a, T> = Pin<Box<dyn Future<Output = HookOutcome<T>> + Send + 'a>>;

/// What a hook says, and what is to be told of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookOutcome<T> {
    pub answer: T,
    /// What it wanted and may not, each in words.
    pub refused: Vec<String>,
    /// Why there is no answer: then it counts as broken.
    pub fault: Option<String>,
}

impl<T> From<T> for HookOutcome<T> {
    fn from(answer: T) -> Self {
        Self {
            answer,
            refused: Vec::new(),
            fault: None,
        }
    }
}

/// Somebody who has a say in turns. Every method does nothing unless it is written anew.
///
/// Answers are futures, so that a hook may ask somebody else. A hook that blocks its thread cannot
/// be broken off by the limit of time.
pub trait TurnHook: Send + Sync {
    /// The name it is recorded and labelled under.
    fn name(&self) -> &str;

    /// Whether it has anything to say at a point: it is not asked elsewhere.
    fn listens(&self, _: HookPoint) -> bool {
        true
    }

    /// Before whom it is asked at a point: higher comes first.
    fn priority(&self, _: HookPoint) -> i32 {
        0
    }

    fn limits(&self) -> HookLimits {
        HookLimits::default()
    }

    /// How far its text is trusted: as far as a plugin's, or less.
    fn trust(&self) -> Trust {
        Trust::Plugin
    }

    /// What counts as its word about a call when it breaks. A hook that keeps something from
    /// happening had better say [`HookVerdict::Refuse`].
    fn word_when_broken(&self) -> HookVerdict {
        HookVerdict::Pass
    }

    /// What becomes of a result or a reply when it breaks over it. A hook that never changes any
    /// had better say [`TextWhenBroken::Passes`].
    fn text_when_broken(&self) -> TextWhenBroken {
        TextWhenBroken::Withheld
    }

    /// Whether it may have a turn answered by this model.
    fn may_redirect(&self, _provider: &str, _model: &str) -> bool {
        true
    }

    /// Names another model for this turn, one the agent may use.
    fn before_model_resolve<'a>(&'a self, _: &'a TurnFacts) -> HookFuture<'a, ModelWish> {
        no_answer()
    }

    /// Text for the files a session begins with. What changes later is told as a change.
    fn agent_bootstrap<'a>(&'a self, _: &'a TurnFacts) -> HookFuture<'a, Vec<SessionFile>> {
        no_answer()
    }

    /// Text that goes along with this message, and what the session's prompt is made of.
    fn before_prompt_build<'a>(&'a self, _: &'a TurnFacts) -> HookFuture<'a, PromptWish> {
        no_answer()
    }

    /// Text that goes along with a heartbeat.
    fn heartbeat_prompt_contribution<'a>(&'a self, _: &'a TurnFacts) -> HookFuture<'a, PromptWish> {
        no_answer()
    }

    /// What stands in place of the sections a provider may have its own of.
    fn provider_contribution<'a>(
        &'a self,
        _: &'a TurnFacts,
        _model: &'a str,
    ) -> HookFuture<'a, ProviderWish> {
        no_answer()
    }

    fn before_tool_call<'a>(
        &'a self,
        _: &'a TurnFacts,
        _: &'a CallFacts<'a>,
    ) -> HookFuture<'a, CallWish> {
        no_answer()
    }

    /// The text of a result, as it is to read instead. It is never trusted further than what it
    /// stands for.
    fn after_tool_call<'a>(
        &'a self,
        _: &'a TurnFacts,
        _: &'a ResultFacts<'a>,
    ) -> HookFuture<'a, Option<String>> {
        no_answer()
    }

    /// The text of a reply, as it is to read instead. What was shown of it while it was written
    /// is taken back.
    fn before_agent_reply<'a>(&'a self, _: &'a TurnFacts, _: &'a str) -> HookFuture<'a, TextWish> {
        no_answer()
    }

    /// A text that is about to be delivered somewhere, as it is to read instead.
    fn message_sending<'a>(
        &'a self,
        _: &'a TurnFacts,
        _: &'a SendingFacts<'a>,
    ) -> HookFuture<'a, TextWish> {
        no_answer()
    }

    /// Something happened that a hook may only know of.
    fn observe<'a>(&'a self, _: &'a TurnFacts, _: &'a ObservedEvent) -> HookFuture<'a, ()> {
        no_answer()
    }

    fn agent_end<'a>(&'a self, _: &'a TurnFacts, _: &'a EndFacts) -> HookFuture<'a, ()> {
        no_answer()
    }
}

fn no_answer<'a, T: Default + Send + 'a>() -> HookFuture<'a, T> {
    Box::pin(std::future::ready(T::default().into()))
}

/// Which model is to answer. What is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelWish {
    pub model: Option<String>,
    pub provider: Option<String>,
}

/// A file for a session to begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    pub name: String,
    pub text: String,
    /// It stands in place of the owner's file of that name, which takes a grant.
    pub replaces: bool,
}

impl SessionFile {
    /// A file beside the owner's.
    pub fn beside(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            replaces: false,
        }
    }
}

/// What a hook wants of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptWish {
    /// With the message, before and behind what others say.
    pub prepend: Option<String>,
    pub append: Option<String>,
    /// Among what the session begins with.
    pub prepend_system: Option<String>,
    pub append_system: Option<String>,
    /// In place of the prompt. Safety, sandbox and authorized senders stay.
    pub system_prompt: Option<String>,
    /// The only tools that are left for this turn.
    pub tools_allow: Option<Vec<String>>,
}

impl From<&str> for PromptWish {
    /// Text that goes along with the message.
    fn from(text: &str) -> Self {
        Self {
            prepend: Some(text.to_owned()),
            ..Self::default()
        }
    }
}

/// What stands in place of the sections a provider may have its own of. Blank means nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderWish {
    pub interaction_style: Option<String>,
    pub tool_call_style: Option<String>,
    pub execution_bias: Option<String>,
    pub stable_prefix: Option<String>,
    pub dynamic_suffix: Option<String>,
}

/// A hook's word about a call, and the arguments it wants it made with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallWish {
    pub verdict: HookVerdict,
    pub arguments: Option<Map<String, Value>>,
}

impl From<HookVerdict> for CallWish {
    fn from(verdict: HookVerdict) -> Self {
        Self {
            verdict,
            arguments: None,
        }
    }
}

/// What becomes of a text that goes out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TextWish {
    #[default]
    Keep,
    Text(String),
    /// It does not go out.
    Withhold,
}

impl From<Option<String>> for TextWish {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Keep, Self::Text)
    }
}

/// A text that is about to be delivered.
#[derive(Debug, Clone, Copy)]
pub struct SendingFacts<'a> {
    /// Where to, in words.
    pub to: &'a str,
    pub text: &'a str,
}

/// What a hook may only know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservedEvent {
    SessionStart,
    SessionEnd { reason: &'static str },
    BeforeCompaction,
    AfterCompaction { messages: usize, tokens: u64 },
}

impl ObservedEvent {
    pub fn point(&self) -> HookPoint {
        match self {
            Self::SessionStart => HookPoint::SessionStart,
            Self::SessionEnd { .. } => HookPoint::SessionEnd,
            Self::BeforeCompaction => HookPoint::BeforeCompaction,
            Self::AfterCompaction { .. } => HookPoint::AfterCompaction,
        }
    }
}

/// How long a hook may take and how much it may say, each time. More than the house allows is
/// not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookLimits {
    pub time: Duration,
    pub chars: usize,
}

impl HookLimits {
    /// The most any hook gets.
    pub const MOST: Self = Self {
        time: Duration::from_secs(60),
        chars: 64_000,
    };

    pub(crate) fn within_the_most(self) -> Self {
        Self {
            time: self.time.min(Self::MOST.time),
            chars: self.chars.min(Self::MOST.chars),
        }
    }
}

impl Default for HookLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(5),
            chars: 16_000,
        }
    }
}

/// A hook's word about a call. There is none that allows anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookVerdict {
    /// The guard decides.
    #[default]
    Pass,
    /// The owner is asked, where the guard would not have; says why.
    Ask(String),
    /// It does not happen; says why, for the owner.
    Refuse(String),
}

/// What becomes of a text that a hook broke over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextWhenBroken {
    /// Nobody sees it: the hook may have been about to take something out.
    Withheld,
    /// The hook only watches.
    Passes,
}

/// What a hook is told about the turn.
#[derive(Debug, Clone)]
pub struct TurnFacts {
    pub agent: AgentId,
    pub session: SessionKey,
    pub speaker: Speaker,
    /// The words the turn began with.
    pub message: Arc<str>,
    pub session_id: Arc<str>,
    pub workspace: PathBuf,
}

/// What a hook is told about a call before it is made.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    pub id: &'a str,
    pub tool: &'a str,
    pub arguments: &'a Map<String, Value>,
    pub effect: Effect,
    /// What it is about, links and detours resolved.
    pub targets: &'a [CallTarget],
    pub writes: &'a CallWrites,
}

/// What a hook is told about a result: screened, and without secrets.
#[derive(Debug, Clone, Copy)]
pub struct ResultFacts<'a> {
    pub id: &'a str,
    pub tool: &'a str,
    pub arguments: &'a Map<String, Value>,
    pub text: &'a str,
    pub trust: Trust,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndFacts {
    /// `done`, `stopped`, `limit`, `loop`, `failed`.
    pub how: &'static str,
    pub steps: u32,
    pub tool_calls: u32,
}

/// The points at which hooks are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookPoint {
    BeforeModelResolve,
    AgentBootstrap,
    BeforePromptBuild,
    HeartbeatPromptContribution,
    ProviderContribution,
    BeforeToolCall,
    AfterToolCall,
    BeforeAgentReply,
    MessageSending,
    SessionStart,
    SessionEnd,
    BeforeCompaction,
    AfterCompaction,
    AgentEnd,
}

impl HookPoint {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeModelResolve => "before_model_resolve",
            Self::AgentBootstrap => "agent_bootstrap",
            Self::BeforePromptBuild => "before_prompt_build",
            Self::HeartbeatPromptContribution => "heartbeat_prompt_contribution",
            Self::ProviderContribution => "provider_contribution",
            Self::BeforeToolCall => "before_tool_call",
            Self::AfterToolCall => "after_tool_call",
            Self::BeforeAgentReply => "before_agent_reply",
            Self::MessageSending => "message_sending",
            Self::SessionStart => "session_start",
            Self::SessionEnd => "session_end",
            Self::BeforeCompaction => "before_compaction",
            Self::AfterCompaction => "after_compaction",
            Self::AgentEnd => "agent_end",
        }
    }
}
