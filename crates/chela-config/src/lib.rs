//! What does the operator want? From the config file to the view of one agent.

mod diagnostic;
mod key_path;
mod node;

pub mod sources;
pub mod text;

pub use diagnostic::{Diagnostic, Place, Severity};
pub use key_path::{KeyPath, KeyPathError, Segment};
pub use node::{At, FileId, Kind, Member, Node};
