//! Where others may step into a turn.
//!
//! A hook is told what the turn is about to do and answers within a limit of time and of text. It
//! can only narrow what may happen: it may refuse a call or demand a question about it, never allow
//! what the guard does not; text it brings is labelled with its name and trusted no further than
//! a plugin's. What it changed stands in the audit chain with the hashes of before and after. A
//! hook that panics or takes too long fails alone: the turn goes on without its word, but a result
//! or a reply that it was to look through is withheld, unless the hook only watches.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chela_core::{AgentId, SessionKey, Speaker, Trust};
use chela_tools::{CallTarget, CallWrites, Effect};
use serde_json::{Map, Value};

/// What a hook is waited for with.
pub type HookFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Somebody who has a say in turns. Every method does nothing unless it is written anew.
///
/// Answers are futures, so that a hook may ask somebody else. A hook that blocks its thread cannot
/// be broken off by the limit of time.
pub trait TurnHook: Send + Sync {
    /// The name it is recorded and labelled under.
    fn name(&self) -> &str;

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

    /// Names another model for this turn, one the agent may use.
    fn before_model_resolve<'a>(&'a self, _: &'a TurnFacts) -> HookFuture<'a, Option<String>> {
        no_answer()
    }

    /// Text for the files a session begins with. What changes later is told as a change.
    fn agent_bootstrap<'a>(&'a self, _: &'a TurnFacts) -> HookFuture<'a, Option<String>> {
        no_answer()
    }

    /// Text that goes along with this message.
    fn before_prompt_build<'a>(&'a self, _: &'a TurnFacts) -> HookFuture<'a, Option<String>> {
        no_answer()
    }

    fn before_tool_call<'a>(
        &'a self,
        _: &'a TurnFacts,
        _: &'a CallFacts<'a>,
    ) -> HookFuture<'a, HookVerdict> {
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
    fn before_agent_reply<'a>(
        &'a self,
        _: &'a TurnFacts,
        _: &'a str,
    ) -> HookFuture<'a, Option<String>> {
        no_answer()
    }

    fn agent_end<'a>(&'a self, _: &'a TurnFacts, _: &'a EndFacts) -> HookFuture<'a, ()> {
        no_answer()
    }
}

fn no_answer<'a, T: Default + Send + 'a>() -> HookFuture<'a, T> {
    Box::pin(std::future::ready(T::default()))
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
    BeforeToolCall,
    AfterToolCall,
    BeforeAgentReply,
    AgentEnd,
}

impl HookPoint {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeModelResolve => "before_model_resolve",
            Self::AgentBootstrap => "agent_bootstrap",
            Self::BeforePromptBuild => "before_prompt_build",
            Self::BeforeToolCall => "before_tool_call",
            Self::AfterToolCall => "after_tool_call",
            Self::BeforeAgentReply => "before_agent_reply",
            Self::AgentEnd => "agent_end",
        }
    }
}
