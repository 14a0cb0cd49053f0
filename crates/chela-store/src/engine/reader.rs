//! A thread that only reads.

use std::sync::PoisonError;

use rusqlite::{Connection, TransactionBehavior};

use super::job::{JobError, StoreJob};
use super::queue::EngineShared;
use crate::file::open_beside;

pub(super) fn run(shared: &EngineShared) {
    let mut connection = None;
    while let Some(job) = next_job(shared) {
        look_with(shared, &mut connection, job);
    }
}

fn next_job(shared: &EngineShared) -> Option<Box<dyn StoreJob>> {
    let mut queue = shared.locked();
    loop {
        if let Some(job) = queue.reads.pop_front() {
            return Some(job);
        }
        if let Some(job) = queue.scans.pop_front() {
            return Some(job);
        }
        if queue.readers_close {
            return None;
        }
        queue.idle_readers += 1;
        queue = shared
            .reader_wakes
            .wait(queue)
            .unwrap_or_else(PoisonError::into_inner);
        queue.idle_readers -= 1;
    }
}

fn look_with(
    shared: &EngineShared,
    connection: &mut Option<Connection>,
    mut job: Box<dyn StoreJob>,
) {
    let outcome = match connection {
        Some(connection) => look(connection, job.as_mut()),
        None => match open_beside(&shared.file.path) {
            Ok(opened) => look(connection.insert(opened), job.as_mut()),
            Err(error) => Err(error.into()),
        },
    };
    job.answer(outcome);
}

/// One consistent look: nothing of it changes while the work reads.
pub(super) fn look(connection: &mut Connection, job: &mut dyn StoreJob) -> Result<(), JobError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
    // What the work says goes into its answer; reading leaves nothing to commit.
    let _ = job.run(&transaction);
    Ok(transaction.rollback()?)
}
