//! Session keys: the names under which conversations are kept.
//!
//! A key is parsed into its parts and printed back without loss, whatever form it has, the
//! older spellings included: `agent:main:telegram:dm:42` stays `dm` when printed.

use serde::{Deserialize, Serialize};

use crate::Audience;

/// A parsed session key. [`std::fmt::Display`] gives back exactly the text that was parsed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionKey {
    /// The agent segment as written; `None` for keys without one, such as `cron:<job>`.
    pub agent: Option<String>,
    pub form: SessionForm,
    /// `:thread:<id>` and `:topic:<id>` suffixes of a conversation.
    pub thread: Option<SessionThread>,
}

/// What kind of place a key names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SessionForm {
    /// `global`: one session for everything.
    Global,
    /// `agent:<id>:<mainKey>`.
    Main { key: String },
    /// `agent:<id>:<mainKey>:heartbeat`.
    Heartbeat { key: String },
    /// A chat with one person or a group, on a channel.
    Chat {
        channel: Option<String>,
        account: Option<String>,
        conversation: ConversationWord,
        peer: String,
    },
    /// `cron:<job>` or `cron:<job>:<startedAt>`.
    Cron { job: String, run: Option<String> },
    /// `hook:<uuid>`.
    Hook { id: String },
    /// `subagent:<uuid>`, nested ones after another: the chain from the outermost in.
    Subagent {
        parent: Option<String>,
        chain: Vec<String>,
    },
    /// `acp-bridge:<uuid>` or `acp:<uuid>`.
    Acp { prefix: String, id: String },
    /// `explicit:<name>`: a one-off run such as a model probe.
    Explicit { name: String },
    /// `<channel>:slash:<user>`: the native slash commands of one user.
    Slash { channel: String, user: String },
    /// `node:<id>`: a connected device.
    Node { id: String },
    /// Anything else, kept as it is.
    Other { rest: String },
}

/// The word with which a key says what kind of chat it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConversationWord {
    Direct,
    /// The older spelling of `direct`.
    Dm,
    Group,
    Channel,
    Room,
}

impl ConversationWord {
    const ALL: [Self; 5] = [
        Self::Direct,
        Self::Dm,
        Self::Group,
        Self::Channel,
        Self::Room,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Dm => "dm",
            Self::Group => "group",
            Self::Channel => "channel",
            Self::Room => "room",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|conversation| conversation.as_str() == word)
    }
}

/// A thread or topic inside a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionThread {
    pub word: ThreadWord,
    pub id: String,
}

/// The word with which a key names a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadWord {
    Thread,
    Topic,
}

impl ThreadWord {
    fn infix(self) -> &'static str {
        match self {
            Self::Thread => ":thread:",
            Self::Topic => ":topic:",
        }
    }
}

/// The kinds that lists filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    Main,
    Group,
    Cron,
    Hook,
    Node,
    Other,
}

/// What kind of chat a session belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatType {
    Direct,
    Group,
    Room,
}

/// Why a string is no session key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionKeyError {
    #[error("a session key cannot be empty; the main session of agent `main` is `agent:main:main`")]
    Empty,
    #[error(
        "session key `{0}` stops after the agent; write `agent:<id>:<rest>`, for example `agent:main:main`"
    )]
    NothingAfterAgent(String),
    #[error("session key {0:?} contains a control character or a blank part")]
    BlankOrControl(String),
}

impl SessionKey {
    /// The main session of an agent.
    pub fn main(agent: &crate::AgentId) -> Self {
        Self {
            agent: Some(agent.as_str().to_owned()),
            form: SessionForm::Main {
                key: "main".to_owned(),
            },
            thread: None,
        }
    }

    pub fn parse(text: &str) -> Result<Self, SessionKeyError> {
        if text.is_empty() {
            return Err(SessionKeyError::Empty);
        }
        let blank = text.split(':').any(|part| part.trim().is_empty());
        if blank || text.chars().any(char::is_control) {
            return Err(SessionKeyError::BlankOrControl(text.to_owned()));
        }
        let (agent, rest) = match text.strip_prefix("agent:") {
            Some(tail) => match tail.split_once(':') {
                Some((agent, rest)) => (Some(agent.to_owned()), rest),
                None => return Err(SessionKeyError::NothingAfterAgent(text.to_owned())),
            },
            None => (None, text),
        };
        let (form, thread) = parse_rest(rest, agent.is_some());
        Ok(Self {
            agent,
            form,
            thread,
        })
    }

