//! Whether the files of the workspace are in a prefix, and what was told of those that are not whole.

use chela_config::model::{ContextInjection, TruncationWarning};
use chela_core::{ContentHash, SessionForm, ok_or_warn};
use chela_session::{EntryBody, FrozenPrefix, TranscriptEntry};
use chela_workspace::{NoticeStore, TurnPosition};

use super::ContextBuilder;

impl ContextBuilder {
    /// Whether the session was answered since it began or was last summarised. Asked only where
    /// the operator wants files left out then; a heartbeat always has them.
    pub(super) fn position(&self, branch: &[TranscriptEntry]) -> TurnPosition {
        let skips = self.scope.view.context_injection.value == ContextInjection::ContinuationSkip;
        if !skips || matches!(self.scope.key.form, SessionForm::Heartbeat { .. }) {
            return TurnPosition::Full;
        }
        let mut since = branch
            .iter()
            .rev()
            .take_while(|entry| !matches!(entry.body, EntryBody::Compaction(_)));
        match since.any(|entry| matches!(entry.body, EntryBody::TurnEnded { .. })) {
            true => TurnPosition::Continuation,
            false => TurnPosition::Full,
        }
    }

    /// The model was told which files are not whole: with `once` it is not told again.
    pub(super) fn note_told(&self, notice: Option<ContentHash>) {
        let host = &self.scope.agents.host;
        let wants = self.scope.view.truncation_warning.value == TruncationWarning::Once;
        if let Some(key) = notice.filter(|_| wants) {
            let kept = NoticeStore::of(host).remember(host, [key]);
            ok_or_warn!(
                kept,
                "the notice about files that were cut will be given again"
            );
        }
    }
}

/// Whether a prefix that was kept has workspace files in it.
pub(super) fn holds_files(frozen: &FrozenPrefix) -> bool {
    let id = chela_prompt::SectionId::ProjectContext.as_str();
    frozen.sections.iter().any(|mark| mark.id == id)
}
