//! Which config a gateway works with, as other processes can see it.

use chela_config::LoadedConfig;
use chela_core::ContentHash;
use serde::{Deserialize, Serialize};

/// The config of a running gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigStanding {
    /// When it was read, in milliseconds since 1970.
    pub loaded: u64,
    /// Of the files it was read from; see [`config_stamp`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<ContentHash>,
    /// Keys that have changed since the process started and apply after a restart.
    pub needs_restart: Vec<String>,
    /// Why the files as they are now are not in use; a line each.
    pub problems: Vec<String>,
}

/// What tells one state of the config files from another.
pub fn config_stamp(loaded: &LoadedConfig) -> ContentHash {
    let mut all = Vec::new();
    for file in &loaded.written().files {
        all.extend_from_slice(file.path.as_os_str().as_encoded_bytes());
        all.push(0);
        all.extend_from_slice(file.source.as_bytes());
        all.push(0);
    }
    ContentHash::of(all)
}
