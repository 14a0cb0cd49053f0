//! Messages from session to session.

use std::sync::Arc;
use std::time::Duration;

use chela_core::{Speaker, ok_or_warn};
use chela_tools::{Answered, Headless, Refused, SendAsk};

use super::Grant;
use super::child::taint;
use super::spawn::Nest;
use crate::conversation::{Conversation, ConversationAsk, Inbound, Role};
use chela_reply::Reply;
use chela_session::Source;

impl Nest {
    pub(super) async fn deliver(&self, ask: SendAsk) -> Result<Answered, Refused> {
        let unsent = |error: &dyn std::fmt::Display| Refused(format!("Nothing was sent: {error}."));
        let session = self.session().await?;
        let branch = self
            .sessions
            .branch(&session)
            .await
            .map_err(|error| unsent(&error))?;
        let role = Role {
            grant: Grant::whole().trusted(taint(&branch, self.grant.trust())),
            source: Source::Session,
            seen: None,
        };
        let open = ConversationAsk {
            session: Some(ask.session.clone()),
            ..ConversationAsk::new(Speaker::Runtime)
        };
        let other = Conversation::open_as(Arc::clone(&self.agents), open, role)
            .await
            .map_err(|error| unsent(&error))?;
        let message = Inbound {
            text: format!(
                "[Inter-session message from={} isUser=false]\n{}",
                self.key, ask.text
            ),
            images: Vec::new(),
        };
        let answering = tokio::spawn(async move {
            let outcome = other.say(message, &Headless).await;
            let session = other.session();
            let branch = other.sessions.branch(&session);
            let branch = ok_or_warn!(
                branch.await,
                "the transcript of another session cannot be read"
            );
            let branch = branch.unwrap_or_default();
            (outcome, taint(&branch, other.grant.trust()))
        });
        self.runs.sending(answering.abort_handle());
        if ask.timeout_seconds == 0 {
            return Ok(Answered::Sent);
        }
        let wait = Duration::from_secs(ask.timeout_seconds);
        let Ok(answer) = tokio::time::timeout(wait, answering).await else {
            return Ok(Answered::Timeout);
        };
        let (outcome, trust) = answer.map_err(|_| unsent(&"the other session failed"))?;
        let outcome = outcome
            .map_err(|error| Refused(format!("{} could not answer: {error}.", ask.session)))?;
        Ok(match outcome.reply {
            Reply::Deliver(delivery) => Answered::Reply {
                text: delivery.text,
                trust,
            },
            Reply::Silent { .. } => Answered::NoReply,
        })
    }
}
