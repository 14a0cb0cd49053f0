//! The request of a step, made from what is on disk.

use std::sync::Arc;

use chela_core::tokens;
use chela_ledger::{ContextRewrite, ToolMark};
use chela_model::{CacheRequest, ModelRequest, ModelTarget};

use super::{RunningTurn, TurnError};
use crate::assemble::hide_in_head;
use crate::compact::tokens_of;
use crate::prefix_text::{head_tokens, tool_mark};

/// A request, and what it costs by our own count.
pub(super) struct TurnRequest {
    pub asked: Arc<ModelRequest>,
    pub tokens: u64,
    /// The tools it begins with, for the record.
    pub tool_marks: Arc<[ToolMark]>,
}

impl RunningTurn<'_> {
    pub(super) async fn request(&mut self) -> Result<TurnRequest, TurnError> {
        let target = self.chain.current().clone();
        let window = target.info().context_window;
        let tool_mode = target.tool_mode();
        let sendable = self.parts.context.sendable(&self.session, window).await?;
        if sendable.pruned_now {
            self.rewrite.get_or_insert(ContextRewrite::Pruning);
        }
        let context = self.parts.context;
        let found = context.found_tools(&self.prefix, &self.found, &target);
        let mut request = ModelRequest {
            system: self.prefix.system(&self.system_tail),
            messages: sendable.messages,
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
            thinking: self.parts.transcript.thinking(),
            max_tokens: None,
            cache: CacheRequest {
                retention: None,
                key: self.session.id.as_str().to_owned(),
            },
            params: serde_json::Map::new(),
        };
        let agents = &self.parts.scope.agents;
        let (redactor, prefix) = (agents.redactor(), Arc::clone(&self.prefix));
        let hidden = agents.cores.run(move || {
            let is_hidden = hide_in_head(&mut request.system, &mut request.tools, &redactor);
            let head = match is_hidden || !found.is_empty() {
                true => head_tokens(&target, tool_mode, &request.system.stable, &request.tools),
                false => prefix.text.tokens(&target, tool_mode),
            };
            let marks = prefix.text.tool_marks.iter().cloned();
            let tail = tokens::count(&request.system.tail) + sendable.tokens;
            TurnRequest {
                tool_marks: marks.chain(found.iter().map(tool_mark)).collect(),
                asked: Arc::new(request),
                tokens: head + tail as u64,
            }
        });
        Ok(hidden.await)
    }
}

/// What a request costs by our own count.
pub(crate) fn estimate(target: &ModelTarget, request: &ModelRequest) -> u64 {
    let messages: usize = request.messages.iter().map(|said| tokens_of(said)).sum();
    let tail = tokens::count(&request.system.tail) + messages;
    let (mode, stable) = (request.tool_mode, &request.system.stable);
    head_tokens(target, mode, stable, &request.tools) + tail as u64
}
