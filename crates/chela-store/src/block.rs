//! Waiting for a future without a runtime.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Waits for a store's answer on this thread, which sleeps until it comes.
///
/// For commands and tests. Never on a thread that drives a runtime: everything else on it would
/// wait too, and a future that needs that very runtime would wait for ever.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(SleepingThread(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

struct SleepingThread(Thread);

impl Wake for SleepingThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_answer_from_another_thread_is_waited_for() {
        let (send, answer) = tokio::sync::oneshot::channel();
        let other = std::thread::spawn(move || send.send(7).unwrap());
        assert_eq!(super::block_on(answer).unwrap(), 7);
        other.join().unwrap();
    }
}
