use std::ffi::OsStr;
use std::time::{Duration, SystemTime};

use super::{is_leftover, leftovers_in};

#[test]
fn drafts_are_known_by_their_names_and_nothing_else_is() {
    for draft in [
        ".chela-00ff00ff00ff00ff-0.tmp",
        ".chela.json.a1b2c3d4e5f6-4711-0.tmp",
        ".trust.json.4711-3.tmp",
        ".SOUL.md.4711-3.tmp",
        ".skill-uses.json.4711.new",
        "exec-approvals.json.4711.new",
    ] {
        assert!(is_leftover(OsStr::new(draft)), "{draft}");
    }
    for other in [
        "notes.tmp",
        ".notes.tmp",
        ".chela-mine.tmp",
        ".x-1.tmp",
        "chela.json",
        "report.2024.new",
        ".env.new",
        ".a.b-c.tmp",
    ] {
        assert!(!is_leftover(OsStr::new(other)), "{other}");
    }
}

#[test]
fn old_ones_are_found_and_young_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let draft = folder.path().join(".chela-00ff00ff00ff00ff-0.tmp");
    let note = folder.path().join("notes.md");
    std::fs::write(&draft, "half").unwrap();
    std::fs::write(&note, "mine").unwrap();
    let hour = Duration::from_secs(3600);
    let now = SystemTime::now();
    assert!(leftovers_in(folder.path(), hour, now).is_empty());
    assert_eq!(leftovers_in(folder.path(), hour, now + 2 * hour), [draft]);
}
