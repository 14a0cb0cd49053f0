//! Reading a text file that may be anything: a directory, a pipe, somebody's photo.

use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use chela_files::{is_link_loop, open_without_waiting};

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
    /// It is not allowed.
    Refused,
    /// Its links lead back to themselves.
    LinkLoop,
    /// Something on the way is no folder.
    NotFolder,
    LongName,
    /// By the number the system gave, where it gave one.
    Failed(Option<i32>),
}

impl From<io::Error> for ReadProblem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Missing,
            ErrorKind::PermissionDenied => Self::Refused,
            ErrorKind::NotADirectory => Self::NotFolder,
            ErrorKind::InvalidFilename => Self::LongName,
            _ if is_link_loop(&error) => Self::LinkLoop,
            _ => Self::Failed(error.raw_os_error()),
        }
    }
}

/// The text of a regular file. Pipes and devices are refused without waiting for them.
pub(crate) fn read_text(path: &Path) -> Result<String, ReadProblem> {
    let is_other = |found: &std::fs::Metadata| match (found.is_file(), found.is_dir()) {
        (true, _) => None,
        (_, true) => Some(ReadProblem::Directory),
        _ => Some(ReadProblem::Special),
    };
    let opened = open_without_waiting(path).map_err(|error| {
        // Systems differ in what they say where a folder or a socket lies.
        let found = path.metadata().ok();
        found
            .and_then(|found| is_other(&found))
            .unwrap_or_else(|| error.into())
    })?;
    let found = opened.metadata()?;
    if let Some(other) = is_other(&found) {
        return Err(other);
    }
    let limit = MAX_BYTES as u64 + 1;
    let size = found.len().min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    opened.take(limit).read_to_end(&mut bytes)?;
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
            Self::Refused => (
                "may not be read".into(),
                "check the owner and the permissions of the file and its folders",
            ),
            Self::LinkLoop => (
                "is a symlink that leads back to itself".into(),
                "correct the link",
            ),
            Self::NotFolder => (
                "is below something that is not a folder".into(),
                "correct the path",
            ),
            Self::LongName => ("has too long a name".into(), "use a shorter path"),
            Self::Failed(code) => {
                let error = code.map_or(ErrorKind::Other.into(), io::Error::from_raw_os_error);
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
