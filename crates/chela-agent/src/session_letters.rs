//! Messages from session to session, for whoever watches the session they go to.

use chela_core::SessionKey;
use chela_tools::HeadlessApprover;

use crate::surface::{TurnOutcome, TurnSurface};

/// What one session writes to another (`sessions_send`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLetter {
    pub from: SessionKey,
    pub to: SessionKey,
    pub text: String,
}

/// Knows who watches a session.
pub trait LetterWatch: std::fmt::Debug + Send + Sync {
    /// Whoever is shown the turn that a letter begins, and asked what needs a yes in it.
    fn surface(&self, letter: &SessionLetter) -> Box<dyn LetterSurface>;
}

/// A turn that a letter began, as it is watched.
pub trait LetterSurface: TurnSurface {
    /// What came of it, or why nothing did.
    fn ended(&self, outcome: Result<&TurnOutcome, &str>);
}

/// Nobody watches.
impl LetterSurface for HeadlessApprover {
    fn ended(&self, _: Result<&TurnOutcome, &str>) {}
}
