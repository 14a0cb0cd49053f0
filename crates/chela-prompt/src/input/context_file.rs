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
    pub completeness: Completeness,
}

impl ContextFile {
    /// A file the owner wrote, private when it is MEMORY.md or USER.md.
    pub fn new(path: impl Into<String>, content: &str) -> Self {
        let path = path.into();
        let private = matches!(base_name(&path).as_str(), "memory.md" | "user.md");
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
            completeness: Completeness::Whole,
            path,
        }
    }
}

/// Whether the content is all of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    Whole,
    Cut,
}

/// The last part of a path in lower case, whichever slash it uses.
pub(crate) fn base_name(path: &str) -> String {
    path.trim()
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .to_lowercase()
}
