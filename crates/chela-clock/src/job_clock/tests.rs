mod bugs;
mod killed;
mod month;

use std::collections::BTreeMap;

use chela_core::{AgentId, FixedEntropy, Trust};
use chela_store::{ClaimAsk, InboxStore as _, LeaseTime, SqliteRuntimeStore, block_on};

use super::*;
use crate::job::{
    JobMaker, JobOrigin, JobPayload, JobSpec, MissedPolicy, SessionTarget, USUAL_GRACE,
};
use crate::work_form::RunOutcome;
use crate::{JobBook, JobRow, JobSchedule, LocalZone};

pub const MINUTE: u64 = 60_000;
pub const HOUR: u64 = 60 * MINUTE;
pub const DAY: u64 = 24 * HOUR;

pub fn utc(text: &str) -> UnixMillis {
    crate::local_time::unix_millis(text.parse().unwrap()).unwrap()
}

/// The text of a run is its message's body; the outcome says `ok` or why it failed.
pub struct PlainForm;

impl WorkForm for PlainForm {
    fn message(&self, due: &DueWork<'_>) -> Result<NewMessage, String> {
        match due.spec.payload.text() {
            "impossible" => Err("the agent is gone".to_owned()),
            text => Ok(NewMessage {
                id: due.message.to_owned(),
                lane: due
                    .spec
                    .session
                    .key(&due.spec.agent, due.job, due.planned)
                    .to_string(),
                body: text.to_owned(),
                at: due.now,
            }),
        }
    }

    fn outcome(&self, text: &str) -> RunOutcome {
        let status = match text {
            "ok" => RunStatus::Ok,
            _ => RunStatus::Failed,
        };
        RunOutcome {
            status,
            why: (status == RunStatus::Failed).then(|| text.to_owned()),
            reply: String::new(),
            model: None,
            input_tokens: 10,
            output_tokens: 1,
            micro_dollars: Some(5),
        }
    }
}

pub fn spec(name: &str, schedule: JobSchedule) -> JobSpec {
    JobSpec {
        name: name.to_owned(),
        agent: AgentId::normalize("main"),
        schedule,
        session: SessionTarget::Isolated,
        payload: JobPayload::Message {
            text: name.to_owned(),
        },
        model: None,
        timeout_seconds: None,
        missed: MissedPolicy::Once,
        grace: USUAL_GRACE,
        retries: None,
        delivery: None,
        made: JobOrigin {
            by: JobMaker::Owner,
            at: 0,
            session: None,
            trust: Trust::Operator,
            context: Vec::new(),
        },
    }
}

pub fn cron(expression: &str, zone: &str) -> JobSchedule {
    JobSchedule::read_cron(expression, &LocalZone::named(zone).unwrap()).unwrap()
}

/// A home: a file of records, the clock over it, and whoever works off the inbox.
pub struct Home {
    pub path: std::path::PathBuf,
    pub store: SqliteRuntimeStore,
    pub now: UnixMillis,
    /// What ran: by job, the planned moments in the order in which they ran.
    pub ran: BTreeMap<String, Vec<UnixMillis>>,
    ids: u64,
    _folder: Arc<tempfile::TempDir>,
}

impl Home {
    pub fn new(now: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.sqlite");
        Self {
            store: SqliteRuntimeStore::open(&path).unwrap(),
            path,
            now: utc(now),
            ran: BTreeMap::new(),
            ids: 0,
            _folder: Arc::new(folder),
        }
    }

    pub fn restart(&mut self) {
        self.store = SqliteRuntimeStore::open(&self.path).unwrap();
    }

    pub fn book(&self) -> JobBook {
        JobBook::new(Arc::new(self.store.clone()))
    }

    pub fn clock(&self) -> JobClock {
        let store = Arc::new(self.store.clone());
        JobClock::new(store, Arc::new(PlainForm), ClockSettings::default())
    }

    pub fn add(&mut self, spec: JobSpec) -> JobRow {
        self.ids += 2;
        let entropy = FixedEntropy(self.ids);
        self.book().add(spec, &entropy, self.now).unwrap()
    }

    pub fn tick(&self) -> TickReport {
        block_on(self.clock().tick(self.now)).unwrap()
    }

    /// Works off what is in the inbox.
    pub fn work(&mut self, outcome: &str) {
        loop {
            let ask = ClaimAsk {
                worker: "w".to_owned(),
                time: LeaseTime {
                    now: self.now,
                    ttl: MINUTE,
                },
            };
            let Some(claimed) = block_on(self.store.claim(ask)).unwrap() else {
                return;
            };
            let planned = claimed.message.id.split(':').nth(2).unwrap();
            let ran = self.ran.entry(claimed.message.body.clone()).or_default();
            ran.push(planned.parse().unwrap());
            let outcome = MessageOutcome {
                text: outcome.to_owned(),
                at: self.now,
            };
            block_on(self.store.finish(&claimed.claim, outcome)).unwrap();
        }
    }

    /// Lets time pass, looking as the process does: when something is due, or after a while.
    pub fn pass(&mut self, until: UnixMillis, outcome: &str) {
        while self.now < until {
            self.tick();
            self.work(outcome);
            self.tick();
            let next = block_on(self.store.next_due()).unwrap();
            let next = next.filter(|next| *next > self.now).unwrap_or(until);
            self.now = next.min(until).min(self.now + HOUR);
        }
    }

    /// The process does not run meanwhile.
    pub fn sleep(&mut self, length: u64) {
        self.now += length;
    }

    pub fn ran(&self, name: &str) -> Vec<UnixMillis> {
        self.ran.get(name).cloned().unwrap_or_default()
    }
}
