//! What does the operator want? From the config file to the view of one agent.
//!
//! [`load`] reads the config of a machine and never fails; [`Loaded::agent`] gives one agent with
//! the provenance of every value; [`validate`] is the strict check; [`store::ConfigStore`] edits
//! the file. The types in [`model`] are the single source of keys, docs, limits and defaults.

mod check;
mod diagnostic;
mod explain;
mod key_path;
mod load;
mod migrate;
mod node;
mod node_de;
mod redact;
mod schema;
mod view;

pub mod model;
pub mod reference;
pub mod shape;
pub mod sources;
pub mod store;
pub mod text;

pub use check::check_tree;
pub use diagnostic::{Diagnostic, Place, Severity};
pub use explain::{Explanation, Override, ValueSource, explain};
pub use key_path::{KeyPath, KeyPathError, Segment};
pub use load::{
    ConfigSource, Loaded, WhyDefaults, load, load_text, remember, validate, validate_source,
};
pub use migrate::{MIGRATIONS, Migration, Moved, migrated_json, migrated_text};
pub use model::Config;
pub use node::{At, FileId, Kind, Member, Node};
pub use redact::{is_secret_key, redact, redacted, secrets_in};
pub use schema::{schema, schema_at};
pub use view::{AgentView, HeartbeatView, ModelAlias, Provenance, Resolved, ViewEntry};
