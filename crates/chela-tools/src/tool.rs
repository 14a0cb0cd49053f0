//! What every tool is.

use std::pin::Pin;

use chela_core::ContentHash;
use chela_guard::flow::Standing;
use serde_json::{Map, Value};

use crate::foresight::{self, CallTarget, CallWrites, FilePreview, ToolNeed};
use crate::spec::Spec;
use crate::{Approver, Effect, Output};

/// A running call. Dropping it stops it, and whatever it started in the foreground.
pub type Running<'a> = Pin<Box<dyn Future<Output = Output> + Send + 'a>>;

/// Something the agent can do.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &Spec;

    /// What a call with these arguments would do, before it is done. The effect of the spec, unless
    /// the tool can tell more from the arguments.
    fn prospect(&self, _arguments: &Map<String, Value>) -> Prospect {
        Prospect::of(self.spec().effect)
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

    /// The files as a call would leave them. Nothing is written, whatever becomes of the call:
    /// this is what is kept for the owner when nobody could be asked.
    fn preview(&self, _arguments: &Map<String, Value>) -> Vec<FilePreview> {
        Vec::new()
    }

    /// Whether it hands what it replaces to the session's [`Journal`](crate::Journal) itself. For
    /// others that name their files the turn does so.
    fn keeps_changes(&self) -> bool {
        false
    }

    /// What it needs of the session it is used in.
    fn needs(&self) -> Vec<ToolNeed> {
        foresight::needs_by_sink(self.spec())
    }

    /// Runs one call. Bad arguments and failures are an [`Output`] too, written for the model.
    fn run<'a>(&'a self, call: Call<'a>) -> Running<'a>;
}

/// What the guard is told about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prospect {
    pub effect: Effect,
    /// Of a command: whether the owner's list has it.
    pub standing: Standing,
    /// What will happen, in plain words.
    pub words: Option<String>,
    /// The hash of what would run besides the arguments.
    pub binds: Option<ContentHash>,
}

impl Prospect {
    pub fn of(effect: Effect) -> Self {
        Self {
            effect,
            standing: Standing::Unlisted,
            words: None,
            binds: None,
        }
    }
}

/// One call.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub id: &'a str,
    pub arguments: &'a Map<String, Value>,
    /// Told now and then what is going on.
    pub progress: &'a (dyn Fn(Progress) + Send + Sync),
    /// Asked when a person must say yes.
    pub approver: &'a dyn Approver,
}

impl std::fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A line about a call that is still running, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// What it does now.
    Status(String),
    /// The newest output of a program.
    Output(String),
}
