//! Making a conversation short: by a model when one answers well, by rules otherwise.

use std::time::Duration;

use chela_model::{Cache, Chain, Message, Request, Stage, Thinking, ToolMode};
use serde_json::json;

use super::Conversation;
use crate::compact::{self, KeepRecent, Shortfall, cut_point, digest, shortfalls, tokens_of};
use crate::session::{Body, Compaction, Entry, EntryId, SessionError, context};
use crate::turn::{ContextMeter, Surface, TurnEvent};

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

    /// After a turn: makes room before the next one needs it.
    pub(super) async fn make_room_after(&self, surface: &dyn Surface) {
        let settings = &self.view.compaction.value;
        let meter = self.meter();
        let is_full = threshold(meter, settings).is_some_and(|most| meter.used > most);
        if !(settings.enabled && is_full) {
            return;
        }
        let chain = self.chain().ok();
        if let Ok(done) = self.compact_with(chain.as_ref(), None).await {
            surface.event(TurnEvent::Notice(done.in_words()));
        }
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
            None => (
                digest(&plan.messages, plan.earlier.as_deref()),
                WrittenBy::Rules("there is no model".into()),
            ),
        };
        let summary = self.with_rules(summary);
        let tokens_before = plan.messages.iter().map(tokens_of).sum::<usize>() + plan.kept_tokens;
        let tokens_after = chela_core::tokens::count(&summary) + plan.kept_tokens;
        self.sessions.append(
            &session,
            Body::Compaction(Compaction {
                summary,
                first_kept: plan.first_kept,
                tokens_before: tokens_before as u64,
                details: json!({ "messages": plan.messages.len() }),
            }),
        )?;
        // The conversation is read anew anyway: now is the time for what changed meanwhile.
        self.thaw(&session)?;
        self.with(|state| state.meter = ContextMeter::default());
        Ok(Compacted {
            messages: plan.messages.len(),
            tokens_before: tokens_before as u64,
            tokens_after: tokens_after as u64,
            by,
        })
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
        let keep = settings.keep_recent_tokens.min(window / 3);
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
        let by_rules = |why: String| {
            (
                digest(&plan.messages, plan.earlier.as_deref()),
                WrittenBy::Rules(why),
            )
        };
        let settings = &self.view.compaction.value;
        let mut missing: Vec<Shortfall> = Vec::new();
        for _ in 0..=settings.quality_guard.max_retries {
            let ask = self.summary_request(plan, instructions, &missing);
            let request = match ask {
                Ok(request) => request,
                Err(error) => return by_rules(error.to_string()),
            };
            let mut unheard = |_| {};
            let answer = chain.answer(&self.agents.http, &request, Stage::Underway, &mut unheard);
            let limit = Duration::from_secs(settings.timeout_seconds);
            let response = match tokio::time::timeout(limit, answer).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => return by_rules(error.to_string()),
                Err(_) => return by_rules(format!("no answer in {} s", limit.as_secs())),
            };
            let _ = self
                .sessions
                .add_usage(&self.session(), response.usage, response.usage.input);
            let text = Message::Assistant {
                content: response.content,
                model: None,
            }
            .text();
            let text = mended(text.trim(), &plan.messages);
            missing = match settings.quality_guard.enabled {
                true => shortfalls(&text, &plan.messages),
                false => Vec::new(),
            };
            if missing.is_empty() && !text.is_empty() {
                return (text, WrittenBy::Model(response.model));
            }
        }
        let why = missing
            .first()
            .map_or_else(|| "it was empty".to_owned(), ToString::to_string);
        by_rules(format!("the model's summary was not good enough: {why}"))
    }

    /// Asked with the session's own prefix, so that what the endpoint has read counts.
    fn summary_request(
        &self,
        plan: &Plan,
        instructions: Option<&str>,
        missing: &[Shortfall],
    ) -> Result<Request, crate::agent::OpenError> {
        let prefix = self.prefix()?;
        let mut ask = compact::INSTRUCTIONS.to_owned();
        let settings = &self.view.compaction.value;
        for more in [settings.custom_instructions.as_deref(), instructions]
            .into_iter()
            .flatten()
        {
            ask.push_str("\n\n");
            ask.push_str(more);
        }
        for shortfall in missing {
            ask.push_str(&format!("\n- Your last summary was refused: {shortfall}."));
        }
        let mut messages = context(&plan.before);
        messages.push(Message::user(ask));
        Ok(Request {
            system: prefix.system(""),
            messages,
            tools: prefix.tools.clone(),
            tool_mode: ToolMode::Native,
            thinking: Thinking::Off,
            max_tokens: None,
            cache: Cache {
                key: self.session().id.as_str().to_owned(),
                ..Cache::default()
            },
            params: serde_json::Map::new(),
        })
    }

    /// The sections of AGENTS.md that are to be read again after a compaction.
    fn with_rules(&self, summary: String) -> String {
        let Some(names) = &self.view.compaction.value.post_compaction_sections else {
            return summary;
        };
        let Ok(text) = std::fs::read_to_string(self.view.workspace.value.join("AGENTS.md")) else {
            return summary;
        };
        let limit = self.view.context_limits.value.post_compaction_max_chars;
        let rules: String = compact::sections_named(&text, names)
            .chars()
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
            .collect();
        match rules.trim() {
            "" => summary,
            rules => format!("{summary}\n\n## Rules (from AGENTS.md)\n{rules}"),
        }
    }
}

/// What can be added by code is not worth asking a model again: identifiers and the question that
/// waits for an answer.
fn mended(summary: &str, messages: &[Message]) -> String {
    let mut text = summary.to_owned();
    for shortfall in shortfalls(summary, messages) {
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

/// Tokens from which on room is made.
fn threshold(meter: ContextMeter, settings: &chela_config::model::Compaction) -> Option<u64> {
    const HEADROOM: u64 = 16_384;
    let window = meter.window?;
    let reserve = settings
        .reserve_tokens
        .unwrap_or(HEADROOM)
        .max(settings.reserve_tokens_floor.unwrap_or(0))
        .min(window / 4);
    Some(window - reserve)
}
