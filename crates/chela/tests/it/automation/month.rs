//! Thirty days through the parts of the gateway - its clock, its lanes, real turns, a real model
//! endpoint - on a clock that the test turns.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chela_agent::machine::this_machine;
use chela_agent::prelude::{AgentId, Agents, Host, Trust, load};
use chela_clock::{
    JobBook, JobMaker, JobOrigin, JobRequest, JobSchedule, LocalZone, RequestGround, RunStatus,
};
use chela_core::Clock;
use chela_gateway::WorkLanes;
use chela_gateway::clock::GatewayClock;
use chela_store::{InboxStore as _, SqliteRuntimeStore};
use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::json;
use tokio::sync::watch;

use super::when;
use crate::scene::{APIS, ScriptedHome};

/// Thursday; the clocks change in New York on the 8th and in Berlin on the 29th.
const START: u64 = 1_772_712_000_000;
const DAY: u64 = 86_400_000;
const DAYS: u64 = 30;

struct TurnedClock(AtomicU64);

impl Clock for TurnedClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Twenty jobs of every kind, in zones whose clocks change on different days.
const CRON: [(&str, &str); 14] = [
    ("30 2 * * *", "Europe/Berlin"),
    ("*/30 2 * * SUN", "Europe/Berlin"),
    ("0 0 * * *", "Europe/Berlin"),
    ("30 2 * * *", "America/New_York"),
    ("30 1 * * *", "America/New_York"),
    ("0 */8 * * *", "America/New_York"),
    ("15 2 * * *", "Australia/Lord_Howe"),
    ("0 9 * * MON", "Asia/Tokyo"),
    ("0 8 1 * *", "Europe/London"),
    ("0 8 L * *", "Europe/London"),
    ("0 8 * * FRI#2", "UTC"),
    ("0 17 * * MON-FRI", "Europe/Berlin"),
    ("30 15 6 * * *", "UTC"),
    ("0 12 29 2 *", "UTC"),
];

const EVERY: [&str; 4] = ["12h", "1d", "7d", "36h"];
const IN: [&str; 2] = ["3d", "17d"];

fn job_requests() -> Vec<JobRequest> {
    let request = |name: String| JobRequest {
        name: Some(name),
        text: Some("look".to_owned()),
        session: Some("isolated".to_owned()),
        ..JobRequest::default()
    };
    let cron = CRON
        .iter()
        .enumerate()
        .map(|(number, (expression, zone))| JobRequest {
            cron: Some((*expression).to_owned()),
            zone: Some((*zone).to_owned()),
            ..request(format!("c{number}"))
        });
    let every = EVERY.iter().enumerate().map(|(number, every)| JobRequest {
        every: Some((*every).to_owned()),
        ..request(format!("e{number}"))
    });
    let once = IN.iter().enumerate().map(|(number, after)| JobRequest {
        at: Some((*after).to_owned()),
        ..request(format!("a{number}"))
    });
    cron.chain(every).chain(once).collect()
}

/// The gateway's parts over the store of a home.
struct Parts {
    lanes: WorkLanes,
    clock: GatewayClock,
    stop: watch::Sender<bool>,
    working: tokio::task::JoinHandle<()>,
}

impl Parts {
    async fn open(host: &Host, store: &Arc<SqliteRuntimeStore>) -> Self {
        let agents = Agents::open(host, Arc::new(load(host)));
        let lanes = WorkLanes::open(agents, Arc::clone(store)).await.unwrap();
        let (stop, stopping) = watch::channel(false);
        let working = {
            let lanes = lanes.clone();
            tokio::spawn(async move { lanes.run(stopping).await })
        };
        let clock = GatewayClock::new(lanes.clone());
        Self {
            lanes,
            clock,
            stop,
            working,
        }
    }

    /// Does what is due now to its end; says when something is due next.
    async fn work(&mut self) -> Option<u64> {
        self.clock.look().await;
        for waiting in self.lanes.store().unanswered(None).await.unwrap() {
            self.lanes.wait_for(&waiting.id).await.unwrap();
        }
        self.clock.look().await
    }

    async fn end(self) {
        self.stop.send_replace(true);
        self.working.await.unwrap();
    }
}

