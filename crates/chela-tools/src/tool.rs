//! What every tool is.

use std::path::PathBuf;
use std::pin::Pin;

use chela_core::{ContentHash, Trust};
use chela_guard::flow::HostStanding;
use serde_json::{Map, Value};

use chela_guard::WebAddress;

use crate::approvals::StateReach;
use crate::foresight::{self, CallWrites, FilePreview, ToolNeed};
use crate::spec::ToolSpec;
use crate::{ApprovalChoice, Approver, CallTarget, Effect, OutputBound, ToolOutput};

/// A running call. Dropping it stops it, and whatever it started in the foreground.
pub type CallFuture<'a> = Pin<Box<dyn Future<Output = ToolOutput> + Send + 'a>>;

/// Something the agent can do.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Whether a model is told of it from the start.
    fn offer(&self) -> ToolOffer {
        ToolOffer::Always
    }

    /// The arguments as the tool means to use them, where a call says one thing in two ways. Asked
    /// before anybody judges the call: what is judged is what is used.
    fn settle(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        arguments
    }

    /// What a call with these arguments would do, before it is done. The effect of the spec, unless
    /// the tool can tell more from the arguments.
    fn prospect(&self, _arguments: &Map<String, Value>) -> CallProspect {
        CallProspect::of(self.spec().effect)
    }

    /// What a call is about, in canonical form: paths with links resolved, addresses normalised,
    /// sessions by their keys. Looks at files and records, so it is asked from a thread that may
    /// wait. Without a word of its own a tool is about the addresses and commands of its sinks.
    fn targets(&self, arguments: &Map<String, Value>) -> Vec<CallTarget> {
        foresight::targets_by_sink(self.spec(), arguments)
    }

    /// What a call would change, without changing it. A tool that names its files here has them
    /// watched as those of the built-in file tools are; any other tool that changes something is
    /// taken to change anything. Asked without arguments, it says what it can change at all.
    fn writes(&self, arguments: &Map<String, Value>) -> CallWrites {
        foresight::writes_by_effect(self.prospect(arguments).effect)
    }

    /// The folders a call that may change anything can write in, besides those the session works in.
    fn writes_in(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether a call that may change anything can change what Chela keeps, too.
    fn state_reach(&self, _arguments: &Map<String, Value>) -> StateReach {
        StateReach::Open
    }

    /// The files as a call would leave them. Nothing is written, whatever becomes of the call:
    /// this is what is kept for the owner when nobody could be asked.
    fn preview(&self, _arguments: &Map<String, Value>) -> Vec<FilePreview> {
        Vec::new()
    }

    /// Whether it hands what it replaces to the session's [`ChangeJournal`](crate::ChangeJournal) itself. For
    /// others that name their files the turn does so.
    fn keeps_changes(&self) -> bool {
        false
    }

    /// How far its name, its description and its schema are trusted. What a stranger says of a tool is
    /// told as the stranger's words.
    fn described_by(&self) -> Trust {
        Trust::Operator
    }

    /// What it needs of the session it is used in.
    fn needs(&self) -> Vec<ToolNeed> {
        foresight::needs_by_sink(self.spec())
    }

    /// Runs one call. Bad arguments and failures are an [`ToolOutput`] too, written for the model.
    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a>;
}

/// When a model is told of a tool. Whether it may be used is the policy's answer and nobody
/// else's: a deferred tool that is called by its name runs like any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolOffer {
    /// It stands in every request.
    #[default]
    Always,
    /// Things being as they are, there is a use for it: it stands in every request.
    Needed,
    /// Nobody needs it yet: `tools_find` finds it.
    Deferred,
}

/// What the guard is told about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallProspect {
    pub effect: Effect,
    /// Of a command: whether the owner's list has it.
    pub standing: HostStanding,
    /// What will happen, in plain words.
    pub words: Option<String>,
    /// The hash of what would run besides the arguments.
    pub binds: Option<ContentHash>,
    /// What the owner can answer when asked about it; empty for the usual answers.
    pub choices: Vec<ApprovalChoice>,
}

impl CallProspect {
    pub fn of(effect: Effect) -> Self {
        Self {
            effect,
            standing: HostStanding::Unlisted,
            words: None,
            binds: None,
            choices: Vec::new(),
        }
    }
}

/// One call.
#[derive(Clone, Copy)]
pub struct RunCall<'a> {
    pub id: &'a str,
    pub arguments: &'a Map<String, Value>,
    /// What it is about, as it was judged; what it asks for is this and not what its arguments
    /// read like.
    pub targets: &'a [CallTarget],
    /// What it may change, as it was judged; a tool that finds itself about to change another
    /// file refuses.
    pub writes: &'a CallWrites,
    /// Told now and then what is going on.
    pub progress: &'a (dyn Fn(CallProgress) + Send + Sync),
    /// Asked when a person must say yes.
    pub approver: &'a dyn Approver,
    /// Asked whenever a server sends the call on to another address.
    pub redirects: &'a dyn RedirectJudge,
    /// How much of a result is read at once, for tools that are made without the session's own.
    /// `None`: nobody said.
    pub bound: Option<&'a OutputBound>,
}

/// Whether a redirect may be followed; the error is what the model is told.
pub type RedirectFuture<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Judges every hop of a redirect as a target of its own.
pub trait RedirectJudge: Send + Sync {
    fn judge<'a>(&'a self, from: &'a WebAddress, to: &'a WebAddress) -> RedirectFuture<'a>;
}

/// Follows wherever a server leads: for calls nobody judges.
#[derive(Debug, Clone, Copy)]
pub struct AnyRedirect;

impl RedirectJudge for AnyRedirect {
    fn judge<'a>(&'a self, _: &'a WebAddress, _: &'a WebAddress) -> RedirectFuture<'a> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl std::fmt::Debug for RunCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A line about a call that is still running, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallProgress {
    /// What it does now.
    Status(String),
    /// The newest output of a program.
    Output(String),
}
