//! What does the operator want? From the config file to the view of one agent.
//!
//! [`load`] reads the config of a machine and never fails; [`LoadedConfig::agent`] gives one agent with
//! the provenance of every value; [`validate`] is the strict check; [`store::ConfigStore`] edits
//! the file. The types in [`model`] are the single source of keys, docs, limits and defaults.

// It reads what people and other programs wrote: no offset may be taken on trust.
#![deny(clippy::indexing_slicing, clippy::string_slice)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "a test may stop"
    )
)]

mod check;
mod diagnostic;
mod explain;
mod key_path;
mod load;
mod migrate;
mod node;
mod node_read;
mod plugin_folder;
mod redact;
mod schema;
mod span;
mod view;

pub mod model;
pub mod reference;
pub mod shape;
pub mod sources;
pub mod store;
pub mod text;

pub use check::MODEL_APIS;
pub use diagnostic::{ConfigDiagnostic, Severity, SourcePlace};
pub use explain::{AgentOverride, KeyExplanation, ValueSource, explain, kept_unused};
pub use key_path::{KeyPath, KeyPathError, PathSegment};
pub use load::{
    ConfigSource, DefaultsReason, LoadedConfig, is_remembered, load, load_text, remember, validate,
    validate_source,
};
pub use migrate::{KeyMigration, MIGRATIONS, MovedKey, migrated_text};
pub use model::Config;
pub use node::{ConfigNode, FileId, NodeKind, NodeMember, NodeSpan};
pub use node_read::{FromNode, ReadError, read_json};
pub use plugin_folder::{is_plugin_id, plugin_folder, plugins_folder};
pub use redact::{is_secret_key, redact, redacted, secrets_in};
pub use schema::{schema, schema_at};
pub use view::{AgentView, HeartbeatView, ModelAlias, ResolvedValue, ValueProvenance, ViewEntry};
