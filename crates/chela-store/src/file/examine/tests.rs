use rusqlite::Connection;

use super::super::side_file;
use super::{FileExamination, examine};

#[test]
fn what_waits_beside_a_file_is_read_and_left_there() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("list.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .unwrap();
    connection
        .execute_batch("CREATE TABLE things (name TEXT); INSERT INTO things VALUES ('one')")
        .unwrap();
    // As a process that was killed leaves them.
    let copy = home.path().join("copy.sqlite");
    for suffix in ["", "-wal"] {
        std::fs::copy(side_file(&path, suffix), side_file(&copy, suffix)).unwrap();
    }
    let bytes = || ["", "-wal"].map(|suffix| std::fs::read(side_file(&copy, suffix)).unwrap());
    let before = bytes();
    assert!(before.iter().all(|bytes| !bytes.is_empty()));
    assert_eq!(examine(&copy, "the list").unwrap(), FileExamination::Sound);
    assert!(bytes() == before);
}

#[test]
fn a_look_leaves_nothing_behind() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("list.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .unwrap();
    connection
        .execute_batch("CREATE TABLE things (name TEXT)")
        .unwrap();
    drop(connection);
    assert_eq!(examine(&path, "the list").unwrap(), FileExamination::Sound);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    std::fs::write(&path, "a text").unwrap();
    assert_eq!(
        examine(&path, "the list").unwrap(),
        FileExamination::NotADatabase
    );
}
