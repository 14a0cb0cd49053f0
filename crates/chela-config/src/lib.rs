//! What does the operator want? From the config file to the view of one agent.

mod check;
mod diagnostic;
mod key_path;
mod node;
mod node_de;
mod schema;

pub mod model;
pub mod shape;
pub mod sources;
pub mod store;
pub mod text;

pub use check::check_tree;
pub use diagnostic::{Diagnostic, Place, Severity};
pub use key_path::{KeyPath, KeyPathError, Segment};
pub use model::Config;
pub use node::{At, FileId, Kind, Member, Node};
pub use schema::{schema, schema_at};
