//! Which models pause after failures, and for how long.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use chela_core::{Clock, Host, lock};

use crate::timer::{RealTimer, SleepTimer};
use crate::{CallFailure, ModelTarget};

const FIRST_PAUSE: Duration = Duration::from_secs(30);
const SECOND_PAUSE: Duration = Duration::from_secs(60);
const LATER_PAUSE: Duration = Duration::from_secs(300);
/// An account without money does not mend in minutes.
const BILLING_PAUSE: Duration = Duration::from_secs(5 * 3600);

/// The clock of a chain, and what it remembers of failures. Clones share the memory.
#[derive(Clone)]
pub struct ChainPace {
    pub timer: Arc<dyn SleepTimer>,
    clock: Arc<dyn Clock>,
    pauses: Arc<Mutex<BTreeMap<String, Pause>>>,
}

#[derive(Debug, Clone, Copy)]
struct Pause {
    failures: usize,
    until: SystemTime,
}

impl std::fmt::Debug for ChainPace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pace").finish_non_exhaustive()
    }
}

impl ChainPace {
    pub fn of(host: &Host) -> Self {
        Self {
            timer: Arc::new(RealTimer),
            clock: host.clock.clone(),
            pauses: Arc::default(),
        }
    }

    #[cfg(test)]
    pub fn with_timer(mut self, timer: Arc<dyn SleepTimer>) -> Self {
        self.timer = timer;
        self
    }

    /// The same memory at another time.
    #[cfg(test)]
    pub fn at(&self, host: &Host) -> Self {
        Self {
            clock: host.clock.clone(),
            ..self.clone()
        }
    }

    /// Whether a model is left alone for now.
    pub fn pauses(&self, target: &ModelTarget) -> bool {
        let now = self.clock.now();
        let pauses = lock(&self.pauses);
        let pausing = |name: &str| pauses.get(name).is_some_and(|pause| pause.until > now);
        pausing(&target.info.reference) || pausing(&target.provider.id)
    }

    pub fn answered(&self, target: &ModelTarget) {
        let mut pauses = lock(&self.pauses);
        pauses.remove(&target.info.reference);
        pauses.remove(&target.provider.id);
    }

    pub fn failed(&self, target: &ModelTarget, failure: &CallFailure) {
        let name = match failure {
            // The fault of this request, not of the model.
            CallFailure::ContextOverflow | CallFailure::Rejected => return,
            // The account serves every model of the provider.
            CallFailure::Billing | CallFailure::Unauthorized => &target.provider.id,
            _ => &target.info.reference,
        };
        let now = self.clock.now();
        let mut pauses = lock(&self.pauses);
        let pause = pauses.entry(name.clone()).or_insert(Pause {
            failures: 0,
            until: now,
        });
        let length = match (failure, pause.failures) {
            (CallFailure::Billing, _) => BILLING_PAUSE,
            (_, 0) => FIRST_PAUSE,
            (_, 1) => SECOND_PAUSE,
            _ => LATER_PAUSE,
        };
        pause.failures += 1;
        pause.until = now + length;
        tracing::info!(
            name,
            ?length,
            failures = pause.failures,
            "left alone for a while after a failure"
        );
    }
}
