//! What rendering returns: one text, and who is answerable for each byte of it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use chela_core::{Audience, Origin, Trust, Zone};

use crate::{SectionId, SpanOrigin};

/// A rendered prompt.
///
/// The sections tile the text: the first begins at 0, each begins where the one before it ends,
/// the last ends with the text. The blank line between two sections belongs to the first of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    pub sections: Vec<SectionSpan>,
    /// The files, tools, skills and contributed lines inside the sections, in text order.
    /// They lie within their section and never overlap; what they leave open is its own text.
    pub parts: Vec<PartSpan>,
    /// Where the stable text ends. Always the edge of a section; nothing in the text marks it.
    pub boundary: usize,
}

impl Prompt {
    /// What a provider may cache from turn to turn.
    pub fn stable(&self) -> &str {
        self.text.get(..self.boundary).unwrap_or_default()
    }

    /// What may differ on the next turn.
    pub fn volatile(&self) -> &str {
        self.text.get(self.boundary..).unwrap_or_default()
    }

    pub fn section(&self, id: SectionId) -> Option<&SectionSpan> {
        self.sections.iter().find(|section| section.id == id)
    }

    /// The section that holds the byte at `offset`.
    pub fn section_at(&self, offset: usize) -> Option<&SectionSpan> {
        self.sections
            .iter()
            .find(|section| section.range.contains(&offset))
    }

    /// The part that holds the byte at `offset`, if one does.
    pub fn part_at(&self, offset: usize) -> Option<&PartSpan> {
        self.parts.iter().find(|part| part.range.contains(&offset))
    }

    pub fn parts_of(&self, section: SectionId) -> impl Iterator<Item = &PartSpan> {
        self.parts
            .iter()
            .filter(move |part| part.section == section)
    }

    /// The text of a span of this prompt; empty for a range that is not one of its own.
    pub fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}

/// One section as it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionSpan {
    pub id: SectionId,
    /// The heading line, number signs included.
    pub heading: Option<Cow<'static, str>>,
    /// Bytes, the blank line that follows included.
    pub range: Range<usize>,
    pub zone: Zone,
    pub origin: SpanOrigin,
    /// The lowest trust of anything in the section.
    pub trust: Trust,
    /// Private as soon as anything in the section is.
    pub audience: Audience,
}

/// A piece of a section that has a source of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartSpan {
    pub section: SectionId,
    pub kind: PartKind,
    pub range: Range<usize>,
    pub origin: SpanOrigin,
    pub trust: Trust,
    pub audience: Audience,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartKind {
    /// A context file: its heading and its content, which begins at `content` in the text.
    File { path: String, content: usize },
    /// One line of the tool list.
    Tool { name: Cow<'static, str> },
    /// One entry of the skills listing.
    Skill { name: Arc<str> },
    /// One contributed line: a note, a hint, an alias, a list of owners.
    Line,
    /// A contributed text of several lines.
    Block,
}

impl PartKind {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Tool { .. } => "tool",
            Self::Skill { .. } => "skill",
            Self::Line => "line",
            Self::Block => "block",
        }
    }

    /// The path of a file, the name of a tool or skill.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::Tool { name } => Some(name),
            Self::Skill { name } => Some(name),
            Self::Line | Self::Block => None,
        }
    }
}

/// Why a prompt was not rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Text for the owner alone would have entered a session that others read.
    #[error(
        "section `{section}` holds private text ({origin}) and this session is shared; \
         leave it out{}",
        if *section == SectionId::AuthorizedSenders { ", or show owner ids hashed" } else { "" }
    )]
    PrivateForShared { section: SectionId, origin: Origin },
}
