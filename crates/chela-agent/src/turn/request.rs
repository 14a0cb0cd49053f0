//! The request of a step, made from what is on disk.

use chela_core::tokens;
use chela_ledger::Rewrite;
use chela_model::{Cache, Request, Thinking};

use super::{Turn, TurnError};
use crate::assemble::hide_in_request;
use crate::compact::tokens_of;

impl Turn<'_> {
    pub(super) async fn request(&mut self) -> Result<Request, TurnError> {
        let target = self.chain.current();
        let window = target.info().context_window;
        let sendable = self.talk.sendable(&self.session, window).await?;
        if sendable.pruned_now {
            self.rewrite.get_or_insert(Rewrite::Pruning);
        }
        let mut request = Request {
            system: self.prefix.system(&self.system_tail),
            messages: sendable.messages,
            tools: self.prefix.tools.clone(),
            tool_mode: target.tool_mode(),
            thinking: self.talk.thinking(),
            max_tokens: None,
            cache: Cache {
                retention: None,
                key: self.session.id.as_str().to_owned(),
            },
            params: serde_json::Map::new(),
        };
        hide_in_request(&mut request, &self.talk.agents.redactor());
        Ok(request)
    }
}

/// What a request costs by our own count.
pub(crate) fn estimate(request: &Request) -> u64 {
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| {
            tokens::count(&tool.name)
                + tokens::count(&tool.description)
                + tokens::count(&tool.parameters.to_string())
        })
        .sum();
    let messages: usize = request.messages.iter().map(tokens_of).sum();
    let system = tokens::count(&request.system.stable) + tokens::count(&request.system.tail);
    (system + tools + messages) as u64
}

/// A thinking level by its name in the config.
pub(crate) fn thinking_named(level: &str) -> Thinking {
    match level {
        "minimal" => Thinking::Minimal,
        "low" => Thinking::Low,
        "medium" | "adaptive" => Thinking::Medium,
        "high" => Thinking::High,
        "xhigh" | "max" => Thinking::XHigh,
        _ => Thinking::Off,
    }
}
