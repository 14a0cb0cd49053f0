//! Conversations that are in memory: opened when work comes, closed when nothing was said for a
//! while. What they know is in the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chela_agent::prelude::{
    Agents, Conversation, ConversationAsk, OpenError, OwnerProof, Sender, Speaker,
};
use chela_core::lock;

use crate::work_item::{WorkItem, WorkSource};

/// After so long without a word a conversation leaves memory.
const IDLE_MILLIS: u64 = 10 * 60 * 1_000;
/// More than this are not kept, however lately they were used: each holds its prompt, its tools and
/// what was said, some hundred kilobytes. Opening one again costs some milliseconds.
const MOST_OPEN: usize = 200;

/// Conversations by session and by who speaks: authority belongs to a speaker, so nobody is heard
/// in a conversation that was opened for somebody else.
#[derive(Debug, Default)]
pub(super) struct OpenConversations(Mutex<HashMap<ConversationPlace, HeldConversation>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ConversationPlace {
    lane: String,
    speaker: String,
    model: Option<String>,
}

#[derive(Debug)]
struct HeldConversation {
    conversation: Arc<Conversation>,
    /// Of which config; another one opens it anew.
    agents: Arc<Agents>,
    used: u64,
}

impl OpenConversations {
    pub async fn get(
        &self,
        agents: &Arc<Agents>,
        item: &WorkItem,
    ) -> Result<Arc<Conversation>, OpenError> {
        let now = agents.host().unix_millis();
        let place = ConversationPlace {
            lane: item.lane(),
            speaker: speaker_name(&item.source),
            model: item.options.model.clone(),
        };
        if let Some(held) = lock(&self.0).get_mut(&place)
            && Arc::ptr_eq(&held.agents, agents)
        {
            held.used = now;
            return Ok(Arc::clone(&held.conversation));
        }
        let ask = ConversationAsk {
            agent: Some(item.agent.clone()),
            session: Some(item.session.clone()),
            model: item.options.model.clone(),
            channel: channel_of(&item.source),
            ..ConversationAsk::new(speaker_of(&item.source))
        };
        let conversation = Arc::new(agents.conversation(ask).await?);
        let held = HeldConversation {
            conversation: Arc::clone(&conversation),
            agents: Arc::clone(agents),
            used: now,
        };
        let mut open = lock(&self.0);
        open.insert(place, held);
        close_surplus(&mut open);
        Ok(conversation)
    }

    /// Lets go of what nobody spoke in for a while and in which nothing runs.
    pub fn close_idle(&self, now: u64) {
        lock(&self.0).retain(|place, held| {
            let is_idle = now.saturating_sub(held.used) > IDLE_MILLIS && held.may_close();
            if is_idle {
                tracing::debug!(lane = place.lane, "an idle conversation leaves memory");
            }
            !is_idle
        });
    }

    pub fn all(&self) -> Vec<Arc<Conversation>> {
        let held = lock(&self.0);
        held.values()
            .map(|held| Arc::clone(&held.conversation))
            .collect()
    }

    pub fn count(&self) -> usize {
        lock(&self.0).len()
    }
}

impl HeldConversation {
    /// Nobody speaks in it, and nothing it started runs on.
    fn may_close(&self) -> bool {
        let background = self.conversation.background();
        Arc::strong_count(&self.conversation) == 1 && background.running().in_words().is_empty()
    }
}

/// Closes those that were not used for longest.
fn close_surplus(open: &mut HashMap<ConversationPlace, HeldConversation>) {
    while open.len() > MOST_OPEN {
        let closable = open.iter().filter(|(_, held)| held.may_close());
        let oldest = closable.min_by_key(|(_, held)| held.used);
        let Some(oldest) = oldest.map(|(place, _)| place.clone()) else {
            return;
        };
        tracing::debug!(
            lane = oldest.lane,
            "too many conversations: one leaves memory"
        );
        open.remove(&oldest);
    }
}

/// Who speaks. Only the owner's token on a surface of the owner is the owner; whoever a program
/// names is looked up in `commands.ownerAllowFrom`; what no person says is the runtime's.
fn speaker_of(source: &WorkSource) -> Speaker {
    match source {
        WorkSource::Owner { .. } => Speaker::Owner(OwnerProof::gateway_token()),
        WorkSource::Sender { channel, id } => Speaker::Sender(Sender {
            channel: Some(channel.clone()),
            id: Some(id.clone()),
            ..Sender::default()
        }),
        WorkSource::Cron { .. }
        | WorkSource::Heartbeat
        | WorkSource::Hook { .. }
        | WorkSource::Runtime { .. } => Speaker::Runtime,
    }
}

fn channel_of(source: &WorkSource) -> Option<String> {
    match source {
        WorkSource::Sender { channel, .. } => Some(channel.clone()),
        _ => None,
    }
}

/// Two sources with the same name speak with the same authority.
pub(super) fn speaker_name(source: &WorkSource) -> String {
    match source {
        WorkSource::Owner { .. } => "owner".to_owned(),
        WorkSource::Sender { channel, id } => format!("sender {channel}:{id}"),
        _ => "runtime".to_owned(),
    }
}
