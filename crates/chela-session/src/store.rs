//! The sessions of an agent, and which session a key stands for.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use chela_core::secret::Redactor;
use chela_core::{AgentId, ContentHash, Host, SessionForm, SessionKey};
use chela_store::{
    CurrentSession, FileState, SessionRecord, SessionResume, SessionStart, SessionStarted,
    SessionStore, SqliteSessionStore, StoreError,
};
use serde::Serialize;

use super::begun::{RecordFile, RecordLoss};
use super::kept_transcripts::KeptTranscripts;
use super::reset::{ResetReason, ResetRules};
use super::settings::SessionSettings;

const NAME: &str = "the session file";
/// Why a session ended in whose place another one was resumed.
const RESUMED: &str = "resumed";

/// The sessions of one agent.
#[derive(Debug)]
pub struct Sessions {
    pub(super) store: Arc<dyn SessionStore>,
    path: PathBuf,
    host: Host,
    redactor: RwLock<Arc<Redactor>>,
    loss: Option<RecordLoss>,
    pub(super) kept: KeptTranscripts,
}

/// The id of a session, in the form of a UUID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SessionId(pub(super) String);

/// A session that is there: what the calls about it are given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSession {
    pub id: SessionId,
    pub key: SessionKey,
    /// Milliseconds since 1970.
    pub started: u64,
    /// Nothing has been said in it yet.
    pub fresh: bool,
    /// The session it took the place of just now, and why.
    pub replaced: Option<(SessionId, ResetReason)>,
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
    #[error("the session was removed by another process")]
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

    /// The same without making the file: `None` when there is none, or an empty one. Where
    /// nothing can be written, what is there can still be read.
    pub fn open_existing(host: &Host, agent: &AgentId) -> Result<Option<Self>, SessionError> {
        let path = session_file(host, agent);
        if FileState::of(&path) != FileState::Present {
            return Ok(None);
        }
        let file = RecordFile::look(NAME, &path);
        let opened = SqliteSessionStore::open_existing(&path)?;
        Ok(opened.map(|store| Self::in_file(store, file, &path, host)))
    }

    /// The file of an agent's sessions, if it is empty or gone although there was one.
    pub fn missing_file(host: &Host, agent: &AgentId) -> Option<RecordLoss> {
        let path = session_file(host, agent);
        RecordFile::look(NAME, &path).missing(FileState::of(&path))
    }

    pub fn open_file(host: &Host, path: &Path) -> Result<Self, SessionError> {
        let file = RecordFile::look(NAME, path);
        let store = SqliteSessionStore::open(path)?;
        Ok(Self::in_file(store, file, path, host))
    }

    /// Sessions that leave no trace.
    pub fn in_memory(host: &Host) -> Result<Self, SessionError> {
        let store = SqliteSessionStore::open_in_memory()?;
        Ok(Self::on(Arc::new(store), Path::new(":memory:"), host))
    }

    /// Sessions in any store. `path` is where archives are kept beside, and what errors name.
    pub fn on(store: Arc<dyn SessionStore>, path: &Path, host: &Host) -> Self {
        Self {
            store,
            path: path.to_owned(),
            host: host.clone(),
            redactor: RwLock::default(),
            loss: None,
            kept: KeptTranscripts::default(),
        }
    }

    fn in_file(store: SqliteSessionStore, file: RecordFile<'_>, path: &Path, host: &Host) -> Self {
        let loss = file.note_opened(store.found());
        Self {
            loss,
            ..Self::on(Arc::new(store), path, host)
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// There had been a file, and it was empty or gone when this one was begun.
    pub fn loss(&self) -> Option<&RecordLoss> {
        self.loss.as_ref()
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
    ) -> Result<OpenSession, SessionError> {
        self.current_record(key, rules)
            .await
            .map(|(session, _)| session)
    }

    /// The same with its record, where it goes on. `None` for one that has just been started.
    pub(super) async fn current_record(
        &self,
        key: &SessionKey,
        rules: &ResetRules,
    ) -> Result<(OpenSession, Option<SessionRecord>), SessionError> {
        let now = self.now();
        let mut found = self.store.current(&key.to_string()).await?;
        loop {
            let ends = match &found {
                Some(record) => match rules.due(taken_up(record), record.interacted, now) {
                    Some(why) => Some((record, why)),
                    None => {
                        let session = OpenSession::of(record);
                        return Ok((session, found));
                    }
                },
                None => None,
            };
            match self.begin(key, ends, now).await? {
                Begun::Session(session) => return Ok((session, None)),
                // Another process was quicker: what it did is judged anew.
                Begun::Overtaken(current) => {
                    tracing::debug!(%key, "another process started the session first");
                    found = current;
                }
            }
        }
    }

    /// The session a key stands for, if there is one; starts nothing.
    pub async fn look_up(&self, key: &SessionKey) -> Result<Option<OpenSession>, SessionError> {
        let found = self.store.current(&key.to_string()).await?;
        Ok(found.as_ref().map(OpenSession::of))
    }

    /// A session by its id, current or past.
    pub async fn by_id(&self, id: &str) -> Result<Option<OpenSession>, SessionError> {
        Ok(self.store.by_id(id).await?.as_ref().map(OpenSession::of))
    }

    /// Lets a session go on that has ended or was put away. What went on under its key ends.
    pub async fn resume(&self, session: &OpenSession) -> Result<OpenSession, SessionError> {
        let resume = SessionResume {
            id: session.id.0.clone(),
            at: self.now(),
            ends_why: RESUMED.to_owned(),
        };
        let record = self.store.resume(resume).await?.ok_or(SessionError::Gone)?;
        Ok(OpenSession::of(&record))
    }

    /// Ends a session and starts the next one under its key. Label and chosen levels go on.
    pub async fn reset(
        &self,
        session: &OpenSession,
        why: ResetReason,
    ) -> Result<OpenSession, SessionError> {
        let now = self.now();
        let mut found = self.store.current(&session.key.to_string()).await?;
        loop {
            let ends = match &found {
                Some(record) if record.id != session.id.0 => return Ok(OpenSession::of(record)),
                Some(record) => Some((record, why)),
                None => None,
            };
            match self.begin(&session.key, ends, now).await? {
                Begun::Session(session) => return Ok(session),
                Begun::Overtaken(current) => found = current,
            }
        }
    }

    async fn begin(
        &self,
        key: &SessionKey,
        ends: Option<(&SessionRecord, ResetReason)>,
        now: u64,
    ) -> Result<Begun, SessionError> {
        let carried = |previous: &SessionRecord| SessionSettings::of(&previous.settings).carried();
        let previous = ends.map(|(record, _)| record);
        for attempt in 0_u64.. {
            let start = SessionStart {
                id: self.new_id(key, attempt),
                key: key.to_string(),
                at: now,
                settings: previous.map(carried).unwrap_or_default().text(),
                label: previous.and_then(|record| record.label.clone()),
                display_name: previous.and_then(|record| record.display_name.clone()),
                parent: None,
                ends: ends.map(|(record, why)| CurrentSession {
                    id: record.id.clone(),
                    version: record.version,
                    why: why.as_str().to_owned(),
                }),
            };
            match self.store.start(start).await? {
                SessionStarted::Started(record) => {
                    return Ok(Begun::Session(OpenSession {
                        replaced: ends.map(|(record, why)| (SessionId(record.id.clone()), why)),
                        ..OpenSession::of(&record)
                    }));
                }
                SessionStarted::Overtaken(current) => return Ok(Begun::Overtaken(current)),
                SessionStarted::IdTaken => {}
            }
        }
        Err(SessionError::Gone)
    }

    /// Random; where randomness is fixed, `attempt` makes the difference.
    pub(super) fn new_id(&self, key: &SessionKey, attempt: u64) -> String {
        let random = self.host.random_hex(16);
        let seed = format!("{random}:{key}:{}:{attempt}", self.now());
        let hex = ContentHash::of(seed).to_string();
        let part = |range| hex.get::<Range<usize>>(range).unwrap_or_default();
        format!(
            "{}-{}-4{}-a{}-{}",
            part(0..8),
            part(8..12),
            part(13..16),
            part(17..20),
            part(20..32)
        )
    }

    /// Milliseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        millis(self.host.clock.now())
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn unwritable(&self, source: serde_json::Error) -> SessionError {
        SessionError::Unwritable {
            path: self.path.clone(),
            source,
        }
    }
}

/// What the daily reset counts from: a conversation somebody went back to is not yesterday's.
fn taken_up(record: &SessionRecord) -> u64 {
    record.started.max(record.resumed.unwrap_or(0))
}

/// What came of starting a session.
enum Begun {
    Session(OpenSession),
    /// Something else goes on under the key by now.
    Overtaken(Option<SessionRecord>),
}

impl OpenSession {
    pub(super) fn of(record: &SessionRecord) -> Self {
        Self {
            id: SessionId(record.id.clone()),
            key: stored_key(&record.key),
            started: record.started,
            fresh: record.leaf == 0,
            replaced: None,
        }
    }
}

/// Keys are checked when they are stored; one that another program wrote is kept as it is.
pub(super) fn stored_key(text: &str) -> SessionKey {
    SessionKey::parse(text).unwrap_or_else(|_| SessionKey {
        agent: None,
        form: SessionForm::Other {
            rest: text.to_owned(),
        },
        thread: None,
    })
}

/// Methods of a store say `false` when the session is not there.
pub(super) fn if_there(there: bool) -> Result<(), SessionError> {
    match there {
        true => Ok(()),
        false => Err(SessionError::Gone),
    }
}

pub(super) fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis().try_into().unwrap_or(u64::MAX))
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
