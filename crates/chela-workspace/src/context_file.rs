//! A file as it stands in the prompt, with everything that is known about it.

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::{Audience, Origin, Trust, Zone};

use crate::report::FileStatus;

/// One file of the prompt's project context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Base name, such as `SOUL.md`.
    pub name: String,
    pub path: PathBuf,
    /// As in the heading above it: relative to the workspace where that is the working folder.
    pub shown_path: String,
    pub content: Arc<str>,
    pub origin: Origin,
    pub trust: Trust,
    pub audience: Audience,
    pub zone: Zone,
    /// Length of the file on disk in characters.
    pub raw_chars: usize,
    pub injected_chars: usize,
    pub status: FileStatus,
}
