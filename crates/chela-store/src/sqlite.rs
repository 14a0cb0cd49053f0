//! The stores on SQLite files.

mod journal;
mod runtime;
mod sessions;

pub use journal::SqliteJournalStore;
pub use runtime::SqliteRuntimeStore;
pub use sessions::{
    SalvagedEntry, SalvagedHeader, SalvagedSession, SqliteSessionStore, salvage_sessions,
};
