//! When old tool results are taken out: once the provider has forgotten what it read.

use chela_config::model::{BareUnit, PruningMode};
use chela_model::Message;
use serde_json::json;

use super::Conversation;
use crate::compact::Pruned;
use chela_session::{Body, Custom, Entry, Session, SessionError, context};

/// The kind of entry that says what was pruned. Models never read it.
const KIND: &str = "pruned";

/// What is sent of a conversation, and whether that was decided anew just now.
pub(crate) struct Sendable {
    pub messages: Vec<Message>,
    pub pruned_now: bool,
}

impl Conversation {
    /// The messages a model is sent.
    pub(crate) async fn sendable(
        &self,
        session: &Session,
        window: Option<u64>,
    ) -> Result<Sendable, SessionError> {
        let branch = self.sessions.branch(session).await?;
        let mut messages = context(&branch);
        let before = pruned_before(&branch);
        let now = self
            .is_cold(&branch)
            .then(|| Pruned::decide(&messages, &self.view.context_pruning.value, window?))
            .flatten()
            .map(|now| match &before {
                Some(before) => now.after(before),
                None => now,
            })
            .filter(|now| before.as_ref().is_none_or(|old| is_news(now, old)));
        if let Some(now) = &now {
            let custom = Custom {
                custom_type: KIND.to_owned(),
                data: json!(now),
            };
            self.sessions.append(session, Body::Custom(custom)).await?;
        }
        let pruned_now = now.is_some();
        if let Some(pruned) = now.or(before) {
            pruned.apply(&mut messages);
        }
        Ok(Sendable {
            messages,
            pruned_now,
        })
    }

    /// Whether the model last spoke so long ago that its provider has forgotten the conversation,
    /// and nothing was pruned since.
    fn is_cold(&self, branch: &[Entry]) -> bool {
        let settings = &self.view.context_pruning.value;
        let Some(ttl) = settings.ttl.duration(BareUnit::Minutes) else {
            return false;
        };
        let last = branch.iter().rev().find(|entry| {
            is_pruning(entry)
                || matches!(
                    &entry.body,
                    Body::Message {
                        message: Message::Assistant { .. },
                        ..
                    }
                )
        });
        let now = self.agents.host.unix_millis();
        settings.mode == PruningMode::CacheTtl
            && last.is_some_and(|entry| u128::from(now.saturating_sub(entry.at)) >= ttl.as_millis())
    }
}

/// What was pruned last; a compaction makes everything be read anew.
fn pruned_before(branch: &[Entry]) -> Option<Pruned> {
    branch
        .iter()
        .rev()
        .take_while(|entry| !matches!(entry.body, Body::Compaction(_)))
        .find_map(|entry| match &entry.body {
            Body::Custom(custom) if custom.custom_type == KIND => {
                serde_json::from_value(custom.data.clone()).ok()
            }
            _ => None,
        })
}

fn is_pruning(entry: &Entry) -> bool {
    matches!(&entry.body, Body::Custom(custom) if custom.custom_type == KIND)
}

/// Whether something more goes than went before.
fn is_news(now: &Pruned, before: &Pruned) -> bool {
    let same = now.results.iter().zip(&before.results);
    let more = now.results.iter().skip(before.results.len());
    same.into_iter().any(|(now, before)| now != before)
        || more
            .into_iter()
            .any(|fate| *fate != crate::compact::Fate::Whole)
}
