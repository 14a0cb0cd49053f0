//! Work of a turn that is not done on the threads every turn shares: it waits for the disk or for a
//! lock, or keeps a core busy.

use std::num::NonZero;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Does work on a thread that may wait. It goes on to its end when whoever awaits it is gone, so
/// what belongs on record together is done in one piece.
pub(crate) async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let span = tracing::Span::current();
    let done = spawn_blocking(move || span.in_scope(work)).await;
    match done.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(value) => value,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The runtime ends, and whoever awaits this with it.
        Err(Err(_)) => std::future::pending().await,
    }
}

/// Room for work that keeps a core busy, such as making a prompt or writing out a request: for as
/// many at once as there are cores, first come first served. More would only be slower together,
/// and hold more in memory.
pub(crate) struct CoreSlots(Arc<Semaphore>);

impl Default for CoreSlots {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self(Arc::new(Semaphore::new(cores)))
    }
}

impl CoreSlots {
    /// Does work on another thread once there is room. It has no effect but what it gives: when
    /// whoever awaits it is gone, it may never have been done.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        // A command that waits with `block_on` has its thread to itself.
        if Handle::try_current().is_err() {
            return work();
        }
        // Never closed, so there is always one to be had.
        let slot = Arc::clone(&self.0).acquire_owned().await;
        on_blocking_thread(move || {
            let _slot = slot;
            work()
        })
        .await
    }
}
