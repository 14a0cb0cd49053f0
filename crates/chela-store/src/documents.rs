//! The seam for records that are one document, which its owner may read and mend by hand: which
//! commands run without asking, and whose files and skills are trusted.
//!
//! What a document says is the caller's business. A store keeps it whole, and lets one at a time
//! change it.

use std::path::PathBuf;

use crate::StoreFuture;

/// Keeps one document.
pub trait DocumentStore: std::fmt::Debug + Send + Sync {
    /// `None` when there is none.
    fn read(&self) -> StoreFuture<'_, Option<String>>;

    /// Keeps everybody else from changing the document until what this gives is dropped.
    fn hold(&self) -> StoreFuture<'_, Box<dyn HeldDocument>>;
}

/// A document that nobody else changes at the moment.
pub trait HeldDocument: std::fmt::Debug + Send {
    fn read(&self) -> StoreFuture<'_, Option<String>>;

    /// Replaces it as a whole. On the disk when this is answered.
    fn replace(&mut self, text: &str) -> StoreFuture<'_, ()>;

    /// Puts one that cannot be used out of the way, for whoever wants to look at it later; says
    /// where it went.
    fn move_aside(&mut self, mark: &str) -> StoreFuture<'_, PathBuf>;
}
