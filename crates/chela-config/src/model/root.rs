//! The top of the file.

use std::collections::BTreeMap;

use super::*;

section! {
    /// The config file: `chela.json`, JSON5. Everything is optional; an empty file is a good
    /// config.
    struct Config {
        /// URL of the JSON Schema, for editors.
        schema as "$schema": Option<String>,
        /// Who wrote the file last.
        meta: Meta,
        /// Environment variables for the agent, and whether to read the login shell's.
        env: Env,
        /// The agents: defaults for all, and the roster.
        agents: Agents,
        /// Which agent answers which conversation; the first match of the most exact kind wins.
        [later]
        bindings: Vec<Binding>,
        /// Groups that several agents answer: peer id to agent ids.
        [later]
        broadcast: Broadcast,
        /// Who else may act as the agent of last resort.
        [later]
        system_agent: SystemAgent,
        /// What in the context is never cut, changes often, or is inherited.
        context: Context,
        /// Model endpoints, their models and prices.
        models: Models,
        /// Accounts at model providers.
        [later]
        auth: Auth,
        /// Where credentials are kept.
        secrets: Secrets,
        /// What the agent may use, and how.
        tools: Tools,
        /// Skills: where they are found, which are on, what listing them may cost.
        skills: Skills,
        /// What is remembered and how it is found.
        memory: Memory,
        /// Conversations: who shares one, when it starts over, how long it is kept.
        session: Session,
        /// Messages in and out: queueing, prefixes, reactions, voice.
        messages: Messages,
        /// Chat commands and who counts as the owner.
        commands: Commands,
        /// Chat channels by name. `defaults` applies to all; unknown kinds are kept as they are.
        [later]
        channels: Channels,
        /// Silence per surface.
        [later]
        surfaces: BTreeMap<String, Surface>,
        /// Timed work.
        cron: Cron,
        /// Webhooks and internal hooks.
        hooks: Hooks,
        /// Plugins: which may load, what each is granted.
        plugins: Plugins,
        /// Tool servers that speak the Model Context Protocol.
        mcp: Mcp,
        /// The gateway: where it listens and who may connect.
        gateway: Gateway,
        /// What trust decides: information flow, approvals, detection.
        guard: Guard,
        /// Checks before something is installed.
        [later]
        security: Security,
        /// Spending limits.
        limits: Limits,
        /// How long requests to models stay on record.
        ledger: Ledger,
        /// Traces and telemetry.
        diagnostics: Diagnostics,
        /// Log output.
        logging: Logging,
        /// Where approval questions are sent.
        [later]
        approvals: Approvals,
        /// How the chat and the page look.
        ui: Ui,
        /// Speech to text for voice messages, in the older form.
        [later]
        audio: Audio,
        /// Received files.
        [later]
        media: ForeignSettings,
        /// Voice conversation. Kept for other programs that read this file.
        [later]
        talk: ForeignSettings,
        /// Browser control. Kept for other programs that read this file.
        [later]
        browser: ForeignSettings,
        /// WhatsApp Web connection. Kept for other programs that read this file.
        [later]
        web: ForeignSettings,
        /// Agent Client Protocol sessions.
        [later]
        acp: ForeignSettings,
        /// Finding gateways on the network. Kept for other programs that read this file.
        [later]
        discovery: ForeignSettings,
        /// Canvas pages. Kept for other programs that read this file.
        [later]
        canvas_host: ForeignSettings,
        /// Paired devices. Kept for other programs that read this file.
        [later]
        node_host: ForeignSettings,
        /// Outgoing proxy. Kept for other programs that read this file.
        [later]
        proxy: ForeignSettings,
        /// Reports to the developers. Kept for other programs that read this file; Chela sends none.
        [later]
        telemetry: ForeignSettings,
        /// Command-line appearance. Kept for other programs that read this file.
        [later]
        cli: ForeignSettings,
        /// Where newer versions come from: `chela update`.
        update: Update,
        /// Last run of a setup assistant. Kept for other programs that read this file.
        [later]
        wizard: ForeignSettings,
        /// Rescue agent. Kept for other programs that read this file.
        [later]
        crestodian: ForeignSettings,
    }

    /// Who wrote the file last.
    struct Meta {
        /// Version of the program that wrote the file.
        last_touched_version: Option<String>,
        /// When it was written.
        last_touched_at: Option<ScalarValue>,
        /// Which migrations were written back to the file.
        migrations: OpenMap,
        ..other: OpenMap,
    }

    /// The agent of last resort.
    struct SystemAgent {
        /// Agent that owns work nobody else owns.
        agent_id: Option<String>,
    }
}

section! {
    /// Where newer versions come from. Keys other programs use here are kept as they are.
    struct Update {
        /// URL of the signed index of versions. There is no default.
        url: Option<String>,
        /// Which release channel to follow: `stable` unless named.
        channel: Option<String>,
        /// The key that must have signed the index, as in a `.pub` file: `ssh-ed25519 AAAA… name`.
        /// Takes precedence over one compiled in.
        key: Option<String>,
        ..other: OpenMap,
    }
}

section! {
    /// Environment variables for the agent.
    struct Env {
        /// Variables set for the agent unless the environment already has them.
        vars: ScalarMap,
        /// Names of credentials that `.env` of the current folder may fill in where the config says
        /// `${NAME}` for a key or token, besides those of well-known API keys.
        from_folder: Vec<String>,
        /// Take missing variables from the login shell.
        [later]
        shell_env: ShellEnv,
        ..other: OpenMap,
    }
}

section! {
    /// Variables of the login shell.
    struct ShellEnv {
        /// Ask the login shell for missing variables.
        enabled: bool,
        /// Give up after this many milliseconds.
        timeout_ms: u64 = 15_000,
    }
}
