//! What is read off the machine: CPU time, memory, and how late things are.

use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// CPU time of every thread of this process.
pub fn process_cpu() -> Duration {
    span(clock_gettime(ClockId::ProcessCPUTime))
}

/// CPU time of the thread that asks.
pub fn thread_cpu() -> Duration {
    span(clock_gettime(ClockId::ThreadCPUTime))
}

fn span(time: Timespec) -> Duration {
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// Resident memory now and at its highest, in megabytes.
pub fn memory() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes =
            value.and_then(|value| value.split_whitespace().next()?.parse::<f64>().ok());
        kilobytes.unwrap_or(f64::NAN) / 1024.0
    };
    (line("VmRSS:"), line("VmHWM:"))
}

/// Times in order, for the share of them that is shorter.
pub struct Spread(Vec<Duration>);

impl Spread {
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    /// Milliseconds that `percent` of the times stay within.
    pub fn at(&self, percent: usize) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let time = self.0.get(last * percent / 100);
        time.map_or(f64::NAN, Duration::as_secs_f64) * 1e3
    }
}

/// How long each poll of a future took: as long as that, its thread serves nobody else.
#[derive(Default)]
pub struct PollTimes(Mutex<Vec<Duration>>);

impl PollTimes {
    pub async fn watch<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        std::future::poll_fn(|context| self.poll(work.as_mut(), context)).await
    }

    fn poll<T>(
        &self,
        work: Pin<&mut impl Future<Output = T>>,
        context: &mut Context<'_>,
    ) -> Poll<T> {
        let start = Instant::now();
        let done = work.poll(context);
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(start.elapsed());
        done
    }

    pub fn take(&self) -> Vec<Duration> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Runs beside others on their runtime and notes how much later than asked it is woken.
pub async fn watch_stalls(done: tokio::sync::oneshot::Receiver<()>) -> Vec<Duration> {
    const TICK: Duration = Duration::from_millis(2);
    let mut late = Vec::new();
    let mut done = done;
    while done.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty) {
        let start = Instant::now();
        tokio::time::sleep(TICK).await;
        late.push(start.elapsed().saturating_sub(TICK));
    }
    late
}
