//! What people and scripts get to read.

use std::path::PathBuf;

use chela_core::cut::CutLimit;
use chela_workspace::{
    CutBudget, DroppedLines, FileNeed, FileRemark, FileStatus, HistoryError, HistoryPause,
    OpenError, SeedError,
};

use crate::home::{COMPLETE, Home};

#[test]
fn every_status_is_the_end_of_a_sentence() {
    let dropped = |first_line, last_line, headings: &[&str]| DroppedLines {
        first_line,
        last_line,
        chars: 10,
        headings: headings.iter().map(|heading| heading.to_string()).collect(),
    };
    let all = [
        FileStatus::Injected,
        FileStatus::Truncated {
            by: CutBudget::PerFile,
            limit: CutLimit::Chars(20_000),
            dropped: vec![dropped(10, 20, &["Tools", "Voice"]), dropped(31, 31, &[])],
        },
        FileStatus::Missing {
            need: FileNeed::Required,
        },
        FileStatus::Missing {
            need: FileNeed::Optional,
        },
        FileStatus::Blank,
        FileStatus::FilteredBySession,
        FileStatus::FilteredByAudience,
        FileStatus::NotBrandNew,
        FileStatus::DisabledByConfig {
            key: "agents.defaults.skipBootstrap",
        },
        FileStatus::HeartbeatsOff,
        FileStatus::OverTotalBudget {
            limit: CutLimit::Tokens(15_000),
        },
        FileStatus::Unreadable {
            why: "permission denied".into(),
        },
        FileStatus::OutsideWorkspace {
            target: "/etc/passwd".into(),
        },
        FileStatus::NotAFile { kind: "a folder" },
        FileStatus::UnknownName,
        FileStatus::SameFile {
            name: "MEMORY.md".into(),
        },
        FileStatus::RemovedByExtension { id: "tidy".into() },
    ];
    let text: Vec<_> = all
        .iter()
        .map(|status| format!("SOUL.md {status}"))
        .collect();
    insta::assert_snapshot!(text.join("\n"));
    let remarks = [
        FileRemark::InvalidUtf8 {
            offset: 12,
            line: 2,
        },
        FileRemark::Utf16,
        FileRemark::Invisible {
            removed: 3,
            lines: vec![1, 7],
        },
        FileRemark::PartlyRead { left_out: 99 },
        FileRemark::PinsOverLimit { needed: 25_000 },
    ];
    let text: Vec<_> = remarks
        .iter()
        .map(|remark| format!("SOUL.md {remark}"))
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn every_error_says_what_to_do() {
    let dir = || PathBuf::from("/home/me/ws");
    let history = [
        HistoryError::NoGit,
        HistoryError::NoRepository { dir: dir() },
        HistoryError::InsideOther {
            dir: dir(),
            root: "/home/me".into(),
        },
        HistoryError::NotACoreFile("notes.txt".into()),
        HistoryError::NoVersion {
            file: "SOUL.md".into(),
            id: "deadbeef".into(),
        },
        HistoryError::CannotSave {
            file: "SOUL.md".into(),
            pause: HistoryPause::Operation,
        },
        HistoryError::NotReplaceable {
            path: dir().join("SOUL.md"),
            what: "a folder",
        },
        HistoryError::Failed {
            what: "log".into(),
            dir: dir(),
            complaint: "bad object".into(),
        },
        HistoryError::TimedOut {
            what: "log".into(),
            dir: dir(),
        },
    ];
    let mut text: Vec<_> = history.iter().map(ToString::to_string).collect();
    text.push(OpenError::Absent(dir()).to_string());
    text.push(OpenError::NotAFolder(dir()).to_string());
    text.push(
        SeedError::Lost {
            dir: dir(),
            since: 0,
        }
        .to_string(),
    );
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn the_report_is_readable_by_scripts() {
    let home = Home::with(&COMPLETE);
    home.remove("TOOLS.md");
    let loaded = home.load(|plain| plain.settings.total = CutLimit::Chars(10_000));
    let json = serde_json::to_string_pretty(&loaded.report).unwrap();
    let json = json.replace(&home.dir.display().to_string(), "[workspace]");
    insta::assert_snapshot!(json);
}
