//! The jobs as people and agents see and change them. Looking plans nothing.

use std::sync::Arc;

use chela_core::Entropy;
use chela_store::{
    JobChanged, JobPlan, JobRecord, JobStore, KnownRevision, OccurrenceLimit, OccurrenceQuery,
    OccurrenceRecord, StoreError, block_on,
};

use crate::UnixMillis;
use crate::job::{JobEnd, JobMaker, JobSpec, JobState};
use crate::job_clock::{ClockJob, removed_note};
use crate::run_note::RunNote;

/// How long the record of runs is kept, and how many of one job.
const RUNS_KEPT: u64 = 30 * 86_400_000;
const MOST_RUNS: usize = 2_000;

/// More jobs than this nobody keeps an eye on.
const MOST_JOBS: usize = 200;
/// What an agent makes runs at most this often: each run is a turn that costs something.
const AGENTS_SHORTEST: u64 = 60_000;

/// A job as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    pub id: String,
    pub spec: JobSpec,
    pub state: JobState,
    pub next: Option<UnixMillis>,
    pub enabled: bool,
    revision: u64,
}

/// A run on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub job: String,
    pub planned: UnixMillis,
    pub begun: UnixMillis,
    pub ended: Option<UnixMillis>,
    pub tries: u64,
    pub note: RunNote,
}

