//! Whether a file of records that is begun now had been there before.
//!
//! A list beside the files names those that were ever made. A file that is on the list and
//! empty or gone was lost, and whoever begins it anew is told what is missing now.

use std::io::Write;
use std::path::{Path, PathBuf};

use chela_store::FileState;

/// The list, one file name a line.
const LIST: &str = "records.txt";

/// A file of records that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLoss {
    name: &'static str,
    path: PathBuf,
}

impl std::fmt::Display for RecordLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} is empty or gone although there was one; a new one is begun. If you have a copy of \
             the old one, stop Chela and put it back",
            self.name,
            self.path.display()
        )
    }
}

/// Notes that a file is there from now on; `found` is what lay there before it was opened.
/// Says so when it ought to have been there.
pub(crate) fn note_record_file(
    name: &'static str,
    path: &Path,
    found: FileState,
) -> Option<RecordLoss> {
    let missing = missing_record_file(name, path, found);
    if let Some(file) = path.file_name().and_then(|file| file.to_str())
        && !is_listed(path, file)
    {
        // Best effort: where nothing can be written, nothing is begun anew either.
        if let Err(error) = add_line(&path.with_file_name(LIST), file) {
            tracing::debug!(%error, path = %path.display(), "a record file is not on the list");
        }
    }
    missing
}

/// The same for one that is only looked for.
pub(crate) fn missing_record_file(
    name: &'static str,
    path: &Path,
    found: FileState,
) -> Option<RecordLoss> {
    let file = path.file_name()?.to_str()?;
    let missing = found != FileState::Present && is_listed(path, file) && !was_moved_aside(path);
    if missing {
        tracing::warn!(path = %path.display(), "a record file is empty or gone");
    }
    missing.then(|| RecordLoss {
        name,
        path: path.to_owned(),
    })
}

fn is_listed(path: &Path, file: &str) -> bool {
    std::fs::read_to_string(path.with_file_name(LIST))
        .is_ok_and(|known| known.lines().any(|known| known == file))
}

/// A rescue puts the damaged file beside the new one and says so itself.
fn was_moved_aside(path: &Path) -> bool {
    let (Some(folder), Some(file)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
    else {
        return false;
    };
    let aside = format!("{file}.damaged-");
    std::fs::read_dir(folder).is_ok_and(|files| {
        files
            .flatten()
            .any(|found| found.file_name().to_string_lossy().starts_with(&aside))
    })
}

fn add_line(list: &Path, line: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    writeln!(options.open(list)?, "{line}")
}

#[cfg(test)]
mod tests {
    use chela_store::FileState;

    use super::note_record_file;

    #[test]
    fn a_file_that_was_there_is_missed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("sessions.sqlite");
        let opened = |found| note_record_file("the session file", &path, found);
        assert_eq!(opened(FileState::Empty), None, "the first one");
        assert_eq!(opened(FileState::Present), None);
        let told = opened(FileState::Empty).unwrap().to_string();
        assert!(told.contains("is empty or gone"), "{told}");
        assert!(told.contains("sessions.sqlite"), "{told}");
        let other = home.path().join("journal.sqlite");
        assert_eq!(note_record_file("it", &other, FileState::Empty), None);
        std::fs::write(home.path().join("sessions.sqlite.damaged-1"), "").unwrap();
        assert_eq!(opened(FileState::Empty), None, "a rescue says so itself");
    }

    #[test]
    fn a_file_from_before_the_list_is_put_on_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("journal.sqlite");
        assert_eq!(note_record_file("it", &path, FileState::Present), None);
        assert!(note_record_file("it", &path, FileState::Absent).is_some());
    }
}
