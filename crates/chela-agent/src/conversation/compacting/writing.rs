//! A summary written by a model, and held to what must survive.

use std::sync::Arc;
use std::time::Duration;

use chela_config::model::{Compaction as Settings, CompactionMode, IdentifierPolicy};
use chela_core::ok_or_warn;
use chela_ledger::Rewrite;
use chela_model::{Cache, Chain, Event, Message, Request, Response, Stage};

use super::{Plan, WrittenBy};
use crate::assemble::hide_in_request;
use crate::compact::{self, Shortfall, shortfalls};
use crate::conversation::{Conversation, Prefix};
use crate::turn::{Book, Call, Partial, Reckoning, thinking_named};
use chela_session::{Session, context};

/// The mode in which a summary is checked before it replaces anything.
const SAFEGUARD: CompactionMode = CompactionMode::Safeguard;

impl Conversation {
    /// The summary a model writes, held to what must survive; else one by rules.
    pub(super) async fn summary(
        &self,
        chain: &Chain,
        plan: &Plan,
        instructions: Option<&str>,
    ) -> (String, WrittenBy) {
        let settings = &self.view.compaction.value;
        let own = match settings.model.as_deref() {
            Some(model) => match self.agents.chain(&self.view, Some(model)) {
                Ok(own) => Some(own),
                Err(error) => return plan.by_rules(error),
            },
            None => None,
        };
        let writing = match self.prefix().await {
            Ok(prefix) => Writing {
                talk: self,
                session: self.session(),
                book: Book::open(self),
                chain: own.as_ref().unwrap_or(chain),
                prefix,
            },
            Err(error) => return plan.by_rules(error),
        };
        let mut missing: Vec<Shortfall> = Vec::new();
        for attempt in 0..=settings.quality_guard.max_retries {
            let request = writing.request(plan, instructions, &missing);
            let response = match writing.call(&request, attempt + 1).await {
                Ok(response) => response,
                Err(why) => return plan.by_rules(why),
            };
            let text = Message::Assistant {
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
}

/// A summary being written by a model.
struct Writing<'a> {
    talk: &'a Conversation,
    session: Session,
    book: Book,
    chain: &'a Chain,
    prefix: Arc<Prefix>,
}

impl Writing<'_> {
    fn settings(&self) -> &Settings {
        &self.talk.view.compaction.value
    }

    /// One call, within the limits and on record like every other. Says why there is no answer.
    async fn call(&self, request: &Request, step: u32) -> Result<Response, String> {
        let call = Call {
            talk: self.talk,
            session: &self.session,
            prefix: &self.prefix,
            chain: self.chain,
            request,
            step,
            rewrite: Some(Rewrite::Compaction),
        };
        let page = self.book.open_page(&call).await?;
        let mut partial = Partial::default();
        let mut listen = |event| match event {
            Event::Text(text) => partial.text.push_str(&text),
            Event::Reasoning(text) => partial.reasoning.push_str(&text),
            Event::Restarted { .. } => partial.restart(),
            Event::ToolCall { .. } | Event::Waiting { .. } => {}
        };
        let http = &self.talk.agents.http;
        let answer = self
            .chain
            .answer(http, request, &page.sent, Stage::Underway, &mut listen);
        let limit = Duration::from_secs(self.settings().timeout_seconds);
        let answer = tokio::time::timeout(limit, answer).await;
        let wasted = partial.wasted(page.input);
        let (heard, missing) = match answer {
            Ok(Ok(response)) => (Ok(response), wasted),
            Ok(Err(error)) => (Err(error.to_string()), partial.failed(page.input, &error)),
            Err(_) => (
                Err(format!("no answer in {} s", limit.as_secs())),
                partial.broken_off(page.input),
            ),
        };
        let answer = match &heard {
            Ok(response) => Reckoning::Whole { response, wasted },
            Err(why) => Reckoning::Missing {
                why,
                usage: missing,
            },
        };
        let usage = answer.usage();
        self.book.close_page(page, &call, answer).await;
        let used = self.talk.meter().used;
        // A sum that is not kept changes nothing about the summary.
        let added = self.talk.sessions.add_usage(&self.session, usage, used);
        ok_or_warn!(added.await, "what a summary cost is not added up");
        heard
    }

    /// Asked with the session's own prefix, so that what the endpoint has read counts.
    fn request(&self, plan: &Plan, instructions: Option<&str>, missing: &[Shortfall]) -> Request {
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
        let mut messages = context(&plan.before);
        // Parts of it come from the config and from whoever asked.
        let redactor = self.talk.agents.redactor();
        messages.push(Message::user(redactor.redact(&ask)));
        let thinking = match self.settings().thinking_level.as_deref() {
            Some("inherit") => self.talk.thinking(),
            Some(level) => thinking_named(level),
            None => thinking_named("off"),
        };
        let mut request = Request {
            system: self.prefix.system(""),
            messages,
            tools: self.prefix.tools.clone(),
            tool_mode: self.chain.current().tool_mode(),
            thinking,
            max_tokens: None,
            cache: Cache {
                key: self.session.id.as_str().to_owned(),
                ..Cache::default()
            },
            params: serde_json::Map::new(),
        };
        hide_in_request(&mut request, &redactor);
        request
    }
}

/// What can be added by code is not worth asking a model again: identifiers and the question that
/// waits for an answer.
fn mended(summary: &str, messages: &[Message], settings: &Settings) -> String {
    let mut text = summary.to_owned();
    for shortfall in lacking(summary, messages, settings) {
        let (heading, line) = match shortfall {
            Shortfall::Identifier(id) => ("## Identifiers", id),
            Shortfall::PendingQuestion(question) => ("## Open", question),
            Shortfall::Empty | Shortfall::Heading(_) => continue,
        };
        if let Some(at) = text.find(heading) {
            text.insert_str(at + heading.len(), &format!("\n- {line}"));
        }
    }
    text
}

/// What a summary lacks; identifiers count as `identifierPolicy` says.
fn lacking(summary: &str, messages: &[Message], settings: &Settings) -> Vec<Shortfall> {
    let strict = settings.identifier_policy == IdentifierPolicy::Strict;
    shortfalls(summary, messages)
        .into_iter()
        .filter(|lack| strict || !matches!(lack, Shortfall::Identifier(_)))
        .collect()
}
