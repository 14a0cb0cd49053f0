//! `plugins`: which may load, what each is granted.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Plugins.
    struct Plugins {
        /// Load plugins at all.
        enabled: bool = true,
        /// Only these.
        allow: Option<Vec<String>>,
        /// Never these.
        deny: Vec<String>,
        /// Where plugins are found.
        [later]
        load: PluginsLoad,
        /// Which plugin fills a role.
        [later]
        slots: PluginSlots,
        /// Plugins by id: on or off, grants, settings.
        entries: BTreeMap<String, PluginEntry>,
        /// What an installer recorded.
        [later]
        installs: BTreeMap<String, ForeignSettings>,
        /// How bundled plugins are found.
        [later]
        bundled_discovery: Option<serde_json::Value>,
    }

    /// Where plugins are found.
    struct PluginsLoad {
        /// Folders and files.
        [later]
        paths: Vec<String>,
        /// Notice changes while running.
        watch: Option<bool>,
    }

    /// One plugin.
    struct PluginEntry {
        /// On or off; off unless set.
        enabled: Option<bool>,
        /// While it does not work, nothing that others see or that cannot be undone is done.
        required: Option<bool>,
        /// What its hooks may do.
        hooks: PluginHooks,
        /// What you granted it: `chela plugins grant` writes it.
        grants: Vec<String>,
        /// Agents it starts.
        [later]
        subagent: PluginSubagent,
        /// Models it may call.
        [later]
        llm: ForeignSettings,
        /// Key for the service the plugin uses.
        [later]
        api_key: Option<SecretSetting>,
        /// Variables for the plugin.
        [later]
        env: BTreeMap<String, SecretSetting>,
        /// Settings of the plugin.
        config: OpenMap,
    }

    /// What the hooks of a plugin may do.
    struct PluginHooks {
        /// `false`: add nothing to the prompt, whatever is granted.
        allow_prompt_injection: Option<bool>,
        /// `false`: see nothing of the conversation, whatever is granted.
        allow_conversation_access: Option<bool>,
        /// Give up on a hook after this many milliseconds.
        [max 600_000]
        timeout_ms: Option<u64>,
        /// The same, by hook.
        timeouts: BTreeMap<String, u64>,
    }

    /// Agents a plugin starts.
    struct PluginSubagent {
        /// It may choose the model.
        [later]
        allow_model_override: Option<bool>,
        /// From these.
        allowed_models: Vec<String>,
    }
}

section! {
    /// Which plugin fills a role.
    struct PluginSlots {
        /// Memory; `none` turns it off.
        memory: Option<String>,
        /// Context engine.
        [later]
        context_engine: String = "legacy".into(),
        ..other: OpenMap,
    }
}

impl Plugins {
    /// Whether a plugin is to be used. None is unless its entry says so.
    pub fn is_on(&self, id: &str) -> bool {
        let allowed = self
            .allow
            .as_ref()
            .is_none_or(|allow| allow.iter().any(|one| one == id));
        let entry = self.entries.get(id).and_then(|entry| entry.enabled);
        self.enabled && allowed && !self.deny.iter().any(|one| one == id) && entry == Some(true)
    }
}
