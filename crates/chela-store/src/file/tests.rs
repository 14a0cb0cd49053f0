use std::path::PathBuf;

use rusqlite::Connection;

use super::{FileFormat, FreedRoom, open, open_in_memory};
use crate::{EngineFault, StoreError};

const OLD: FileFormat = FileFormat {
    name: "the list",
    if_damaged: "write a new one",
    steps: &["CREATE TABLE things (name TEXT NOT NULL)"],
    mend: None,
    room: FreedRoom::Kept,
};

const NEW: FileFormat = FileFormat {
    steps: &[
        "CREATE TABLE things (name TEXT NOT NULL)",
        "ALTER TABLE things ADD COLUMN length INTEGER",
    ],
    mend: Some(|transaction, done| {
        if done == 1 {
            transaction.execute("UPDATE things SET length = length(name)", [])?;
        }
        Ok(())
    }),
    ..OLD
};

fn file() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state/list.sqlite");
    (home, path)
}

fn length(connection: &Connection) -> Option<i64> {
    connection
        .query_row("SELECT length FROM things", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn an_older_file_takes_the_steps_it_lacks() {
    let (_home, path) = file();
    let old = open(&path, &OLD).unwrap();
    old.execute("INSERT INTO things VALUES ('four')", [])
        .unwrap();
    let new = open(&path, &NEW).unwrap();
    assert_eq!(length(&new), Some(4));
    // Once: what the rows say after that is theirs.
    new.execute("UPDATE things SET length = 9", []).unwrap();
    assert_eq!(length(&open(&path, &NEW).unwrap()), Some(9));
}

#[test]
fn a_newer_file_is_left_as_it_is() {
    let (_home, path) = file();
    drop(open(&path, &NEW).unwrap());
    let before = std::fs::read(&path).unwrap();
    let error = open(&path, &OLD).unwrap_err();
    assert!(matches!(
        error,
        StoreError::Newer {
            found: 2,
            known: 1,
            ..
        }
    ));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_no_database_is_named_with_what_to_do() {
    let (_home, path) = file();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "a shopping list, really\n".repeat(99)).unwrap();
    let told = open(&path, &OLD).unwrap_err().to_string();
    assert!(told.starts_with("the list "), "{told}");
    assert!(told.ends_with("; write a new one"), "{told}");
}

#[test]
fn a_missing_table_is_damage_and_a_locked_one_is_not() {
    let connection = open_in_memory(&OLD).unwrap();
    let error = connection.execute("DELETE FROM elsewhere", []).unwrap_err();
    assert_eq!(EngineFault::of(&error), EngineFault::Damaged);
    let (_home, path) = file();
    let (one, two) = (open(&path, &OLD).unwrap(), open(&path, &OLD).unwrap());
    one.execute_batch("BEGIN IMMEDIATE").unwrap();
    two.busy_timeout(std::time::Duration::ZERO).unwrap();
    let error = two.execute_batch("BEGIN IMMEDIATE").unwrap_err();
    assert_eq!(EngineFault::of(&error), EngineFault::Busy);
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (_home, path) = file();
    let connection = open(&path, &OLD).unwrap();
    connection
        .execute("INSERT INTO things VALUES ('x')", [])
        .unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.clone().into_os_string();
        name.push(suffix);
        let mode = std::fs::metadata(&name).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{suffix}");
    }
}

#[test]
fn a_side_file_that_cannot_be_used_is_named() {
    let (_home, path) = file();
    drop(open(&path, &OLD).unwrap());
    // Nobody can open a link to nowhere, whoever they are.
    std::os::unix::fs::symlink("nowhere/at-all", super::side_file(&path, "-shm")).unwrap();
    let told = open(&path, &OLD).unwrap_err().to_string();
    assert!(told.contains("list.sqlite-shm beside it"), "{told}");
}

#[test]
fn a_path_that_is_too_long_is_called_so() {
    let home = tempfile::tempdir().unwrap();
    let mut path = home.path().to_owned();
    while path.as_os_str().len() < 600 {
        path.push("a-folder-with-a-rather-long-name-in-the-middle-of-nowhere");
    }
    let told = open(&path.join("list.sqlite"), &OLD)
        .unwrap_err()
        .to_string();
    assert!(
        told.starts_with("the path of the list is too long: "),
        "{told}"
    );
}

#[test]
fn a_shared_side_file_without_room_means_a_full_disk() {
    let error = rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_SHMSIZE),
        None,
    );
    assert_eq!(EngineFault::of(&error), EngineFault::DiskFull);
    let error = rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_READ),
        Some("disk I/O error".to_owned()),
    );
    let told = OLD.explain(std::path::Path::new("/x"), error).to_string();
    assert_eq!(told, "the list /x failed: disk I/O error");
}

