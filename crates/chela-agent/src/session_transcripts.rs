//! Conversations as memory searches them.

use std::sync::Arc;

use chela_core::Trust;
use chela_memory::chunk::MessageSpeaker;
use chela_memory::transcript::{SessionFacts, SessionMessage, TranscriptError, TranscriptSource};
use chela_model::{MessagePart, ModelMessage};
use chela_session::{
    EntryBody, ListScope, MessageSource, SessionError, SessionFilter, Sessions, TranscriptEntry,
};
use chela_store::block_on;

/// The sessions of an agent for its memory, which reads on threads of its own and waits there.
///
/// Messages are numbered by entry: a transcript only grows, so a number never changes its meaning.
pub(crate) struct SessionTranscripts(pub Arc<Sessions>);

impl TranscriptSource for SessionTranscripts {
    fn sessions(&self) -> Result<Vec<SessionFacts>, TranscriptError> {
        let wanted = SessionFilter {
            show: ListScope::Everything,
            ..SessionFilter::default()
        };
        let all = block_on(self.0.list(&wanted)).map_err(|error| unreadable("list", &error))?;
        let foreign =
            block_on(self.0.foreign_sessions()).map_err(|error| unreadable("list", &error))?;
        Ok(all
            .into_iter()
            // A sub-agent's words reach its parent; what it inherited is there already.
            .filter(|info| !info.key.is_incognito() && !info.key.is_subagent())
            .map(|info| SessionFacts {
                trust: match foreign.contains(info.session_id.as_str()) {
                    true => Trust::External,
                    false => Trust::Agent,
                },
                open_as: info.ended.is_none().then(|| info.key.to_string()),
                id: info.session_id.to_string(),
                messages: info.entries,
                changed_at: seconds(info.updated),
                audience: info.key.audience(),
            })
            .collect())
    }

    fn messages(
        &self,
        session: &str,
        from: u64,
        most: usize,
    ) -> Result<Vec<SessionMessage>, TranscriptError> {
        let entries =
            block_on(self.entries_of(session)).map_err(|error| unreadable(session, &error))?;
        let skip = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(entries.iter().skip(skip).take(most).map(message).collect())
    }
}

impl SessionTranscripts {
    async fn entries_of(&self, session: &str) -> Result<Vec<TranscriptEntry>, SessionError> {
        match self.0.by_id(session).await? {
            Some(found) => self.0.entries(&found).await,
            None => Ok(Vec::new()),
        }
    }
}

fn message(entry: &TranscriptEntry) -> SessionMessage {
    let (speaker, text) = match &entry.body {
        EntryBody::Message { message, meta } if meta.source == MessageSource::Person => {
            match message {
                // What the runtime put before the person's words is not theirs.
                ModelMessage::User { content } => {
                    let lead = usize::try_from(meta.lead).unwrap_or(0);
                    (
                        MessageSpeaker::User,
                        said(content.get(lead..).unwrap_or(&[])),
                    )
                }
                ModelMessage::Assistant { content, .. } => {
                    (MessageSpeaker::Assistant, said(content))
                }
                ModelMessage::ToolResult { .. } => (MessageSpeaker::Other, String::new()),
            }
        }
        _ => (MessageSpeaker::Other, String::new()),
    };
    SessionMessage {
        speaker,
        text,
        at: Some(seconds(entry.at)),
    }
}

fn said(content: &[MessagePart]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|part| match part {
            MessagePart::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

fn seconds(millis: u64) -> i64 {
    i64::try_from(millis / 1000).unwrap_or(i64::MAX)
}

fn unreadable(session: &str, error: &dyn std::error::Error) -> TranscriptError {
    TranscriptError {
        session: session.to_owned(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chela_core::{Audience, Host, Origin, SessionKey, Trust};
    use chela_memory::chunk::MessageSpeaker;
    use chela_memory::transcript::TranscriptSource;
    use chela_model::{MessagePart, ModelMessage, ToolCall};
    use chela_session::{EntryBody, EntryMeta, OpenSession, ResetRules, Sessions, TextLabel};
    use chela_store::block_on;

    use super::SessionTranscripts;

    fn session(sessions: &Sessions, key: &str) -> OpenSession {
        let key = SessionKey::parse(key).unwrap();
        block_on(sessions.current(&key, &ResetRules::default())).unwrap()
    }

    fn assistant(part: MessagePart) -> EntryBody {
        EntryBody::plain(ModelMessage::Assistant {
            content: vec![part],
            model: None,
        })
    }

    fn result(text: &str) -> ModelMessage {
        ModelMessage::ToolResult {
            call_id: "a".to_owned(),
            tool: "exec".to_owned(),
            content: vec![MessagePart::text(text)],
            is_error: false,
        }
    }

    #[test]
    fn memory_sees_what_people_and_the_agent_said() {
        let sessions = Arc::new(Sessions::in_memory(&Host::fixed("/home/me")).unwrap());
        let main = session(&sessions, "agent:main:main");
        let with_lead = EntryBody::Message {
            message: ModelMessage::User {
                content: vec![
                    MessagePart::text("It is Sunday."),
                    MessagePart::text("I moved to Lisbon"),
                ],
            },
            meta: EntryMeta {
                lead: 1,
                ..EntryMeta::default()
            },
        };
        let call = MessagePart::ToolCall(ToolCall {
            id: "a".to_owned(),
            name: "exec".to_owned(),
            arguments: serde_json::Map::new(),
            malformed: None,
        });
        let said = [
            with_lead,
            assistant(call),
            EntryBody::plain(result("secret")),
            assistant(MessagePart::text("RecordedWrites.")),
        ];
        block_on(sessions.append_all(&main, &said)).unwrap();
        let group = session(&sessions, "agent:main:telegram:group:1");
        let foreign = EntryBody::Message {
            message: result("from outside"),
            meta: EntryMeta {
                label: Some(TextLabel {
                    trust: Trust::External,
                    origin: Origin::Runtime,
                }),
                ..EntryMeta::default()
            },
        };
        block_on(sessions.append(&group, foreign)).unwrap();
        session(&sessions, "agent:main:subagent:x");
        session(&sessions, "agent:main:incognito-1");
        let sessions = SessionTranscripts(sessions);

        let facts = sessions.sessions().unwrap();
        let found: Vec<_> = facts
            .iter()
            .map(|fact| (fact.messages, fact.audience, fact.trust))
            .collect();
        assert_eq!(
            found,
            [
                (1, Audience::Shared, Trust::External),
                (4, Audience::Private, Trust::Agent)
            ]
        );
        let said = sessions.messages(main.id.as_str(), 0, 10).unwrap();
        let said: Vec<_> = said.iter().map(|m| (m.speaker, m.text.as_str())).collect();
        assert_eq!(
            said,
            [
                (MessageSpeaker::User, "I moved to Lisbon"),
                (MessageSpeaker::Assistant, ""),
                (MessageSpeaker::Other, ""),
                (MessageSpeaker::Assistant, "RecordedWrites."),
            ]
        );
        assert_eq!(sessions.messages(main.id.as_str(), 3, 10).unwrap().len(), 1);
        assert!(sessions.messages("gone", 0, 10).unwrap().is_empty());
    }
}
