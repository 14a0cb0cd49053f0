//! A search for a person: what changed is looked at first, for a moment, and what stands in the way
//! of a good answer is said with it.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::index::{SyncDepth, SyncOutcome, SyncReport};
use crate::memory::{Memory, MemoryAnswer, MemoryQuestion};
use crate::search::VectorState;
use crate::store::StoreError;

/// How long a search looks for changes before it answers from what it has.
const PATIENCE: Duration = Duration::from_millis(300);

/// Whether what changed is looked at before a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreshLook {
    AsConfigured,
    Skipped,
}

/// What was found, and what its reader should know about it.
#[derive(Debug)]
pub struct FreshAnswer {
    pub found: MemoryAnswer,
    /// Why what changed could not be looked at; an old answer is better than none.
    pub stale: Option<StoreError>,
    pub notes: Vec<String>,
}

impl Memory<'_> {
    /// Looks for changes where the settings say so, and searches.
    pub fn search_fresh(
        &mut self,
        ask: &MemoryQuestion<'_>,
        look: FreshLook,
    ) -> Result<FreshAnswer, StoreError> {
        let looks = look == FreshLook::AsConfigured && self.syncs_on_search();
        let (mut notes, stale) = match looks.then(|| self.sync_briefly()) {
            None => (Vec::new(), None),
            Some(Ok(report)) => (notes_on(report), None),
            Some(Err(error)) => {
                tracing::warn!(%error, "memory is searched as it was");
                (Vec::new(), Some(error))
            }
        };
        let found = self.search(ask)?;
        notes.extend(self.notices().iter().map(ToString::to_string));
        notes.extend(match &found.answer.vectors {
            VectorState::Failed { problem } => Some(format!("searched by words only: {problem}")),
            VectorState::StandIn {
                model,
                problem: Some(problem),
            } => Some(format!("searched with {model} instead: {problem}")),
            _ => None,
        });
        Ok(FreshAnswer {
            found,
            stale,
            notes,
        })
    }

    /// Not for long, unless there is nothing to search yet.
    fn sync_briefly(&mut self) -> Result<SyncReport, StoreError> {
        let patience = match self.is_empty() {
            Ok(false) => PATIENCE,
            _ => Duration::MAX,
        };
        let start = Instant::now();
        let mut go_on = |_| match start.elapsed() > patience {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        self.sync(SyncDepth::Quick, &mut go_on)
    }
}

fn notes_on(report: SyncReport) -> Vec<String> {
    let mut notes = report.problems;
    if report.unmade > 0 {
        notes.push(format!(
            "{} chunks have no vector of the chosen model yet; `chela memory index` makes them",
            report.unmade
        ));
    }
    notes.extend(match report.outcome {
        SyncOutcome::Busy => Some("another process is indexing; results may lag behind".to_owned()),
        SyncOutcome::Stopped => {
            Some("many notes changed; `chela memory index` indexes the rest".to_owned())
        }
        SyncOutcome::Complete | SyncOutcome::ReadOnly => None,
    });
    notes
}
