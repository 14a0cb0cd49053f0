//! `hooks`: webhooks and internal hooks.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Webhooks and internal hooks.
    struct Hooks {
        /// Accept webhooks.
        enabled: bool,
        /// Path they come to; not `/`.
        path: String = "/hooks".into(),
        /// Token callers must send.
        token: Option<SecretSetting>,
        /// Secret that callers sign requests with, in place of showing the token.
        secret: Option<SecretSetting>,
        /// So many seconds a signature counts.
        [min 1]
        signature_window_seconds: u64 = 300,
        /// Session they run in unless they name one.
        default_session_key: Option<String>,
        /// Callers may name a session.
        allow_request_session_key: bool,
        /// Starts of the session keys they may name.
        allowed_session_key_prefixes: Vec<String>,
        /// Agents they may name.
        allowed_agent_ids: Option<Vec<String>>,
        /// Largest request, in bytes.
        [min 1]
        max_body_bytes: u64 = 262_144,
        /// Ready-made mappings, for example `gmail`.
        [later]
        presets: Vec<String>,
        /// Folder of programs that change requests.
        [later]
        transforms_dir: Option<String>,
        /// What each path does.
        mappings: Vec<HookMapping>,
        /// Mail from Gmail.
        [later]
        gmail: Gmail,
        /// Hooks inside Chela.
        internal: InternalHooks,
    }

    /// What one path does.
    struct HookMapping {
        /// Name of the mapping.
        id: Option<String>,
        /// Which requests: `path`, `source`.
        matches as "match": OpenMap,
        /// Wake the agent, or run it.
        action: Option<HookAction>,
        /// When it is woken.
        [later]
        wake_mode: Option<WakeMode>,
        /// Name shown.
        name: Option<String>,
        /// Agent.
        agent_id: Option<String>,
        /// Session.
        session_key: Option<String>,
        /// Message, with `{{…}}` from the request.
        message_template: Option<String>,
        /// Event text, with `{{…}}` from the request.
        text_template: Option<String>,
        /// Deliver the answer, too.
        deliver: Option<bool>,
        /// Do not mark the request as untrusted content. Dangerous.
        [later]
        allow_unsafe_external_content: bool,
        /// Where the answer goes: `owner` (the main conversation), `last` or `session`.
        channel: Option<String>,
        /// The session for the answer, with the channel `session`.
        to: Option<IdText>,
        /// Account for the answer.
        [later]
        account_id: Option<String>,
        /// Model.
        model: Option<String>,
        /// Thinking level.
        [later]
        thinking: Option<String>,
        /// Longest run in seconds.
        [min 1]
        timeout_seconds: Option<u64>,
        /// Program that changes the request.
        [later]
        transform: ForeignSettings,
    }

    /// Mail from Gmail.
    struct Gmail {
        /// Account.
        account: Option<String>,
        /// Label.
        label: Option<String>,
        /// Topic.
        topic: Option<String>,
        /// Subscription.
        subscription: Option<String>,
        /// Token of the push.
        [later]
        push_token: Option<SecretSetting>,
        /// Address of the hook.
        [later]
        hook_url: Option<String>,
        /// Include the text.
        [later]
        include_body: Option<bool>,
        /// Maximum bytes of the text.
        [min 1]
        max_bytes: Option<u64>,
        /// Renew every N minutes.
        [min 1, later]
        renew_every_minutes: Option<u64>,
        /// Do not mark emails as untrusted content. Dangerous.
        allow_unsafe_external_content: bool,
        /// Where it listens.
        serve: ForeignSettings,
        /// Through Tailscale.
        tailscale: ForeignSettings,
        /// Model.
        model: Option<String>,
        /// Thinking level.
        thinking: Option<String>,
    }

    /// Hooks inside Chela.
    struct InternalHooks {
        /// Run them.
        enabled: Option<bool>,
        /// Only for these events.
        [later]
        events: Option<Vec<String>>,
        /// Handlers, in the older form.
        [later]
        handlers: Vec<OpenMap>,
        /// Hooks by name.
        entries: BTreeMap<String, HookEntry>,
        /// Where hooks are found.
        [later]
        load: HooksLoad,
        /// What an installer recorded.
        [later]
        installs: BTreeMap<String, ForeignSettings>,
    }

    /// Where hooks are found.
    struct HooksLoad {
        /// More folders.
        extra_dirs: Vec<String>,
    }
}

section! {
    /// One hook.
    struct HookEntry {
        /// On or off.
        enabled: Option<bool>,
        /// Variables for it.
        env: BTreeMap<String, SecretSetting>,
        ..other: OpenMap,
    }
}

words! {
    /// What a webhook does.
    enum HookAction { Agent = "agent", Wake = "wake" }
    /// When the agent is woken.
    enum WakeMode { Now = "now", NextHeartbeat = "next-heartbeat" }
}

impl InternalHooks {
    /// Whether one of Chela's own hooks runs: it does unless it, or all of them, are switched off.
    pub fn is_on(&self, name: &str) -> bool {
        let own = self.entries.get(name).and_then(|entry| entry.enabled);
        self.enabled != Some(false) && own != Some(false)
    }
}
