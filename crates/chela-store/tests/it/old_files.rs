//! Files of the first version, and files that were damaged.

use std::path::{Path, PathBuf};

use chela_store::{
    EntryBatch, FileState, SessionStore, SqliteJournalStore, SqliteSessionStore, StoreError,
    WriteDurability, block_on, salvage_sessions,
};

use crate::session_suite::{append, said, started};

/// The tables as the first version made them.
const FIRST_VERSION: &str = include_str!("first_version.sql");

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.sqlite");
    (folder, path)
}

#[test]
fn a_file_of_the_first_version_is_read_as_it_was_and_gets_its_marks() {
    let (_folder, path) = place();
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(FIRST_VERSION).unwrap();
    drop(raw);
    let store = SqliteSessionStore::open(&path).unwrap();
    assert_eq!(store.found(), FileState::Present);
    let tree = block_on(store.read_since("old-1", 0)).unwrap().unwrap();
    let found: Vec<_> = tree
        .entries
        .iter()
        .map(|entry| {
            let kind = entry.kind.as_str();
            (
                entry.number,
                entry.parent,
                kind,
                entry.trust.as_deref(),
                entry.source.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (1, 0, "message", None, Some("person")),
            (2, 1, "message", None, None),
            (3, 2, "tool_started", None, None),
            (4, 3, "message", Some("external"), None),
            (5, 1, "message", Some("external"), Some("cron")),
            (6, 5, "message", Some("external"), None),
        ]
    );
    assert_eq!(tree.leaf, 5);
    assert_eq!(
        block_on(store.frozen("old-1")).unwrap().as_deref(),
        Some("{}")
    );
    let foreign = block_on(store.foreign_sessions()).unwrap();
    assert_eq!(foreign.into_iter().collect::<Vec<_>>(), ["old-1"]);
    let record = block_on(store.current("agent:main:main")).unwrap().unwrap();
    assert_eq!((record.id.as_str(), record.usage.input), ("old-1", 12));
    assert_eq!(append(&store, "old-1", vec![said("on")]), Some(vec![7]));
}

/// A file with a session of 200 entries and one of 60, some of them long.
fn written(path: &Path) -> usize {
    let store = SqliteSessionStore::open(path).unwrap();
    for (id, many) in [("long", 200), ("short", 60)] {
        started(&store, id, &format!("agent:main:{id}"));
        for at in 0..many {
            let length = if at % 20 == 0 { 9_000 } else { 300 };
            append(&store, id, vec![said(&"x".repeat(length))]);
        }
    }
    260
}

fn salvaged(path: &Path) -> (usize, Vec<String>) {
    let mut entries = 0;
    let lost = salvage_sessions(path, |session| {
        entries += session.entries.len();
        Ok::<(), ()>(())
    })
    .unwrap();
    (entries, lost)
}

#[test]
fn a_file_that_was_cut_off_is_saved_as_far_as_it_goes() {
    for cut in [4_096, 40_960] {
        let (_folder, path) = place();
        let all = written(&path);
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length - cut).unwrap();
        assert!(SqliteSessionStore::open(&path).is_err(), "it is damaged");
        let (entries, lost) = salvaged(&path);
        assert!(!lost.is_empty());
        let page_holds = usize::try_from(cut).unwrap() / 300;
        assert!(
            entries >= all - page_holds && entries < all,
            "{entries} of {all}: {lost:?}"
        );
    }
}

#[test]
fn half_a_file_gives_half_of_what_it_held() {
    let (_folder, path) = place();
    let all = written(&path);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    let (entries, lost) = salvaged(&path);
    assert!(entries >= all / 3, "{entries} of {all}: {lost:?}");
    assert!(lost.iter().any(|lost| lost.contains("entries")), "{lost:?}");
}

#[test]
fn a_page_of_nothing_costs_what_was_on_it() {
    let (_folder, path) = place();
    let all = written(&path);
    let whole = std::fs::read(&path).unwrap();
    let pages = whole.len() / 4096;
    for page in [pages / 3, pages / 2, pages - 2] {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0);
        std::fs::write(&path, bytes).unwrap();
        let (entries, _) = salvaged(&path);
        assert!(
            entries >= all - 20,
            "page {page} of {pages}: {entries} of {all}"
        );
    }
    std::fs::write(&path, whole).unwrap();
    assert_eq!(salvaged(&path), (all, Vec::new()));
}

#[test]
fn what_is_no_session_file_gives_nothing() {
    let (_folder, path) = place();
    std::fs::write(&path, "no database ".repeat(100)).unwrap();
    let (entries, lost) = salvaged(&path);
    assert_eq!((entries, lost.len()), (0, 1));
}

#[test]
fn a_file_that_is_deleted_under_an_open_store_is_noticed() {
    let (folder, path) = place();
    let store = SqliteSessionStore::open(&path).unwrap();
    started(&store, "s1", "agent:main:main");
    std::fs::remove_file(&path).unwrap();
    let batch = EntryBatch {
        entries: vec![said("into nowhere")],
        at: 1,
        usage: None,
    };
    let told = block_on(store.append("s1", batch, WriteDurability::Disk)).unwrap_err();
    assert!(matches!(told, StoreError::Replaced { .. }), "{told}");

    let journal = folder.path().join("journal.sqlite");
    std::fs::write(&journal, "").unwrap();
    let journal = SqliteJournalStore::open(&journal).unwrap();
    assert_eq!(journal.found(), FileState::Empty);
}
