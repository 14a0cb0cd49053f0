//! Finding sessions, naming them, putting them away.

use std::collections::BTreeSet;
use std::time::Duration;

use chela_core::SessionKind;
use chela_store::{FileSoundness, SessionQuery, SessionSpan};

use super::record::SessionInfo;
use super::store::{OpenSession, SessionError, Sessions};

/// Which sessions are wanted. The default: every key's current one, newest first.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Empty: all kinds.
    pub kinds: Vec<SessionKind>,
    pub active_within: Option<Duration>,
    /// Label or display name contains this, whatever the case.
    pub label: Option<String>,
    pub show: ListScope,
    pub limit: Option<usize>,
}

/// How much of the past is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListScope {
    /// What goes on.
    #[default]
    Current,
    /// Also sessions that were ended by a reset, and those put away.
    Everything,
}

impl Sessions {
    pub async fn list(&self, filter: &SessionFilter) -> Result<Vec<SessionInfo>, SessionError> {
        let query = SessionQuery {
            updated_since: filter
                .active_within
                .map_or(0, |within| self.now().saturating_sub(millis(within))),
            span: match filter.show {
                ListScope::Current => SessionSpan::Current,
                ListScope::Everything => SessionSpan::Everything,
            },
            // What is looked at one by one is not cut before.
            most: match filter.kinds.is_empty() && filter.label.is_none() {
                true => filter.limit.and_then(|most| u32::try_from(most).ok()),
                false => None,
            },
        };
        let label = filter.label.as_ref().map(|label| label.to_lowercase());
        let wanted = |info: &SessionInfo| {
            let named = |label: &String| {
                info.name()
                    .is_some_and(|name| name.to_lowercase().contains(label))
            };
            (filter.kinds.is_empty() || filter.kinds.contains(&info.key.kind()))
                && label.as_ref().is_none_or(named)
        };
        let found = self.store.list(query).await?;
        Ok(found
            .into_iter()
            .map(SessionInfo::of)
            .filter(wanted)
            .take(filter.limit.unwrap_or(usize::MAX))
            .collect())
    }

    /// Every id and key there is, newest first: what a mistyped one may have meant.
    pub async fn names(&self) -> Result<Vec<(String, String)>, SessionError> {
        Ok(self.store.names().await?)
    }

    /// The sessions in which text from outside was read, by id.
    pub async fn foreign_sessions(&self) -> Result<BTreeSet<String>, SessionError> {
        Ok(self.store.foreign_sessions().await?)
    }

    /// Gives a session a name for people; `None` takes it away.
    pub async fn rename(
        &self,
        session: &OpenSession,
        label: Option<&str>,
    ) -> Result<(), SessionError> {
        let label = super::settings::SessionOverride::Label(label.map(str::to_owned));
        self.set(session, label).await
    }

    /// Puts a session away: it is out of the lists, its key starts anew, and nothing is lost.
    pub async fn archive(&self, session: &OpenSession) -> Result<(), SessionError> {
        let archived = self.store.archive(session.id.as_str(), self.now());
        // One that is gone needs no putting away.
        archived.await?;
        Ok(())
    }

    /// Deletes a session and everything said in it.
    pub async fn remove(&self, session: &OpenSession) -> Result<(), SessionError> {
        self.store.remove(session.id.as_str()).await?;
        Ok(())
    }

    /// Reads the whole file to see whether anything in it is damaged.
    pub async fn is_sound(&self) -> bool {
        self.store
            .check()
            .await
            .is_ok_and(|found| found == FileSoundness::Sound)
    }
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
