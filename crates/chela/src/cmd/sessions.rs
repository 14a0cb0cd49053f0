//! `chela sessions …`: the conversations an agent has had.

mod compact;
mod keep;
mod list;
mod show;
mod transfer;

use chela_core::{AgentId, Host, SessionKey, suggest};
use chela_session::{Session, Sessions, session_file};
use chela_store::block_on;

use super::{Outcome, Setup};
use crate::cli::{AgentArg, SessionsCommand};
use crate::fail::Fail;
use crate::screen::Screen;

/// An id can be shortened to this many characters.
const SHORTEST: usize = 4;

pub fn run(host: &Host, screen: &mut Screen, command: SessionsCommand) -> Outcome {
    let setup = Setup::load(host);
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
            let wish = list::Wish {
                kinds: kind.into_iter().map(Into::into).collect(),
                active,
                label,
                all,
                limit,
                json,
            };
            list::run(&setup, screen, &agent, wish)
        }
        SessionsCommand::Show {
            session,
            last,
            agent,
            json,
        } => show::run(&Place::of(&setup, &agent)?, screen, &session, last, json),
        SessionsCommand::Export {
            session,
            output,
            agent,
        } => transfer::export(
            &Place::of(&setup, &agent)?,
            screen,
            &session,
            output.as_deref(),
        ),
        SessionsCommand::Import {
            path,
            key,
            agent,
            json,
        } => {
            let place = Place::of(&setup, &agent)?;
            transfer::import(&place, screen, &path, key.as_deref(), json)
        }
        SessionsCommand::Rename {
            session,
            name,
            agent,
        } => keep::rename(
            &Place::of(&setup, &agent)?,
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
            let wish = compact::Wish {
                session,
                keep,
                json,
            };
            let host = setup.host.clone();
            let place = Place {
                host: &host,
                agent: setup.agent(agent.agent.as_deref())?,
            };
            match undo {
                true => compact::undo(&place, screen, &wish),
                false => compact::run(setup, &place, screen, &wish),
            }
        }
        SessionsCommand::Rm {
            sessions,
            yes,
            agent,
            json,
        } => keep::remove(&Place::of(&setup, &agent)?, screen, &sessions, yes, json),
        SessionsCommand::Cleanup {
            dry_run,
            enforce,
            agent,
            json,
        } => {
            let how = match (dry_run, enforce) {
                (true, _) => keep::How::DryRun,
                (_, true) => keep::How::Enforce,
                _ => keep::How::AsConfigured,
            };
            keep::cleanup(&setup, &Place::of(&setup, &agent)?, screen, how, json)
        }
        SessionsCommand::Rescue { agent, json } => {
            transfer::rescue(&Place::of(&setup, &agent)?, screen, json)
        }
    }
}

/// Whose sessions are meant.
struct Place<'a> {
    host: &'a Host,
    agent: AgentId,
}

impl<'a> Place<'a> {
    fn of(setup: &'a Setup, agent: &AgentArg) -> Result<Self, Fail> {
        Ok(Self {
            host: &setup.host,
            agent: setup.agent(agent.agent.as_deref())?,
        })
    }

    /// The sessions there are; `None` when there were never any.
    fn existing(&self) -> Result<Option<Sessions>, Fail> {
        let found = Sessions::open_existing(self.host, &self.agent).map_err(explained)?;
        match Sessions::missing_file(self.host, &self.agent) {
            Some(loss) if found.is_none() => Err(Fail::new(loss)),
            _ => Ok(found),
        }
    }

    fn open(&self) -> Result<Sessions, Fail> {
        Sessions::open(self.host, &self.agent).map_err(explained)
    }

    /// The session a person means by an id, the start of one, a key, or a name.
    fn find(&self, given: &str) -> Result<(Sessions, Session), Fail> {
        let Some(sessions) = self.existing()? else {
            return Err(
                Fail::new(format!("agent `{}` has no conversations yet", self.agent))
                    .hint("chela chat begins one"),
            );
        };
        let session = self.find_in(&sessions, given)?;
        Ok((sessions, session))
    }

    fn find_in(&self, sessions: &Sessions, given: &str) -> Result<Session, Fail> {
        let given = given.trim();
        for text in [given.to_owned(), format!("agent:{}:{given}", self.agent)] {
            if let Ok(key) = SessionKey::parse(&text)
                && let Some(session) = block_on(sessions.look_up(&key)).map_err(explained)?
            {
                return Ok(session);
            }
        }
        let all = block_on(sessions.list(&chela_session::Filter {
            show: chela_session::Show::Everything,
            ..Default::default()
        }))
        .map_err(explained)?;
        let matching: Vec<&str> = all
            .iter()
            .filter(|info| {
                let id = info.session_id.as_str();
                let by_name = info
                    .name()
                    .is_some_and(|name| name.eq_ignore_ascii_case(given));
                let by_id = given.len() >= SHORTEST && id.starts_with(&given.to_lowercase());
                id == given || by_id || by_name || info.key.to_string() == given
            })
            .map(|info| info.session_id.as_str())
            .collect();
        match matching[..] {
            [id] => block_on(sessions.by_id(id))
                .map_err(explained)?
                .ok_or_else(|| Fail::new(format!("session {id} is gone"))),
            [] => {
                let keys: Vec<String> = all.iter().map(|info| info.key.to_string()).collect();
                let own = format!("agent:{}:", self.agent);
                let candidates = all
                    .iter()
                    .flat_map(|info| [Some(info.session_id.as_str()), info.name()])
                    .flatten()
                    .chain(keys.iter().map(String::as_str))
                    .chain(keys.iter().filter_map(|key| key.strip_prefix(&own)));
                let hint = match suggest::nearest(given, candidates) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "`chela sessions list --all` shows them".to_owned(),
                };
                Err(Fail::new(format!("there is no session `{given}`")).hint(hint))
            }
            [..] => Err(
                Fail::new(format!("`{given}` may mean {} sessions", matching.len()))
                    .hint(format!("give more of the id: {}", matching.join(", "))),
            ),
        }
    }

    fn file(&self) -> std::path::PathBuf {
        session_file(self.host, &self.agent)
    }
}

/// The message of an error and of what is behind it.
fn explained(error: impl std::error::Error) -> Fail {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(&format!(": {more}"));
        }
        source = inner.source();
    }
    Fail::new(text)
}

/// Text of a conversation as a terminal may show it: no escapes, no control characters.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

/// `5m`, `3h`, `12d`: how long ago a moment in milliseconds was.
fn ago(host: &Host, millis: u64) -> String {
    let seconds = host.unix_time().saturating_sub(millis / 1000);
    match seconds {
        0..60 => "now".to_owned(),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// The first part of an id: enough to name it.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
