//! `plugins`: which may load, what each is granted.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Plugins.
    struct Plugins {
        /// Load plugins at all.
        [later]
        enabled: bool = true,
        /// Only these.
        [later]
        allow: Option<Vec<String>>,
        /// Never these.
        [later]
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
        /// On or off.
        [later]
        enabled: Option<bool>,
        /// What its hooks may do.
        [later]
        hooks: PluginHooks,
        /// What the plugin may do, beyond its defaults.
        [later]
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
        /// Change the prompt.
        [later]
        allow_prompt_injection: Option<bool>,
        /// See the conversation.
        [later]
        allow_conversation_access: Option<bool>,
        /// Give up on a hook after this many milliseconds.
        [max 600_000, later]
        timeout_ms: Option<u64>,
        /// The same, by hook.
        [later]
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
