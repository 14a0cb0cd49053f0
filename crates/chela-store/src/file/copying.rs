//! A consistent copy of a file that others write meanwhile.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::examine::unknown_format;
use super::opening::set_up;
use super::reading::open_as_it_is;
use crate::error::{EngineFault, StoreError};

/// Copies a database by the engine's own means: the copy is the file as of one moment, whole and
/// without side files. `to` must not exist.
pub fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copied = Connection::open_with_flags(from, flags).and_then(|connection| {
        set_up(&connection)?;
        copy_into(&connection, to)
    });
    let copied = copied.or_else(|error| match EngineFault::of_file(&error, from) {
        EngineFault::ReadOnly => open_as_it_is(from).and_then(|(source, _)| copy_into(&source, to)),
        _ => Err(error),
    });
    copied.map_err(|error| unknown_format("a database").explain(from, error))
}

fn copy_into(connection: &Connection, to: &Path) -> rusqlite::Result<()> {
    connection.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
    Ok(())
}