    pub fn kind(&self) -> SessionKind {
        match &self.form {
            SessionForm::Global | SessionForm::Main { .. } | SessionForm::Heartbeat { .. } => {
                SessionKind::Main
            }
            SessionForm::Chat { conversation, .. } => match conversation {
                ConversationWord::Direct | ConversationWord::Dm => SessionKind::Main,
                ConversationWord::Group | ConversationWord::Channel | ConversationWord::Room => {
                    SessionKind::Group
                }
            },
            SessionForm::Cron { .. } => SessionKind::Cron,
            SessionForm::Hook { .. } => SessionKind::Hook,
            SessionForm::Node { .. } => SessionKind::Node,
            _ => SessionKind::Other,
        }
    }

    pub fn chat_type(&self) -> ChatType {
        match &self.form {
            SessionForm::Chat { conversation, .. } => match conversation {
                ConversationWord::Direct | ConversationWord::Dm => ChatType::Direct,
                ConversationWord::Group => ChatType::Group,
                ConversationWord::Channel | ConversationWord::Room => ChatType::Room,
            },
            _ => ChatType::Direct,
        }
    }

    /// Who reads what is said in this session. Everything that is not known to be the owner's
    /// alone counts as shared.
    pub fn audience(&self) -> Audience {
        match (&self.form, self.chat_type()) {
            // What a sub-agent finds out is told where it was asked.
            (
                SessionForm::Subagent {
                    parent: Some(parent),
                    ..
                },
                _,
            ) => Self {
                agent: None,
                form: parse_rest(parent, true).0,
                thread: None,
            }
            .audience(),
            (SessionForm::Hook { .. } | SessionForm::Other { .. }, _) => Audience::Shared,
            (_, ChatType::Direct) => Audience::Private,
            (_, ChatType::Group | ChatType::Room) => Audience::Shared,
        }
    }

    /// The channel the session talks through, where the key names one.
    pub fn channel(&self) -> Option<&str> {
        match &self.form {
            SessionForm::Chat { channel, .. } => channel.as_deref(),
            SessionForm::Slash { channel, .. } => Some(channel),
            _ => None,
        }
    }

    pub fn is_subagent(&self) -> bool {
        matches!(self.form, SessionForm::Subagent { .. })
    }

    /// How many sub-agents deep this session is; 0 for one that is none.
    pub fn subagent_depth(&self) -> usize {
        match &self.form {
            SessionForm::Subagent { chain, .. } => chain.len(),
            _ => 0,
        }
    }

    /// Sessions that leave no trace carry a segment `incognito-…`.
    pub fn is_incognito(&self) -> bool {
        self.to_string()
            .split(':')
            .any(|part| part.starts_with("incognito-"))
    }

    /// Whether only the runtime may create such a key: callers from outside may not.
    pub fn is_reserved(&self) -> bool {
        matches!(
            self.form,
            SessionForm::Subagent { .. } | SessionForm::Cron { .. } | SessionForm::Acp { .. }
        ) || self.is_incognito()
    }
}

fn parse_rest(rest: &str, has_agent: bool) -> (SessionForm, Option<SessionThread>) {
    if let Some(form) = parse_fixed_word(rest, has_agent) {
        return (form, None);
    }
    let (body, thread) = split_thread(rest);
    if let Some(form) = parse_chat(body) {
        return (form, thread);
    }
    let form = match rest.split_once(':') {
        None if has_agent => SessionForm::Main {
            key: rest.to_owned(),
        },
        Some((key, "heartbeat")) if has_agent => SessionForm::Heartbeat {
            key: key.to_owned(),
        },
        _ if has_agent && thread.is_some() && !body.contains(':') => {
            return (
                SessionForm::Main {
                    key: body.to_owned(),
                },
                thread,
            );
        }
        _ => SessionForm::Other {
            rest: rest.to_owned(),
        },
    };
    (form, None)
}

