//! What a tool is, before anybody calls it.

use std::sync::Arc;

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
    /// The schema of its arguments as a model is told of it.
    pub fn model_schema(&self) -> Value {
        schema::model_schema(&self.parameters)
    }
}
