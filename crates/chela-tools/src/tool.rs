//! What every tool is.

use std::pin::Pin;
use std::sync::Arc;

use chela_core::ContentHash;
use chela_guard::flow::Standing;
use serde_json::{Map, Value};

use crate::{Approver, Effect, Output, Sink};

/// What is known of a tool before it runs. Cheap to clone: a tool may come from a server or an
/// embedder while the program runs, so nothing of it is part of the program.
#[derive(Debug, Clone)]
pub struct Spec {
    pub name: Arc<str>,
    /// One or two sentences for the model. Never names a channel, a path of this machine or
    /// anything else that changes: it is part of the cached prefix.
    pub description: Arc<str>,
    /// JSON Schema of the arguments: an object.
    pub parameters: Arc<Value>,
    pub effect: Effect,
    /// The arguments through which it reaches the world, for the guard.
    pub sinks: Arc<[Sink]>,
}

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
