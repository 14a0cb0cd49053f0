//! Announcing: words of another session that are said here, without a turn. The person reads them
//! as the agent's, and the model hears of them with the next message.

use chela_core::{Origin, Trust};
use chela_guard::{ExternalSource, wrap};
use chela_model::MessagePart;
use chela_session::{CustomMessage, EntryBody, TranscriptEntry};
use serde_json::json;

use super::Conversation;
use super::spawning::taint_of_read;
use crate::runtime_blocks::{BlockKind, RuntimeBlock, tail};
use crate::spoken::ANNOUNCEMENT;
use crate::turn::TurnError;

const ANNOUNCED: &str = include_str!("../../text/announced.md");

/// Something that was said elsewhere and belongs here, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldAnnouncement {
    /// The same announcement has the same id: it is made once.
    pub id: String,
    /// Who said it, such as "job tea".
    pub from: String,
    pub text: String,
    /// How far the session was trusted in which it was said.
    pub trust: Trust,
}

impl Conversation {
    /// Puts an announcement into the transcript, after the turn that runs. `false`: it was there.
    pub async fn announce(&self, told: &ToldAnnouncement) -> Result<bool, TurnError> {
        let _turn = self.turn.lock().await;
        let _lane = self.wait_for_lane(None).await?;
        let session = self.transcript.roll_over().await?;
        let sessions = &self.transcript.sessions;
        let branch = sessions.branch(&session).await?;
        if branch.iter().any(|entry| is_announcement(entry, &told.id)) {
            return Ok(false);
        }
        let host = &self.scope.agents.host;
        let words = match told.trust < Trust::Agent {
            true => {
                let name = format!("words of {}", told.from);
                let source = ExternalSource::Api { name };
                wrap(&told.text, &source, host.entropy.as_ref())
            }
            false => told.text.clone(),
        };
        let text = ANNOUNCED.trim().replace("{from}", &told.from);
        let block = RuntimeBlock {
            kind: BlockKind::Events,
            text: text.replace("{words}", &words),
            origin: Origin::Runtime,
            trust: told.trust.join(Trust::Agent),
        };
        let Some((text, sent)) = tail(&[block], &[]) else {
            return Ok(false);
        };
        let entry = CustomMessage {
            custom_type: ANNOUNCEMENT.to_owned(),
            content: vec![MessagePart::text(text)],
            display: true,
            details: json!({
                "runtime": sent, "announcement": told.id, "from": told.from, "words": told.text,
            }),
        };
        let appended = sessions.append(&session, EntryBody::CustomMessage(entry));
        appended.await?;
        tracing::info!(key = %self.scope.key, from = told.from, "announced");
        Ok(true)
    }

    /// How far the words of this session are trusted now: those of one that read untrusted content
    /// count as that.
    pub async fn trust_of_words(&self) -> Trust {
        let session = self.session();
        let branch = self.transcript.sessions.branch(&session);
        taint_of_read(branch.await, self.scope.grant.trust())
    }
}

fn is_announcement(entry: &TranscriptEntry, id: &str) -> bool {
    match &entry.body {
        EntryBody::CustomMessage(note) => {
            note.custom_type == ANNOUNCEMENT
                && note.details.get("announcement").is_some_and(|at| at == id)
        }
        _ => false,
    }
}
