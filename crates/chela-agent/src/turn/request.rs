//! The request of a step, made from what is on disk.

use std::sync::Arc;

use chela_core::tokens;
use chela_ledger::{ContextRewrite, ToolList};
use chela_model::{CacheRequest, ModelRequest, ModelTarget, SystemText};
use chela_session::TranscriptBranch;

use super::recorder::PreparedRequest;
use super::{RunningTurn, TurnError};
use crate::assemble::hide_in_head;
use crate::compact::tokens_of;
use crate::context_builder::SendableMessages;
use crate::prefix_text::{head_tokens, tool_mark};

/// A request, and what it costs by our own count.
pub(super) struct TurnRequest {
    pub asked: Arc<ModelRequest>,
    pub tokens: u64,
    /// The tools it begins with, for the record.
    pub tool_marks: ToolList,
    /// As it is sent to the model it was made for; taken when it is opened.
    pub prepared: Option<PreparedRequest>,
}

/// What a request is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestUse {
    /// It is encoded and its record is drafted in the same piece of work.
    Send,
    /// Only its length is wanted.
    Measure,
}

impl RunningTurn<'_> {
    /// Makes it of a branch.
    pub(super) async fn request(
        &mut self,
        branch: TranscriptBranch,
        made_for: RequestUse,
    ) -> Result<TurnRequest, TurnError> {
        let target = self.chain.current().clone();
        let window = target.info().context_window;
        let tool_mode = target.tool_mode();
        let context = self.parts.context;
        let mut found = context.found_tools(&self.prefix, &self.found, &target);
        // Whoever asked for a call is done with one.
        let must_call = match self.spent.steps {
            0 => self.must_call.clone(),
            _ => Vec::new(),
        };
        found.extend(context.unlisted_tools(&self.prefix, &must_call, &found));
        let mut request = ModelRequest {
            system: self.prefix.system(&self.system_tail),
            messages: Vec::new(),
            // Behind the others: what is before them stays as it was.
            tools: self
                .prefix
                .text
                .tools
                .iter()
                .chain(&found)
                .cloned()
                .collect(),
            tool_mode,
            must_call,
            thinking: self.parts.transcript.thinking(),
            max_tokens: None,
            cache: CacheRequest {
                retention: None,
                key: self.session.id.as_str().to_owned(),
            },
            params: serde_json::Map::new(),
        };
        let redactor = self.parts.scope.agents.redactor();
        let prefix = Arc::clone(&self.prefix);
        let preparing = (made_for == RequestUse::Send).then(|| self.preparing());
        let rewrite = self.rewrite;
        let make = move |sendable: SendableMessages| {
            request.messages = sendable.messages;
            let is_hidden = match prefix.text.is_clean(&redactor) {
                true => {
                    let own = prefix.text.tools.len();
                    let others = request.tools.get_mut(own..).unwrap_or_default();
                    let mut rest = SystemText {
                        stable: String::new(),
                        tail: std::mem::take(&mut request.system.tail),
                    };
                    let is_hidden = hide_in_head(&mut rest, others, &redactor);
                    request.system.tail = rest.tail;
                    is_hidden
                }
                false => {
                    let is_hidden =
                        hide_in_head(&mut request.system, &mut request.tools, &redactor);
                    if !is_hidden {
                        prefix.text.note_clean(&redactor);
                    }
                    is_hidden
                }
            };
            let head = match is_hidden || !found.is_empty() {
                true => head_tokens(&target, tool_mode, &request.system.stable, &request.tools),
                false => prefix.text.tokens(&target, tool_mode),
            };
            let marks = match found.as_slice() {
                [] => prefix.text.tool_marks.clone(),
                found => {
                    let marks = prefix.text.tool_marks.iter().cloned();
                    marks.chain(found.iter().map(tool_mark)).collect()
                }
            };
            let tail = tokens::count(&request.system.tail) + sendable.tokens;
            let tokens = head + tail as u64;
            let asked = Arc::new(request);
            let pruned = sendable.pruned_now.then_some(ContextRewrite::Pruning);
            let rewrite = rewrite.or(pruned);
            let prepared =
                preparing.map(|preparing| preparing.prepare(&asked, &marks, Some(tokens), rewrite));
            let request = TurnRequest {
                tool_marks: marks,
                asked,
                tokens,
                prepared,
            };
            (request, sendable.pruned_now)
        };
        let made = context.sendable(&self.session, branch, window, make).await;
        let (request, pruned_now) = made?;
        if pruned_now {
            self.rewrite.get_or_insert(ContextRewrite::Pruning);
        }
        Ok(request)
    }
}

/// What a request costs by our own count.
pub(crate) fn estimate(target: &ModelTarget, request: &ModelRequest) -> u64 {
    let messages: usize = request.messages.iter().map(|said| tokens_of(said)).sum();
    let tail = tokens::count(&request.system.tail) + messages;
    let (mode, stable) = (request.tool_mode, &request.system.stable);
    head_tokens(target, mode, stable, &request.tools) + tail as u64
}
