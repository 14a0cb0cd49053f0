//! A file whose content enters the prompt.

use chela_core::{Audience, Origin, Trust, Zone};

use crate::CleanText;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// The path shown to the model. A file with a blank path is ignored.
    pub path: String,
    pub content: CleanText,
    pub origin: Origin,
    pub trust: Trust,
    pub audience: Audience,
    /// Where the operator wants it; by default HEARTBEAT.md is volatile, all others are stable.
    pub zone: Option<Zone>,
    pub completeness: FileCompleteness,
}

impl ContextFile {
    /// A file the owner wrote, private when it is MEMORY.md or USER.md.
    pub fn new(path: impl Into<String>, content: &str) -> Self {
        let path = path.into();
        let shown = path.trim();
        let base = &shown[base_at(shown)..];
        let private = ["memory.md", "user.md"]
            .iter()
            .any(|name| base.eq_ignore_ascii_case(name));
        Self {
            origin: Origin::file(path.trim(), content),
            content: CleanText::new(content),
            trust: Trust::Owner,
            audience: if private {
                Audience::Private
            } else {
                Audience::Shared
            },
            zone: None,
            completeness: FileCompleteness::Whole,
            path,
        }
    }
}

/// Whether the content is all of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCompleteness {
    Whole,
    Cut,
    /// None of it: a marker stands in its place.
    Absent,
}

/// Where the last part of a path begins, whichever slash it uses.
pub(crate) fn base_at(path: &str) -> usize {
    let slash = path.bytes().rposition(|byte| matches!(byte, b'/' | b'\\'));
    slash.map_or(0, |slash| slash + 1)
}
