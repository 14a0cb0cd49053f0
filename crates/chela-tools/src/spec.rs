//! What a tool is, before anybody calls it.

use std::sync::{Arc, Mutex};

use chela_core::lock;
use serde_json::Value;

use crate::{CallSink, Effect, schema};

/// What is known of a tool before it runs. Cheap to clone: a tool may come from a server or an
/// embedder while the program runs, so nothing of it is part of the program.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    pub name: Arc<str>,
    /// One or two sentences for the model. Never names a channel, a path of this machine or
    /// anything else that changes: it is part of the cached prefix.
    pub description: Arc<str>,
    /// JSON Schema of the arguments: an object.
    pub parameters: Arc<Value>,
    pub effect: Effect,
    /// The arguments through which it reaches the world, for the guard.
    pub sinks: Arc<[CallSink]>,
}

impl ToolSpec {
    /// The same, in memory once for the sessions that have it: what depends on the config is alike
    /// in most of them.
    pub(crate) fn shared(self) -> Self {
        /// More kinds than one config makes.
        const MOST_KNOWN: usize = 32;
        static KNOWN: Mutex<Vec<ToolSpec>> = Mutex::new(Vec::new());
        let mut known = lock(&KNOWN);
        if let Some(same) = known.iter().find(|known| self.is_same_as(known)) {
            return same.clone();
        }
        if known.len() == MOST_KNOWN {
            known.remove(0);
        }
        known.push(self.clone());
        self
    }

    fn is_same_as(&self, other: &Self) -> bool {
        self.name == other.name
            && self.effect == other.effect
            && self.sinks == other.sinks
            && self.description == other.description
            && self.parameters == other.parameters
    }

    /// The schema of its arguments as a model is told of it.
    pub fn model_schema(&self) -> Value {
        schema::model_schema(&self.parameters)
    }
}

/// A spec that depends on nothing: made once, and in memory once however many sessions have it.
macro_rules! shared_spec {
    ($spec:expr) => {{
        static SPEC: std::sync::LazyLock<crate::ToolSpec> = std::sync::LazyLock::new(|| $spec);
        SPEC.clone()
    }};
}
pub(crate) use shared_spec;
