//! How far commands may leave the sandbox, for the message at hand.

use chela_core::Speaker;
use chela_sandbox::Standing;
use chela_tools::{Elevation, ElevationAsk, ElevationWho as Who, elevation};

use super::Conversation;
use chela_session::Source;

impl Conversation {
    /// Decides anew, with what has come into the conversation since.
    pub(crate) fn elevate_now(&self) {
        if let Standing::Outside { .. } = **self.commands.sandbox() {
            return;
        }
        self.commands.elevate(self.elevation());
    }

    fn elevation(&self) -> Elevation {
        elevation(&ElevationAsk {
            global: &self.agents.loaded.config.tools.elevated,
            own: self.view.tools.value.elevated.as_ref(),
            default: self.view.elevated_default.value,
            session: self.settings().elevated,
            who: self.who(),
            taint: self.taint(),
        })
    }

    fn who(&self) -> Who<'_> {
        if self.source != Source::Person || self.key.is_subagent() {
            return Who::Nobody;
        }
        match (&self.ask.speaker, &self.ask.channel) {
            (Speaker::Sender(sender), _) => Who::Sender(sender),
            (Speaker::Owner(_), None) => Who::Terminal,
            (Speaker::Owner(_), Some(_)) | (Speaker::Runtime, _) => Who::Nobody,
        }
    }
}
