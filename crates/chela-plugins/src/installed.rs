//! The plugins of a home, and whether each may be used now.

use std::path::PathBuf;

use chela_config::model::PluginEntry;
use chela_config::{LoadedConfig, plugin_folder};
use chela_core::Host;

use crate::grant::{GrantError, GrantSet};
use crate::hook_name::HookName;
use crate::lock::{LockedPlugin, PluginLock, PluginLockError};
use crate::package::PluginPackage;

/// A plugin that is installed.
#[derive(Debug)]
pub struct InstalledPlugin {
    pub id: String,
    pub folder: PathBuf,
    pub locked: LockedPlugin,
    /// `None` where it cannot be read any more.
    pub package: Option<PluginPackage>,
    pub standing: PluginStanding,
    pub grants: GrantSet,
    /// Grants in the config that are none.
    pub odd_grants: Vec<GrantError>,
    /// Nothing outward happens while it does not work.
    pub is_required: bool,
    /// What the config sets for it.
    pub settings: serde_json::Value,
    pub(crate) entry: PluginEntry,
}

/// Whether a plugin may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginStanding {
    Ready,
    /// Its owner does not use it.
    Off,
    /// Its files are not those its owner looked at.
    Changed,
    /// It failed too often in a row.
    Quarantined {
        why: String,
    },
    /// It cannot be read.
    Broken {
        why: String,
    },
}

impl PluginStanding {
    pub fn in_words(&self) -> String {
        match self {
            Self::Ready => "on".to_owned(),
            Self::Off => "off".to_owned(),
            Self::Changed => "held: its files changed since you added it".to_owned(),
            Self::Quarantined { why } => format!("quarantined: {why}"),
            Self::Broken { why } => format!("broken: {why}"),
        }
    }
}

/// The installed plugins. One stat where there are none.
pub fn installed_plugins(
    host: &Host,
    loaded: &LoadedConfig,
) -> Result<Vec<InstalledPlugin>, PluginLockError> {
    let lock = PluginLock::load(host)?;
    let all = lock.plugins.into_iter().filter_map(|(id, locked)| {
        let folder = plugin_folder(host, &id)?;
        Some(read_installed(loaded, id, folder, locked))
    });
    Ok(all.collect())
}

fn read_installed(
    loaded: &LoadedConfig,
    id: String,
    folder: PathBuf,
    locked: LockedPlugin,
) -> InstalledPlugin {
    let plugins = &loaded.config.plugins;
    let entry = plugins.entries.get(&id).cloned().unwrap_or_default();
    let (mut grants, odd_grants) = GrantSet::parse(&entry.grants);
    narrow(&mut grants, &entry);
    let is_on = plugins.is_on(&id);
    let (package, standing) = match PluginPackage::read(&folder) {
        Err(error) => (
            None,
            PluginStanding::Broken {
                why: error.to_string(),
            },
        ),
        Ok(package) if package.hash != locked.hash => (Some(package), PluginStanding::Changed),
        Ok(package) if locked.faults.is_quarantined() => (
            Some(package),
            PluginStanding::Quarantined {
                why: locked.faults.last.clone(),
            },
        ),
        Ok(package) => (Some(package), PluginStanding::Ready),
    };
    let asks_to_be = package
        .as_ref()
        .is_some_and(|package| package.manifest.is_required);
    InstalledPlugin {
        is_required: is_on && entry.required.unwrap_or(asks_to_be),
        standing: match is_on {
            true => standing,
            false => PluginStanding::Off,
        },
        settings: serde_json::Value::Object(entry.config.clone()),
        id,
        folder,
        locked,
        package,
        grants,
        odd_grants,
        entry,
    }
}

/// What the config forbids besides counts over what was granted.
fn narrow(grants: &mut GrantSet, entry: &PluginEntry) {
    use crate::grant::PluginGrant;
    let keeps = |grant: &&PluginGrant| match grant {
        PluginGrant::Conversation => entry.hooks.allow_conversation_access != Some(false),
        PluginGrant::Prompt { .. } | PluginGrant::Replace(_) => {
            entry.hooks.allow_prompt_injection != Some(false)
        }
        _ => true,
    };
    *grants = GrantSet::of(grants.iter().filter(keeps).cloned());
}

impl InstalledPlugin {
    pub fn is_ready(&self) -> bool {
        self.standing == PluginStanding::Ready
    }

    /// Whether it answers a hook, and its owner lets it.
    pub fn answers(&self, hook: HookName) -> bool {
        let package = self.package.as_ref();
        self.grants.hook(hook)
            && package.is_some_and(|package| package.manifest.hooks().contains(&hook))
    }

    /// Before whom it is asked: higher comes first.
    pub fn priority(&self, hook: HookName) -> i32 {
        let package = self.package.as_ref();
        let program = package.and_then(|package| package.manifest.parts.program.as_ref());
        let found =
            program.and_then(|program| program.hooks.iter().find(|(name, _)| *name == hook));
        found.map_or(0, |(_, priority)| *priority)
    }
}
