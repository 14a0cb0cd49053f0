//! The top of the file.

use std::collections::BTreeMap;

use super::*;

section! {
    /// The config file: `chela.json`, JSON5. Everything is optional; an empty file is a good
    /// config.
    struct Config {
        /// Address of the JSON Schema, for editors.
        schema as "$schema": Option<String>,
        /// Who wrote the file last.
        meta: Meta,
        /// Environment variables for the agent, and whether to read the login shell's.
        env: Env,
        /// The agents: defaults for all, and the roster.
        agents: Agents,
        /// Which agent answers which conversation; the first match of the most exact kind wins.
        bindings: Vec<Binding>,
        /// Groups that several agents answer: peer id to agent ids.
        broadcast: Broadcast,
        /// Who else may act as the agent of last resort.
        system_agent: SystemAgent,
        /// What of the context survives cuts, changes often, or is inherited.
        context: Context,
        /// Model endpoints, their models and prices.
        models: Models,
        /// Accounts at model providers.
        auth: Auth,
        /// Where credentials are kept.
        secrets: Secrets,
        /// What the agent may use, and how.
        tools: Tools,
        /// Skills: where they are found, which are on, what listing them may cost.
        skills: Skills,
        /// What is remembered and how it is found.
        memory: Memory,
        /// Conversations: who shares one, when it starts anew, how long it is kept.
        session: Session,
        /// Messages in and out: queueing, prefixes, reactions, voice.
        messages: Messages,
        /// Chat commands and who counts as the owner.
        commands: Commands,
        /// Chat channels by name. `defaults` holds for all; unknown kinds are kept as they are.
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
        /// The gateway: where it listens and who may speak to it.
        gateway: Gateway,
        /// What trust decides: information flow, approvals, detection.
        guard: Guard,
        /// Checks before something is installed.
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
        approvals: Approvals,
        /// The page in the browser.
        ui: Ui,
        /// Speech to text for voice messages, in the older form.
        audio: Audio,
        /// Received files.
        media: Foreign,
        /// Voice conversation. Kept for other programs that read this file.
        talk: Foreign,
        /// Browser control. Kept for other programs that read this file.
        browser: Foreign,
        /// WhatsApp Web connection. Kept for other programs that read this file.
        web: Foreign,
        /// Agent Client Protocol sessions.
        acp: Foreign,
        /// Finding gateways on the network. Kept for other programs that read this file.
        [later]
        discovery: Foreign,
        /// Canvas pages. Kept for other programs that read this file.
        [later]
        canvas_host: Foreign,
        /// Paired devices. Kept for other programs that read this file.
        [later]
        node_host: Foreign,
        /// Outgoing proxy. Kept for other programs that read this file.
        proxy: Foreign,
        /// Reports to the makers. Kept for other programs that read this file; Chela sends none.
        telemetry: Foreign,
        /// Command line looks. Kept for other programs that read this file.
        cli: Foreign,
        /// Updates. Kept for other programs that read this file.
        update: Foreign,
        /// Last run of a set-up assistant. Kept for other programs that read this file.
        [later]
        wizard: Foreign,
        /// Rescue agent. Kept for other programs that read this file.
        [later]
        crestodian: Foreign,
    }

    /// Who wrote the file last.
    struct Meta {
        /// Version of the program that wrote the file.
        last_touched_version: Option<String>,
        /// When it was written.
        last_touched_at: Option<Scalar>,
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
    /// Environment variables for the agent.
    struct Env {
        /// Variables set for the agent unless the environment already has them.
        vars: ScalarMap,
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
