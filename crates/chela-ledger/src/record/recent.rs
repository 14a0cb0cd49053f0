//! The request before, from memory where that is as good as the file.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::RecordId;
use super::read::{body_of, marks_of};
use crate::blob::Known;
use crate::mark::SectionMark;
use crate::store::Trouble;

/// More sessions than this are rarely under way at once.
const MOST: usize = 8;

/// A request, as far as the next one of its session is concerned.
#[derive(Debug)]
pub struct Recent {
    pub record: RecordId,
    /// As it is stored.
    pub body: Vec<u8>,
    /// Its pieces: stored as long as it is on record.
    pub known: Known,
    pub model: String,
    pub url: String,
    pub sections: Vec<SectionMark>,
}

/// The newest request of each session that this process recorded.
#[derive(Debug, Default)]
pub struct Recents(Mutex<HashMap<String, Arc<Recent>>>);

impl Recents {
    pub fn of(&self, session: &str) -> Option<Arc<Recent>> {
        self.locked().get(session).cloned()
    }

    pub fn keep(&self, session: &str, recent: Recent) {
        let mut recents = self.locked();
        if recents.len() >= MOST && !recents.contains_key(session) {
            recents.clear();
        }
        recents.insert(session.to_owned(), Arc::new(recent));
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, Arc<Recent>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The request before.
pub struct Before {
    pub request: Arc<Recent>,
    /// It is of the session that had this key before.
    pub another_session: bool,
}

impl Before {
    pub fn find(
        tx: &Connection,
        session: i64,
        key: &str,
        recent: Option<Arc<Recent>>,
    ) -> Result<Option<Self>, Trouble> {
        let own = tx
            .prepare_cached("SELECT max(id) FROM records WHERE session = ?1")?
            .query_row([session], |row| row.get::<_, Option<i64>>(0))?;
        let id = match own {
            Some(id) => Some(id),
            None => tx
                .prepare_cached(
                    "SELECT max(records.id) FROM sessions \
                     JOIN records ON records.session = sessions.row WHERE sessions.key = ?1",
                )?
                .query_row([key], |row| row.get::<_, Option<i64>>(0))?,
        };
        let Some(id) = id else { return Ok(None) };
        // Another process may have recorded since, or deleted.
        let request = match recent.filter(|recent| recent.record.0 == id) {
            Some(recent) => recent,
            None => Arc::new(read(tx, RecordId(id))?),
        };
        Ok(Some(Self {
            request,
            another_session: own.is_none(),
        }))
    }
}

fn read(tx: &Connection, record: RecordId) -> Result<Recent, Trouble> {
    let (model, url, manifest, sections): (String, String, Vec<u8>, i64) = tx
        .prepare_cached("SELECT model, url, manifest, sections FROM records WHERE id = ?1")?
        .query_row([record.0], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    Ok(Recent {
        record,
        body: body_of(tx, &manifest)?,
        known: Known::new(),
        model,
        url,
        sections: marks_of(tx, sections)?,
    })
}
