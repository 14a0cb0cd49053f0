//! Which conversation is meant. One that is named and not there is never begun in silence.

use std::sync::Arc;

use chela_agent::agent::Agents;
use chela_agent::conversation::find_conversation;
use chela_core::{AgentId, SessionKey};
use chela_session::{OpenSession, Sessions};

use crate::cli::ChatArgs;
use crate::fail::CommandError;

/// What was typed about the conversation, as what is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SessionChoice {
    /// The main one, as it stands.
    #[default]
    Main,
    /// The one that was used last, whichever that is.
    Last,
    /// One that is there, by a name or an id; or a whole key, which may begin one.
    Named(String),
    /// One that is there, by an id or by words that were written in it.
    Found(String),
    /// One that begins now.
    New(String),
}

impl SessionChoice {
    pub fn of(args: &ChatArgs) -> Self {
        match (&args.session, &args.new_session) {
            (Some(named), _) => Self::Named(named.clone()),
            (None, Some(new)) => Self::New(new.clone()),
            (None, None) if args.continue_last => Self::Last,
            (None, None) => Self::Main,
        }
    }

    /// The key of the conversation, which goes on from here if it had ended; `None`: the main one.
    pub async fn open(
        &self,
        agents: &Arc<Agents>,
        agent: &AgentId,
    ) -> Result<Option<SessionKey>, CommandError> {
        let key = |name: &str| {
            SessionKey::parse(&format!("agent:{agent}:{name}")).map_err(CommandError::usage)
        };
        match self {
            Self::Main => Ok(None),
            Self::Named(typed) if typed.contains(':') => SessionKey::parse(typed)
                .map(Some)
                .map_err(CommandError::usage),
            Self::Named(typed) if typed == "main" => key(typed).map(Some),
            Self::Named(typed) => {
                let sessions = agents.sessions(agent).map_err(CommandError::new)?;
                let found = resume_found(&sessions, agent, typed).await;
                found.map(Some).map_err(|fail| {
                    let begin = format!("`--new-session {typed}` starts one with this name");
                    fail.hint(begin)
                })
            }
            Self::Found(words) => {
                let sessions = agents.sessions(agent).map_err(CommandError::new)?;
                let found = resume_found(&sessions, agent, words).await;
                found
                    .map(Some)
                    .map_err(|fail| fail.hint("`chela sessions list --all` shows them"))
            }
            Self::New(name) => {
                let key = key(name)?;
                let sessions = agents.sessions(agent).map_err(CommandError::new)?;
                match sessions.look_up(&key).await.map_err(CommandError::new)? {
                    Some(session) if !session.fresh => Err(CommandError::usage(format!(
                        "a conversation `{name}` already exists"
                    ))
                    .hint(format!("`chela chat --session {name}` continues it"))),
                    _ => Ok(Some(key)),
                }
            }
            Self::Last => {
                let sessions = agents.sessions(agent).map_err(CommandError::new)?;
                let newest = sessions.conversations(1).await.map_err(CommandError::new)?;
                match newest.first() {
                    Some(newest) => resume(&sessions, newest.info.session_id.as_str())
                        .await
                        .map(Some),
                    None => Ok(None),
                }
            }
        }
    }
}

async fn resume_found(
    sessions: &Sessions,
    agent: &AgentId,
    given: &str,
) -> Result<SessionKey, CommandError> {
    let found = find_conversation(sessions, agent, given).await;
    let found = found.map_err(CommandError::new)?;
    resume(sessions, found.info.session_id.as_str()).await
}

/// Lets the session of an id go on.
async fn resume(sessions: &Sessions, id: &str) -> Result<SessionKey, CommandError> {
    let gone = || CommandError::new("the conversation was removed by another process");
    let session = sessions.by_id(id).await.map_err(CommandError::new)?;
    let session: OpenSession = session.ok_or_else(gone)?;
    let session = sessions.resume(&session).await.map_err(CommandError::new)?;
    Ok(session.key)
}
