//! The thread that writes.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::WriteDurability;
use super::job::{JobError, JobKind, StoreJob, or_panicked};
use super::queue::{EngineQueue, EngineShared, ServedBy};
use super::reader::look;
use super::watch::GroupWatch;

/// More than this are not committed together: the first of them waits for the last.
const MOST_TOGETHER: usize = 256;

pub(super) fn run(shared: &EngineShared) {
    let (connection, watch) = {
        let mut queue = shared.locked();
        (queue.connection.take(), queue.watch.take())
    };
    let Some(connection) = connection else { return };
    let mut writer = FileWriter {
        shared,
        connection,
        watch,
        durability: None,
    };
    let mut looked_last = false;
    while let Some(task) = next_task(shared, looked_last) {
        looked_last = matches!(task, Task::Look(_));
        match task {
            Task::Group(jobs) => writer.write_group(jobs),
            Task::Bare(job) => writer.do_bare(job),
            Task::Look(job) => writer.look(job),
        }
    }
}

enum Task {
    Group(Vec<Box<dyn StoreJob>>),
    Bare(Box<dyn StoreJob>),
    Look(Box<dyn StoreJob>),
}

fn next_task(shared: &EngineShared, looked_last: bool) -> Option<Task> {
    let mut queue = shared.locked();
    loop {
        queue.writer_is_idle = false;
        // Where nobody else reads, somebody may look between two groups: writers without end
        // would keep them out.
        let alone = shared.file.served_by == ServedBy::OneConnection || queue.readers == 0;
        let look_first = queue.writes.is_empty() || (alone && !looked_last);
        if look_first && let Some(job) = queue.reads.pop_front() {
            return Some(Task::Look(job));
        }
        if let Some(task) = take_writes(&mut queue) {
            return Some(task);
        }
        if queue.writer_closes {
            return None;
        }
        queue.writer_is_idle = true;
        queue = shared
            .writer_wakes
            .wait(queue)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

/// What can be done together from the front of the queue.
fn take_writes(queue: &mut EngineQueue) -> Option<Task> {
    if queue.writes.front()?.kind() == JobKind::Bare {
        return queue.writes.pop_front().map(Task::Bare);
    }
    let together = queue
        .writes
        .iter()
        .take(MOST_TOGETHER)
        .take_while(|job| job.kind() != JobKind::Bare)
        .count();
    Some(Task::Group(queue.writes.drain(..together).collect()))
}

struct FileWriter<'a> {
    shared: &'a EngineShared,
    connection: Connection,
    watch: Option<Box<dyn GroupWatch>>,
    /// As the connection is set; `None` when that is not known.
    durability: Option<WriteDurability>,
}

impl FileWriter<'_> {
    fn write_group(&mut self, mut jobs: Vec<Box<dyn StoreJob>>) {
        let durability = jobs
            .iter()
            .filter_map(|job| match job.kind() {
                JobKind::Grouped(durability) => Some(durability),
                JobKind::Bare => None,
            })
            .max()
            .unwrap_or(WriteDurability::Disk);
        let outcome = self.write_watched(durability, &mut jobs);
        if let Err(error) = &outcome {
            tracing::warn!(%error, writes = jobs.len(), "a group of writes is not kept");
        }
        for job in jobs {
            job.answer(outcome.clone());
        }
    }

    fn write_watched(
        &mut self,
        durability: WriteDurability,
        jobs: &mut [Box<dyn StoreJob>],
    ) -> Result<(), JobError> {
        self.shared.file.check_identity()?;
        self.set_durability(durability)?;
        let Some(mut watch) = self.watch.take() else {
            return self.commit(durability, jobs);
        };
        let outcome = or_panicked(|| watch.begin())
            .and_then(|()| self.commit(durability, jobs))
            .and_then(|()| or_panicked(|| watch.committed(durability)));
        let ended = or_panicked(|| {
            watch.end();
            Ok(())
        });
        self.watch = Some(watch);
        outcome.and(ended)
    }

    fn commit(
        &mut self,
        durability: WriteDurability,
        jobs: &mut [Box<dyn StoreJob>],
    ) -> Result<(), JobError> {
        let mut transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let [alone] = jobs {
            if let Err(error) = alone.run(&transaction) {
                tracing::debug!(%error, "a piece of work is rolled back");
                return match transaction.is_autocommit() {
                    true => Err(error),
                    // Whoever asked is told why; nobody else was in it.
                    false => Ok(transaction.rollback()?),
                };
            }
        } else {
            run_together(&mut transaction, jobs)?;
        }
        transaction.commit()?;
        let counts = &self.shared.counts;
        counts.commits.fetch_add(1, Ordering::Relaxed);
        if durability == WriteDurability::Disk {
            counts.synced.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn set_durability(&mut self, durability: WriteDurability) -> Result<(), JobError> {
        if self.durability == Some(durability) {
            return Ok(());
        }
        self.durability = None;
        let level = match durability {
            WriteDurability::Process => "NORMAL",
            WriteDurability::Disk => "FULL",
        };
        self.connection.pragma_update(None, "synchronous", level)?;
        self.durability = Some(durability);
        Ok(())
    }

    fn do_bare(&mut self, mut job: Box<dyn StoreJob>) {
        // What it may have set is not known.
        self.durability = None;
        let outcome = self.shared.file.check_identity();
        if outcome.is_ok() {
            // What the work says goes into its answer.
            let _ = job.run(&self.connection);
        }
        job.answer(outcome);
    }

    fn look(&mut self, mut job: Box<dyn StoreJob>) {
        let outcome = look(&mut self.connection, job.as_mut());
        job.answer(outcome);
    }
}

/// Each in a savepoint of its own: what fails takes back only itself.
fn run_together(
    transaction: &mut Transaction<'_>,
    jobs: &mut [Box<dyn StoreJob>],
) -> Result<(), JobError> {
    for job in jobs {
        let savepoint = transaction.savepoint()?;
        match job.run(&savepoint) {
            Ok(()) => savepoint.commit()?,
            Err(error) => {
                tracing::debug!(%error, "a piece of work is rolled back");
                // A full disk, for one, takes back the whole transaction at once.
                if savepoint.is_autocommit() {
                    return Err(error);
                }
                savepoint.finish()?;
            }
        }
    }
    Ok(())
}
