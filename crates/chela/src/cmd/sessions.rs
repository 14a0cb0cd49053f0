//! `chela sessions …`: the conversations an agent has had.

mod compact;
mod keep;
mod list;
mod show;
mod transfer;

use chela_core::{AgentId, Host};
use chela_session::{OpenSession, SessionMatch, Sessions, session_file};
use chela_store::block_on;

use super::{CommandOutcome, CommandSetup};
use crate::cli::{AgentArg, SessionsCommand};
use crate::fail::{CommandError, explained};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: SessionsCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        SessionsCommand::List {
            kind,
            active,
            label,
            all,
            limit,
            agent,
            json,
        } => {
            let request = list::ListRequest {
                kinds: kind.into_iter().map(Into::into).collect(),
                active,
                label,
                all,
                limit,
                json,
            };
            list::run(&setup, screen, &agent, request)
        }
        SessionsCommand::Show {
            session,
            last,
            agent,
            json,
        } => show::run(
            &SessionOwner::of(&setup, &agent)?,
            screen,
            &session,
            last,
            json,
        ),
        SessionsCommand::Export {
            session,
            output,
            format,
            agent,
        } => transfer::export(
            &SessionOwner::of(&setup, &agent)?,
            screen,
            &session,
            output.as_deref(),
            format.map(Into::into),
        ),
        SessionsCommand::Import {
            path,
            key,
            agent,
            json,
        } => {
            let owner = SessionOwner::of(&setup, &agent)?;
            transfer::import(&owner, screen, &path, key.as_deref(), json)
        }
        SessionsCommand::Rename {
            session,
            name,
            agent,
        } => keep::rename(
            &SessionOwner::of(&setup, &agent)?,
            screen,
            &session,
            name.as_deref(),
        ),
        SessionsCommand::Compact {
            session,
            keep,
            undo,
            agent,
            json,
        } => {
            let request = compact::CompactRequest {
                session,
                keep,
                json,
            };
            let host = setup.host.clone();
            let owner = SessionOwner {
                host: &host,
                agent: setup.agent(agent.agent.as_deref())?,
            };
            match undo {
                true => compact::undo(&owner, screen, &request),
                false => compact::run(setup, &owner, screen, &request),
            }
        }
        SessionsCommand::Rm {
            sessions,
            yes,
            agent,
            json,
        } => keep::remove(
            &SessionOwner::of(&setup, &agent)?,
            screen,
            &sessions,
            yes,
            json,
        ),
        SessionsCommand::Cleanup {
            dry_run,
            enforce,
            agent,
            json,
        } => {
            let how = match (dry_run, enforce) {
                (true, _) => keep::CleanupMode::DryRun,
                (_, true) => keep::CleanupMode::Enforce,
                _ => keep::CleanupMode::AsConfigured,
            };
            keep::cleanup(
                &setup,
                &SessionOwner::of(&setup, &agent)?,
                screen,
                how,
                json,
            )
        }
        SessionsCommand::Rescue { agent, json } => {
            transfer::rescue(&SessionOwner::of(&setup, &agent)?, screen, json)
        }
    }
}

/// Whose sessions are meant.
struct SessionOwner<'a> {
    host: &'a Host,
    agent: AgentId,
}

impl<'a> SessionOwner<'a> {
    fn of(setup: &'a CommandSetup, agent: &AgentArg) -> Result<Self, CommandError> {
        Ok(Self {
            host: &setup.host,
            agent: setup.agent(agent.agent.as_deref())?,
        })
    }

    /// The sessions there are; `None` when there were never any.
    fn existing(&self) -> Result<Option<Sessions>, CommandError> {
        let found = Sessions::open_existing(self.host, &self.agent).map_err(explained)?;
        match Sessions::missing_file(self.host, &self.agent) {
            Some(loss) if found.is_none() => Err(CommandError::new(loss.words_before_new_one())),
            _ => Ok(found),
        }
    }

    fn open(&self) -> Result<Sessions, CommandError> {
        Sessions::open(self.host, &self.agent).map_err(explained)
    }

    /// The session a person means by an id, the start of one, a key, or a name.
    fn find(&self, given: &str) -> Result<(Sessions, OpenSession), CommandError> {
        let Some(sessions) = self.existing()? else {
            return Err(CommandError::new(format!(
                "agent `{}` has no conversations yet",
                self.agent
            ))
            .hint("start one with `chela chat`"));
        };
        let session = self.find_in(&sessions, given)?;
        Ok((sessions, session))
    }

    fn find_in(&self, sessions: &Sessions, given: &str) -> Result<OpenSession, CommandError> {
        let given = given.trim();
        match block_on(sessions.find(&self.agent, given)).map_err(explained)? {
            SessionMatch::One(session) => Ok(session),
            SessionMatch::Nothing { nearest } => {
                let hint = match nearest {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "`chela sessions list --all` shows them".to_owned(),
                };
                Err(CommandError::new(format!("there is no conversation `{given}`")).hint(hint))
            }
            SessionMatch::Several(ids) => Err(CommandError::new(format!(
                "`{given}` matches {} conversations",
                ids.len()
            ))
            .hint(format!("give more of the id: {}", ids.join(", ")))),
        }
    }

    fn file(&self) -> std::path::PathBuf {
        session_file(self.host, &self.agent)
    }
}

/// Text of a conversation as a terminal may show it: no escapes, no control characters.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

/// The first part of an id: enough to name it.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
