//! Making a conversation short: by a model when one answers well, by rules otherwise.

use std::sync::Arc;
use std::time::Duration;

use chela_config::model::{Compaction as Settings, CompactionMode, IdentifierPolicy};
use chela_ledger::{AuditKind, Rewrite};
use chela_model::{Cache, Chain, Event, Message, Request, Response, Stage, Usage};
use serde_json::json;

use super::{Conversation, Prefix};
use crate::compact::{self, KeepRecent, Shortfall, cut_point, digest, shortfalls, tokens_of};
use crate::session::{Body, Compaction, Entry, EntryId, Session, SessionError, context};
use crate::turn::{
    Book, Call, ContextMeter, Partial, Reckoning, Surface, TurnEvent, thinking_named,
};

/// The mode in which a summary is checked before it replaces anything.
const SAFEGUARD: CompactionMode = CompactionMode::Safeguard;

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// Messages that became a summary.
    pub messages: usize,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub by: WrittenBy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenBy {
    /// `provider/model`.
    Model(String),
    /// No model, and why.
    Rules(String),
}

#[derive(Debug, thiserror::Error)]
pub enum CompactError {
    #[error("the conversation is too short to be made shorter")]
    TooShort,
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Open(#[from] crate::agent::OpenError),
}

impl Compacted {
    pub fn in_words(&self) -> String {
        let by = match &self.by {
            WrittenBy::Model(model) => format!("summary by {model}"),
            WrittenBy::Rules(why) => format!("summary by rules: {why}"),
        };
        format!(
            "The conversation was made shorter: {} messages, {} tokens, now {} ({by}). /undo takes it back.",
            self.messages,
            chela_core::grouped(self.tokens_before as usize),
            chela_core::grouped(self.tokens_after as usize),
        )
    }
}

/// What is to be summarised, and what is kept.
struct Plan {
    /// Entries up to the cut, in order.
    before: Vec<Entry>,
    messages: Vec<Message>,
    first_kept: EntryId,
    earlier: Option<String>,
    kept_tokens: usize,
}

impl Conversation {
    /// Replaces the older part of the conversation by a summary. `/undo` takes it back.
    pub async fn compact(&self, instructions: Option<&str>) -> Result<Compacted, CompactError> {
        let _lane = self.turn.lock().await;
        let chain = self.chain().ok();
        self.compact_with(chain.as_ref(), instructions).await
    }

    pub(crate) async fn compact_for(
        &self,
        chain: &Chain,
        instructions: Option<&str>,
    ) -> Result<Compacted, CompactError> {
        self.compact_with(Some(chain), instructions).await
    }

    /// After a turn: lets the agent write notes when the window is nearly full, and makes room
    /// when it is full.
    pub(super) async fn make_room_after(&self, surface: &dyn Surface) {
        let settings = &self.view.compaction.value;
        let Some(most) = threshold(self.meter(), settings).filter(|_| settings.enabled) else {
            return;
        };
        let is_near = self.meter().used + settings.memory_flush.soft_threshold_tokens > most;
        let is_large = settings
            .memory_flush
            .force_flush_transcript_bytes
            .as_ref()
            .and_then(|size| size.bytes())
            .is_some_and(|most| self.transcript_bytes() >= most);
        if is_near || is_large {
            self.flush_memory().await;
        }
        if self.meter().used <= most {
            return;
        }
        let chain = self.chain().ok();
        if let Ok(done) = self.compact_with(chain.as_ref(), None).await {
            surface.event(TurnEvent::Notice(done.in_words()));
        }
    }

    /// Before a turn: makes room when what is kept of the conversation is larger than
    /// `maxActiveTranscriptBytes`.
    pub(super) async fn make_room_before(&self, surface: &dyn Surface) {
        let configured = &self.view.compaction.value.max_active_transcript_bytes;
        let Some(most) = configured.as_ref().and_then(|size| size.bytes()) else {
            return;
        };
        if self.transcript_bytes() < most {
            return;
        }
        let chain = self.chain().ok();
        if let Ok(done) = self.compact_with(chain.as_ref(), None).await {
            surface.event(TurnEvent::Notice(done.in_words()));
        }
    }

    /// Bytes of what is kept of the conversation.
    fn transcript_bytes(&self) -> u64 {
        let branch = self.sessions.branch(&self.session()).unwrap_or_default();
        context(&branch)
            .iter()
            .map(|message| serde_json::to_string(message).map_or(0, |text| text.len() as u64))
            .sum()
    }