#[test]
fn thirty_days_over_two_changes_of_the_clocks_run_what_is_due_and_ask_nothing_else() {
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("Done.")),
        ..EndpointScript::steps([when("HEARTBEAT_OK", ScriptStep::reply("HEARTBEAT_OK"))])
    };
    let more = json!({ "agents": { "defaults": {
        "userTimezone": "Europe/Berlin", "heartbeat": { "every": "3h" },
    } } });
    let scene = ScriptedHome::with(APIS[0], script, more);
    scene.home.write(
        ".chela/workspace/HEARTBEAT.md",
        "tasks:\n- name: post\n  interval: 24h\n  prompt: Is there post?\n",
    );
    let turned = Arc::new(TurnedClock(AtomicU64::new(START)));
    let host = Host {
        clock: Arc::clone(&turned) as Arc<dyn Clock>,
        entropy: this_machine(None).entropy,
        ..Host::fixed(scene.home.path(""))
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let store = SqliteRuntimeStore::open(&SqliteRuntimeStore::path_in(&host.state_dir()));
    let store = Arc::new(store.unwrap());
    let specs = add_jobs(&host, &store);
    let end = START + DAYS * DAY;
    runtime.block_on(async {
        let mut parts = Parts::open(&host, &store).await;
        let mut restarts = 0;
        loop {
            let due = parts.work().await;
            let now = host.unix_millis();
            let next = due.filter(|due| *due > now).unwrap_or(now + 1_000);
            if next >= end {
                break;
            }
            turned.0.store(next, Ordering::SeqCst);
            // Every ten days another process goes on.
            if (next - START) / (10 * DAY) > restarts {
                restarts += 1;
                parts.end().await;
                parts = Parts::open(&host, &store).await;
            }
        }
        parts.end().await;
    });
    check_month(&store, &specs, end);
    let asked = scene.endpoint.call_count();
    let ran = JobBook::new(store.clone()).runs(None, 100_000).unwrap();
    let fired = ran
        .iter()
        .filter(|run| run.note.status != RunStatus::Skipped);
    assert_eq!(
        asked,
        fired.count() as u64,
        "a model was asked where nothing fired"
    );
    let beats = ran.iter().filter(|run| run.job.starts_with("heartbeat:"));
    let (asked, quiet): (Vec<_>, Vec<_>) =
        beats.partition(|run| run.note.status != RunStatus::Skipped);
    assert_eq!(asked.len(), 30, "the task is due once a day");
    // The last beat is one moment before the end.
    assert_eq!(asked.len() + quiet.len(), 30 * 8 - 1);
}

fn add_jobs(
    host: &Host,
    store: &Arc<SqliteRuntimeStore>,
) -> BTreeMap<String, (String, JobSchedule)> {
    let book = JobBook::new(store.clone());
    let ground = RequestGround {
        agent: AgentId::main(),
        zone: LocalZone::named("Europe/Berlin").unwrap(),
        now: START,
        session: None,
    };
    let made = JobOrigin {
        by: JobMaker::Owner,
        at: START,
        session: None,
        trust: Trust::Operator,
        context: Vec::new(),
    };
    let requests = job_requests();
    assert_eq!(requests.len(), 20);
    let rows = requests.iter().map(|request| {
        let spec = request.to_spec(&ground, made.clone()).unwrap();
        let row = book.add(spec, host.entropy.as_ref(), START).unwrap();
        (row.id, (row.spec.name, row.spec.schedule))
    });
    rows.collect()
}

/// Every job ran when its schedule says, and what its schedule says is what the calendar says.
fn check_month(
    store: &Arc<SqliteRuntimeStore>,
    jobs: &BTreeMap<String, (String, JobSchedule)>,
    end: u64,
) {
    let runs = JobBook::new(store.clone()).runs(None, 100_000).unwrap();
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, (name, schedule)) in jobs {
        let mut ran: Vec<u64> = Vec::new();
        for run in runs.iter().filter(|run| run.job == *id) {
            assert_eq!(run.note.status, RunStatus::Ok, "{name}: {run:?}");
            assert_eq!(run.begun, run.planned, "{name} was late");
            ran.push(run.planned);
        }
        ran.sort_unstable();
        let first = schedule.next_after(START);
        let planned = std::iter::successors(first, |moment| schedule.next_after(*moment));
        let planned: Vec<u64> = planned.take_while(|moment| *moment < end).collect();
        assert_eq!(ran, planned, "{name}");
        by_name.insert(name, ran.len());
    }
    // Nights, whatever the clocks do; every eight hours of New York's day; two of four Sundays'
    // half hours fall into the hour that Berlin leaves out, and count as one.
    for (name, count) in [("c0", 30), ("c2", 30), ("c3", 30), ("c4", 30), ("c5", 90)] {
        assert_eq!(by_name[name], count, "{name}");
    }
    assert_eq!((by_name["e0"], by_name["e1"], by_name["e2"]), (59, 29, 4));
    assert_eq!((by_name["a0"], by_name["a1"], by_name["c13"]), (1, 1, 0));
}
