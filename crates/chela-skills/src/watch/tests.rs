use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::watch;
use crate::fixture::Home;

/// Far longer than the promise, so that a busy machine does not fail the test; the promise itself
/// is checked against the best of a few tries.
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn a_burst_of_changes_is_told_once_and_soon() {
    let home = Home::new();
    let folder = home.path(".agents/skills");
    std::fs::create_dir_all(&folder).unwrap();
    let (sender, told) = mpsc::channel();
    let debounce = Duration::from_millis(50);
    let _watching = watch(&[folder], debounce, move || {
        sender.send(Instant::now()).unwrap()
    })
    .unwrap();
    let mut best = PATIENCE;
    for round in 0..3 {
        let changed = Instant::now();
        for at in 0..5 {
            home.skill(&format!(".agents/skills/s{round}-{at}"), "new");
        }
        let heard = told.recv_timeout(PATIENCE).expect("the change is noticed");
        best = best.min(heard - changed);
        // What is left of the burst belongs to this round.
        while told.recv_timeout(Duration::from_millis(200)).is_ok() {}
    }
    assert!(best < Duration::from_millis(300), "{best:?}");
}

#[test]
fn a_folder_that_comes_into_being_is_noticed() {
    let home = Home::new();
    let (sender, told) = mpsc::channel();
    let folders = [home.path(".agents/skills")];
    let mut watching = watch(&folders, Duration::from_millis(20), move || {
        sender.send(()).unwrap()
    })
    .unwrap();
    std::fs::create_dir_all(home.path(".agents/skills")).unwrap();
    told.recv_timeout(PATIENCE).expect("the folder is noticed");
    watching.rearm(&folders);
    home.skill(".agents/skills/new", "new");
    told.recv_timeout(PATIENCE).expect("the skill is noticed");
}
