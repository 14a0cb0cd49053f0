//! The file of sessions, and which session a key stands for.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use chela_core::secret::Redactor;
use chela_core::{AgentId, ContentHash, Host, SessionKey};
use chela_store::StoreError;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Serialize;

use super::record::Settings;
use super::reset::{ResetRules, ResetWhy};
use super::schema;

/// The sessions of one agent. Cheap calls that do not wait but for the disk.
#[derive(Debug)]
pub struct Sessions {
    connection: Mutex<Connection>,
    path: PathBuf,
    host: Host,
    redactor: RwLock<Arc<Redactor>>,
}

/// The id of a session, in the form of a UUID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SessionId(pub(super) String);

/// A session that is there: what the calls about it are given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub key: SessionKey,
    /// Milliseconds since 1970.
    pub started: u64,
    /// Nothing has been said in it yet.
    pub fresh: bool,
    /// The session it took the place of just now, and why.
    pub replaced: Option<(SessionId, ResetWhy)>,
    pub(super) row: i64,
}

/// Why sessions cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    File(#[from] StoreError),
    #[error("an entry for {} cannot be written as JSON", path.display())]
    Unwritable {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("the session is gone: another process removed it")]
    Gone,
    #[error("{} cannot be written", path.display())]
    Archive {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// Where the sessions of an agent are kept.
pub fn session_file(host: &Host, agent: &AgentId) -> PathBuf {
    host.state_dir()
        .join("agents")
        .join(agent.as_str())
        .join("sessions.sqlite")
}

impl Sessions {
    /// Opens the sessions of an agent, making the file if there is none.
    pub fn open(host: &Host, agent: &AgentId) -> Result<Self, SessionError> {
        Self::open_file(host, &session_file(host, agent))
    }

    /// The same without making the file: `None` when there is none.
    pub fn open_existing(host: &Host, agent: &AgentId) -> Result<Option<Self>, SessionError> {
        let path = session_file(host, agent);
        path.exists()
            .then(|| Self::open_file(host, &path))
            .transpose()
    }

    pub fn open_file(host: &Host, path: &Path) -> Result<Self, SessionError> {
        let connection = chela_store::open(path, &schema::FORMAT)?;
        Ok(Self::with(connection, path, host))
    }

    /// Sessions that leave no trace.
    pub fn in_memory(host: &Host) -> Result<Self, SessionError> {
        let path = Path::new(":memory:");
        let connection = chela_store::open_in_memory(&schema::FORMAT)?;
        Ok(Self::with(connection, path, host))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Secrets are not kept: what this one finds is written down as what stands for it, and since
    /// a request is made from what is written down, no model reads it either. Without one,
    /// secrets are known by their shape alone.
    pub fn hide_with(&self, redactor: Arc<Redactor>) {
        *self
            .redactor
            .write()
            .unwrap_or_else(PoisonError::into_inner) = redactor;
    }

    pub(super) fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The session a key stands for at this moment: the one that goes on, or a new one when there
    /// is none or the rules say that it starts anew.
    pub async fn current(
        &self,
        key: &SessionKey,
        rules: &ResetRules,
    ) -> Result<Session, SessionError> {
        let now = self.now();
        let found = self.read(|connection| find_current(connection, key))?;
        if let Some(found) = &found
            && rules.due(found.started, found.interacted, now).is_none()
        {
            return Ok(found.session(key));
        }
        self.write(|transaction| {
            // Another process may have been quicker.
            let found = find_current(transaction, key)?;
            let (previous, why) = match &found {
                None => return self.create(transaction, &NewSession::plain(key), now),
                Some(found) => match rules.due(found.started, found.interacted, now) {
                    None => return Ok(found.session(key)),
                    Some(why) => (found, why),
                },
            };
            self.replace(transaction, key, previous, why, now)
        })
    }

    /// The session a key stands for, if there is one; starts nothing.
    pub async fn look_up(&self, key: &SessionKey) -> Result<Option<Session>, SessionError> {
        Ok(self
            .read(|connection| find_current(connection, key))?
            .map(|found| found.session(key)))
    }

    /// A session by its id, current or past.
    pub async fn by_id(&self, id: &str) -> Result<Option<Session>, SessionError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT row, id, started, leaf, key FROM sessions WHERE id = ?1")?
                .query_row([id], |row| {
                    Ok(Session {
                        row: row.get(0)?,
                        id: SessionId(row.get(1)?),
                        started: row.get(2)?,
                        fresh: row.get::<_, i64>(3)? == 0,
                        key: super::record::stored_key(&row.get::<_, String>(4)?),
                        replaced: None,
                    })
                })
                .optional()
        })
    }

    /// Ends a session and starts the next one under its key. Label and chosen levels go on.
    pub async fn reset(&self, session: &Session, why: ResetWhy) -> Result<Session, SessionError> {
        let now = self.now();
        self.write(
            |transaction| match find_current(transaction, &session.key)? {
                Some(found) if found.row == session.row => {
                    self.replace(transaction, &session.key, &found, why, now)
                }
                Some(found) => Ok(found.session(&session.key)),
                None => self.create(transaction, &NewSession::plain(&session.key), now),
            },
        )
    }

    fn replace(
        &self,
        transaction: &Transaction<'_>,
        key: &SessionKey,
        previous: &Found,
        why: ResetWhy,
        now: u64,
    ) -> rusqlite::Result<Session> {
        transaction.execute(
            "UPDATE sessions SET ended = ?2, ended_why = ?3, version = version + 1 WHERE row = ?1",
            params![previous.row, now, why.as_str()],
        )?;
        let new = NewSession {
            key: key.clone(),
            settings: previous.settings.clone().carried(),
            label: previous.label.clone(),
            display_name: previous.display_name.clone(),
            parent: None,
        };
        let mut session = self.create(transaction, &new, now)?;
        session.replaced = Some((previous.id.clone(), why));
        Ok(session)
    }

    pub(super) fn create(
        &self,
        transaction: &Transaction<'_>,
        new: &NewSession,
        now: u64,
    ) -> rusqlite::Result<Session> {
        let id = self.new_id(transaction, &new.key)?;
        transaction.execute(
            "INSERT INTO sessions (id, key, started, updated, interacted, settings, label, \
             display_name, parent) VALUES (?1, ?2, ?3, ?3, ?3, ?4, ?5, ?6, ?7)",
            params![
                id.0,
                new.key.to_string(),
                now,
                new.settings.text(),
                new.label,
                new.display_name,
                new.parent.as_ref().map(|parent| &parent.0),
            ],
        )?;
        Ok(Session {
            id,
            key: new.key.clone(),
            started: now,
            fresh: true,
            replaced: None,
            row: transaction.last_insert_rowid(),
        })
    }

    /// Random, and different from every other even where randomness is fixed.
    pub(super) fn new_id(
        &self,
        connection: &Connection,
        key: &SessionKey,
    ) -> rusqlite::Result<SessionId> {
        let last: i64 =
            connection.query_row("SELECT coalesce(max(row), 0) FROM sessions", [], |row| {
                row.get(0)
            })?;
        let seed = format!("{}:{key}:{}:{last}", self.host.random_hex(16), self.now());
        let hex = ContentHash::of(seed).to_string();
        Ok(SessionId(format!(
            "{}-{}-4{}-a{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..32]
        )))
    }

    /// Milliseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        millis(self.host.clock.now())
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, SessionError> {
        work(&self.locked()).map_err(|error| explain(&self.path, error))
    }

    /// One transaction, on the disk when this returns.
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, SessionError> {
        let mut connection = self.locked();
        connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                let value = work(&transaction)?;
                transaction.commit()?;
                Ok(value)
            })
            .map_err(|error| explain(&self.path, error))
    }

    pub(super) fn unwritable(&self, source: serde_json::Error) -> SessionError {
        SessionError::Unwritable {
            path: self.path.clone(),
            source,
        }
    }

    fn locked(&self) -> MutexGuard<'_, Connection> {
        // A transaction that panicked was rolled back when it was dropped.
        self.connection
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn with(connection: Connection, path: &Path, host: &Host) -> Self {
        Self {
            connection: Mutex::new(connection),
            path: path.to_owned(),
            host: host.clone(),
            redactor: RwLock::default(),
        }
    }
}

