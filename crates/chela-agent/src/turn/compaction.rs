//! Making a conversation short: by a model when one answers well, by rules otherwise.

mod attachments;
mod summary;

use chela_config::model::Compaction as Settings;
use chela_core::ok_or_warn;
use chela_ledger::AuditKind;
use chela_model::{FallbackChain, ModelMessage, Usage};
use serde_json::json;

use super::{ContextMeter, HookRunner, TurnParts};
use crate::compact::{KeepRecent, cut_point, digest, tokens_of};
use crate::hooks::ObservedEvent;
use crate::scope::ConversationScope;
use crate::transcript::Transcript;
use attachments::with_attachments;
use chela_session::{
    CompactionEntry, EntryBody, EntryId, OpenSession, SessionError, TranscriptEntry, context,
};
use summary::summary;

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionOutcome {
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
    #[error("this conversation is too short to compact")]
    TooShort,
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Open(#[from] crate::agent::OpenError),
    #[error(transparent)]
    Waiting(#[from] Box<super::TurnError>),
}

impl CompactionOutcome {
    pub fn in_words(&self) -> String {
        let by = match &self.by {
            WrittenBy::Model(model) => format!("summary by {model}"),
            WrittenBy::Rules(why) => format!("summary by fixed rules: {why}"),
        };
        format!(
            "Compacted: {} messages, {} tokens, now {} ({by}). Undo with /undo.",
            self.messages,
            chela_core::grouped(self.tokens_before as usize),
            chela_core::grouped(self.tokens_after as usize),
        )
    }
}

/// What is to be summarised, and what is kept.
struct CompactionPlan {
    /// Entries up to the cut, in order.
    before: Vec<TranscriptEntry>,
    messages: Vec<ModelMessage>,
    first_kept: EntryId,
    earlier: Option<String>,
    kept_tokens: usize,
}

/// Replaces the older part of the conversation by a summary.
pub(crate) async fn compact(
    parts: TurnParts<'_>,
    chain: Option<&FallbackChain>,
    instructions: Option<&str>,
) -> Result<CompactionOutcome, CompactError> {
    let transcript = parts.transcript;
    let session = transcript.session();
    let branch = transcript.sessions.branch(&session).await?;
    let plan = plan_of(parts, &branch).ok_or(CompactError::TooShort)?;
    let hooks = HookRunner::new(parts.scope, session.id.as_str(), "");
    hooks.observe(&ObservedEvent::BeforeCompaction).await;
    let (summary, by) = match chain {
        Some(chain) => summary(parts, chain, &plan, instructions).await,
        None => plan.by_rules("there is no model"),
    };
    let summary = with_attachments(parts, summary).await;
    let tokens_before = plan.messages.iter().map(tokens_of).sum::<usize>() + plan.kept_tokens;
    let tokens_after = chela_core::tokens::count(&summary) + plan.kept_tokens;
    let done = CompactionOutcome {
        messages: plan.messages.len(),
        tokens_before: tokens_before as u64,
        tokens_after: tokens_after as u64,
        by,
    };
    write_down(parts.scope, &session, &plan, &done).await;
    // One entry, written whole or not at all: whoever is killed here has compacted or has not.
    transcript
        .sessions
        .append(
            &session,
            EntryBody::Compaction(CompactionEntry {
                summary,
                first_kept: plan.first_kept,
                tokens_before: done.tokens_before,
                details: json!({ "messages": done.messages }),
            }),
        )
        .await?;
    let used = transcript
        .meter()
        .used
        .saturating_sub(done.tokens_before.saturating_sub(done.tokens_after));
    transcript
        .sessions
        .add_usage(&session, Usage::default(), used)
        .await?;
    transcript.set_context_used(0);
    let event = ObservedEvent::AfterCompaction {
        messages: done.messages,
        tokens: done.tokens_after,
    };
    hooks.observe(&event).await;
    Ok(done)
}

/// On record before it is done. Nothing outside changes by a compaction: where the ledger cannot be
/// written, it goes on without its record.
async fn write_down(
    scope: &ConversationScope,
    session: &OpenSession,
    plan: &CompactionPlan,
    done: &CompactionOutcome,
) {
    let Some(ledger) = scope.agents.ledger() else {
        return;
    };
    let (by, why) = match &done.by {
        WrittenBy::Model(model) => (model.as_str(), None),
        WrittenBy::Rules(why) => ("rules", Some(why)),
    };
    tracing::info!(
        by,
        why,
        messages = done.messages,
        "the conversation was made shorter"
    );
    let record = json!({
        "session": session.id.as_str(),
        "firstKept": plan.first_kept,
        "messages": done.messages,
        "tokensBefore": done.tokens_before,
        "tokensAfter": done.tokens_after,
        "by": by,
        "why": why,
    });
    ok_or_warn!(
        ledger.append(AuditKind::Compaction, &record).await,
        "a compaction is not on record"
    );
}

fn plan_of(parts: TurnParts<'_>, branch: &[TranscriptEntry]) -> Option<CompactionPlan> {
    let last = branch.iter().rev().find_map(|entry| match &entry.body {
        EntryBody::Compaction(compaction) => Some(compaction.clone()),
        _ => None,
    });
    let first = last.as_ref().map(|compaction| compaction.first_kept);
    let live: Vec<(EntryId, ModelMessage)> = branch
        .iter()
        .filter(|entry| first.is_none_or(|first| entry.id >= first))
        .filter_map(|entry| match &entry.body {
            EntryBody::Message { message, .. } => Some((entry.id, message.clone())),
            _ => None,
        })
        .collect();
    let messages: Vec<ModelMessage> = live.iter().map(|(_, message)| message.clone()).collect();
    let settings = &parts.scope.view.compaction.value;
    // A small window has no room for many recent tokens.
    let window = parts.transcript.meter().window.unwrap_or(u64::MAX);
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
    Some(CompactionPlan {
        before: branch
            .iter()
            .filter(|entry| entry.id < *first_kept)
            .cloned()
            .collect(),
        kept_tokens: messages
            .get(cut..)
            .unwrap_or_default()
            .iter()
            .map(tokens_of)
            .sum(),
        messages: messages.get(..cut).unwrap_or_default().to_vec(),
        first_kept: *first_kept,
        earlier: last.map(|compaction| compaction.summary),
    })
}

/// Bytes of what is kept of the conversation.
pub(crate) async fn transcript_bytes(transcript: &Transcript) -> u64 {
    let branch = transcript.sessions.branch(&transcript.session()).await;
    let branch = ok_or_warn!(branch, "the transcript cannot be measured").unwrap_or_default();
    context(&branch)
        .iter()
        .map(|message| serde_json::to_string(message).map_or(0, |text| text.len() as u64))
        .sum()
}

impl CompactionPlan {
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
