//! Messages from session to session.

use std::sync::Arc;
use std::time::Duration;

use chela_core::Speaker;
use chela_tools::{SendAsk, SendOutcome, SpawnRefused};

use super::SubagentSpawner;
use super::child::{taint, taint_of_read};
use crate::conversation::opening::ConversationRole;
use crate::conversation::{Conversation, ConversationAsk, InboundMessage};
use crate::session_letters::SessionLetter;
use crate::subagents::SessionGrant;
use chela_reply::Reply;
use chela_session::MessageSource;

impl SubagentSpawner {
    pub(super) async fn deliver(&self, ask: SendAsk) -> Result<SendOutcome, SpawnRefused> {
        let unsent =
            |error: &dyn std::fmt::Display| SpawnRefused(format!("Nothing was sent: {error}."));
        let session = self.session().await?;
        let branch = self
            .sessions
            .branch(&session)
            .await
            .map_err(|error| unsent(&error))?;
        let role = ConversationRole {
            grant: SessionGrant::whole().trusted(taint(
                &branch,
                self.scope.grant.trust(),
                &self.scope.view.owner_allow_from.value,
            )),
            source: MessageSource::Session,
            seen: None,
        };
        let open = ConversationAsk {
            session: Some(ask.session.clone()),
            ..ConversationAsk::new(Speaker::Runtime)
        };
        let other = Conversation::open_as(Arc::clone(&self.scope.agents), open, role)
            .await
            .map_err(|error| unsent(&error))?;
        let message = InboundMessage {
            text: format!(
                "[Inter-session message from={} isUser=false]\n{}",
                self.scope.key, ask.text
            ),
            ..InboundMessage::default()
        };
        let letter = SessionLetter {
            from: self.scope.key.clone(),
            to: ask.session.clone(),
            text: ask.text,
        };
        let surface = self.scope.agents.letter_surface(&letter);
        let answering = tokio::spawn(async move {
            let outcome = other.say(message, &*surface).await;
            let why = outcome.as_ref().err().map(ToString::to_string);
            let why = why.unwrap_or_default();
            surface.ended(outcome.as_ref().map_err(|_| why.as_str()));
            let session = other.session();
            let branch = other.transcript.sessions.branch(&session);
            let trust = taint_of_read(branch.await, other.scope.grant.trust());
            (outcome, trust)
        });
        self.runs.sending(answering.abort_handle());
        if ask.timeout_seconds == 0 {
            return Ok(SendOutcome::Sent);
        }
        let wait = Duration::from_secs(ask.timeout_seconds);
        let Ok(answer) = tokio::time::timeout(wait, answering).await else {
            return Ok(SendOutcome::Timeout);
        };
        let (outcome, trust) = answer.map_err(|_| unsent(&"the other session failed"))?;
        let outcome = outcome
            .map_err(|error| SpawnRefused(format!("{} could not answer: {error}.", ask.session)))?;
        Ok(match outcome.reply {
            Reply::Deliver(delivery) => SendOutcome::Reply {
                text: delivery.text,
                trust,
            },
            Reply::Silent { .. } => SendOutcome::NoReply,
        })
    }
}
