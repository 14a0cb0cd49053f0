//! After a crash: what became of a message that an inbox still holds.

use chela_model::ModelMessage;
use chela_session::{EntryBody, EntryMeta, MessageSource, SessionError};

use super::Conversation;
use crate::inbound_message::InboundMessage;
use crate::spoken::SpokenWords;
use crate::surface::{TurnEnd, TurnOutcome, TurnSurface};
use crate::turn::{TurnError, survive};

/// What the agent is told; its message and what it did stand above.
const RESUMED: &str = include_str!("../../text/resumed.md");

/// What the transcript knows of a message of an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageStanding {
    /// It never got that far.
    Unknown,
    /// Its turn began and has no end.
    Begun,
    /// Its turn ended; how, and what was said to a reader.
    Ended { how: String, reply: String },
}

impl Conversation {
    /// Looks a message of an inbox up in this session, before anybody speaks in it. Where it came in
    /// more than once, the last time counts. A turn that had come to its last word is ended here.
    pub async fn standing_of(&self, inbox_id: &str) -> Result<MessageStanding, SessionError> {
        let branch = self.transcript.sessions.branch(&self.session()).await?;
        let is_it = |body: &EntryBody| matches!(body, EntryBody::Message { meta, .. } if meta.inbox_ids.iter().any(|id| id == inbox_id));
        let Some(at) = branch.iter().rposition(|entry| is_it(&entry.body)) else {
            return Ok(MessageStanding::Unknown);
        };
        let mut reply = String::new();
        let mut is_answered = false;
        for entry in branch.iter().skip(at + 1) {
            if let EntryBody::TurnEnded { how } = &entry.body {
                let how = how.clone();
                return Ok(MessageStanding::Ended { how, reply });
            }
            if let Some(SpokenWords::Agent(words)) = SpokenWords::of(entry) {
                reply = words;
            }
            is_answered = match &entry.body {
                EntryBody::Message { message, meta } => is_last_word(message, meta),
                // Something happened after it that the model is to hear of.
                EntryBody::CustomMessage(_) => false,
                _ => is_answered,
            };
        }
        if !is_answered {
            return Ok(MessageStanding::Begun);
        }
        // Only its end is not on disk: whoever asks the model again is answered twice.
        let how = TurnEnd::Done.as_str().to_owned();
        let ended = EntryBody::TurnEnded { how: how.clone() };
        self.transcript
            .sessions
            .append(&self.session(), ended)
            .await?;
        Ok(MessageStanding::Ended { how, reply })
    }

    /// Goes on with a turn that began before a crash. Nothing is said again: what was done stands
    /// in the transcript, and a call without a result is marked as such.
    pub async fn resume(
        &self,
        inbox_id: &str,
        surface: &dyn TurnSurface,
    ) -> Result<TurnOutcome, TurnError> {
        tracing::info!(key = %self.scope.key, inbox_id, "goes on with a turn that a crash ended");
        let message = InboundMessage {
            text: RESUMED.trim().to_owned(),
            inbox_ids: vec![inbox_id.to_owned()],
            ..InboundMessage::default()
        };
        let next = self.say_next(message, MessageSource::Event, surface);
        survive(&self.scope.agents, next).await
    }
}

/// Whether a turn ends with this: a whole answer that calls nothing.
fn is_last_word(message: &ModelMessage, meta: &EntryMeta) -> bool {
    matches!(message, ModelMessage::Assistant { .. })
        && !meta.cut
        && message.tool_calls().next().is_none()
}
