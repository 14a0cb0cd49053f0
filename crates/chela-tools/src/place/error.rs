//! Why a path cannot be used, in words a model can act on.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("The path is empty. Give a path such as `notes.md`, relative to the workspace.")]
    Empty,
    #[error("The path holds a NUL character. Give a plain path such as `notes.md`.")]
    Nul,
    #[error("The path is longer than {most} bytes. Give a shorter one.")]
    TooLong { most: usize },
    #[error(
        "{path} is outside the workspace{}. Use a path relative to the workspace.",
        also(roots)
    )]
    Outside { path: String, roots: Vec<String> },
    #[error("{path} leaves the workspace, through `..` or a link. Use a path inside it.")]
    Escapes { path: String },
    #[error(
        "{path} belongs to Chela itself (config, sessions, approvals), to the system, or to a folder the owner said no to, and is closed to file tools."
    )]
    Protected { path: String },
    #[error("{path} belongs to git, which may run what stands there. Use git itself.")]
    Git { path: String },
    #[error("{path} can be read but not changed. Write inside the workspace.")]
    ReadOnly { path: String },
    #[error("{path} does not exist.")]
    Missing { path: String },
    #[error("{path} is a folder; a file is needed here.")]
    IsFolder { path: String },
    #[error("{path} is not a folder.")]
    NotFolder { path: String },
    #[error("{path} is a device, pipe or socket, not a file.")]
    NotFile { path: String },
    #[error("{path} goes through too many links.")]
    TooManyLinks { path: String },
    #[error("{path} was changed while it was opened. Try again.")]
    Changed { path: String },
    #[error("{path}: {source}.")]
    Io { path: String, source: io::Error },
}

fn also(roots: &[String]) -> String {
    match roots {
        [] => String::new(),
        roots => format!(" and the folders that may be used ({})", roots.join(", ")),
    }
}

impl PlaceError {
    pub(crate) fn io(path: &str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            io::ErrorKind::IsADirectory => Self::IsFolder { path },
            io::ErrorKind::NotADirectory => Self::NotFolder { path },
            _ => Self::Io { path, source },
        }
    }
}
