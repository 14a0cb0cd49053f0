//! Conversations as a person picks one: what it began with, what was said last, how long ago.

use chela_core::{AgentId, SessionForm};
use chela_model::{MessagePart, ModelMessage};
use chela_store::EntryRecord;

use super::entry::EntryBody;
use super::external_spans::typed_text;
use super::find::SessionMatch;
use super::list::{ListScope, SessionFilter};
use super::record::SessionInfo;
use super::store::{SessionError, Sessions};

/// A conversation to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionPreview {
    pub info: SessionInfo,
    /// What the person wrote first and last.
    pub first: Option<String>,
    pub last: Option<String>,
}

impl SessionPreview {
    /// What a person knows it by.
    pub fn title(&self) -> String {
        let name = self.info.name().map(str::to_owned);
        let title = name.or_else(|| self.first.clone());
        title.unwrap_or_else(|| self.info.key.to_string())
    }

    /// Whether all of these words are in what is known of it.
    fn says(&self, words: &[String]) -> bool {
        let texts = [
            self.info.name(),
            self.first.as_deref(),
            self.last.as_deref(),
        ];
        let text = texts.into_iter().flatten().collect::<Vec<_>>().join("\n");
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    }
}

/// What a person's words for a conversation lead to.
#[derive(Debug)]
pub enum ConversationMatch {
    One(SessionPreview),
    /// All that may be meant, newest first.
    Several(Vec<SessionPreview>),
    /// None; the nearest id, name or key there is.
    Nothing {
        nearest: Option<String>,
    },
}

impl Sessions {
    /// The conversations of the owner in which something was said, newest first. Those of chats
    /// with others, and what ran by itself, are not picked up here.
    pub async fn conversations(&self, most: usize) -> Result<Vec<SessionPreview>, SessionError> {
        let filter = SessionFilter {
            show: ListScope::Everything,
            ..SessionFilter::default()
        };
        let mut found = Vec::new();
        for info in self.list(&filter).await? {
            if found.len() == most {
                break;
            }
            if !is_conversation(&info) {
                continue;
            }
            let preview = self.preview(info).await?;
            if preview.first.is_some() {
                found.push(preview);
            }
        }
        Ok(found)
    }

    pub async fn preview(&self, info: SessionInfo) -> Result<SessionPreview, SessionError> {
        let said = self.store.said_ends(info.session_id.as_str()).await?;
        let said = said.unwrap_or_default();
        Ok(SessionPreview {
            info,
            first: said.first.as_ref().and_then(written),
            last: said.last.as_ref().and_then(written),
        })
    }

    /// The conversation a person means by an id, the start of one, a key, a name, or words that
    /// were said in it; what they wrote first or last comes before the rest.
    pub async fn find_conversation(
        &self,
        agent: &AgentId,
        given: &str,
    ) -> Result<ConversationMatch, SessionError> {
        match self.find(agent, given).await? {
            SessionMatch::One(session) => {
                let info = self.info(&session).await?;
                Ok(ConversationMatch::One(self.preview(info).await?))
            }
            SessionMatch::Several(ids) => {
                let all = self.conversations(usize::MAX).await?.into_iter();
                let meant = all
                    .filter(|preview| ids.iter().any(|id| id == preview.info.session_id.as_str()));
                Ok(ConversationMatch::Several(meant.collect()))
            }
            SessionMatch::Nothing { nearest } => {
                let words: Vec<String> = given.split_whitespace().map(str::to_lowercase).collect();
                let all = self.conversations(usize::MAX).await?;
                let known = all.iter().filter(|preview| preview.says(&words));
                let mut found: Vec<SessionPreview> = known.cloned().collect();
                if found.is_empty() && !words.is_empty() {
                    found = self.with_words(all, &words).await?;
                }
                Ok(match found.len() {
                    0 => ConversationMatch::Nothing { nearest },
                    1 => ConversationMatch::One(found.remove(0)),
                    _ => ConversationMatch::Several(found),
                })
            }
        }
    }
}

impl Sessions {
    /// Those in which all of these words were said, by whomever, the newest first.
    async fn with_words(
        &self,
        all: Vec<SessionPreview>,
        words: &[String],
    ) -> Result<Vec<SessionPreview>, SessionError> {
        let mut found = Vec::new();
        for preview in all.into_iter().take(MOST_READ) {
            let session = self.by_id(preview.info.session_id.as_str()).await?;
            let Some(session) = session else {
                continue;
            };
            let mut left: Vec<&String> = words.iter().collect();
            for entry in self.branch(&session).await?.iter() {
                let text = said_in(&entry.body).to_lowercase();
                left.retain(|word| !text.contains(word.as_str()));
            }
            if left.is_empty() {
                found.push(preview);
            }
        }
        Ok(found)
    }
}

fn is_conversation(info: &SessionInfo) -> bool {
    let is_own = matches!(
        info.key.form,
        SessionForm::Global | SessionForm::Main { .. }
    );
    info.entries > 0 && is_own && !info.key.is_subagent()
}

/// What a person or the agent said, without what the runtime put before it.
fn said_in(body: &EntryBody) -> String {
    let EntryBody::Message { message, meta } = body else {
        return String::new();
    };
    let lead = match message {
        ModelMessage::User { .. } => usize::try_from(meta.lead).unwrap_or(0),
        ModelMessage::Assistant { .. } => 0,
        ModelMessage::ToolResult { .. } => return String::new(),
    };
    let said = message.content().iter().skip(lead);
    let texts = said.filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// What a person wrote, as one line, without what the runtime put before it.
fn written(entry: &EntryRecord) -> Option<String> {
    let EntryBody::Message { message, meta } = EntryBody::decode(&entry.kind, &entry.body) else {
        return None;
    };
    let ModelMessage::User { content } = message else {
        return None;
    };
    let own = content.iter().skip(usize::try_from(meta.lead).unwrap_or(0));
    let words = own.filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let words = typed_text(&words.collect::<String>(), &meta.external);
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| line.chars().take(LONGEST).collect())
}

/// So many conversations are read through for a word.
const MOST_READ: usize = 1_000;
/// More of a message than this tells nobody which one it was.
const LONGEST: usize = 300;
