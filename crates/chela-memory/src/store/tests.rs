use super::{IndexAccess, IndexNotice, IndexStore, StoreError, VERSION};
use std::fs;

#[test]
fn an_index_is_made_where_there_is_none() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state/memory/main.sqlite");
    let store = IndexStore::open(&path, 1).unwrap();
    assert_eq!(store.access(), IndexAccess::Write);
    assert!(store.notices().is_empty());
    assert_eq!(store.generation().unwrap(), 0);
    drop(store);
    assert!(IndexStore::open(&path, 1).unwrap().notices().is_empty());
}

#[test]
fn a_damaged_file_is_set_aside() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("main.sqlite");
    fs::write(&path, "this is no database, and never was one".repeat(50)).unwrap();
    let store = IndexStore::open(&path, 77).unwrap();
    let IndexNotice::Replaced { aside, .. } = &store.notices()[0] else {
        panic!("{:?}", store.notices())
    };
    assert!(aside.ends_with("main.sqlite.damaged-77"));
    assert!(
        fs::read_to_string(aside)
            .unwrap()
            .starts_with("this is no database")
    );
    assert_eq!(store.access(), IndexAccess::Write);
    store.set_meta("x", "y").unwrap();
}

#[test]
fn a_newer_file_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("main.sqlite");
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer
        .execute_batch("CREATE TABLE future (x); PRAGMA user_version = 99;")
        .unwrap();
    drop(newer);
    let before = fs::read(&path).unwrap();
    let store = IndexStore::open(&path, 1).unwrap();
    let IndexNotice::Newer { version: 99, using } = &store.notices()[0] else {
        panic!()
    };
    assert!(using.ends_with(format!("main.f{VERSION}.sqlite")));
    assert_eq!(store.access(), IndexAccess::Write);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_table_that_is_missing_is_made_again() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("main.sqlite");
    IndexStore::open(&path, 1)
        .unwrap()
        .connection()
        .execute_batch("DROP TABLE segments")
        .unwrap();
    let store = IndexStore::open(&path, 1).unwrap();
    store
        .connection()
        .query_row("SELECT count(*) FROM segments", [], |_| Ok(()))
        .unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_means_an_index_in_memory() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("state"), "a file where a folder should be").unwrap();
    let store = IndexStore::open(&home.path().join("state/memory/main.sqlite"), 1).unwrap();
    assert!(matches!(store.notices(), [IndexNotice::InMemory { .. }]));
    store.set_meta("x", "y").unwrap();
}

#[test]
fn a_full_disk_is_named() {
    let home = tempfile::tempdir().unwrap();
    let store = IndexStore::open(&home.path().join("main.sqlite"), 1).unwrap();
    let pages: i64 = store
        .connection()
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    store
        .connection()
        .pragma_update(None, "max_page_count", pages)
        .unwrap();
    let error = store.set_meta("x", &"y".repeat(100_000)).unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("free some space"));
}