    async fn compact_with(
        &self,
        chain: Option<&Chain>,
        instructions: Option<&str>,
    ) -> Result<Compacted, CompactError> {
        let session = self.session();
        let branch = self.sessions.branch(&session)?;
        let plan = self.plan(branch).ok_or(CompactError::TooShort)?;
        let (summary, by) = match chain {
            Some(chain) => self.summary(chain, &plan, instructions).await,
            None => plan.by_rules("there is no model"),
        };
        let summary = self.with_attachments(summary);
        let tokens_before = plan.messages.iter().map(tokens_of).sum::<usize>() + plan.kept_tokens;
        let tokens_after = chela_core::tokens::count(&summary) + plan.kept_tokens;
        let done = Compacted {
            messages: plan.messages.len(),
            tokens_before: tokens_before as u64,
            tokens_after: tokens_after as u64,
            by,
        };
        self.write_down(&session, &plan, &done);
        // One entry, written whole or not at all: whoever is killed here has compacted or has not.
        self.sessions.append(
            &session,
            Body::Compaction(Compaction {
                summary,
                first_kept: plan.first_kept,
                tokens_before: done.tokens_before,
                details: json!({ "messages": done.messages }),
            }),
        )?;
        let used = self
            .meter()
            .used
            .saturating_sub(done.tokens_before.saturating_sub(done.tokens_after));
        self.sessions.add_usage(&session, Usage::default(), used)?;
        self.with(|state| {
            state.meter = ContextMeter {
                used: 0,
                ..state.meter
            }
        });
        Ok(done)
    }

    fn write_down(&self, session: &Session, plan: &Plan, done: &Compacted) {
        let Some(ledger) = self.agents.ledger() else {
            return;
        };
        let (by, why) = match &done.by {
            WrittenBy::Model(model) => (model.as_str(), None),
            WrittenBy::Rules(why) => ("rules", Some(why)),
        };
        // Nothing outside changes by a compaction: it may go on without its record.
        let _ = ledger.append(
            AuditKind::Compaction,
            &json!({
                "session": session.id.as_str(),
                "firstKept": plan.first_kept,
                "messages": done.messages,
                "tokensBefore": done.tokens_before,
                "tokensAfter": done.tokens_after,
                "by": by,
                "why": why,
            }),
        );
    }

    fn plan(&self, branch: Vec<Entry>) -> Option<Plan> {
        let last = branch.iter().rev().find_map(|entry| match &entry.body {
            Body::Compaction(compaction) => Some(compaction.clone()),
            _ => None,
        });
        let first = last.as_ref().map(|compaction| compaction.first_kept);
        let live: Vec<(EntryId, Message)> = branch
            .iter()
            .filter(|entry| first.is_none_or(|first| entry.id >= first))
            .filter_map(|entry| match &entry.body {
                Body::Message { message, .. } => Some((entry.id, message.clone())),
                _ => None,
            })
            .collect();
        let messages: Vec<Message> = live.iter().map(|(_, message)| message.clone()).collect();
        let settings = &self.view.compaction.value;
        // A small window has no room for many recent tokens.
        let window = self.meter().window.unwrap_or(u64::MAX);
        let most = match settings.max_history_share {
            Some(share) => (window as f64 * share) as u64,
            None => window / 3,
        };
        let keep = settings.keep_recent_tokens.min(most);
        let cut = cut_point(
            &messages,
            KeepRecent {
                tokens: usize::try_from(keep).unwrap_or(usize::MAX),
                turns: settings.recent_turns_preserve as usize,
            },
        );
        let (first_kept, _) = *live.get(cut).as_ref()?;
        if cut == 0 {
            return None;
        }
        Some(Plan {
            before: branch
                .into_iter()
                .filter(|entry| entry.id < *first_kept)
                .collect(),
            kept_tokens: messages[cut..].iter().map(tokens_of).sum(),
            messages: messages[..cut].to_vec(),
            first_kept: *first_kept,
            earlier: last.map(|compaction| compaction.summary),
        })
    }

    /// The summary a model writes, held to what must survive; else one by rules.
    async fn summary(
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
        let writing = match self.prefix() {
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

impl Plan {
    fn by_rules(&self, why: impl std::fmt::Display) -> (String, WrittenBy) {
        (
            digest(&self.messages, self.earlier.as_deref()),
            WrittenBy::Rules(why.to_string()),
        )
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
        let page = self.book.open_page(&call)?;
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
            .answer(http, request, Stage::Underway, &mut listen);
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
        self.book.close_page(page, &call, answer);
        let used = self.talk.meter().used;
        // A sum that is not kept changes nothing about the summary.
        let _ = self.talk.sessions.add_usage(&self.session, usage, used);
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
        messages.push(Message::user(ask));
        let thinking = match self.settings().thinking_level.as_deref() {
            Some("inherit") => self.talk.thinking(),
            Some(level) => thinking_named(level),
            None => thinking_named("off"),
        };
        Request {
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
        }
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

/// Tokens from which on room is made.
pub(crate) fn threshold(meter: ContextMeter, settings: &Settings) -> Option<u64> {
    const HEADROOM: u64 = 16_384;
    let window = meter.window?;
    let reserve = settings
        .reserve_tokens
        .unwrap_or(HEADROOM)
        .max(settings.reserve_tokens_floor.unwrap_or(0))
        .min(window / 4);
    Some(window - reserve)
}
