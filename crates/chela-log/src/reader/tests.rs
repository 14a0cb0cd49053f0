use serde_json::json;

use super::{LogFollower, LogQuery, read_newest};
use crate::file::LogFile;
use crate::line::{LogLevel, LogLine};

fn line(number: usize, level: LogLevel, turn: &str) -> LogLine {
    LogLine {
        time: format!("2026-11-16T14:55:{number:02}.000Z"),
        level,
        target: "chela_agent::turn".to_owned(),
        pid: 1,
        spans: Vec::new(),
        ids: json!({ "turn": turn }).as_object().cloned().unwrap(),
        message: format!("line {number}"),
        fields: serde_json::Map::new(),
    }
}

fn said(lines: &[LogLine]) -> Vec<&str> {
    lines.iter().map(|line| line.message.as_str()).collect()
}

#[test]
fn the_newest_lines_come_from_all_generations() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("chela.log");
    assert!(
        read_newest(&path, &LogQuery::default(), 5)
            .unwrap()
            .is_empty()
    );
    let mut file = LogFile::new(path.clone(), 300);
    for number in 0..6 {
        let level = match number % 2 {
            0 => LogLevel::Info,
            _ => LogLevel::Warn,
        };
        let turn = if number < 4 { "aaaa1111" } else { "bbbb2222" };
        file.append(&line(number, level, turn).to_json()).unwrap();
    }
    file.append("not a line of ours").unwrap();
    let all = LogQuery::default();
    let found = read_newest(&path, &all, 4).unwrap();
    assert_eq!(said(&found), ["line 2", "line 3", "line 4", "line 5"]);
    let warned = LogQuery {
        level: LogLevel::Warn,
        ..all.clone()
    };
    assert_eq!(
        said(&read_newest(&path, &warned, 9).unwrap()),
        ["line 1", "line 3", "line 5"]
    );
    let turn = LogQuery {
        turn: Some("bbbb".to_owned()),
        ..all.clone()
    };
    assert_eq!(
        said(&read_newest(&path, &turn, 9).unwrap()),
        ["line 4", "line 5"]
    );
    let since: jiff::Timestamp = "2026-11-16T14:55:05Z".parse().unwrap();
    let late = LogQuery {
        since: Some(since.as_millisecond()),
        ..all
    };
    assert_eq!(said(&read_newest(&path, &late, 9).unwrap()), ["line 5"]);
}

#[test]
fn following_goes_on_across_rotations() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("chela.log");
    let mut file = LogFile::new(path.clone(), 300);
    file.append(&line(0, LogLevel::Info, "a").to_json())
        .unwrap();
    let mut follower = LogFollower::from_now(&path, LogQuery::default()).unwrap();
    assert!(follower.read_more().unwrap().is_empty());
    // More than one rotation between two looks, and a look in the middle of a file.
    for number in 1..5 {
        file.append(&line(number, LogLevel::Info, "a").to_json())
            .unwrap();
    }
    let first = follower.read_more().unwrap();
    assert_eq!(said(&first), ["line 1", "line 2", "line 3", "line 4"]);
    for number in 5..8 {
        file.append(&line(number, LogLevel::Info, "a").to_json())
            .unwrap();
    }
    let then = follower.read_more().unwrap();
    assert_eq!(said(&then), ["line 5", "line 6", "line 7"]);
    assert!(follower.read_more().unwrap().is_empty());
}

#[test]
fn a_log_that_begins_later_is_followed_from_its_start() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("chela.log");
    let mut follower = LogFollower::from_now(&path, LogQuery::default()).unwrap();
    let mut file = LogFile::new(path, 10_000);
    file.append(&line(1, LogLevel::Info, "a").to_json())
        .unwrap();
    assert_eq!(said(&follower.read_more().unwrap()), ["line 1"]);
}

#[test]
fn a_log_that_is_renamed_or_removed_by_hand_is_not_shown_again() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("chela.log");
    let older = home.path().join("chela.log.1");
    let write = |numbers: std::ops::Range<usize>| {
        let mut file = LogFile::new(path.clone(), 1 << 20);
        for number in numbers {
            let line = line(number, LogLevel::Info, "t").to_json();
            file.append(&line).unwrap();
        }
    };
    write(0..3);
    std::fs::rename(&path, &older).unwrap();
    write(3..5);
    let mut follower = LogFollower::from_now(&path, LogQuery::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(follower.read_more().unwrap().is_empty());
    write(5..6);
    assert_eq!(said(&follower.read_more().unwrap()), ["line 5"]);
    std::fs::rename(&path, &older).unwrap();
    write(6..7);
    assert_eq!(said(&follower.read_more().unwrap()), ["line 6"]);
    std::fs::remove_file(&path).unwrap();
    assert!(follower.read_more().unwrap().is_empty());
}

#[test]
fn a_huge_log_is_read_from_its_end() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("chela.log");
    std::fs::File::create(&path)
        .unwrap()
        .set_len(20 << 30)
        .unwrap();
    let mut file = LogFile::new(path.clone(), u64::MAX);
    file.append("").unwrap();
    for number in 0..3_000 {
        let line = line(number % 60, LogLevel::Info, "t").to_json();
        file.append(&line).unwrap();
    }
    let newest = read_newest(&path, &LogQuery::default(), 2_500).unwrap();
    assert_eq!(newest.len(), 2_500);
    assert_eq!(newest[2_499].message, "line 59");
    let none = LogQuery {
        turn: Some("zzz".to_owned()),
        ..LogQuery::default()
    };
    assert!(read_newest(&path, &none, 1).unwrap().is_empty());
}
