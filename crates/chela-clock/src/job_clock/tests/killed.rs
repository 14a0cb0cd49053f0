//! The process dies between every two writes: nothing is lost, nothing runs twice.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, Ordering};

use chela_store::{
    JobPlan, JobRecord, KnownRevision, OccurrenceLimit, OccurrenceQuery, OccurrenceRecord,
    StoreFuture,
};

use super::*;

/// A store whose process dies before or after a certain write.
#[derive(Debug)]
struct DyingStore {
    store: SqliteRuntimeStore,
    /// Writes until then; each one counts twice: before and after it.
    left: AtomicI64,
}

impl DyingStore {
    fn new(home: &Home, left: i64) -> Arc<Self> {
        Arc::new(Self {
            store: home.store.clone(),
            left: AtomicI64::new(left),
        })
    }

    fn step(&self) {
        assert!(self.left.fetch_sub(1, Ordering::SeqCst) > 0, "killed");
    }

    fn wrap<T: Send + 'static>(
        &self,
        write: impl FnOnce() -> Result<T, StoreError>,
    ) -> StoreFuture<'_, T> {
        self.step();
        let written = write();
        self.step();
        Box::pin(std::future::ready(written))
    }
}

impl JobStore for DyingStore {
    fn put(&self, job: JobPlan, known: KnownRevision) -> StoreFuture<'_, JobChanged> {
        self.wrap(|| block_on(self.store.put(job, known)))
    }
    fn remove(&self, id: &str, withdrawn: MessageOutcome) -> StoreFuture<'_, bool> {
        self.wrap(|| block_on(self.store.remove(id, withdrawn)))
    }
    fn advance(&self, advance: JobAdvance) -> StoreFuture<'_, JobChanged> {
        self.wrap(|| block_on(self.store.advance(advance)))
    }
    fn job(&self, id: &str) -> StoreFuture<'_, Option<JobRecord>> {
        self.store.job(id)
    }
    fn list(&self) -> StoreFuture<'_, Vec<JobRecord>> {
        JobStore::list(&self.store)
    }
    fn due(&self, now: u64) -> StoreFuture<'_, Vec<JobRecord>> {
        self.store.due(now)
    }
    fn next_due(&self) -> StoreFuture<'_, Option<u64>> {
        self.store.next_due()
    }
    fn open_occurrences(&self) -> StoreFuture<'_, Vec<OpenOccurrence>> {
        self.store.open_occurrences()
    }
    fn occurrences(&self, query: OccurrenceQuery) -> StoreFuture<'_, Vec<OccurrenceRecord>> {
        self.store.occurrences(query)
    }
    fn forget_occurrences(&self, limit: OccurrenceLimit) -> StoreFuture<'_, usize> {
        self.store.forget_occurrences(limit)
    }
}

/// Three hours with failures, retries, a reminder and an absence; the process dies once, after
/// `left` half-writes. Says whether it did.
fn afternoon(left: i64) -> (Home, bool) {
    let mut home = Home::new("2026-03-02T11:59:00Z");
    let start = home.now;
    let every = 17 * MINUTE;
    let anchor = start;
    home.add(spec("often", JobSchedule::Every { every, anchor }));
    home.add(spec("hourly", cron("0 * * * *", "Europe/Berlin")));
    let at = start + 20 * MINUTE;
    home.add(spec("once", JobSchedule::At { at }));
    let mut is_dead = false;
    let mut dying = DyingStore::new(&home, left);
    let mut round = 0;
    while home.now < start + 3 * HOUR {
        let clock = JobClock::new(dying.clone(), Arc::new(PlainForm), ClockSettings::default());
        let now = home.now;
        let died = catch_unwind(AssertUnwindSafe(|| block_on(clock.tick(now)).unwrap())).is_err();
        if died {
            is_dead = true;
            home.restart();
            dying = DyingStore::new(&home, i64::MAX);
            continue;
        }
        round += 1;
        home.work(match round % 5 {
            0 => "no model answers",
            _ => "ok",
        });
        home.now += match round {
            // Nobody looks for a good hour.
            40 => 70 * MINUTE,
            _ => MINUTE,
        };
    }
    (home, is_dead)
}

#[test]
fn killed_between_any_two_writes_every_run_happens_once() {
    let (whole, _) = afternoon(i64::MAX);
    let ended = |home: &Home| -> Vec<(String, u64, RunStatus)> {
        let runs = home.book().runs(None, 10_000).unwrap();
        let runs = runs.into_iter().filter(|run| run.ended.is_some());
        runs.map(|run| (run.note.name, run.planned, run.note.status))
            .collect()
    };
    let expected = ended(&whole);
    assert!(expected.len() > 8, "{expected:?}");
    let mut kills = 0;
    for left in 0.. {
        let (home, is_dead) = afternoon(left);
        if !is_dead {
            break;
        }
        kills += 1;
        assert_eq!(ended(&home), expected, "killed at {left}");
        assert_eq!(home.ran, whole.ran, "killed at {left}");
    }
    assert!(kills > 30, "{kills}");
}
