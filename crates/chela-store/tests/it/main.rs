//! What every implementation of a store has to do, run against each there is.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like the tests themselves"
)]

mod document_suite;
mod journal_suite;
mod ledger_model;
mod ledger_suite;
mod old_files;
mod runtime;
mod session_model;
mod session_suite;

use std::sync::Arc;

use chela_store::{
    JournalStore, LedgerStore, SessionStore, SqliteJournalStore, SqliteLedgerStore,
    SqliteSessionStore,
};

/// A store with the folder it lies in, if any.
struct Made<S: ?Sized> {
    store: Arc<S>,
    _folder: Option<tempfile::TempDir>,
}

/// Makes an empty store.
type Factory<S> = fn() -> Made<S>;

/// In a file and in memory.
const SESSION_STORES: [Factory<dyn SessionStore>; 2] = [
    || {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteSessionStore::open(&folder.path().join("s.sqlite")).unwrap();
        Made {
            store: Arc::new(store),
            _folder: Some(folder),
        }
    },
    || Made {
        store: Arc::new(SqliteSessionStore::open_in_memory().unwrap()),
        _folder: None,
    },
];

const JOURNAL_STORES: [Factory<dyn JournalStore>; 2] = [
    || {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteJournalStore::open(&folder.path().join("j.sqlite")).unwrap();
        Made {
            store: Arc::new(store),
            _folder: Some(folder),
        }
    },
    || Made {
        store: Arc::new(SqliteJournalStore::open_in_memory().unwrap()),
        _folder: None,
    },
];

const LEDGER_STORES: [Factory<dyn LedgerStore>; 2] = [
    || {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteLedgerStore::open(&folder.path().join("l.sqlite")).unwrap();
        Made {
            store: Arc::new(store),
            _folder: Some(folder),
        }
    },
    || Made {
        store: Arc::new(SqliteLedgerStore::open_in_memory().unwrap()),
        _folder: None,
    },
];

/// Runs one part of a suite against every store there is.
fn with_each<S: ?Sized>(stores: &[Factory<S>], part: impl Fn(&S)) {
    for make in stores {
        part(&make().store);
    }
}
