//! Conversations one can go back to.

use chela_core::{AgentId, Host, SessionForm, ok_or_warn};
use chela_session::{ConversationMatch, SessionError, SessionPreview, Sessions};

use super::Conversation;
use crate::slash::{CommandTrouble, ConversationRow};

/// As many as anybody looks through.
const MOST_ROWS: usize = 100;
/// So many are named when a word may mean several.
const MOST_NAMED: usize = 5;

impl Conversation {
    pub(super) async fn past_conversations(&self) -> Result<Vec<ConversationRow>, SessionError> {
        let found = self.transcript.sessions.conversations(MOST_ROWS).await?;
        Ok(found.into_iter().map(|preview| self.row(preview)).collect())
    }

    pub(super) async fn find_past_conversation(
        &self,
        given: &str,
    ) -> Result<ConversationRow, CommandTrouble> {
        let preview = find_conversation(&self.transcript.sessions, self.agent(), given).await?;
        Ok(self.row(preview))
    }

    fn row(&self, preview: SessionPreview) -> ConversationRow {
        let is_open = preview.info.session_id == self.session().id;
        ConversationRow {
            is_open,
            ..conversation_row(&self.scope.agents.host, preview)
        }
    }
}

/// A conversation as a list shows it.
pub fn conversation_row(host: &Host, preview: SessionPreview) -> ConversationRow {
    let key = &preview.info.key;
    ConversationRow {
        id: preview.info.session_id.to_string(),
        title: preview.title(),
        key: match &key.form {
            SessionForm::Main { key } if key == "main" => None,
            _ => Some(key.to_string()),
        },
        age: host.age_in_words(preview.info.updated),
        entries: preview.info.entries,
        last: preview.last,
        is_open: false,
    }
}

/// The one conversation somebody means; else why there is none, with those that may be meant.
pub async fn find_conversation(
    sessions: &Sessions,
    agent: &AgentId,
    given: &str,
) -> Result<SessionPreview, CommandTrouble> {
    let given = given.trim();
    let found = sessions.find_conversation(agent, given).await;
    match found.map_err(|error| error.to_string())? {
        ConversationMatch::One(preview) => Ok(preview),
        ConversationMatch::Several(many) => {
            let rows = many.iter().take(MOST_NAMED).map(named);
            Err(format!(
                "`{given}` matches {} conversations: {}",
                many.len(),
                rows.collect::<Vec<_>>().join(", ")
            ))
        }
        ConversationMatch::Nothing { nearest } => {
            let near = match nearest {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let newest = sessions.conversations(MOST_NAMED).await;
                    let newest = ok_or_warn!(newest, "conversations cannot be listed");
                    let newest = newest.unwrap_or_default();
                    let rows: Vec<String> = newest.iter().map(named).collect();
                    match rows.is_empty() {
                        true => "there is none yet".to_owned(),
                        false => format!("the newest are {}", rows.join(", ")),
                    }
                }
            };
            Err(format!("there is no conversation `{given}`; {near}"))
        }
    }
}

/// `3f2a9c01 (plan the trip)`.
fn named(preview: &SessionPreview) -> String {
    let id = preview.info.session_id.as_str();
    let title: String = preview.title().chars().take(40).collect();
    format!("{} ({title})", id.get(..8).unwrap_or(id))
}