/// What a new session starts with.
pub(super) struct NewSession {
    pub key: SessionKey,
    pub settings: Settings,
    pub label: Option<String>,
    pub display_name: Option<String>,
    pub parent: Option<SessionId>,
}

impl NewSession {
    pub fn plain(key: &SessionKey) -> Self {
        Self {
            key: key.clone(),
            settings: Settings::default(),
            label: None,
            display_name: None,
            parent: None,
        }
    }
}

struct Found {
    row: i64,
    id: SessionId,
    started: u64,
    interacted: u64,
    leaf: i64,
    settings: Settings,
    label: Option<String>,
    display_name: Option<String>,
}

impl Found {
    fn session(&self, key: &SessionKey) -> Session {
        Session {
            id: self.id.clone(),
            key: key.clone(),
            started: self.started,
            fresh: self.leaf == 0,
            replaced: None,
            row: self.row,
        }
    }
}

fn find_current(connection: &Connection, key: &SessionKey) -> rusqlite::Result<Option<Found>> {
    connection
        .prepare_cached(
            "SELECT row, id, started, interacted, leaf, settings, label, display_name \
             FROM sessions WHERE key = ?1 AND ended IS NULL",
        )?
        .query_row([key.to_string()], |row| {
            Ok(Found {
                row: row.get(0)?,
                id: SessionId(row.get(1)?),
                started: row.get(2)?,
                interacted: row.get(3)?,
                leaf: row.get(4)?,
                settings: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default(),
                label: row.get(6)?,
                display_name: row.get(7)?,
            })
        })
        .optional()
}

pub(super) fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis().try_into().unwrap_or(u64::MAX))
}

/// Names the trouble behind an SQLite error, and what to do.
pub(super) fn explain(path: &Path, source: rusqlite::Error) -> SessionError {
    match source {
        rusqlite::Error::QueryReturnedNoRows => SessionError::Gone,
        source => schema::FORMAT.explain(path, source).into(),
    }
}

impl SessionId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
