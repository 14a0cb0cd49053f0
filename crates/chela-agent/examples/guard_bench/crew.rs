//! Several stages side by side.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use chela_config::model::GuardPolicy;

use crate::stage::Stage;

pub struct Crew {
    stages: Vec<Stage>,
    policy: GuardPolicy,
}

impl Crew {
    pub fn new(policy: GuardPolicy) -> Result<Self, String> {
        let many = std::thread::available_parallelism().map_or(1, usize::from);
        let stages = (0..many.min(8)).map(|_| Stage::new(policy));
        let stages = stages.collect::<Result<_, _>>()?;
        Ok(Self { stages, policy })
    }

    /// Does something with each, in any order; outcomes stand in the order of the items.
    pub fn each<T: Sync, R: Send>(
        &mut self,
        items: &[T],
        work: impl Fn(&Stage, &T) -> Result<R, String> + Sync,
    ) -> Result<Vec<R>, String> {
        self.each_with(items, |stage, item| work(stage, item))
    }

    /// The same, each in a fresh home: nothing that was written before is known to any journal.
    pub fn each_anew<T: Sync, R: Send>(
        &mut self,
        items: &[T],
        work: impl Fn(&Stage, &T) -> Result<R, String> + Sync,
    ) -> Result<Vec<R>, String> {
        let policy = self.policy;
        self.each_with(items, |stage, item| {
            *stage = Stage::new(policy)?;
            work(stage, item)
        })
    }

    fn each_with<T: Sync, R: Send>(
        &mut self,
        items: &[T],
        work: impl Fn(&mut Stage, &T) -> Result<R, String> + Sync,
    ) -> Result<Vec<R>, String> {
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Result<R, String>)>> = Mutex::default();
        std::thread::scope(|scope| {
            for stage in &mut self.stages {
                let (next, done, work) = (&next, &done, &work);
                scope.spawn(move || {
                    while let at = next.fetch_add(1, Ordering::Relaxed)
                        && let Some(item) = items.get(at)
                    {
                        let outcome = work(stage, item);
                        let failed = outcome.is_err();
                        done.lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push((at, outcome));
                        if failed {
                            next.store(items.len(), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, outcome)| outcome).collect()
    }
}
