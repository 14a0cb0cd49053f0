//! Room in the context: made when somebody asks for it, before a turn and after it.

use chela_core::ok_or_debug;

use super::Conversation;
use crate::surface::{TurnEvent, TurnSurface};
use crate::turn::{self, CompactError, CompactionOutcome, threshold, transcript_bytes};

impl Conversation {
    /// Replaces the older part of the conversation by a summary. `/undo` takes it back.
    pub async fn compact(
        &self,
        instructions: Option<&str>,
    ) -> Result<CompactionOutcome, CompactError> {
        let _turn = self.turn.lock().await;
        let _lane = self.wait_for_lane(None).await.map_err(Box::new)?;
        let chain = ok_or_debug!(self.chain(), "no model writes the summary");
        turn::compact(self.parts(), chain.as_ref(), instructions).await
    }

    /// After a turn: lets the agent write notes when the window is nearly full, and makes room
    /// when it is full.
    pub(super) async fn make_room_after(&self, surface: &dyn TurnSurface) {
        let settings = &self.scope.view.compaction.value;
        let Some(most) = threshold(self.meter(), settings).filter(|_| settings.enabled) else {
            return;
        };
        let is_near = self.meter().used + settings.memory_flush.soft_threshold_tokens > most;
        let is_large = settings
            .memory_flush
            .force_flush_transcript_bytes
            .as_ref()
            .and_then(|size| size.bytes());
        let is_large = match is_large {
            Some(most) => transcript_bytes(&self.transcript).await >= most,
            None => false,
        };
        if is_near || is_large {
            self.flush_memory().await;
        }
        if self.meter().used <= most {
            return;
        }
        self.make_room(surface).await;
    }

    /// Before a turn: makes room when what is kept of the conversation is larger than
    /// `maxActiveTranscriptBytes`.
    pub(super) async fn make_room_before(&self, surface: &dyn TurnSurface) {
        let configured = &self.scope.view.compaction.value.max_active_transcript_bytes;
        let Some(most) = configured.as_ref().and_then(|size| size.bytes()) else {
            return;
        };
        if transcript_bytes(&self.transcript).await < most {
            return;
        }
        self.make_room(surface).await;
    }

    async fn make_room(&self, surface: &dyn TurnSurface) {
        let chain = ok_or_debug!(self.chain(), "no model writes the summary");
        match turn::compact(self.parts(), chain.as_ref(), None).await {
            Ok(done) => surface.event(TurnEvent::Notice(done.in_words())),
            Err(error) => tracing::warn!(%error, "no room was made"),
        }
    }
}
