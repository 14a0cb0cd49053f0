//! Asking a person.

use std::pin::Pin;
use std::time::Duration;

use chela_core::ContentHash;
use serde::{Deserialize, Serialize};

/// What a person is asked to allow. What is shown is what will happen: `binds` is the hash of
/// everything that was shown and of what would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// Short, for `/approve ID …`.
    pub id: String,
    pub tool: String,
    /// What will happen, in plain words.
    pub summary: String,
    /// The exact command or arguments, made safe to print.
    pub exact: String,
    /// Why it asks.
    pub why: String,
    pub binds: ContentHash,
    /// The question lapses after this long.
    pub expires_after: Duration,
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    AllowOnce,
    /// For this exact shape, until the session ends.
    AllowSession,
    /// For this exact shape, always.
    AllowAlways,
    Deny,
    /// Nobody answered in time, or nobody is there.
    Unanswered,
}

/// Whoever can ask the owner. Never the model.
pub trait Approver: Send + Sync {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Approval> + Send + 'a>>;
}

/// Nobody is there to ask.
#[derive(Debug, Clone, Copy)]
pub struct Headless;

impl Approver for Headless {
    fn ask<'a>(
        &'a self,
        _: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Approval> + Send + 'a>> {
        Box::pin(std::future::ready(Approval::Unanswered))
    }
}
