//! The text of a config file: reading it with places, and changing it without disturbing it.
//!
//! The format is JSON5. Reading gives a [`ConfigNode`] tree in which every value knows where it was
//! written, and problems in words a person understands. Problems name keys and single
//! characters, never values: a value may be a secret.

mod duplicates;
pub mod edit;
mod lines;
mod literal;
mod parse;
mod scan;
mod words;

pub use lines::LineIndex;

use std::path::Path;

use crate::diagnostic::{ConfigDiagnostic, Severity, SourcePlace};
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, FileId};

/// How deep objects and lists may be nested.
pub const MAX_DEPTH: usize = 128;

/// How large one config file may be, in bytes.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// What a text turned out to say.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedText {
    /// Absent as soon as one problem is an error: half a config is worse than none.
    pub root: Option<ConfigNode>,
    pub problems: Vec<SyntaxProblem>,
}

/// Something wrong, or odd, about the text itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxProblem {
    pub severity: Severity,
    /// Byte offset into the text.
    pub at: usize,
    pub message: String,
    pub hint: Option<String>,
}

impl SyntaxProblem {
    /// The same finding, placed in a file.
    pub fn to_diagnostic(&self, file: &Path, source: &str, lines: &LineIndex) -> ConfigDiagnostic {
        let (line, column) = lines.position(source, self.at);
        ConfigDiagnostic {
            severity: self.severity,
            code: match self.severity {
                Severity::Error => "syntax",
                Severity::Warning | Severity::Note => "duplicate-key",
            },
            path: KeyPath::root(),
            place: Some(SourcePlace {
                file: file.to_owned(),
                line,
                column,
            }),
            message: self.message.clone(),
            hint: self.hint.clone(),
        }
    }
}

/// Reads a JSON5 text. Never fails otherwise than by listing problems.
pub fn parse(source: &str, file: FileId) -> ParsedText {
    parse::TextParser::new(source, file, parse::DuplicateKeys::LastCounts).document()
}