#[test]
fn where_nothing_can_be_written_the_newest_rows_are_read_all_the_same() {
    let (_home, path) = file();
    let connection = open(&path, &OLD).unwrap();
    connection
        .execute_batch("INSERT INTO things VALUES ('old'); PRAGMA wal_checkpoint")
        .unwrap();
    connection
        .execute_batch("INSERT INTO things VALUES ('new')")
        .unwrap();
    // As a backup taken while it ran: the log is there, and a link to nowhere stands where the
    // file that processes share would have to be made.
    let copy = path.with_file_name("copy.sqlite");
    for suffix in ["", "-wal"] {
        std::fs::copy(
            super::side_file(&path, suffix),
            super::side_file(&copy, suffix),
        )
        .unwrap();
    }
    std::os::unix::fs::symlink("nowhere/at-all", super::side_file(&copy, "-shm")).unwrap();
    let opened = super::open_existing(&copy, &OLD).unwrap().unwrap();
    assert!(!opened.may_write);
    let rows: i64 = opened
        .connection
        .query_row("SELECT count(*) FROM things", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 2);
    let older = super::open_existing(&copy, &NEW).unwrap_err();
    assert!(
        matches!(older, StoreError::Older { found: 1, .. }),
        "{older}"
    );
}

#[test]
fn a_file_that_was_closed_properly_is_read_where_nothing_can_be_written() {
    let (_home, path) = file();
    let connection = open(&path, &OLD).unwrap();
    connection
        .execute("INSERT INTO things VALUES ('four')", [])
        .unwrap();
    drop(connection);
    assert!(!super::side_file(&path, "-wal").exists());
    std::os::unix::fs::symlink("nowhere/at-all", super::side_file(&path, "-shm")).unwrap();
    let opened = super::open_existing(&path, &OLD).unwrap().unwrap();
    assert!(!opened.may_write);
    let name: String = opened
        .connection
        .query_row("SELECT name FROM things", [], |row| row.get(0))
        .unwrap();
    assert_eq!(name, "four");
}

#[test]
fn one_of_those_who_begin_a_file_at_once_finds_it_empty() {
    use super::{FileState, open_file};
    for _ in 0..8 {
        let (_home, path) = file();
        let states: Vec<FileState> = std::thread::scope(|scope| {
            let open = || open_file(&path, &OLD).map(|opened| opened.state);
            let openers: Vec<_> = (0..16).map(|_| scope.spawn(open)).collect();
            let opened = openers.into_iter().map(|one| one.join().unwrap());
            opened.collect::<Result<_, _>>().unwrap()
        });
        let empty = states.iter().filter(|state| **state == FileState::Empty);
        assert_eq!(empty.count(), 1, "{states:?}");
        assert!(!super::side_file(&path, "-begin").exists());
    }
}

#[test]
fn side_files_that_were_left_read_only_are_mended() {
    use std::os::unix::fs::PermissionsExt;
    let (_home, path) = file();
    drop(open(&path, &OLD).unwrap());
    let left = ["-wal", "-shm"].map(|suffix| super::side_file(&path, suffix));
    for side in &left {
        std::fs::write(side, "").unwrap();
        std::fs::set_permissions(side, std::fs::Permissions::from_mode(0o400)).unwrap();
    }
    let connection = open(&path, &OLD).unwrap();
    connection
        .execute("INSERT INTO things VALUES ('x')", [])
        .unwrap();
    for side in &left {
        let mode = std::fs::metadata(side).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", side.display());
    }
}
