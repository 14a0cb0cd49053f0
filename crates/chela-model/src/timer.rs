//! Waiting, as a value: tests do not.

use std::pin::Pin;
use std::time::Duration;

/// Lets time pass.
pub trait SleepTimer: Send + Sync + std::fmt::Debug {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// Real time.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealTimer;

impl SleepTimer for RealTimer {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}
