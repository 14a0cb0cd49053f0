//! Plugins as hooks of turns: what is installed, switched on and granted has a say.
//!
//! Nothing is read before the first turn, and nothing but one stat where there are no plugins. What their
//! owner changes - a grant, a switch, another version - counts from the next turn on.

mod plugin_hook;

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use chela_config::LoadedConfig;
use chela_core::secret::Redactor;
use chela_core::{Host, lock, ok_or_warn};
use chela_mcp::SecretDesk;
use chela_plugins::{PluginHost, PluginLock, installed_plugins};

use crate::hooks::TurnHook;
use plugin_hook::PluginHook;

/// The plugins of one process.
#[derive(Default)]
pub(crate) struct PluginSlot(Mutex<Option<KnownPlugins>>);

/// The plugins as they were read last, and of what.
struct KnownPlugins {
    stamps: FileStamps,
    hooks: Vec<Arc<dyn TurnHook>>,
}

/// When the files were changed that say which plugins there are.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamps {
    lock: Option<(SystemTime, u64)>,
    config: Option<(SystemTime, u64)>,
}

impl FileStamps {
    fn now(host: &Host, loaded: &LoadedConfig) -> Option<Self> {
        let stamp = |path: &std::path::Path| {
            let facts = std::fs::metadata(path).ok()?;
            Some((facts.modified().ok()?, facts.len()))
        };
        let lock = stamp(&PluginLock::path(host))?;
        Some(Self {
            lock: Some(lock),
            config: stamp(&loaded.host().config_file()),
        })
    }
}

impl PluginSlot {
    /// The hooks of the plugins that may have a say now.
    pub fn hooks(
        &self,
        host: &Host,
        loaded: &Arc<LoadedConfig>,
        redactor: impl FnOnce() -> Arc<Redactor>,
    ) -> Vec<Arc<dyn TurnHook>> {
        let Some(stamps) = FileStamps::now(host, loaded) else {
            return Vec::new();
        };
        let mut known = lock(&self.0);
        if let Some(known) = known.as_ref().filter(|known| known.stamps == stamps) {
            return known.hooks.clone();
        }
        // The owner may have changed it in another process.
        let loaded = match known.is_some() {
            true => Arc::new(chela_config::load(loaded.host())),
            false => Arc::clone(loaded),
        };
        let plugins = installed_plugins(host, &loaded);
        let plugins = ok_or_warn!(
            plugins,
            "the installed plugins cannot be read: none is used"
        );
        let desk = SecretDesk::new(redactor());
        let asked = Arc::new(PluginHost::new(host, &loaded, desk));
        let mut hooks: Vec<Arc<dyn TurnHook>> = Vec::new();
        for plugin in plugins.unwrap_or_default() {
            for error in &plugin.odd_grants {
                tracing::warn!(plugin = plugin.id, %error, "a grant is not used");
            }
            if let Some(hook) = PluginHook::of(plugin, &asked) {
                hooks.push(Arc::new(hook));
            }
        }
        // Read before: what changed meanwhile is read the next time.
        *known = Some(KnownPlugins {
            stamps,
            hooks: hooks.clone(),
        });
        hooks
    }
}
