//! Reading a text file that may be anything: a directory, a pipe, somebody's photo.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::diagnostic::{ConfigDiagnostic, Severity, SourcePlace};
use crate::text::{LineIndex, MAX_BYTES};

/// Why a file gave no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadProblem {
    Missing,
    Directory,
    /// A pipe, socket or device.
    Special,
    TooLarge,
    NotUtf8 {
        line: u32,
        column: u32,
    },
    Utf16,
    Failed(Errno),
}

/// The text of a regular file. Pipes and devices are refused without waiting for them.
pub(crate) fn read_text(path: &Path) -> Result<String, ReadProblem> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::NOENT => ReadProblem::Missing,
        Errno::ISDIR => ReadProblem::Directory,
        Errno::NXIO | Errno::OPNOTSUPP => ReadProblem::Special,
        errno => ReadProblem::Failed(errno),
    })?;
    let stat = rustix::fs::fstat(&opened).map_err(ReadProblem::Failed)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(ReadProblem::Directory),
        _ => return Err(ReadProblem::Special),
    }
    let limit = MAX_BYTES as u64 + 1;
    let size = u64::try_from(stat.st_size).unwrap_or(0).min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    File::from(opened)
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| ReadProblem::Failed(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    if bytes.len() > MAX_BYTES {
        return Err(ReadProblem::TooLarge);
    }
    String::from_utf8(bytes).map_err(|error| {
        let bytes = error.as_bytes();
        if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            return ReadProblem::Utf16;
        }
        let valid = bytes.get(..error.utf8_error().valid_up_to());
        let valid = str::from_utf8(valid.unwrap_or_default()).unwrap_or_default();
        let (line, column) = LineIndex::new(valid).position(valid, valid.len());
        ReadProblem::NotUtf8 { line, column }
    })
}

impl ReadProblem {
    /// What is wrong with the file, and what to do.
    pub(crate) fn words(self) -> (String, &'static str) {
        match self {
            Self::Missing => ("does not exist".into(), "create it, or correct the path"),
            Self::Directory => (
                "is a folder".into(),
                "a file is needed here: move the folder away, or correct the path",
            ),
            Self::Special => (
                "is a pipe, a socket or a device".into(),
                "a regular file is needed here",
            ),
            Self::TooLarge => (
                format!("is larger than {} MiB", MAX_BYTES >> 20),
                "no config is that large; check that it is the right file",
            ),
            Self::NotUtf8 { line, column } => (
                format!("is not UTF-8 text (line {line}, column {column})"),
                "save the file as UTF-8",
            ),
            Self::Utf16 => ("is UTF-16 text".into(), "save the file as UTF-8"),
            Self::Failed(Errno::ACCESS | Errno::PERM) => (
                "may not be read".into(),
                "check the owner and the permissions of the file and its folders",
            ),
            Self::Failed(Errno::LOOP) => (
                "is a symlink that leads back to itself".into(),
                "correct the link",
            ),
            Self::Failed(Errno::NOTDIR) => (
                "is below something that is not a folder".into(),
                "correct the path",
            ),
            Self::Failed(Errno::NAMETOOLONG) => {
                ("has too long a name".into(), "use a shorter path")
            }
            Self::Failed(errno) => {
                let error = std::io::Error::from(errno);
                (
                    format!("cannot be read: {error}"),
                    "check the disk and the permissions",
                )
            }
        }
    }

    /// `subject` says which file, in words.
    pub(crate) fn to_diagnostic(
        self,
        subject: &str,
        place: Option<SourcePlace>,
    ) -> ConfigDiagnostic {
        let (words, hint) = self.words();
        let message = format!("{subject} {words}");
        ConfigDiagnostic {
            place,
            ..ConfigDiagnostic::whole(Severity::Error, "unreadable", message, hint)
        }
    }
}
