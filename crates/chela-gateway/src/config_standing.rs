//! Which config a gateway works with, as it knows it and as other processes can see it.

use std::sync::{Arc, Mutex};

use chela_agent::prelude::Agents;
use chela_config::LoadedConfig;
use chela_core::{ContentHash, lock};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

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

/// What is done with a set of agents before anybody works with it: the log hides what they know.
pub(crate) type AgentsOpened = fn(&Arc<Agents>);

/// The config files of a gateway, looked after.
#[derive(Debug)]
pub(crate) struct ConfigReload {
    /// What the process started with.
    pub first: Arc<LoadedConfig>,
    pub now: Mutex<ConfigStanding>,
    pub opened: Option<AgentsOpened>,
    asked: Arc<Notify>,
    /// One look at a time.
    pub busy: tokio::sync::Mutex<()>,
}

impl ConfigReload {
    pub fn new(first: Arc<LoadedConfig>, now: u64, opened: Option<AgentsOpened>) -> Self {
        let standing = standing_of(&first, now);
        Self {
            first,
            now: Mutex::new(standing),
            opened,
            asked: Arc::default(),
            busy: tokio::sync::Mutex::default(),
        }
    }

    pub fn standing(&self) -> ConfigStanding {
        lock(&self.now).clone()
    }

    /// Somebody wants it looked at now.
    pub fn ask(&self) -> Arc<Notify> {
        Arc::clone(&self.asked)
    }
}

/// A config that has just been read.
pub(crate) fn standing_of(loaded: &LoadedConfig, now: u64) -> ConfigStanding {
    ConfigStanding {
        loaded: now,
        stamp: Some(config_stamp(loaded)),
        ..ConfigStanding::default()
    }
}
