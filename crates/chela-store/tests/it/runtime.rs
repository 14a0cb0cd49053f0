//! What stores of inbox, jobs and leases have to do, each part with the records in the hands of
//! two workers.

mod files;
mod inbox;
mod job_model;
mod jobs;
mod leases;
mod model;
mod outbox;
mod race;

use std::sync::Arc;

use chela_store::{InboxStore, JobStore, LeaseStore, OutboxStore, SqliteRuntimeStore};

/// Inbox, jobs and leases as one worker has them.
struct RuntimeHandle {
    inbox: Arc<dyn InboxStore>,
    outbox: Arc<dyn OutboxStore>,
    jobs: Arc<dyn JobStore>,
    leases: Arc<dyn LeaseStore>,
}

impl RuntimeHandle {
    fn of(store: SqliteRuntimeStore) -> Self {
        let store = Arc::new(store);
        Self {
            inbox: store.clone(),
            outbox: store.clone(),
            jobs: store.clone(),
            leases: store,
        }
    }
}

/// The same records in the hands of two workers.
struct RuntimePair {
    one: RuntimeHandle,
    two: RuntimeHandle,
    _folder: Option<tempfile::TempDir>,
}

impl RuntimePair {
    fn of(one: SqliteRuntimeStore, two: SqliteRuntimeStore) -> Self {
        Self {
            one: RuntimeHandle::of(one),
            two: RuntimeHandle::of(two),
            _folder: None,
        }
    }

    /// By number: the even ones and the odd ones share a handle.
    fn handle(&self, worker: usize) -> &RuntimeHandle {
        match worker % 2 {
            0 => &self.one,
            _ => &self.two,
        }
    }
}

/// A file, memory, and two handles on one file.
const PAIRS: [fn() -> RuntimePair; 3] = [
    || {
        in_folder(|path| {
            let store = SqliteRuntimeStore::open(path).unwrap();
            RuntimePair::of(store.clone(), store)
        })
    },
    || {
        let store = SqliteRuntimeStore::open_in_memory().unwrap();
        RuntimePair::of(store.clone(), store)
    },
    || {
        in_folder(|path| {
            let open = || SqliteRuntimeStore::open(path).unwrap();
            RuntimePair::of(open(), open())
        })
    },
];

fn in_folder(make: fn(&std::path::Path) -> RuntimePair) -> RuntimePair {
    let folder = tempfile::tempdir().unwrap();
    let pair = make(&folder.path().join("r.sqlite"));
    RuntimePair {
        _folder: Some(folder),
        ..pair
    }
}

/// Runs one part of a suite against every pair there is.
fn with_each_pair(part: impl Fn(&RuntimePair)) {
    for make in PAIRS {
        part(&make());
    }
}
