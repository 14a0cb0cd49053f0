//! When old tool results are taken out: once the provider has forgotten what it read.

use std::sync::Arc;

use chela_config::model::{BareUnit, PruningMode};
use chela_core::{lock, ok_or_warn};
use chela_model::ModelMessage;
use serde_json::json;

use super::{ContextBuilder, SentConversation};
use crate::compact::PrunedResults;
use chela_session::{
    CustomEntry, EntryBody, OpenSession, SessionError, TranscriptBranch, TranscriptEntry,
};

/// The kind of entry that says what was pruned. Models never read it.
const KIND: &str = "pruned";

/// What is sent of a conversation, and whether that was decided anew just now.
pub(crate) struct SendableMessages {
    /// Without the values the installation holds.
    pub messages: Vec<Arc<ModelMessage>>,
    /// What they cost by our own count.
    pub tokens: usize,
    pub pruned_now: bool,
}

impl ContextBuilder {
    /// The messages a model is sent of a branch, and what is made of them in the same piece of work.
    pub(crate) async fn sendable<T: Send + 'static>(
        &self,
        session: &OpenSession,
        branch: TranscriptBranch,
        window: Option<u64>,
        make: impl FnOnce(SendableMessages) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        let window = window.filter(|_| self.is_cold(&branch));
        let (scope, sent) = (Arc::clone(&self.scope), Arc::clone(&self.sent));
        let id = session.id.clone();
        let read = move || {
            let settings = &scope.view.context_pruning.value;
            let mut sent = lock(&sent);
            if sent.session.as_ref() != Some(&id) {
                *sent = SentConversation {
                    session: Some(id),
                    ..SentConversation::default()
                };
            }
            let mut messages = sent.replay.follow(&branch);
            let before = pruned_before(&branch);
            let now = window
                .and_then(|window| PrunedResults::decide(&messages, settings, window))
                .map(|now| match &before {
                    Some(before) => now.after(before),
                    None => now,
                })
                .filter(|now| before.as_ref().is_none_or(|old| is_news(now, old)));
            if let Some(pruned) = now.as_ref().or(before.as_ref()) {
                pruned.apply(&mut messages);
            }
            let looked_at = sent.messages.follow(messages, &scope.agents.redactor());
            let messages = sent.messages.sent();
            tracing::debug!(messages = messages.len(), looked_at, "a request is made");
            let sendable = SendableMessages {
                messages,
                tokens: sent.messages.tokens(),
                pruned_now: now.is_some(),
            };
            drop(sent);
            (make(sendable), now)
        };
        let (made, now) = self.scope.agents.cores.run(read).await;
        if let Some(now) = &now {
            let custom = CustomEntry {
                custom_type: KIND.to_owned(),
                data: json!(now),
            };
            self.transcript
                .sessions
                .append(session, EntryBody::Custom(custom))
                .await?;
        }
        Ok(made)
    }

    /// Whether the model last spoke so long ago that its provider has forgotten the conversation,
    /// and nothing was pruned since.
    fn is_cold(&self, branch: &[TranscriptEntry]) -> bool {
        let settings = &self.scope.view.context_pruning.value;
        let Some(ttl) = settings.ttl.duration(BareUnit::Minutes) else {
            return false;
        };
        let last = branch.iter().rev().find(|entry| {
            is_pruning(entry)
                || matches!(
                    &entry.body,
                    EntryBody::Message {
                        message: ModelMessage::Assistant { .. },
                        ..
                    }
                )
        });
        let now = self.scope.agents.host.unix_millis();
        settings.mode == PruningMode::CacheTtl
            && last.is_some_and(|entry| u128::from(now.saturating_sub(entry.at)) >= ttl.as_millis())
    }
}

/// What was pruned last; a compaction makes everything be read anew.
fn pruned_before(branch: &[TranscriptEntry]) -> Option<PrunedResults> {
    branch
        .iter()
        .rev()
        .take_while(|entry| !matches!(entry.body, EntryBody::Compaction(_)))
        .find_map(|entry| match &entry.body {
            EntryBody::Custom(custom) if custom.custom_type == KIND => {
                let pruned = serde_json::from_value(custom.data.clone());
                ok_or_warn!(pruned, "what was pruned before cannot be read")
            }
            _ => None,
        })
}

fn is_pruning(entry: &TranscriptEntry) -> bool {
    matches!(&entry.body, EntryBody::Custom(custom) if custom.custom_type == KIND)
}

/// Whether something more goes than went before.
fn is_news(now: &PrunedResults, before: &PrunedResults) -> bool {
    let same = now.results.iter().zip(&before.results);
    let more = now.results.iter().skip(before.results.len());
    same.into_iter().any(|(now, before)| now != before)
        || more
            .into_iter()
            .any(|fate| *fate != crate::compact::ResultFate::Whole)
}
