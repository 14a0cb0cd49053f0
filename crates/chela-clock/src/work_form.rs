//! What a job becomes when it is due, and what comes back.

use chela_store::NewMessage;

use crate::UnixMillis;
use crate::job::JobSpec;
use crate::run_note::RunStatus;

/// What a job becomes when it is due, and what its outcome says: known to whoever works it off.
pub trait WorkForm: Send + Sync {
    /// The message of a run.
    fn message(&self, due: &DueWork<'_>) -> Result<NewMessage, String>;

    /// What came of it.
    fn outcome(&self, text: &str) -> RunOutcome;
}

/// A run that is to begin.
#[derive(Debug, Clone, Copy)]
pub struct DueWork<'a> {
    pub job: &'a str,
    pub spec: &'a JobSpec,
    pub planned: UnixMillis,
    pub now: UnixMillis,
    /// The id of its message: the same run has the same.
    pub message: &'a str,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutcome {
    pub status: RunStatus,
    pub why: Option<String>,
    pub reply: String,
    pub model: Option<String>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub micro_dollars: Option<u64>,
}

/// How often what failed is tried again, and when it is given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockSettings {
    pub retries: u32,
    /// The pauses before each further try; the last one counts for all after it.
    pub pauses: Vec<u64>,
    /// After so many failures in a row a job is switched off.
    pub most_failures: u32,
}

impl Default for ClockSettings {
    fn default() -> Self {
        Self {
            retries: 3,
            pauses: vec![30_000, 60_000, 300_000],
            most_failures: 10,
        }
    }
}
