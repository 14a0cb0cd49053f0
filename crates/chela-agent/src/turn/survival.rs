//! A panic ends one turn and nothing else.
//!
//! What the turn held is given back while the stack unwinds: its lane, the room it had reserved,
//! the questions that waited. A lock it held is taken over by whoever comes next.

use std::panic::AssertUnwindSafe;

use chela_core::panics::{PanicReport, caught_panic};
use futures_util::FutureExt;

use super::TurnError;
use crate::agent::Agents;

/// Runs a piece of a turn; a panic in it is an error like any other.
///
/// The work lies on the heap: it is tens of kilobytes, and each future around it would hold room
/// for it twice.
pub(crate) fn survive<'a, T: 'a>(
    agents: &'a Agents,
    work: impl Future<Output = Result<T, TurnError>> + Send + 'a,
) -> impl Future<Output = Result<T, TurnError>> + Send + 'a {
    let work = AssertUnwindSafe(Box::pin(work)).catch_unwind();
    work.map(|caught| {
        caught.unwrap_or_else(|payload| {
            let mut panic = caught_panic(&*payload);
            // It may quote what it stumbled over.
            panic.message = agents.redactor().redact(&panic.message).into_owned();
            tracing::error!(%panic, "a bug in Chela ended the turn");
            Err(TurnError::Broken(panic))
        })
    })
}

/// What happened, where to read more, what to do next.
pub(super) fn in_words(panic: &PanicReport) -> String {
    let details = match &panic.report {
        Some(report) => format!("; the details are in {}", report.display()),
        None => String::new(),
    };
    format!(
        "a bug in Chela ended this turn: {panic}{details}. What was done so far is kept; send \
            your message again, or continue."
    )
}
