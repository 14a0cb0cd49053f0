use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chela_core::Host;

use super::{LockError, LockFile, PathLocks};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_second_one_waits_no_longer_than_it_may_and_says_for_what() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/down.lock");
    let held = LockFile::take(&path, LONG).unwrap();
    let error = LockFile::take(&path, Duration::from_millis(5)).unwrap_err();
    assert!(matches!(error, LockError::Busy { .. }));
    let said = error.to_string();
    assert!(said.contains("down.lock") && said.contains("5ms"), "{said}");
    assert!(LockFile::try_take(&path).unwrap().is_none());
    drop(held);
    assert!(LockFile::try_take(&path).unwrap().is_some());
}

#[test]
fn those_who_share_keep_only_those_out_who_want_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let one = LockFile::take_shared(&path, Duration::ZERO).unwrap();
    let other = LockFile::take_shared(&path, Duration::ZERO).unwrap();
    assert!(LockFile::try_take(&path).unwrap().is_none());
    drop((one, other));
    assert!(LockFile::try_take(&path).unwrap().is_some());
}

#[test]
fn a_lock_file_that_was_tidied_away_locks_nobody_out_and_nobody_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let _old = LockFile::take(&path, LONG).unwrap();
    std::fs::remove_file(&path).unwrap();
    let _new = LockFile::take(&path, Duration::ZERO).unwrap();
    assert!(LockFile::try_take(&path).unwrap().is_none());
}

#[test]
fn a_link_of_that_name_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
    assert!(matches!(
        LockFile::take(&path, Duration::ZERO),
        Err(LockError::Io { .. })
    ));
    assert!(!folder.path().join("elsewhere").exists());
}

#[test]
fn many_who_want_many_files_take_turns_and_none_is_stuck() {
    let folder = tempfile::tempdir().unwrap();
    let locks = PathLocks::of(&Host::fixed(folder.path()));
    let inside = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (locks, inside) = (&locks, &inside);
            scope.spawn(move || {
                for round in 0..10 {
                    let others = [format!("/f/{thread}-{round}"), format!("/f/{round}")];
                    let mut paths: Vec<&Path> = others.iter().map(Path::new).collect();
                    paths.push(Path::new("/f/shared"));
                    let _held = locks.hold(paths).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
}
