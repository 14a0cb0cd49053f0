//! Room for the next call of a turn: made when a request is too long, once.

use chela_ledger::ContextRewrite;
use chela_model::ModelError;

use super::compaction::{CompactError, compact, threshold};
use super::request::RequestUse;
use super::{ContextMeter, RunningTurn, TurnError, TurnEvent};

impl RunningTurn<'_> {
    /// After tools have run, where `midTurnPrecheck` wants it: a request that would leave no room
    /// for the answer is not sent before the conversation was made shorter.
    pub(super) async fn precheck(&mut self) -> Result<(), TurnError> {
        let settings = &self.parts.scope.view.compaction.value;
        if !settings.mid_turn_precheck.enabled || self.spent.steps == 0 || self.made_room {
            return Ok(());
        }
        let window = ContextMeter {
            used: 0,
            window: self.chain.current().info().context_window,
        };
        let Some(most) = threshold(window, settings) else {
            return Ok(());
        };
        let sessions = &self.parts.transcript.sessions;
        let branch = sessions.branch(&self.session).await?;
        let request = self.request(branch, RequestUse::Measure).await?;
        if request.tokens <= most {
            return Ok(());
        }
        match self.shorten().await {
            Ok(()) => self.made_room = true,
            // Whoever is asked may still take it.
            Err(CompactError::TooShort) => {}
            Err(why) => {
                tracing::warn!(%why, "no room could be made");
                self.surface.event(TurnEvent::Notice(why.to_string()));
            }
        }
        Ok(())
    }

    /// A request that was too long: the conversation is made shorter, once.
    pub(super) async fn make_room(&mut self, error: ModelError) -> Result<(), TurnError> {
        if self.made_room {
            return Err(self.fail(error.into()).await);
        }
        self.made_room = true;
        match self.shorten().await {
            Ok(()) => Ok(()),
            Err(why) => {
                tracing::warn!(%why, "no room could be made");
                self.surface.event(TurnEvent::Notice(why.to_string()));
                Err(self.fail(error.into()).await)
            }
        }
    }

    async fn shorten(&mut self) -> Result<(), CompactError> {
        let done = compact(self.parts, Some(&self.chain), None).await?;
        self.surface.event(TurnEvent::Notice(done.in_words()));
        // Read anew from the start anyway: the one time the prefix may move.
        self.prefix = self.parts.context.prefix_for(Some(&self.chain)).await?;
        self.rewrite = Some(ContextRewrite::Compaction);
        Ok(())
    }
}
