//! Making a conversation short: by a model when one answers well, by rules otherwise.

mod writing;

use chela_config::model::Compaction as Settings;
use chela_core::{ok_or_debug, ok_or_warn};
use chela_ledger::AuditKind;
use chela_model::{Chain, Message, Usage};
use serde_json::json;

use super::Conversation;
use crate::compact::{KeepRecent, cut_point, digest, tokens_of};
use crate::turn::{ContextMeter, Surface, TurnEvent};
use chela_session::{Body, Compaction, Entry, EntryId, Session, SessionError, context};

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
        let chain = ok_or_debug!(self.chain(), "no model writes the summary");
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
            .and_then(|size| size.bytes());
        let is_large = match is_large {
            Some(most) => self.transcript_bytes().await >= most,
            None => false,
        };
        if is_near || is_large {
            self.flush_memory().await;
        }
        if self.meter().used <= most {
            return;
        }
        let chain = ok_or_debug!(self.chain(), "no model writes the summary");
        match self.compact_with(chain.as_ref(), None).await {
            Ok(done) => surface.event(TurnEvent::Notice(done.in_words())),
            Err(error) => tracing::warn!(%error, "no room was made"),
        }
    }

    /// Before a turn: makes room when what is kept of the conversation is larger than
    /// `maxActiveTranscriptBytes`.
    pub(super) async fn make_room_before(&self, surface: &dyn Surface) {
        let configured = &self.view.compaction.value.max_active_transcript_bytes;
        let Some(most) = configured.as_ref().and_then(|size| size.bytes()) else {
            return;
        };
        if self.transcript_bytes().await < most {
            return;
        }
        let chain = ok_or_debug!(self.chain(), "no model writes the summary");
        match self.compact_with(chain.as_ref(), None).await {
            Ok(done) => surface.event(TurnEvent::Notice(done.in_words())),
            Err(error) => tracing::warn!(%error, "no room was made"),
        }
    }

    /// Bytes of what is kept of the conversation.
    async fn transcript_bytes(&self) -> u64 {
        let branch = self.sessions.branch(&self.session()).await;
        let branch = ok_or_warn!(branch, "the transcript cannot be measured").unwrap_or_default();
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
        let branch = self.sessions.branch(&session).await?;
        let plan = self.plan(&branch).ok_or(CompactError::TooShort)?;
        let (summary, by) = match chain {
            Some(chain) => self.summary(chain, &plan, instructions).await,
            None => plan.by_rules("there is no model"),
        };
        let summary = self.with_attachments(summary).await;
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
        self.sessions
            .append(
                &session,
                Body::Compaction(Compaction {
                    summary,
                    first_kept: plan.first_kept,
                    tokens_before: done.tokens_before,
                    details: json!({ "messages": done.messages }),
                }),
            )
            .await?;
        let used = self
            .meter()
            .used
            .saturating_sub(done.tokens_before.saturating_sub(done.tokens_after));
        self.sessions
            .add_usage(&session, Usage::default(), used)
            .await?;
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
        tracing::info!(
            by,
            why,
            messages = done.messages,
            "the conversation was made shorter"
        );
        drop(ledger.note(
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
        ));
    }

    fn plan(&self, branch: &[Entry]) -> Option<Plan> {
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
                .iter()
                .filter(|entry| entry.id < *first_kept)
                .cloned()
                .collect(),
            kept_tokens: messages[cut..].iter().map(tokens_of).sum(),
            messages: messages[..cut].to_vec(),
            first_kept: *first_kept,
            earlier: last.map(|compaction| compaction.summary),
        })
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