/// Forms whose first word (or a word in the middle) decides everything.
fn parse_fixed_word(rest: &str, has_agent: bool) -> Option<SessionForm> {
    if rest == "global" && !has_agent {
        return Some(SessionForm::Global);
    }
    if let Some(form) = parse_subagent(rest) {
        return Some(form);
    }
    let (word, tail) = rest.split_once(':')?;
    let tail_text = tail.to_owned();
    match word {
        "cron" => Some(match tail.split_once(':') {
            Some((job, run)) => SessionForm::Cron {
                job: job.to_owned(),
                run: Some(run.to_owned()),
            },
            None => SessionForm::Cron {
                job: tail_text,
                run: None,
            },
        }),
        "hook" => Some(SessionForm::Hook { id: tail_text }),
        "node" => Some(SessionForm::Node { id: tail_text }),
        "acp" | "acp-bridge" => Some(SessionForm::Acp {
            prefix: word.to_owned(),
            id: tail_text,
        }),
        "explicit" => Some(SessionForm::Explicit { name: tail_text }),
        _ => tail.strip_prefix("slash:").map(|user| SessionForm::Slash {
            channel: word.to_owned(),
            user: user.to_owned(),
        }),
    }
}

/// `[<parent>:]subagent:<id>[:subagent:<id>]…`
fn parse_subagent(rest: &str) -> Option<SessionForm> {
    const WORD: &str = "subagent:";
    let (parent, mut tail) = match rest.strip_prefix(WORD) {
        Some(tail) => (None, tail),
        None => {
            let (parent, tail) = rest.split_once(":subagent:")?;
            (Some(parent.to_owned()), tail)
        }
    };
    let mut chain = Vec::new();
    while let Some((id, inner)) = tail.split_once(":subagent:") {
        chain.push(id.to_owned());
        tail = inner;
    }
    chain.push(tail.to_owned());
    Some(SessionForm::Subagent { parent, chain })
}

fn split_thread(rest: &str) -> (&str, Option<SessionThread>) {
    [ThreadWord::Thread, ThreadWord::Topic]
        .into_iter()
        .filter_map(|word| rest.rfind(word.infix()).map(|at| (at, word)))
        .max_by_key(|(at, _)| *at)
        .map_or((rest, None), |(at, word)| {
            let id = rest[at + word.infix().len()..].to_owned();
            (&rest[..at], Some(SessionThread { word, id }))
        })
}

/// `[<channel>:[<account>:]]<conversation>:<peer>`; the peer may contain colons itself.
fn parse_chat(body: &str) -> Option<SessionForm> {
    let parts: Vec<&str> = body.splitn(4, ':').collect();
    for (at, part) in parts.iter().enumerate().take(3) {
        let Some(conversation) = ConversationWord::parse(part) else {
            continue;
        };
        let before: usize = parts[..at].iter().map(|part| part.len() + 1).sum();
        let peer = body.get(before + part.len() + 1..)?;
        return Some(SessionForm::Chat {
            channel: (at >= 1).then(|| parts[0].to_owned()),
            account: (at == 2).then(|| parts[1].to_owned()),
            conversation,
            peer: peer.to_owned(),
        });
    }
    None
}

impl std::fmt::Display for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(agent) = &self.agent {
            write!(f, "agent:{agent}:")?;
        }
        write!(f, "{}", self.form)?;
        match &self.thread {
            Some(SessionThread { word, id }) => write!(f, "{}{id}", word.infix()),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for SessionForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Main { key } => f.write_str(key),
            Self::Heartbeat { key } => write!(f, "{key}:heartbeat"),
            Self::Chat {
                channel,
                account,
                conversation,
                peer,
            } => {
                for part in channel.iter().chain(account) {
                    write!(f, "{part}:")?;
                }
                write!(f, "{}:{peer}", conversation.as_str())
            }
            Self::Cron { job, run: None } => write!(f, "cron:{job}"),
            Self::Cron {
                job,
                run: Some(run),
            } => write!(f, "cron:{job}:{run}"),
            Self::Hook { id } => write!(f, "hook:{id}"),
            Self::Subagent { parent, chain } => {
                let own: Vec<String> = chain.iter().map(|id| format!("subagent:{id}")).collect();
                match parent {
                    Some(parent) => write!(f, "{parent}:{}", own.join(":")),
                    None => f.write_str(&own.join(":")),
                }
            }
            Self::Acp { prefix, id } => write!(f, "{prefix}:{id}"),
            Self::Explicit { name } => write!(f, "explicit:{name}"),
            Self::Slash { channel, user } => write!(f, "{channel}:slash:{user}"),
            Self::Node { id } => write!(f, "node:{id}"),
            Self::Other { rest } => f.write_str(rest),
        }
    }
}

impl std::str::FromStr for SessionKey {
    type Err = SessionKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl TryFrom<String> for SessionKey {
    type Error = SessionKeyError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<SessionKey> for String {
    fn from(key: SessionKey) -> Self {
        key.to_string()
    }
}

#[cfg(test)]
mod tests;
