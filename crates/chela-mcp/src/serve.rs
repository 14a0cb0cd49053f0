//! Chela as a server: requests of clients in, answers out.
//!
//! What there is to be had is somebody else's business ([`ServedContent`]), and so is who may have it: what
//! is served here is served to one caller. Both eras of the protocol are answered, each request in the
//! one it is written in; nothing is remembered between two.

mod dispatch;
mod http;
mod lines;

use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::json_member::put;
use crate::message::RpcError;

pub use http::{HttpAsk, ServedReply, answer_post};
pub use lines::serve_lines;

pub type ServedFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, RpcError>> + Send + 'a>>;

/// What can be had of this side, by one caller.
pub trait ServedContent: Send + Sync {
    /// What a model that uses it should know.
    fn instructions(&self) -> String;

    /// In an order that stays.
    fn tools(&self) -> Vec<ServedTool>;

    /// Calls a tool that was listed.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Map<String, Value>,
    ) -> ServedFuture<'a, ServedAnswer>;

    /// What can be read, in an order that stays.
    fn resources(&self) -> ServedFuture<'_, Vec<ServedResource>>;

    /// Reads one of them.
    fn read<'a>(&'a self, uri: &'a str) -> ServedFuture<'a, ServedText>;

    /// Texts that can be put into a conversation, in an order that stays.
    fn prompts(&self) -> ServedFuture<'_, Vec<ServedPrompt>>;

    /// One of them.
    fn prompt<'a>(&'a self, name: &'a str) -> ServedFuture<'a, String>;
}

/// A tool, as callers are told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedTool {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub schema: Value,
    /// Whether it changes nothing.
    pub reads_only: bool,
}

/// What came of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServedAnswer {
    pub text: String,
    /// The same for programs.
    pub structured: Option<Value>,
    pub is_error: bool,
}

impl ServedAnswer {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// It did not work; the text says why.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut value = json!({ "content": [{ "type": "text", "text": self.text }] });
        if let Some(structured) = &self.structured {
            put(&mut value, "structuredContent", structured.clone());
        }
        if self.is_error {
            put(&mut value, "isError", true);
        }
        value
    }
}

/// Something to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedResource {
    pub uri: String,
    pub name: String,
    pub description: String,
    pub mime: &'static str,
}

/// A text that can be put into a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedPrompt {
    pub name: String,
    pub description: String,
}

/// A text that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedText {
    pub uri: String,
    pub mime: &'static str,
    pub text: String,
}

/// Answers the requests of one caller. Cheap to clone.
#[derive(Clone)]
pub struct McpService {
    content: Arc<dyn ServedContent>,
}

impl std::fmt::Debug for McpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("McpService")
    }
}

impl McpService {
    pub fn new(content: Arc<dyn ServedContent>) -> Self {
        Self { content }
    }
}

#[cfg(test)]
mod tests;
