//! The place of a sub-agent among those that work in this process.

use std::sync::Arc;

use super::runs::RunningChildren;
use crate::agent::Agents;

/// A run's place, had or waited for. Given back when it is dropped.
pub(crate) struct RunSlot {
    agents: Arc<Agents>,
    pub runs: Arc<RunningChildren>,
    run: String,
    /// How many may work at once.
    most: usize,
}

impl RunSlot {
    pub fn new(agents: Arc<Agents>, runs: Arc<RunningChildren>, run: &str, most: usize) -> Self {
        agents.seats.start(run);
        Self {
            agents,
            runs,
            run: run.to_owned(),
            most: most.max(1),
        }
    }

    /// What to say about a run that cannot begin at once.
    pub fn has_to_wait(&self) -> Option<String> {
        let (working, ahead) = self.agents.seats.has_to_wait(self.most)?;
        Some(format!(
            "it waits: {working} sub-agents run at the moment, which is the most (`maxConcurrent`), and {ahead} wait before it"
        ))
    }

    /// Waits for a place.
    pub async fn take(&self) {
        self.agents.seats.take(&self.run, self.most).await;
        self.runs.seated(&self.run, true);
    }

    /// Lets others work while this one waits for its own sub-agents: they need places too.
    pub fn give_back(&self) {
        self.agents.seats.leave(&self.run);
        self.runs.seated(&self.run, false);
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        self.agents.seats.end(&self.run);
        self.runs.note_end(&self.run, None);
    }
}
