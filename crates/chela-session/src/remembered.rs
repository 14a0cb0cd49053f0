//! Conversations as memory searches them.

use std::collections::BTreeSet;

use chela_core::Trust;
use chela_memory::chunk::Speaker;
use chela_memory::transcript::{SessionFacts, SessionMessage, TranscriptError, TranscriptSource};
use chela_model::{Message, Part};
use chela_store::block_on;

use super::entry::{Body, Entry, Source};
use super::list::{Filter, Show};
use super::store::{SessionError, Sessions};

/// Messages are numbered by entry: a transcript only grows, so a number never changes its meaning.
impl TranscriptSource for Sessions {
    fn sessions(&self) -> Result<Vec<SessionFacts>, TranscriptError> {
        let wanted = Filter {
            show: Show::Everything,
            ..Filter::default()
        };
        let all = block_on(self.list(&wanted)).map_err(|error| unreadable("list", &error))?;
        let foreign = self
            .with_foreign_text()
            .map_err(|error| unreadable("list", &error))?;
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

impl Sessions {
    async fn entries_of(&self, session: &str) -> Result<Vec<Entry>, SessionError> {
        match self.by_id(session).await? {
            Some(found) => self.entries(&found).await,
            None => Ok(Vec::new()),
        }
    }

    /// The sessions in which text from outside was read, by id.
    fn with_foreign_text(&self) -> Result<BTreeSet<String>, SessionError> {
        self.read(|connection| {
            connection
                .prepare(
                    "SELECT id FROM sessions WHERE row IN (SELECT key >> 32 FROM entries \
                     WHERE instr(body, '\"trust\":\"external\"'))",
                )?
                .query_map([], |row| row.get(0))?
                .collect()
        })
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
    use chela_core::Audience;
    use chela_memory::chunk::Speaker;
    use chela_memory::transcript::TranscriptSource;
    use chela_model::{Message, Part};
    use chela_store::block_on;

    use super::super::tests_support::{Fixture, assistant, calls, result, user};
    use super::super::{Body, Meta};

    #[test]
    fn memory_sees_what_people_and_the_agent_said() {
        let fixture = Fixture::new();
        let sessions = &fixture.sessions;
        let main = fixture.session("agent:main:main");
        let with_lead = Body::Message {
            message: Message::User {
                content: vec![Part::text("It is Sunday."), Part::text("I moved to Lisbon")],
            },
            meta: Meta {
                lead: 1,
                ..Meta::default()
            },
        };
        block_on(sessions.append_all(
            &main,
            &[
                with_lead,
                calls(&["a"]),
                result("a", "secret"),
                assistant("Noted."),
            ],
        ))
        .unwrap();
        let group = fixture.session("agent:main:telegram:group:1");
        block_on(sessions.append(&group, user("hi all"))).unwrap();
        fixture.session("agent:main:subagent:x");
        fixture.session("agent:main:incognito-1");

        let facts = sessions.sessions().unwrap();
        let found: Vec<_> = facts
            .iter()
            .map(|fact| (fact.messages, fact.audience))
            .collect();
        assert_eq!(found, [(1, Audience::Shared), (4, Audience::Private)]);
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
