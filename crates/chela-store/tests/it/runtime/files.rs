//! What is kept in the file of inbox, jobs and leases outlives whoever wrote it.

use chela_store::{
    FileSoundness, InboxStore as _, JobStore as _, KnownRevision, LeaseAcquired, LeaseStore as _,
    MessageStanding, SqliteRuntimeStore, WaitHere as _,
};

use super::inbox::{ask, message, outcome};
use super::jobs::{advance, plan, send};
use super::leases::acquire;

#[test]
fn everything_is_there_after_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let path = SqliteRuntimeStore::path_in(home.path());
    assert!(path.ends_with("state/runtime.sqlite"));
    assert!(SqliteRuntimeStore::open_existing(&path).unwrap().is_none());
    let store = SqliteRuntimeStore::open(&path).unwrap();
    for id in ["done", "begun", "waiting"] {
        store.accept(message(id, id, 10)).wait().unwrap();
    }
    let done = store.claim(ask("w", 100, 50)).wait().unwrap().unwrap();
    let outcome = outcome("answered", 110);
    store.finish(&done.claim, outcome.clone()).wait().unwrap();
    let begun = store.claim(ask("w", 100, 50)).wait().unwrap().unwrap();
    store
        .put(plan("job", 100), KnownRevision::New)
        .wait()
        .unwrap();
    let job = store.job("job").wait().unwrap().unwrap();
    let steps = vec![send("job", 100, "sent")];
    store
        .advance(advance(&job, Some(900), steps))
        .wait()
        .unwrap();
    let LeaseAcquired::Acquired(lease) = acquire(&store, ("agent", "node-1"), 100, 50) else {
        panic!("nobody else is there")
    };
    drop(store);

    let store = SqliteRuntimeStore::open(&path).unwrap();
    assert_eq!(store.check().wait().unwrap(), FileSoundness::Sound);
    let kept = store.by_id("done").wait().unwrap().unwrap();
    assert_eq!(kept.outcome, Some(outcome));
    let waiting = store.unanswered(None).wait().unwrap();
    let waiting: Vec<&str> = waiting.iter().map(|message| message.id.as_str()).collect();
    assert_eq!(waiting, ["begun", "waiting", "job:100"]);
    // What was in somebody's hands stays there until its time is over.
    let next = store.claim(ask("w", 149, 50)).wait().unwrap().unwrap();
    assert_eq!(next.message.id, "waiting");
    let open = store.open_occurrences().wait().unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].message, MessageStanding::Waits);
    assert_eq!(store.next_due().wait().unwrap(), Some(900));
    assert_eq!(
        store.current("agent", 149).wait().unwrap(),
        Some(lease.clone())
    );
    let again = store.claim(ask("w", 150, 50)).wait().unwrap().unwrap();
    assert_eq!(again.message.id, "begun");
    // And no number comes back.
    let newest = [done.claim, begun.claim, next.claim, again.claim];
    let numbers: Vec<u64> = newest.iter().map(|claim| claim.number).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    match acquire(&store, ("agent", "node-2"), 150, 50) {
        LeaseAcquired::Acquired(taken) => assert!(taken.key.fence > lease.key.fence),
        LeaseAcquired::Taken(by) => panic!("{by:?}"),
    }
}

#[test]
#[cfg(unix)]
fn the_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let path = SqliteRuntimeStore::path_in(home.path());
    let store = SqliteRuntimeStore::open(&path).unwrap();
    store.accept(message("m", "lane", 1)).wait().unwrap();
    for entry in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
    }
}

#[test]
fn what_waits_on_the_disk_is_what_has_to() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteRuntimeStore::open(&SqliteRuntimeStore::path_in(home.path())).unwrap();
    let synced = |work: &dyn Fn()| {
        let before = store.counts().synced;
        work();
        store.counts().synced - before
    };
    let accepts = synced(&|| {
        store.accept(message("m", "lane", 1)).wait().unwrap();
    });
    let claims = synced(&|| {
        store.claim(ask("w", 100, 50)).wait().unwrap();
    });
    let fences = synced(&|| {
        acquire(&store, ("agent", "node"), 100, 50);
    });
    assert_eq!((accepts, claims, fences), (1, 0, 1));
}

#[test]
fn forgotten_messages_leave_the_file() {
    let home = tempfile::tempdir().unwrap();
    let path = SqliteRuntimeStore::path_in(home.path());
    let store = SqliteRuntimeStore::open(&path).unwrap();
    let secret = "the word nobody else may read";
    let mut long = message("m", "lane", 1);
    long.body = secret.repeat(100);
    store.accept(long).wait().unwrap();
    let claimed = store.claim(ask("w", 100, 50)).wait().unwrap().unwrap();
    let finished = store.finish(&claimed.claim, outcome("done", 110));
    finished.wait().unwrap();
    assert_eq!(store.forget_finished(111).wait().unwrap(), 1);
    drop(store);
    let bytes = std::fs::read(&path).unwrap();
    let found = bytes
        .windows(secret.len())
        .any(|window| window == secret.as_bytes());
    assert!(!found);
}
