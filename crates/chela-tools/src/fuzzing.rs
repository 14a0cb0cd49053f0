//! A door for the fuzz targets, to a parser that nobody else calls by itself.

pub use crate::files::PatchedText;

/// Reads a patch and applies each of its sections to the same text. None when it is no patch.
pub fn patch_text(patch: &str, body: &str) -> Option<Vec<PatchedText>> {
    crate::files::patch_text(patch, body)
}
