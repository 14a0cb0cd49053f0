//! A file somebody named that cannot be used: why, in words, and what to do about it.

use std::fmt::Display;
use std::io;

use crate::fail::CommandError;

/// What was to be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileUse {
    Read,
    Write,
}

/// `what` is the file as people know it: `notes.md`, `the key ~/key`.
pub fn unreadable(what: impl Display, error: &io::Error) -> CommandError {
    trouble(FileUse::Read, &what, error)
}

/// `what` is the file or the folder that was to be written.
pub fn unwritable(what: impl Display, error: &io::Error) -> CommandError {
    trouble(FileUse::Write, &what, error)
}

fn trouble(what_for: FileUse, what: &dyn Display, error: &io::Error) -> CommandError {
    let verb = match what_for {
        FileUse::Read => "read",
        FileUse::Write => "write",
    };
    match words_for(what_for, error.kind()) {
        Some((why, hint)) => CommandError::new(format!("cannot {verb} {what}: {why}")).hint(hint),
        None => CommandError::new(format!("cannot {verb} {what}: {error}"))
            .hint("check the file, its folder and the disk"),
    }
}

/// Why, and what next.
fn words_for(what_for: FileUse, kind: io::ErrorKind) -> Option<(&'static str, &'static str)> {
    use io::ErrorKind as Kind;
    Some(match (kind, what_for) {
        (Kind::NotFound, FileUse::Read) => (
            "it does not exist",
            "check the name; a relative path starts in the current folder",
        ),
        (Kind::NotFound, FileUse::Write) => {
            ("its folder does not exist", "create the folder first")
        }
        (Kind::IsADirectory, FileUse::Read) => ("it is a folder", "name a file in it"),
        (Kind::IsADirectory, FileUse::Write) => ("it is a folder", "add the name of a file"),
        (Kind::NotADirectory, _) => (
            "a part of the path is a file, not a folder",
            "check the path",
        ),
        (Kind::AlreadyExists, _) => ("it exists already", "choose another name"),
        (Kind::PermissionDenied, _) => ("permission denied", "check its owner and permissions"),
        (Kind::ReadOnlyFilesystem, _) => ("the disk is read-only", "choose a path elsewhere"),
        (Kind::StorageFull, _) => ("the disk is full", "free some space"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{unreadable, unwritable};

    #[test]
    fn every_usual_trouble_has_words_and_a_next_step() {
        for kind in [
            io::ErrorKind::NotFound,
            io::ErrorKind::IsADirectory,
            io::ErrorKind::NotADirectory,
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::Other,
        ] {
            let error = io::Error::from(kind);
            for told in [unreadable("x.md", &error), unwritable("x.md", &error)] {
                assert!(told.message.contains("x.md: "), "{told:?}");
                assert!(told.hint.is_some(), "{told:?}");
            }
        }
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(
            unreadable("x.md", &missing).message,
            "cannot read x.md: it does not exist"
        );
    }
}
