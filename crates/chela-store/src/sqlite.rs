//! The stores on SQLite files.

/// The ways to open a store that lies in a SQLite file of its own, of the `FORMAT` in scope.
macro_rules! open_as {
    ($store:ty) => {
        impl $store {
            /// Opens a file, making it if there is none.
            pub fn open(path: &std::path::Path) -> Result<Self, crate::StoreError> {
                crate::engine::SqliteEngine::open(path, &FORMAT).map(Self::over)
            }

            /// Opens a file that is there, for reading only where nothing can be written; `None`
            /// when there is none.
            pub fn open_existing(
                path: &std::path::Path,
            ) -> Result<Option<Self>, crate::StoreError> {
                let opened = crate::engine::SqliteEngine::open_existing(path, &FORMAT)?;
                Ok(opened.map(Self::over))
            }

            /// One that leaves no trace.
            pub fn open_in_memory() -> Result<Self, crate::StoreError> {
                crate::engine::SqliteEngine::open_in_memory(&FORMAT).map(Self::over)
            }
        }
    };
}
use open_as;
mod journal;
mod ledger;
mod runtime;
mod sessions;

pub use journal::SqliteJournalStore;
pub use ledger::SqliteLedgerStore;
pub use runtime::{RefusedRow, RowRepair, RowsGuarded, SqliteRuntimeStore};
pub use sessions::{
    SalvagedEntry, SalvagedHeader, SalvagedSession, SqliteSessionStore, salvage_sessions,
};
