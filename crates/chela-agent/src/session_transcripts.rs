//! Conversations as memory searches them.

use std::sync::Arc;

use chela_core::Trust;
use chela_memory::chunk::Speaker;
use chela_memory::transcript::{SessionFacts, SessionMessage, TranscriptError, TranscriptSource};
use chela_model::{Message, Part};
use chela_session::{Body, Entry, Filter, SessionError, Sessions, Show, Source};
use chela_store::block_on;

/// The sessions of an agent for its memory, which reads on threads of its own and waits there.
///
/// Messages are numbered by entry: a transcript only grows, so a number never changes its meaning.
pub(crate) struct SessionTranscripts(pub Arc<Sessions>);

impl TranscriptSource for SessionTranscripts {
    fn sessions(&self) -> Result<Vec<SessionFacts>, TranscriptError> {
        let wanted = Filter {
            show: Show::Everything,
            ..Filter::default()
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
    async fn entries_of(&self, session: &str) -> Result<Vec<Entry>, SessionError> {
        match self.0.by_id(session).await? {
            Some(found) => self.0.entries(&found).await,
            None => Ok(Vec::new()),
        }
    }
}

fn message(entry: &Entry) -> SessionMessage {
    let (speaker, text) = match &entry.body {
        Body::Message { message, meta } if meta.source == Source::Person => match message {
            // What the runtime put before the person's words is not theirs.
            Message::User { content } => {
                let lead = usize::try_from(meta.lead).unwrap_or(0);
                (Speaker::User, said(content.get(lead..).unwrap_or(&[])))
            }
            Message::Assistant { content, .. } => (Speaker::Assistant, said(content)),
            Message::ToolResult { .. } => (Speaker::Other, String::new()),
        },
        _ => (Speaker::Other, String::new()),
    };
    SessionMessage {
        speaker,
        text,
        at: Some(seconds(entry.at)),
    }
}

fn said(content: &[Part]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
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
    use chela_memory::chunk::Speaker;
    use chela_memory::transcript::TranscriptSource;
    use chela_model::{Message, Part, ToolCall};
    use chela_session::{Body, Label, Meta, ResetRules, Session, Sessions};
    use chela_store::block_on;

    use super::SessionTranscripts;

    fn session(sessions: &Sessions, key: &str) -> Session {
        let key = SessionKey::parse(key).unwrap();
        block_on(sessions.current(&key, &ResetRules::default())).unwrap()
    }

    fn assistant(part: Part) -> Body {
        Body::plain(Message::Assistant {
            content: vec![part],
            model: None,
        })
    }

    fn result(text: &str) -> Message {
        Message::ToolResult {
            call_id: "a".to_owned(),
            tool: "exec".to_owned(),
            content: vec![Part::text(text)],
            is_error: false,
        }
    }

    #[test]
    fn memory_sees_what_people_and_the_agent_said() {
        let sessions = Arc::new(Sessions::in_memory(&Host::fixed("/home/me")).unwrap());
        let main = session(&sessions, "agent:main:main");
        let with_lead = Body::Message {
            message: Message::User {
                content: vec![Part::text("It is Sunday."), Part::text("I moved to Lisbon")],
            },
            meta: Meta {
                lead: 1,
                ..Meta::default()
            },
        };
        let call = Part::ToolCall(ToolCall {
            id: "a".to_owned(),
            name: "exec".to_owned(),
            arguments: serde_json::Map::new(),
            malformed: None,
        });
        let said = [
            with_lead,
            assistant(call),
            Body::plain(result("secret")),
            assistant(Part::text("Noted.")),
        ];
        block_on(sessions.append_all(&main, &said)).unwrap();
        let group = session(&sessions, "agent:main:telegram:group:1");
        let foreign = Body::Message {
            message: result("from outside"),
            meta: Meta {
                label: Some(Label {
                    trust: Trust::External,
                    origin: Origin::Runtime,
                }),
                ..Meta::default()
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
                (Speaker::User, "I moved to Lisbon"),
                (Speaker::Assistant, ""),
                (Speaker::Other, ""),
                (Speaker::Assistant, "Noted."),
            ]
        );
        assert_eq!(sessions.messages(main.id.as_str(), 3, 10).unwrap().len(), 1);
        assert!(sessions.messages("gone", 0, 10).unwrap().is_empty());
    }
}
