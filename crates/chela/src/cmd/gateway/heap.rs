//! Memory of a process that runs for long.
//!
//! glibc gives each thread that allocates a heap of its own, up to eight for each core, and keeps
//! what is freed in them. Turns move from thread to thread, so a burst leaves holes in all of them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use chela_gateway::WorkLanes;

/// So often what was freed is given back, where something was done meanwhile.
const EVERY: Duration = Duration::from_secs(10);

/// Has all threads share a few heaps. Before the first of them starts.
pub fn share_heaps() {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    set_most_heaps(cores.max(2));
}

/// Gives freed memory back to the machine, for as long as the process lives.
pub async fn give_memory_back(lanes: WorkLanes) {
    let done = |lanes: &WorkLanes| {
        let counts = lanes.counts();
        counts.answered.load(Ordering::Relaxed) + counts.failed.load(Ordering::Relaxed)
    };
    let mut seen = (0, 0);
    loop {
        tokio::time::sleep(EVERY).await;
        let now = (done(&lanes), lanes.open_count());
        if now != seen {
            seen = now;
            // It looks through all heaps.
            let trimmed = tokio::task::spawn_blocking(trim_heaps).await;
            if let Err(error) = trimmed {
                tracing::debug!(%error, "memory was not given back");
            }
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set_most_heaps(most: usize) {
    let most = i32::try_from(most).unwrap_or(2);
    #[expect(unsafe_code, reason = "no library sets how many heaps there are")]
    // SAFETY: it takes two numbers and keeps the second.
    let done = unsafe { libc::mallopt(libc::M_ARENA_MAX, most) };
    if done == 0 {
        tracing::debug!(most, "the number of heaps stays as it is");
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn trim_heaps() {
    #[expect(unsafe_code, reason = "no library gives freed memory back")]
    // SAFETY: it may be called at any time, from any thread.
    let _ = unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn set_most_heaps(_: usize) {}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim_heaps() {}
