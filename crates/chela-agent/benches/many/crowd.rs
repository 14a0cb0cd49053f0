//! Many sessions at once in one process.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chela_agent::conversation::Conversation;
use chela_testkit::bench::BenchEffort;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::baseline::round_trips;
use crate::home::{agents, conversation, runtime, say};
use crate::meter::{PollTimes, Spread, memory, process_cpu, watch_stalls};
use crate::model::InstantModel;

/// Turns a second that are begun whether or not earlier ones have ended.
const PACE: u32 = 100;

/// Each session says "hi" a few times, all sessions at once; then messages come at a steady pace.
pub fn run(dir: &Path, sessions: usize, threads: usize) {
    let bare = Spread::of(round_trips()).at(50);
    let model = InstantModel::start();
    let runtime = runtime(threads);
    let agents = agents(dir, &model.url());
    let talks: Vec<Arc<Conversation>> = (0..sessions)
        .map(|number| Arc::new(conversation(&agents, number)))
        .collect();
    let case = Case {
        runtime: &runtime,
        model: &model,
        bare,
        polls: Arc::default(),
    };
    let effort = BenchEffort::asked();
    let rounds = match sessions {
        1 => effort.pick(60, 2),
        2..100 => effort.pick(6, 1),
        _ => 3,
    };
    let name = |kind: &str| {
        format!(
            "{sessions} session{}, {threads} thread{}, {kind}",
            if sessions == 1 { "" } else { "s" },
            if threads == 1 { "" } else { "s" },
        )
    };
    case.measure(&name("all at once"), || {
        all_at_once(&talks, rounds, &case.polls)
    });
    if sessions > 1 {
        case.measure(&name(&format!("{PACE}/s")), || {
            paced(&talks, effort.pick(300, 5), &case.polls)
        });
    }
}

struct Case<'a> {
    runtime: &'a Runtime,
    model: &'a InstantModel,
    /// Milliseconds of a bare request.
    bare: f64,
    polls: Arc<PollTimes>,
}

impl Case<'_> {
    fn measure<F>(&self, name: &str, work: impl FnOnce() -> F)
    where
        F: Future<Output = Vec<Duration>>,
    {
        let cpu = || process_cpu().saturating_sub(self.model.cpu());
        let (before, start) = (cpu(), Instant::now());
        let (times, late) = self.runtime.block_on(async {
            let (stop, stopped) = oneshot::channel();
            let watch = tokio::spawn(watch_stalls(stopped));
            let times = work().await;
            let _ = stop.send(());
            (times, watch.await.expect("the watch"))
        });
        let turns = times.len() as f64;
        let (wall, cpu) = (start.elapsed(), cpu().saturating_sub(before));
        let (times, late) = (Spread::of(times), Spread::of(late));
        let polls = Spread::of(self.polls.take());
        let (rss, peak) = memory();
        println!(
            "{name:<40} {:>7.1} {:>6.1} ms {:>8.1} ms {:>6.0} ms {:>7.1} ms {:>5.0} ms {:>5.0} ms \
             {:>6.2} ms {:>5.1} ms {rss:>6.0} MB {peak:>6.0} MB",
            turns / wall.as_secs_f64(),
            cpu.as_secs_f64() * 1e3 / turns,
            times.at(50) - self.bare,
            times.at(99) - self.bare,
            late.at(50),
            late.at(99),
            late.at(100),
            polls.at(99),
            polls.at(100),
        );
    }
}

/// The next message of a session follows its answer.
async fn all_at_once(
    talks: &[Arc<Conversation>],
    rounds: usize,
    polls: &Arc<PollTimes>,
) -> Vec<Duration> {
    let mut running = JoinSet::new();
    for talk in talks {
        let (talk, polls) = (Arc::clone(talk), Arc::clone(polls));
        running.spawn(async move {
            let mut times = Vec::with_capacity(rounds);
            for round in 0..rounds {
                let start = Instant::now();
                polls.watch(say(&talk, format!("hi, {round}"), 0)).await;
                times.push(start.elapsed());
            }
            times
        });
    }
    running.join_all().await.into_iter().flatten().collect()
}

/// A message for the next session in the row at each beat. Late is what is late against the beat.
async fn paced(talks: &[Arc<Conversation>], turns: u32, polls: &Arc<PollTimes>) -> Vec<Duration> {
    let begin = tokio::time::Instant::now();
    let mut running = JoinSet::new();
    for (turn, talk) in (0..turns).zip(talks.iter().cycle()) {
        let due = begin + Duration::from_secs(1) * turn / PACE;
        tokio::time::sleep_until(due).await;
        let (talk, polls) = (Arc::clone(talk), Arc::clone(polls));
        running.spawn(async move {
            polls
                .watch(say(&talk, format!("hi again, {turn}"), 0))
                .await;
            due.elapsed()
        });
    }
    running.join_all().await
}
