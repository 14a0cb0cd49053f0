//! A door for the fuzz targets, to a parser that nobody else calls by itself.

/// What a section of a patch makes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedText {
    /// No line was to go.
    pub adds_only: bool,
    /// None when its lines are not there.
    pub text: Option<String>,
}

/// Reads a patch and applies each of its sections to the same text. None when it is no patch.
pub fn patch_text(patch: &str, body: &str) -> Option<Vec<PatchedText>> {
    crate::files::patch_text(patch, body)
}
