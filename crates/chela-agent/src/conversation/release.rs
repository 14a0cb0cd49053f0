//! What the owner lets go: the taint of a session, a text that was held back.

use chela_core::{ContentHash, Origin, Trust};
use chela_guard::flow::SessionTaint;
use chela_model::MessagePart;
use chela_session::{CustomMessage, EntryBody, SessionError};

use super::Conversation;
use crate::agent::OpenError;
use crate::runtime_blocks::{BlockKind, SentBlock};
use crate::withheld::WithheldText;

impl Conversation {
    /// Whether this session has read text from outside.
    pub fn taint(&self) -> SessionTaint {
        self.guarding.taint()
    }

    /// Where the text came from that tainted this session.
    pub fn tainted_by(&self) -> Option<String> {
        self.guarding.provenance.tainted_by()
    }

    /// The owner says that what was read so far is no reason to ask. The words keep their labels.
    pub async fn release_taint(&self) -> Result<(), SessionError> {
        self.guarding.release().await
    }

    /// Reads what the transcript has gained since the guard last looked. A session in which nothing
    /// was said has read nothing.
    pub(super) async fn look_again(&self) -> Result<(), OpenError> {
        let session = self.session();
        if self.transcript.sessions.branch(&session).await?.is_empty() {
            return Ok(());
        }
        let prefix = self.context.prefix().await?;
        self.guarding
            .catch_up(&session, &prefix.toolbox, &prefix.text.sections)
            .await?;
        Ok(())
    }

    /// The owner lets the model read a text that was held back: it comes with the next message,
    /// as what it is.
    pub async fn release_text(&self, text: &WithheldText) -> Result<(), SessionError> {
        let sent = SentBlock {
            kind: BlockKind::Events,
            hash: ContentHash::of(&text.text),
            origin: Origin::Runtime,
            trust: Trust::External,
        };
        let told = format!(
            "The owner released {}, which {} brought:\n{}",
            text.id, text.tool, text.text
        );
        let note = CustomMessage {
            custom_type: "released".to_owned(),
            content: vec![MessagePart::text(told)],
            display: false,
            details: serde_json::json!({ "runtime": [sent] }),
        };
        self.transcript
            .sessions
            .append(&self.session(), EntryBody::CustomMessage(note))
            .await
            .map(drop)
    }
}
