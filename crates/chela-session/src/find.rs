//! The session a person means by an id, the start of one, a key, a name, or as the last one.

use chela_core::{AgentId, SessionKey, suggest};

use crate::list::{ListScope, SessionFilter};
use crate::store::{OpenSession, SessionError, Sessions};

/// An id can be shortened to this many characters.
const SHORTEST: usize = 4;

/// Stands for the conversation in which a person wrote last.
const NEWEST: &str = "last";

/// What a person's words for a session lead to.
#[derive(Debug)]
pub enum SessionMatch {
    One(OpenSession),
    /// The ids of all that may be meant.
    Several(Vec<String>),
    /// None; the nearest id, name or key there is.
    Nothing {
        nearest: Option<String>,
    },
}

impl Sessions {
    pub async fn find(&self, agent: &AgentId, given: &str) -> Result<SessionMatch, SessionError> {
        for text in [given.to_owned(), format!("agent:{agent}:{given}")] {
            if let Ok(key) = SessionKey::parse(&text)
                && let Some(session) = self.look_up(&key).await?
            {
                return Ok(SessionMatch::One(session));
            }
        }
        let everything = SessionFilter {
            show: ListScope::Everything,
            ..SessionFilter::default()
        };
        let all = self.list(&everything).await?;
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
        if let [id] = matching[..]
            && let Some(session) = self.by_id(id).await?
        {
            return Ok(SessionMatch::One(session));
        }
        if matching.len() > 1 {
            let ids = matching.into_iter().map(str::to_owned);
            return Ok(SessionMatch::Several(ids.collect()));
        }
        // Unless one is called so.
        if given.eq_ignore_ascii_case(NEWEST)
            && let Some(newest) = all.iter().rev().max_by_key(|info| info.interacted)
            && let Some(session) = self.by_id(newest.session_id.as_str()).await?
        {
            return Ok(SessionMatch::One(session));
        }
        let keys: Vec<String> = all.iter().map(|info| info.key.to_string()).collect();
        let own = format!("agent:{agent}:");
        let candidates = all
            .iter()
            .flat_map(|info| [Some(info.session_id.as_str()), info.name()])
            .flatten()
            .chain(keys.iter().map(String::as_str))
            .chain(keys.iter().filter_map(|key| key.strip_prefix(&own)));
        let nearest = suggest::nearest(given, candidates).map(str::to_owned);
        Ok(SessionMatch::Nothing { nearest })
    }
}
