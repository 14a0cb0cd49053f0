//! The stores on SQLite files.

mod journal;
mod sessions;

pub use journal::SqliteJournalStore;
pub use sessions::{
    SalvagedEntry, SalvagedHeader, SalvagedSession, SqliteSessionStore, salvage_sessions,
};
