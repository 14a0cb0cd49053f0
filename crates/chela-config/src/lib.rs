//! What does the operator want? From the config file to the view of one agent.

mod check;
mod diagnostic;
mod key_path;
mod load;
mod migrate;
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
pub use load::{
    ConfigSource, Loaded, WhyDefaults, load, load_text, remember, validate, validate_source,
};
pub use migrate::{MIGRATIONS, Migration, Moved, migrated_json};
pub use model::Config;
pub use node::{At, FileId, Kind, Member, Node};
pub use schema::{schema, schema_at};
