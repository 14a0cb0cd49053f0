//! How far commands may leave the sandbox, for the message at hand.

use chela_config::model::ElevatedLevel;
use chela_core::Speaker;
use chela_guard::flow::SessionTaint;
use chela_sandbox::SandboxStanding;
use chela_tools::{ElevationAsk, ElevationRequester as Who, ElevationState, elevation};

use super::BackgroundWork;
use chela_session::MessageSource;

impl BackgroundWork {
    /// Decides anew, with what has come into the conversation since.
    pub(crate) fn elevate(&self, chosen: Option<ElevatedLevel>, taint: SessionTaint) {
        self.commands.note_taint(taint);
        let standing = &**self.commands.sandbox();
        if matches!(
            standing,
            SandboxStanding::Outside { .. } | SandboxStanding::CommandsInside(_)
        ) {
            return;
        }
        self.commands.elevate(self.elevation(chosen, taint));
    }

    fn elevation(&self, chosen: Option<ElevatedLevel>, taint: SessionTaint) -> ElevationState {
        elevation(&ElevationAsk {
            global: &self.scope.agents.loaded.config.tools.elevated,
            own: self.scope.view.tools.value.elevated.as_ref(),
            default: self.scope.view.elevated_default.value,
            session: chosen,
            who: self.who(),
            taint,
        })
    }

    fn who(&self) -> Who<'_> {
        if self.scope.source != MessageSource::Person || self.scope.key.is_subagent() {
            return Who::Nobody;
        }
        match (&self.scope.ask.speaker, &self.scope.ask.channel) {
            (Speaker::Sender(sender), _) => Who::Sender(sender),
            (Speaker::Owner(_), None) => Who::Terminal,
            (Speaker::Owner(_), Some(_)) | (Speaker::Runtime, _) => Who::Nobody,
        }
    }
}