#[derive(Debug, thiserror::Error)]
pub enum BookError {
    #[error("there is no job `{0}`")]
    Unknown(String),
    #[error("`{text}` could be {}", found.join(" or "))]
    Ambiguous { text: String, found: Vec<String> },
    #[error("there is a job `{0}` already")]
    NameTaken(String),
    #[error("a job needs a name of letters, digits and dashes; `{0}` has none")]
    NoName(String),
    #[error("the job `{0}` will never be due: its time has passed")]
    NeverDue(String),
    #[error("there are {0} jobs already, as many as a home holds; remove one first")]
    TooMany(usize),
    #[error(
        "a job of an agent runs at most once a minute, and `{0}` would run more often; you can make one that does with `chela cron add`"
    )]
    TooOften(String),
    #[error("someone else is changing the job `{0}`; try again")]
    Busy(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// All jobs of a home.
#[derive(Debug, Clone)]
pub struct JobBook {
    store: Arc<dyn JobStore>,
}

impl JobBook {
    pub fn new(store: Arc<dyn JobStore>) -> Self {
        Self { store }
    }

    /// Every job, by name.
    pub fn list(&self) -> Result<Vec<JobRow>, BookError> {
        let records = block_on(self.store.list())?;
        let mut rows: Vec<JobRow> = records.into_iter().filter_map(row_of).collect();
        rows.sort_by(|one, other| one.spec.name.cmp(&other.spec.name));
        Ok(rows)
    }

    /// The job of this name, of this id, or whose id begins so.
    pub fn find(&self, text: &str) -> Result<JobRow, BookError> {
        let text = text.trim();
        let rows = self.list()?;
        let exact = |row: &&JobRow| row.spec.name == text || row.id == text;
        if let Some(row) = rows.iter().find(exact) {
            return Ok(row.clone());
        }
        let mut found = rows
            .iter()
            .filter(|row| text.len() >= 3 && row.id.starts_with(text));
        match (found.next(), found.next()) {
            (Some(row), None) => Ok(row.clone()),
            (Some(one), Some(other)) => Err(BookError::Ambiguous {
                text: text.to_owned(),
                found: vec![one.spec.name.clone(), other.spec.name.clone()],
            }),
            _ => Err(BookError::Unknown(text.to_owned())),
        }
    }

    /// Puts a job in. Its first run is the first planned moment from now on.
    pub fn add(
        &self,
        spec: JobSpec,
        entropy: &dyn Entropy,
        now: UnixMillis,
    ) -> Result<JobRow, BookError> {
        let name = plain_name(&spec.name);
        if name.is_empty() {
            return Err(BookError::NoName(spec.name));
        }
        let rows = self.list()?;
        if rows.iter().any(|row| row.spec.name == name) {
            return Err(BookError::NameTaken(name));
        }
        if rows.len() >= MOST_JOBS {
            return Err(BookError::TooMany(rows.len()));
        }
        let spec = JobSpec { name, ..spec };
        check_pace(&spec, now)?;
        let next = spec.schedule.next_after(now);
        if next.is_none() {
            return Err(BookError::NeverDue(spec.name));
        }
        let state = JobState {
            planned_at: now,
            ..JobState::default()
        };
        let id = new_id(entropy);
        let plan = plan_of(&id, &spec, &state, next, true)?;
        match block_on(self.store.put(plan, KnownRevision::New))? {
            JobChanged::Changed => self.find(&id),
            JobChanged::Outdated => Err(BookError::Busy(spec.name)),
        }
    }

    /// A name nobody has: this one, or it with a number.
    pub fn free_name(&self, wanted: &str) -> Result<String, BookError> {
        let rows = self.list()?;
        let base = plain_name(wanted);
        let base = match base.is_empty() {
            true => "job".to_owned(),
            false => base,
        };
        let is_free = |name: &String| !rows.iter().any(|row| row.spec.name == *name);
        let numbered = (2..).map(|number: u32| format!("{base}-{number}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        Ok(names.find(is_free).unwrap_or(base))
    }

    /// Changes a job. When its schedule is another, what is next is planned from now; a job that
    /// was switched off because it failed begins anew.
    pub fn edit(&self, row: &JobRow, spec: JobSpec, now: UnixMillis) -> Result<JobRow, BookError> {
        let name = plain_name(&spec.name);
        if name.is_empty() {
            return Err(BookError::NoName(spec.name));
        }
        let rows = self.list()?;
        if rows
            .iter()
            .any(|other| other.id != row.id && other.spec.name == name)
        {
            return Err(BookError::NameTaken(name));
        }
        let spec = JobSpec { name, ..spec };
        let mut state = row.state.clone();
        let mut next = row.next;
        let mut enabled = row.enabled;
        if spec.schedule != row.spec.schedule {
            check_pace(&spec, now)?;
            next = spec.schedule.next_after(now);
            if next.is_none() {
                return Err(BookError::NeverDue(spec.name));
            }
            state.planned_at = now;
            if state.end != Some(JobEnd::Paused) {
                (state.end, state.failures, enabled) = (None, 0, true);
            }
        }
        self.put(row, plan_of(&row.id, &spec, &state, next, enabled)?)
    }

    /// Switches a job off.
    pub fn pause(&self, row: &JobRow) -> Result<JobRow, BookError> {
        let state = JobState {
            end: Some(JobEnd::Paused),
            ..row.state.clone()
        };
        self.put(row, plan_of(&row.id, &row.spec, &state, row.next, false)?)
    }

    /// Switches a job on again. What was planned meanwhile was missed on purpose.
    pub fn resume(&self, row: &JobRow, now: UnixMillis) -> Result<JobRow, BookError> {
        let next = row.spec.schedule.next_after(now);
        if next.is_none() {
            return Err(BookError::NeverDue(row.spec.name.clone()));
        }
        let state = JobState {
            end: None,
            failures: 0,
            planned_at: now,
            ..row.state.clone()
        };
        self.put(row, plan_of(&row.id, &row.spec, &state, next, true)?)
    }

    pub fn remove(&self, row: &JobRow, now: UnixMillis) -> Result<(), BookError> {
        let note = removed_note(&row.spec.name, now);
        match block_on(self.store.remove(&row.id, note))? {
            true => Ok(()),
            false => Err(BookError::Unknown(row.spec.name.clone())),
        }
    }

    /// The newest runs, of one job or of all.
    pub fn runs(&self, job: Option<&str>, limit: usize) -> Result<Vec<RunRow>, BookError> {
        let query = OccurrenceQuery {
            job: job.map(str::to_owned),
            limit,
        };
        let records = block_on(self.store.occurrences(query))?;
        Ok(records.into_iter().map(run_of).collect())
    }

    /// Forgets what is older than anybody asks for.
    pub fn forget_old_runs(&self, now: UnixMillis) -> Result<usize, BookError> {
        let limit = OccurrenceLimit {
            before: now.saturating_sub(RUNS_KEPT),
            most: MOST_RUNS,
        };
        Ok(block_on(self.store.forget_occurrences(limit))?)
    }

    fn put(&self, row: &JobRow, plan: JobPlan) -> Result<JobRow, BookError> {
        match block_on(self.store.put(plan, KnownRevision::At(row.revision)))? {
            JobChanged::Changed => self.find(&row.id),
            JobChanged::Outdated => Err(BookError::Busy(row.spec.name.clone())),
        }
    }
}

/// An agent's job may not be due more often than it may run.
fn check_pace(spec: &JobSpec, now: UnixMillis) -> Result<(), BookError> {
    const LOOKED_AT: usize = 20;
    let moments = match spec.made.by {
        JobMaker::Owner => Vec::new(),
        JobMaker::Agent => spec.schedule.preview(now, LOOKED_AT),
    };
    let mut pauses = moments.windows(2);
    match pauses.any(|pair| matches!(pair, [one, next] if next - one < AGENTS_SHORTEST)) {
        true => Err(BookError::TooOften(spec.name.clone())),
        false => Ok(()),
    }
}

fn plan_of(
    id: &str,
    spec: &JobSpec,
    state: &JobState,
    next: Option<UnixMillis>,
    enabled: bool,
) -> Result<JobPlan, StoreError> {
    Ok(JobPlan {
        id: id.to_owned(),
        spec: serde_json::to_string(spec)?,
        next,
        enabled,
        state: serde_json::to_string(state)?,
    })
}

/// `None` for what is no job of this form: a heartbeat.
fn row_of(record: JobRecord) -> Option<JobRow> {
    let ClockJob {
        record,
        spec,
        state,
    } = ClockJob::read(record)?;
    Some(JobRow {
        spec,
        state,
        next: record.plan.next,
        enabled: record.plan.enabled,
        revision: record.revision,
        id: record.plan.id,
    })
}

fn run_of(record: OccurrenceRecord) -> RunRow {
    RunRow {
        note: RunNote::read(&record.note),
        job: record.job,
        planned: record.planned,
        begun: record.begun,
        ended: record.ended,
        tries: record.tries,
    }
}

/// `Water the plants!` becomes `water-the-plants`.
fn plain_name(text: &str) -> String {
    const MOST: usize = 40;
    let mut name = String::new();
    for letter in text.trim().to_lowercase().chars() {
        match letter {
            letter if letter.is_alphanumeric() || letter == '_' => name.push(letter),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    let name: String = name.chars().take(MOST).collect();
    name.trim_end_matches('-').to_owned()
}

fn new_id(entropy: &dyn Entropy) -> String {
    let mut bytes = [0_u8; 5];
    entropy.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
