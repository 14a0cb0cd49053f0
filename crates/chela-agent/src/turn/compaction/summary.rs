//! A summary written by a model, and held to what must survive.

use std::sync::Arc;
use std::time::Duration;

use chela_config::model::{Compaction as Settings, CompactionMode, IdentifierPolicy};
use chela_ledger::{ContextRewrite, ToolList};
use chela_model::{
    CacheRequest, FallbackChain, ModelMessage, ModelRequest, ModelResponse, ToolSchema,
};

use super::{CompactionPlan, WrittenBy};
use crate::assemble::{hide_in_head, hide_in_message};
use crate::compact::{self, SummaryShortfall, shortfalls};
use crate::context_builder::{RequestPrefix, found_in};
use crate::prefix_text::tool_mark;
use crate::transcript::thinking_named;
use crate::turn::recorder::RecordedCall;
use crate::turn::{TurnParts, TurnRecorder};
use chela_session::{OpenSession, context};

/// The mode in which a summary is checked before it replaces anything.
const SAFEGUARD: CompactionMode = CompactionMode::Safeguard;

/// The summary a model writes, held to what must survive; else one by rules.
pub(super) async fn summary(
    parts: TurnParts<'_>,
    chain: &FallbackChain,
    plan: &CompactionPlan,
    instructions: Option<&str>,
) -> (String, WrittenBy) {
    let settings = &parts.scope.view.compaction.value;
    let own = match settings.model.as_deref() {
        Some(model) => match parts.scope.agents.chain(&parts.scope.view, Some(model)) {
            Ok(own) => Some(own),
            Err(error) => return plan.by_rules(error),
        },
        None => None,
    };
    let session = parts.transcript.session();
    let chain = own.as_ref().unwrap_or(chain);
    let prefix = match parts.context.prefix().await {
        Ok(prefix) => prefix,
        Err(error) => return plan.by_rules(error),
    };
    let found = match parts.transcript.sessions.branch(&session).await {
        Ok(branch) => found_in(&branch),
        Err(error) => return plan.by_rules(error),
    };
    let found = parts.context.found_tools(&prefix, &found, chain.current());
    let marks = prefix.text.tool_marks.iter().cloned();
    let writing = Writing {
        tool_marks: marks.chain(found.iter().map(tool_mark)).collect(),
        recorder: TurnRecorder::open(&parts.scope.agents),
        parts,
        session,
        chain,
        prefix,
        found,
    };
    let mut missing: Vec<SummaryShortfall> = Vec::new();
    for attempt in 0..=settings.quality_guard.max_retries {
        let request = Arc::new(writing.request(plan, instructions, &missing));
        let response = match writing.call(&request, attempt + 1).await {
            Ok(response) => response,
            Err(why) => return plan.by_rules(why),
        };
        let text = ModelMessage::Assistant {
            content: response.content,
            model: None,
        }
        .text();
        let text = mended(text.trim(), &plan.messages, settings);
        missing = match settings.quality_guard.enabled && settings.mode == SAFEGUARD {
            true => lacking(&text, &plan.messages, settings),
            false => Vec::new(),
        };
        if missing.is_empty() && !text.is_empty() {
            return (text, WrittenBy::Model(response.model));
        }
    }
    let why = missing
        .first()
        .map_or_else(|| "it was empty".to_owned(), ToString::to_string);
    plan.by_rules(format!("the model's summary was not good enough: {why}"))
}

/// A summary being written by a model.
struct Writing<'a> {
    parts: TurnParts<'a>,
    session: OpenSession,
    recorder: TurnRecorder,
    chain: &'a FallbackChain,
    prefix: Arc<RequestPrefix>,
    /// Tools the conversation found: its requests carry them behind those of the prefix.
    found: Vec<ToolSchema>,
    tool_marks: ToolList,
}

impl Writing<'_> {
    fn settings(&self) -> &Settings {
        &self.parts.scope.view.compaction.value
    }

    /// The answer to one request, or why there is none.
    async fn call(&self, request: &Arc<ModelRequest>, step: u32) -> Result<ModelResponse, String> {
        let call = RecordedCall {
            scope: self.parts.scope,
            session: &self.session,
            prefix: &self.prefix,
            chain: self.chain,
            request,
            tool_marks: &self.tool_marks,
            tokens: None,
            step,
            rewrite: Some(ContextRewrite::Compaction),
            aside: None,
        };
        let limit = Duration::from_secs(self.settings().timeout_seconds);
        let beside = self
            .recorder
            .call_beside(&call, self.parts.transcript, Some(limit));
        beside.await?.0
    }

    /// Asked with the session's own prefix, so that what the endpoint has read counts.
    fn request(
        &self,
        plan: &CompactionPlan,
        instructions: Option<&str>,
        missing: &[SummaryShortfall],
    ) -> ModelRequest {
        let mut ask = compact::INSTRUCTIONS.to_owned();
        let settings = self.settings();
        let own = settings.custom_instructions.as_deref();
        let identifiers = settings
            .identifier_instructions
            .as_deref()
            .filter(|_| settings.identifier_policy == IdentifierPolicy::Custom);
        for more in [own, identifiers, instructions].into_iter().flatten() {
            ask.push_str("\n\n");
            ask.push_str(more);
        }
        for shortfall in missing {
            ask.push_str(&format!("\n- Your last summary was refused: {shortfall}."));
        }
        let mut messages: Vec<_> = context(&plan.before).into_iter().map(Arc::new).collect();
        // Parts of it come from the config and from whoever asked.
        let redactor = self.parts.scope.agents.redactor();
        messages.push(Arc::new(ModelMessage::user(redactor.redact(&ask))));
        let thinking = match self.settings().thinking_level.as_deref() {
            Some("inherit") => self.parts.transcript.thinking(),
            Some(level) => thinking_named(level),
            None => thinking_named("off"),
        };
        let mut request = ModelRequest {
            system: self.prefix.system(""),
            messages,
            tools: self
                .prefix
                .text
                .tools
                .iter()
                .chain(&self.found)
                .cloned()
                .collect(),
            tool_mode: self.chain.current().tool_mode(),
            must_call: Vec::new(),
            thinking,
            max_tokens: None,
            cache: CacheRequest {
                key: self.session.id.as_str().to_owned(),
                ..CacheRequest::default()
            },
            params: serde_json::Map::new(),
        };
        hide_in_head(&mut request.system, &mut request.tools, &redactor);
        for message in &mut request.messages {
            *message = hide_in_message(message, &redactor);
        }
        request
    }
}

/// What can be added by code is not worth asking a model again: identifiers and the question that
/// waits for an answer.
fn mended(summary: &str, messages: &[ModelMessage], settings: &Settings) -> String {
    let mut text = summary.to_owned();
    for shortfall in lacking(summary, messages, settings) {
        let (heading, line) = match shortfall {
            SummaryShortfall::Identifier(id) => ("## Identifiers", id),
            SummaryShortfall::PendingQuestion(question) => ("## Open", question),
            SummaryShortfall::Empty | SummaryShortfall::Heading(_) => continue,
        };
        if let Some(at) = text.find(heading) {
            text.insert_str(at + heading.len(), &format!("\n- {line}"));
        }
    }
    text
}

/// What a summary lacks; identifiers count as `identifierPolicy` says.
fn lacking(summary: &str, messages: &[ModelMessage], settings: &Settings) -> Vec<SummaryShortfall> {
    let strict = settings.identifier_policy == IdentifierPolicy::Strict;
    shortfalls(summary, messages)
        .into_iter()
        .filter(|lack| strict || !matches!(lack, SummaryShortfall::Identifier(_)))
        .collect()
}
