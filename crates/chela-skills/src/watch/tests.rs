use std::sync::mpsc;
use std::time::Duration;

use super::watch;
use crate::fixture::SkillsHome;

/// So long that no machine is that busy.
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn a_burst_of_changes_is_told_once() {
    let home = SkillsHome::new();
    let folder = home.path(".agents/skills");
    std::fs::create_dir_all(&folder).unwrap();
    let (sender, told) = mpsc::channel();
    let debounce = Duration::from_millis(50);
    let _watching = watch(&[folder], debounce, move || sender.send(()).unwrap()).unwrap();
    // A machine that pauses in the middle of a burst makes two of it; not every time.
    let mut fewest = usize::MAX;
    for round in 0..3 {
        for at in 0..5 {
            home.skill(&format!(".agents/skills/s{round}-{at}"), "new");
        }
        told.recv_timeout(PATIENCE).expect("the change is noticed");
        let mut times = 1;
        // What is left of the burst belongs to this round.
        while told.recv_timeout(Duration::from_millis(200)).is_ok() {
            times += 1;
        }
        fewest = fewest.min(times);
    }
    assert_eq!(fewest, 1);
}

#[test]
fn a_folder_that_comes_into_being_is_noticed() {
    let home = SkillsHome::new();
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
