//! Whether a file of records that is begun now had been there before.
//!
//! A list beside the files names those that were ever made. A file that is on the list and
//! empty or gone was lost, and whoever begins it anew is told what is missing now.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::ok_or_debug;
use chela_files::{FileMode, LockFile, write_file};
use chela_store::FileState;

/// The list, one file name a line.
const LIST: &str = "records.txt";

/// A file of records that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLoss {
    name: &'static str,
    path: PathBuf,
    found: FileState,
}

impl RecordLoss {
    /// Of a file that is known to have been there.
    pub fn of(name: &'static str, path: &Path, found: FileState) -> Option<Self> {
        (found != FileState::Present).then(|| Self {
            name,
            path: path.to_owned(),
            found,
        })
    }

    /// While it has not been begun anew.
    pub fn words_before_new_one(&self) -> String {
        let state = match self.found {
            FileState::Empty => "empty",
            FileState::Absent | FileState::Present => "gone",
        };
        format!(
            "{} {} is {state} although there was one. The next chat starts a new one; if you \
             have a copy, restore it first",
            self.name,
            self.path.display()
        )
    }
}

impl std::fmt::Display for RecordLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} is empty or gone although there was one; a new one is started. If you have a \
             copy of the old one, stop Chela and restore it",
            self.name,
            self.path.display()
        )
    }
}

/// What the list said of a file before it was opened: once it is open, another process that opens
/// it too may have put it there.
#[derive(Debug, Clone, Copy)]
pub struct RecordFile<'p> {
    name: &'static str,
    path: &'p Path,
    was_listed: bool,
}

impl<'p> RecordFile<'p> {
    /// Before it is opened.
    pub fn look(name: &'static str, path: &'p Path) -> Self {
        Self {
            name,
            path,
            was_listed: ok_or_debug!(listed_files(path), "the list of record files is not read")
                .is_some_and(|files| files.iter().any(|known| is_named(path, known))),
        }
    }

    /// Notes that the file is there from now on; `found` is what lay there before it was opened.
    /// Says so when it ought to have been there.
    pub fn note_opened(self, found: FileState) -> Option<RecordLoss> {
        if !self.was_listed
            && let Some(file) = self.path.file_name().and_then(|file| file.to_str())
            && let Err(error) = change_list(self.path, |files| files.push(file.to_owned()))
        {
            // Best effort: where nothing can be written, nothing is begun anew either.
            tracing::debug!(%error, path = %self.path.display(), "a record file is not on the list");
        }
        self.missing(found)
    }

    /// The same for one that is only looked for.
    pub fn missing(self, found: FileState) -> Option<RecordLoss> {
        let missing = found != FileState::Present && self.was_listed;
        if missing {
            tracing::warn!(path = %self.path.display(), "a record file is empty or gone");
        }
        match missing {
            true => RecordLoss::of(self.name, self.path, found),
            false => None,
        }
    }
}

/// Takes a file off the list: whoever moves it away says so himself, this once.
pub(crate) fn forget_record_file(path: &Path) -> std::io::Result<()> {
    match path.with_file_name(LIST).exists() {
        true => change_list(path, |files| files.retain(|known| !is_named(path, known))),
        false => Ok(()),
    }
}

fn listed_files(path: &Path) -> std::io::Result<Vec<String>> {
    match std::fs::read_to_string(path.with_file_name(LIST)) {
        Ok(list) => Ok(list.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|file| file == name)
}

/// Changes the list beside a file, one process at a time: two that add lose neither.
fn change_list(path: &Path, change: impl FnOnce(&mut Vec<String>)) -> std::io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let list = path.with_file_name(LIST);
    let _held = LockFile::take(&list.with_extension("lock"), PATIENCE)?;
    let mut files = listed_files(path)?;
    change(&mut files);
    let text: String = files.into_iter().map(|file| file + "\n").collect();
    Ok(write_file(&list, text.as_bytes(), FileMode::Private)?)
}

#[cfg(test)]
mod tests {
    use chela_store::FileState;

    use super::{RecordFile, forget_record_file};

    #[test]
    fn a_file_that_was_there_is_missed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("sessions.sqlite");
        let opened = |found| RecordFile::look("the session file", &path).note_opened(found);
        assert_eq!(opened(FileState::Empty), None, "the first one");
        assert_eq!(opened(FileState::Present), None);
        let told = opened(FileState::Empty).unwrap().to_string();
        assert!(told.contains("is empty or gone"), "{told}");
        assert!(told.contains("sessions.sqlite"), "{told}");
        let other = home.path().join("journal.sqlite");
        let other = RecordFile::look("it", &other);
        assert_eq!(other.note_opened(FileState::Empty), None);
        std::fs::write(home.path().join("sessions.sqlite.damaged-1"), "").unwrap();
        forget_record_file(&path).unwrap();
        assert_eq!(opened(FileState::Empty), None, "a rescue says so itself");
        assert!(opened(FileState::Empty).is_some(), "once");
    }

    /// The list is replaced as a whole: a name that leads elsewhere is never written through, and
    /// nothing half written is left.
    #[test]
    fn the_list_is_replaced_and_never_written_through() {
        let home = tempfile::tempdir().unwrap();
        let (list, elsewhere) = (home.path().join("records.txt"), home.path().join("else"));
        std::fs::write(&elsewhere, "sessions.sqlite\njournal.sqlite\n").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &list).unwrap();
        forget_record_file(&home.path().join("sessions.sqlite")).unwrap();
        assert_eq!(std::fs::read_to_string(&list).unwrap(), "journal.sqlite\n");
        let untouched = std::fs::read_to_string(&elsewhere).unwrap();
        assert_eq!(untouched, "sessions.sqlite\njournal.sqlite\n");
    }

    #[test]
    fn processes_that_begin_files_at_once_lose_none() {
        let home = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for at in 0..8 {
                let path = home.path().join(format!("{at}.sqlite"));
                scope.spawn(move || RecordFile::look("it", &path).note_opened(FileState::Empty));
            }
        });
        let list = std::fs::read_to_string(home.path().join("records.txt")).unwrap();
        assert_eq!(list.lines().count(), 8, "{list}");
    }

    #[test]
    fn a_file_from_before_the_list_is_put_on_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("journal.sqlite");
        let look = || RecordFile::look("it", &path);
        assert_eq!(look().note_opened(FileState::Present), None);
        assert!(look().note_opened(FileState::Absent).is_some());
    }

    #[test]
    fn another_process_that_opens_it_too_makes_nothing_missing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("sessions.sqlite");
        let (first, second) = (RecordFile::look("it", &path), RecordFile::look("it", &path));
        assert_eq!(second.note_opened(FileState::Present), None);
        assert_eq!(first.note_opened(FileState::Empty), None);
    }
}
