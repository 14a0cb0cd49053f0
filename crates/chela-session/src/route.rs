//! Which session a message belongs to.

use chela_config::Loaded;
use chela_config::model::{DmScope, GroupScope, SessionScope};
use chela_core::{AgentId, Conversation, SessionForm, SessionKey, ThreadWord};

/// A message that came in, as far as routing asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    pub agent: AgentId,
    /// Such as `telegram`; `None` for the terminal and other places of the owner's own.
    pub channel: Option<String>,
    pub account: Option<String>,
    pub peer: Peer,
    pub thread: Option<(ThreadWord, String)>,
}

/// Where it was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// By the owner, at the terminal.
    Owner,
    /// In a chat with one person; their id on the channel.
    Direct(String),
    Group(String),
    /// In a channel or room that many read.
    Channel(String),
    Room(String),
}

/// The key of the session a message belongs to. `session.scope: global` puts everything into one
/// session; else direct messages go where `dmScope` says and groups where `groupScope` says.
pub fn route(loaded: &Loaded, inbound: &Inbound) -> SessionKey {
    let session = &loaded.config.session;
    if session.scope == SessionScope::Global {
        return key(None, SessionForm::Global);
    }
    let agent = Some(inbound.agent.as_str().to_owned());
    let main = SessionForm::Main {
        key: segment(&session.main_key).unwrap_or_else(|| "main".to_owned()),
    };
    let form = match &inbound.peer {
        Peer::Owner => main,
        Peer::Direct(id) => direct(loaded, inbound, id).unwrap_or(main),
        Peer::Group(_) | Peer::Channel(_) | Peer::Room(_)
            if session.group_scope == GroupScope::Main =>
        {
            main
        }
        Peer::Group(id) => chat(inbound, Conversation::Group, id).unwrap_or(main),
        Peer::Channel(id) => chat(inbound, Conversation::Channel, id).unwrap_or(main),
        Peer::Room(id) => chat(inbound, Conversation::Room, id).unwrap_or(main),
    };
    // A thread of a conversation that was folded into the main session is folded with it.
    let thread = match (&form, &inbound.thread) {
        (SessionForm::Chat { .. }, Some((word, id))) => {
            segment(id).map(|id| chela_core::Thread { word: *word, id })
        }
        _ => None,
    };
    SessionKey {
        thread,
        ..key(agent, form)
    }
}

fn key(agent: Option<String>, form: SessionForm) -> SessionKey {
    SessionKey {
        agent,
        form,
        thread: None,
    }
}

/// The session of one person, or `None` for the main one.
fn direct(loaded: &Loaded, inbound: &Inbound, id: &str) -> Option<SessionForm> {
    let session = &loaded.config.session;
    let channel = inbound.channel.as_deref().and_then(segment);
    let linked = linked_person(loaded, channel.as_deref(), id);
    // One name for the same person everywhere: the channel no longer tells them apart.
    let (channel, account) = match (session.dm_scope, &linked) {
        (DmScope::Main, _) => return None,
        (DmScope::PerPeer, _) | (DmScope::PerChannelPeer, Some(_)) => (None, None),
        (DmScope::PerChannelPeer, None) => (channel, None),
        (DmScope::PerAccountChannelPeer, Some(_)) => (None, None),
        (DmScope::PerAccountChannelPeer, None) => {
            let account = inbound.account.as_deref().and_then(segment);
            let account = channel
                .is_some()
                .then(|| account.unwrap_or_else(|| "default".into()));
            (channel, account)
        }
    };
    Some(SessionForm::Chat {
        channel,
        account,
        conversation: Conversation::Direct,
        peer: linked.or_else(|| segment(id))?,
    })
}

fn chat(inbound: &Inbound, conversation: Conversation, id: &str) -> Option<SessionForm> {
    Some(SessionForm::Chat {
        channel: inbound.channel.as_deref().and_then(segment),
        account: None,
        conversation,
        peer: segment(id)?,
    })
}

/// The name under which `session.identityLinks` knows `channel:id`.
fn linked_person(loaded: &Loaded, channel: Option<&str>, id: &str) -> Option<String> {
    let full = format!("{}:{id}", channel?);
    loaded
        .config
        .session
        .identity_links
        .iter()
        .find(|(_, ids)| {
            ids.iter()
                .any(|known| known.0.trim().eq_ignore_ascii_case(&full))
        })
        .and_then(|(name, _)| segment(name))
}

/// Text as a part of a key: lower case where that does not matter, no colons at the ends, no
/// control characters. `None` when nothing is left.
fn segment(text: &str) -> Option<String> {
    let clean: String = text
        .chars()
        .filter(|c| !c.is_control())
        .collect::<String>()
        .split(':')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(":");
    (!clean.is_empty()).then(|| clean.to_lowercase())
}

#[cfg(test)]
mod tests;
