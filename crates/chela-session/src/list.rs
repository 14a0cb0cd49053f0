//! Finding sessions, naming them, putting them away.

use std::time::Duration;

use chela_core::SessionKind;
use rusqlite::params;

use super::record::{INFO_COLUMNS, SessionInfo};
use super::store::{Session, SessionError, Sessions};
use super::transcript::entry_key;

/// Which sessions are wanted. The default: every key's current one, newest first.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Empty: all kinds.
    pub kinds: Vec<SessionKind>,
    pub active_within: Option<Duration>,
    /// Label or display name contains this, whatever the case.
    pub label: Option<String>,
    pub show: Show,
    pub limit: Option<usize>,
}

/// How much of the past is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Show {
    /// What goes on.
    #[default]
    Current,
    /// Also sessions that were ended by a reset, and those put away.
    Everything,
}

impl Sessions {
    pub async fn list(&self, filter: &Filter) -> Result<Vec<SessionInfo>, SessionError> {
        let since = filter
            .active_within
            .map_or(0, |within| self.now().saturating_sub(millis(within)));
        let shown = match filter.show {
            Show::Current => "AND ended IS NULL AND archived IS NULL",
            Show::Everything => "",
        };
        let label = filter.label.as_ref().map(|label| label.to_lowercase());
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {INFO_COLUMNS} FROM sessions WHERE updated >= ?1 {shown} \
                 ORDER BY updated DESC, row DESC"
            ))?;
            let rows = statement.query_map([since], SessionInfo::of_row)?;
            let wanted = |info: &SessionInfo| {
                let named = |label: &String| {
                    info.name()
                        .is_some_and(|name| name.to_lowercase().contains(label))
                };
                (filter.kinds.is_empty() || filter.kinds.contains(&info.key.kind()))
                    && label.as_ref().is_none_or(named)
            };
            rows.filter(|row| row.as_ref().map_or(true, wanted))
                .take(filter.limit.unwrap_or(usize::MAX))
                .collect()
        })
    }

    /// Every id and key there is, newest first: what a mistyped one may have meant.
    pub async fn names(&self) -> Result<Vec<(String, String)>, SessionError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT id, key FROM sessions ORDER BY updated DESC")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
    }

    /// Gives a session a name for people; `None` takes it away.
    pub async fn rename(&self, session: &Session, label: Option<&str>) -> Result<(), SessionError> {
        self.set(
            session,
            super::record::Override::Label(label.map(str::to_owned)),
        )
        .await
    }

    /// Puts a session away: it is out of the lists, its key starts anew, and nothing is lost.
    pub async fn archive(&self, session: &Session) -> Result<(), SessionError> {
        let now = self.now();
        self.write(|transaction| {
            transaction
                .execute(
                    "UPDATE sessions SET archived = ?2, ended = coalesce(ended, ?2), \
                     ended_why = coalesce(ended_why, 'archived'), version = version + 1 \
                     WHERE row = ?1",
                    params![session.row, now],
                )
                .map(drop)
        })
    }

    /// Deletes a session and everything said in it.
    pub async fn remove(&self, session: &Session) -> Result<(), SessionError> {
        self.write(|transaction| remove_row(transaction, session.row))
    }
}

pub(super) fn remove_row(
    transaction: &rusqlite::Transaction<'_>,
    session: i64,
) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM entries WHERE key BETWEEN ?1 AND ?2",
        [entry_key(session, 0), entry_key(session, u32::MAX)],
    )?;
    transaction.execute("DELETE FROM frozen WHERE row = ?1", [session])?;
    transaction.execute("DELETE FROM sessions WHERE row = ?1", [session])?;
    Ok(())
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
