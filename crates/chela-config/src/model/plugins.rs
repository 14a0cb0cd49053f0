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
        load: PluginsLoad,
        /// Which plugin fills a role.
        slots: PluginSlots,
        /// Plugins by id: on or off, grants, settings.
        entries: BTreeMap<String, PluginEntry>,
        /// What an installer recorded.
        installs: BTreeMap<String, Foreign>,
        /// How bundled plugins are found.
        [later]
        bundled_discovery: Option<serde_json::Value>,
    }

    /// Where plugins are found.
    struct PluginsLoad {
        /// Folders and files.
        paths: Vec<String>,
        /// Notice changes while running.
        watch: Option<bool>,
    }

    /// One plugin.
    struct PluginEntry {
        /// On or off.
        enabled: Option<bool>,
        /// What its hooks may do.
        hooks: PluginHooks,
        /// What the plugin may do, beyond its defaults.
        grants: Vec<String>,
        /// Agents it starts.
        subagent: PluginSubagent,
        /// Models it may call.
        llm: Foreign,
        /// Key for the service the plugin uses.
        api_key: Option<Secret>,
        /// Variables for the plugin.
        env: BTreeMap<String, Secret>,
        /// Settings of the plugin.
        config: OpenMap,
    }

    /// What the hooks of a plugin may do.
    struct PluginHooks {
        /// Change the prompt.
        allow_prompt_injection: Option<bool>,
        /// See the conversation.
        allow_conversation_access: Option<bool>,
        /// Give up on a hook after this many milliseconds.
        [max 600_000]
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
