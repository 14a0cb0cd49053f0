//! Waking: what the agent started in the background has ended, and it is to hear of it now, not
//! with whatever somebody happens to say next.

use chela_core::{Origin, Trust};
use chela_model::MessagePart;
use serde_json::json;

use super::Conversation;
use crate::inbound_message::InboundMessage;
use crate::runtime_blocks::{BlockKind, RuntimeBlock, tail};
use crate::surface::{TurnEvent, TurnOutcome, TurnSurface};
use crate::turn::TurnError;
use chela_session::{CustomMessage, EntryBody, MessageSource, SessionError};

/// What the agent is told; the ends themselves stand above it.
const WOKEN: &str = include_str!("../../text/woken.md");

const LEFT: &str = include_str!("../../text/left-commands.md");

impl Conversation {
    /// Notes which commands end with this process, for the next message to tell: the model was
    /// promised to hear of their ends.
    pub async fn note_left_commands(&self) -> Result<(), SessionError> {
        let running = self.background.running().commands;
        if running.is_empty() {
            return Ok(());
        }
        let block = RuntimeBlock {
            kind: BlockKind::Events,
            text: format!("{}\n{}", LEFT.trim(), running.join("\n")),
            origin: Origin::Runtime,
            // The words of a command are the agent's.
            trust: Trust::Agent,
        };
        let Some((text, sent)) = tail(&[block], &[]) else {
            return Ok(());
        };
        let event = CustomMessage {
            custom_type: "events".to_owned(),
            content: vec![MessagePart::text(text)],
            display: false,
            details: json!({ "runtime": sent }),
        };
        let (sessions, session) = (&self.transcript.sessions, self.session());
        let noted = sessions.append(&session, EntryBody::CustomMessage(event));
        noted.await.map(drop)
    }

    /// Runs a turn about what has ended in the background. `None` when the model has heard of
    /// everything already.
    pub async fn wake(&self, surface: &dyn TurnSurface) -> Result<Option<TurnOutcome>, TurnError> {
        crate::turn::survive(&self.scope.agents, self.wake_next(surface)).await
    }

    async fn wake_next(&self, surface: &dyn TurnSurface) -> Result<Option<TurnOutcome>, TurnError> {
        let _turn = self.turn.lock().await;
        let _lane = self.wait_for_lane(Some(surface)).await?;
        let ended = self.background.ended_untold();
        if ended.is_empty() {
            return Ok(None);
        }
        tracing::info!(key = %self.scope.key, ended = ended.len(), "woken by what ended");
        surface.event(TurnEvent::Notice(format!("Woken: {}", ended.join("; "))));
        // A turn that cannot even begin is not tried again and again.
        self.background.runs.mark_told();
        let message = InboundMessage {
            text: WOKEN.trim().to_owned(),
            ..InboundMessage::default()
        };
        let outcome = self
            .one_turn(message, MessageSource::Event, surface)
            .await?;
        Ok(Some(outcome))
    }
}
