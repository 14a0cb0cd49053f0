//! Whether git wrote a file: a pull, a checkout, a merge brings other people's text.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Git writes the files first and moves `HEAD` afterwards, for as long as that takes.
const SECONDS_BEFORE: i128 = 120;
const SECONDS_AFTER: i128 = 5;
/// So much of the end of the log of `HEAD` is read.
const MOST_OF_LOG: u64 = 64 << 10;
/// What is there while git has not finished.
const UNDER_WAY: [&str; 4] = [
    "MERGE_HEAD",
    "rebase-merge",
    "rebase-apply",
    "CHERRY_PICK_HEAD",
];

/// Whether a file may have been written by git at a time, in nanoseconds since 1970.
pub(super) fn came_by_git(file: &Path, changed: i128) -> bool {
    let Ok(real) = file.canonicalize() else {
        return true;
    };
    let repositories = real.ancestors().skip(1).map(|folder| folder.join(".git"));
    repositories
        .filter(|repository| repository.symlink_metadata().is_ok())
        .any(|repository| moved_about(&repository, changed / 1_000_000_000))
}

/// Whether a repository moved to another commit about a time. A commit of one's own changes no
/// file. A repository that keeps its own elsewhere is not looked into.
fn moved_about(repository: &Path, changed: i128) -> bool {
    let fits = |at: i128| (at - SECONDS_BEFORE..=at + SECONDS_AFTER).contains(&changed);
    if !repository.is_dir() || UNDER_WAY.iter().any(|name| repository.join(name).exists()) {
        return true;
    }
    let moved_by_time = |name: &str| {
        let found = repository.join(name).metadata();
        let time = found.and_then(|facts| facts.modified()).ok();
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.is_some_and(|since| fits(i128::from(since.as_secs())))
    };
    match read_log(&repository.join("logs/HEAD")) {
        Some(log) => {
            moved_by_time("ORIG_HEAD")
                || log
                    .lines()
                    .filter_map(moves_head)
                    .any(|at| at.is_none_or(fits))
        }
        None => ["HEAD", "ORIG_HEAD", "packed-refs"]
            .into_iter()
            .any(moved_by_time),
    }
}

/// When a line of the log says that `HEAD` went elsewhere; `None` for a commit, and `Some(None)`
/// where the line does not say when.
fn moves_head(line: &str) -> Option<Option<i128>> {
    let (who, what) = line.split_once('\t').unwrap_or((line, ""));
    // Chela keeps the history of a workspace by commits of its own.
    if what.starts_with("commit") || what.starts_with("chela:") {
        return None;
    }
    let mut words = who.rsplit(' ');
    let (_zone, seconds) = (words.next(), words.next());
    Some(seconds.and_then(|seconds| seconds.parse().ok()))
}

/// The end of a log, from the beginning of a line.
fn read_log(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    let from = size.saturating_sub(MOST_OF_LOG);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_OF_LOG).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match from {
        0 => Some(text),
        _ => text.split_once('\n').map(|(_, rest)| rest.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::came_by_git;

    #[test]
    fn a_pull_counts_and_a_commit_does_not() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("SOUL.md");
        std::fs::write(&file, "x").unwrap();
        let at = |seconds: i128| seconds * 1_000_000_000;
        assert!(!came_by_git(&file, at(1_000)));
        let logs = home.path().join(".git/logs");
        std::fs::create_dir_all(&logs).unwrap();
        let log = "0 1 me <me@x> 1000 +0000\tcommit: first\n\
                   1 2 me <me@x> 5000 +0000\tpull: Fast-forward\n";
        std::fs::write(logs.join("HEAD"), log).unwrap();
        assert!(!came_by_git(&file, at(1_000)));
        assert!(came_by_git(&file, at(5_000)) && came_by_git(&file, at(4_950)));
        assert!(!came_by_git(&file, at(5_100)));
        std::fs::write(home.path().join(".git/MERGE_HEAD"), "").unwrap();
        assert!(came_by_git(&file, at(9_000)));
    }
}
