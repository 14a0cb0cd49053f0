//! Conversations that are in memory: opened when work comes, closed when nothing was said for a
//! while. What they know is in the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chela_agent::prelude::{
    Agents, Conversation, ConversationAsk, Host, OpenError, OwnTools, OwnerProof, Sender, Speaker,
};
use chela_agent::work_folders::FolderGrants;
use chela_core::{lock, ok_or_warn};
use chela_sandbox::{FolderAccess, WorkFolder};

use crate::caller_tools::{CallerCalls, lend_tools};
use crate::gateway_tool::GatewayTool;
use crate::restart_desk::RestartDesk;
use crate::work_item::{FolderAsk, WorkItem, WorkSource};

/// More than this are not kept, however lately they were used: each holds its tools and
/// what was said, some sixty kilobytes. Opening one again costs some milliseconds, so that there are
/// as many as connections: a crowd that speaks in turn would otherwise always find its own closed.
const MOST_OPEN: usize = 512;

/// Conversations by session and by who speaks: authority belongs to a speaker, so nobody is heard
/// in a conversation that was opened for somebody else.
#[derive(Debug, Default)]
pub(super) struct OpenConversations(Mutex<HashMap<ConversationPlace, HeldConversation>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ConversationPlace {
    lane: String,
    speaker: String,
    model: Option<String>,
    folders: Vec<FolderAsk>,
}

#[derive(Debug)]
struct HeldConversation {
    conversation: Arc<Conversation>,
    /// Of which config; another one opens it anew.
    agents: Arc<Agents>,
    used: u64,
    /// The tools of the program that talks to it.
    lent: Vec<String>,
}

impl OpenConversations {
    pub async fn get(
        &self,
        agents: &Arc<Agents>,
        item: &WorkItem,
        calls: &CallerCalls,
        restart: &Arc<RestartDesk>,
    ) -> Result<Arc<Conversation>, OpenError> {
        let now = agents.host().unix_millis();
        let place = ConversationPlace {
            lane: item.lane(),
            speaker: speaker_name(&item.source),
            model: item.options.model.clone(),
            folders: item.options.folders.clone(),
        };
        if let Some(held) = lock(&self.0).get_mut(&place)
            && (Arc::ptr_eq(&held.agents, agents) || is_at_work(&held.conversation))
        {
            held.used = now;
            lend_tools(&held.conversation, calls, item, &mut held.lent);
            return Ok(Arc::clone(&held.conversation));
        }
        let ask = ConversationAsk {
            agent: Some(item.agent.clone()),
            session: Some(item.session.clone()),
            model: item.options.model.clone(),
            channel: channel_of(&item.source),
            process: process_tools(agents, item, restart),
            folders: folders_of(agents.host(), &item.options.folders),
            ..ConversationAsk::new(speaker_of(&item.source))
        };
        let conversation = Arc::new(agents.conversation(ask).await?);
        let mut lent = Vec::new();
        lend_tools(&conversation, calls, item, &mut lent);
        let held = HeldConversation {
            lent,
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
    pub fn close_idle(&self, now: u64, idle_millis: u64) {
        lock(&self.0).retain(|place, held| {
            let is_idle = now.saturating_sub(held.used) > idle_millis && held.may_close();
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

/// What only this process can do, for the owner's conversations and the runtime's turns in them.
fn process_tools(agents: &Arc<Agents>, item: &WorkItem, restart: &Arc<RestartDesk>) -> OwnTools {
    if matches!(
        item.source,
        WorkSource::Sender { .. } | WorkSource::Hook { .. }
    ) {
        return OwnTools::default();
    }
    let place = (item.agent.clone(), item.session.clone());
    let tool = GatewayTool::new(agents.host(), place, Arc::clone(restart));
    OwnTools(vec![Arc::new(tool)])
}

/// Whether something runs in its background: that ends with the conversation, and another config
/// is no reason to end it.
fn is_at_work(conversation: &Conversation) -> bool {
    let background = conversation.background();
    !background.running().in_words().is_empty() || !background.ended_untold().is_empty()
}

/// The folders the owner works in, with those inside of them that they said no to.
fn folders_of(host: &Host, asked: &[FolderAsk]) -> Vec<WorkFolder> {
    if asked.is_empty() {
        return Vec::new();
    }
    let Some(grants) = ok_or_warn!(FolderGrants::load(host), "no folder is open to the agent")
    else {
        return Vec::new();
    };
    let folders = asked.iter().map(|ask| WorkFolder {
        path: ask.path.clone(),
        access: match ask.write {
            true => FolderAccess::Write,
            false => FolderAccess::Read,
        },
        closed: {
            let mut closed = grants.refused_below(&ask.path);
            closed.retain(|no| !asked.iter().any(|ask| ask.path == *no));
            closed
        },
    });
    folders.collect()
}

impl HeldConversation {
    /// Nobody speaks in it, and nothing it started runs on.
    fn may_close(&self) -> bool {
        Arc::strong_count(&self.conversation) == 1 && !is_at_work(&self.conversation)
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
        | WorkSource::Runtime { .. }
        | WorkSource::Announcement { .. } => Speaker::Runtime,
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
