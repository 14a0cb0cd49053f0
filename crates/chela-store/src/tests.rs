use std::path::PathBuf;

use rusqlite::Connection;

use crate::{Fault, FileError, Format, Room, open, open_in_memory};

const OLD: Format = Format {
    name: "the list",
    if_damaged: "write a new one",
    steps: &["CREATE TABLE things (name TEXT NOT NULL)"],
    mend: None,
    room: Room::Kept,
};

const NEW: Format = Format {
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
        FileError::Newer {
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
    assert_eq!(Fault::of(&error), Fault::Damaged);
    let (_home, path) = file();
    let (one, two) = (open(&path, &OLD).unwrap(), open(&path, &OLD).unwrap());
    one.execute_batch("BEGIN IMMEDIATE").unwrap();
    two.busy_timeout(std::time::Duration::ZERO).unwrap();
    let error = two.execute_batch("BEGIN IMMEDIATE").unwrap_err();
    assert_eq!(Fault::of(&error), Fault::Busy);
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
