//! `tools`: what the agent may use, and how.

use std::collections::BTreeMap;

use super::*;

section! {
    /// What the agent may use, and how.
    struct Tools {
        /// Starting set of tools.
        profile: Option<ToolProfile>,
        /// Only these tools and groups.
        allow: Option<Vec<String>>,
        /// These as well as the profile's. Not together with `allow`.
        also_allow: Option<Vec<String>>,
        /// Never these; wins over everything.
        deny: Vec<String>,
        /// Narrower sets per provider or `provider/model`.
        by_provider: BTreeMap<String, ProviderTools>,
        /// Other sets per sender.
        tools_by_sender: BTreeMap<String, ToolPolicy>,
        /// Commands on the machine.
        exec: Exec,
        /// File tools.
        fs: FsTools,
        /// The web.
        web: WebTools,
        /// Images, audio and video.
        [later]
        media: MediaTools,
        /// Links in messages.
        [later]
        links: ForeignSettings,
        /// Leaving the sandbox.
        elevated: Elevated,
        /// Which sessions the session tools see.
        sessions: SessionTools,
        /// Starting other agents.
        [later]
        sessions_spawn as "sessions_spawn": SpawnTools,
        /// Agents writing to each other.
        agent_to_agent: AgentToAgent,
        /// The message tool.
        [later]
        message: ForeignSettings,
        /// Tools of agents started by agents.
        subagents: SubagentTools,
        /// Tools inside a sandbox.
        sandbox: SandboxTools,
        /// Stop an agent that repeats itself.
        loop_detection: LoopDetection,
        /// The plan tool.
        update_plan: bool = true,
        /// Let the model write small programs that call tools.
        [later]
        code_mode: Option<OrAuto<FlagOrDetail<OpenMap>>>,
        /// Find tools by search instead of listing them all.
        [later]
        tool_search: Option<OrAuto<FlagOrDetail<OpenMap>>>,
        /// Groups of agents.
        [later]
        swarm: Option<FlagOrDetail<OpenMap>>,
        /// Settings that may change or disappear.
        [later]
        experimental: ForeignSettings,
    }

    /// What one agent may use; narrows the global policy.
    struct AgentTools {
        /// Starting set of tools.
        profile: Option<ToolProfile>,
        /// Only these tools and groups.
        allow: Option<Vec<String>>,
        /// These as well as the profile's. Not together with `allow`.
        also_allow: Option<Vec<String>>,
        /// Never these; wins over everything.
        deny: Vec<String>,
        /// Narrower sets per provider or `provider/model`.
        by_provider: BTreeMap<String, ProviderTools>,
        /// Other sets per sender; replaces the global one for a sender it names.
        tools_by_sender: BTreeMap<String, ToolPolicy>,
        /// Commands on the machine.
        exec: Option<Exec>,
        /// File tools.
        fs: Option<FsTools>,
        /// Leaving the sandbox; can only restrict.
        elevated: Option<Elevated>,
        /// The message tool.
        [later]
        message: Option<ForeignSettings>,
        /// Tools of agents started by this one.
        subagents: Option<SubagentTools>,
        /// Tools inside a sandbox.
        sandbox: Option<SandboxTools>,
        /// Stop the agent when it repeats itself.
        loop_detection: Option<LoopDetection>,
        /// Let the model write small programs that call tools.
        [later]
        code_mode: Option<OrAuto<FlagOrDetail<OpenMap>>>,
        /// Groups of agents.
        [later]
        swarm: Option<FlagOrDetail<OpenMap>>,
    }

    /// A set of tools.
    struct ToolPolicy {
        /// Only these tools and groups.
        allow: Option<Vec<String>>,
        /// These as well. Not together with `allow`.
        also_allow: Option<Vec<String>>,
        /// Never these; wins over everything.
        deny: Vec<String>,
    }

    /// A set of tools for one provider or model.
    struct ProviderTools {
        /// Starting set of tools.
        profile: Option<ToolProfile>,
        /// Only these tools and groups.
        allow: Option<Vec<String>>,
        /// These as well as the profile's. Not together with `allow`.
        also_allow: Option<Vec<String>>,
        /// Never these; wins over everything.
        deny: Vec<String>,
    }

    /// Commands on the machine.
    struct Exec {
        /// Where commands run.
        host: Option<ExecHost>,
        /// What decides whether a command runs; `auto` when it is left out.
        [means "auto"]
        mode: Option<ExecMode>,
        /// Older form of `mode`: what may run at all.
        security: Option<ExecSecurity>,
        /// When to ask you. `always` ignores remembered approvals; the other values are
        /// the older form of `mode`.
        ask: Option<ExecAsk>,
        /// What happens when nobody is there to ask.
        ask_fallback: Option<ExecSecurity>,
        /// Paired device that runs commands.
        [later]
        node: Option<String>,
        /// Model that judges commands before a person is asked.
        [later]
        reviewer: ForeignSettings,
        /// Folders put in front of PATH.
        path_prepend: Vec<String>,
        /// Variables of your environment that commands get besides the usual ones, by name;
        /// `NAME_*` names all that start so. Commands can then read what they hold.
        pass_env: Vec<String>,
        /// Keep commands outside the sandbox from changing Chela's own files: config, approvals,
        /// records. Where the machine cannot do that, their questions say so.
        protect_state: bool = true,
        /// Programs that only read standard input and need no approval.
        safe_bins: Vec<String>,
        /// Folders safe programs may be in.
        safe_bin_trusted_dirs: Vec<String> = ["/bin", "/usr/bin"].map(String::from).to_vec(),
        /// Arguments safe programs may have.
        [later]
        safe_bin_profiles: ForeignSettings,
        /// Ask for every inline script (`python -c`, `node -e`).
        strict_inline_eval: bool,
        /// Show commands with colours when asking.
        [later]
        command_highlighting: Option<bool>,
        /// Go to the background after this many milliseconds.
        [min 1]
        background_ms: u64 = 10_000,
        /// Longest command in seconds.
        [min 1]
        timeout_seconds: u64 = 1_800,
        /// Forget finished commands after this many milliseconds.
        [min 1]
        cleanup_ms: u64 = 1_800_000,
        /// Tell the agent when a background command ends.
        notify_on_exit: bool = true,
        /// Also when it ended well and printed nothing.
        notify_on_exit_empty_success: bool,
        /// Say that an approved command still runs after this many milliseconds.
        [later]
        approval_running_notice_ms: u64 = 10_000,
        /// The patch tool.
        apply_patch: ApplyPatch,
    }

    /// The patch tool.
    struct ApplyPatch {
        /// Offer it.
        enabled: bool = true,
        /// Only inside the workspace.
        workspace_only: Option<bool>,
        /// Only to these models; empty: all.
        allow_models: Vec<String>,
    }

    /// File tools.
    struct FsTools {
        /// Only inside the workspace.
        workspace_only: Option<bool>,
    }

    /// The web.
    struct WebTools {
        /// Searching.
        search: WebSearch,
        /// Reading pages.
        fetch: WebFetch,
    }

    /// Reading pages.
    struct WebFetch {
        /// Offer it.
        enabled: Option<bool>,
        /// Which service reads the page. Default: Chela itself.
        [later]
        provider: Option<String>,
        /// Maximum characters returned.
        [min 1]
        max_chars: u64 = 20_000,
        /// Maximum characters a caller may ask for.
        [min 1]
        max_chars_cap: Option<u64>,
        /// Maximum bytes read from the server.
        [min 32_000, max 10_000_000]
        max_response_bytes: u64 = 750_000,
        /// Give up after this many seconds.
        [min 1]
        timeout_seconds: u64 = 30,
        /// Remember pages for this many minutes.
        cache_ttl_minutes: f64 = 15.0,
        /// Maximum redirects followed.
        max_redirects: u32 = 3,
        /// Name sent to the server.
        user_agent: Option<String>,
        /// Reduce pages to their article.
        readability: Option<bool>,
        /// Use the proxy named in the environment.
        [later]
        use_trusted_env_proxy: Option<bool>,
        /// Addresses that may be reached.
        ssrf_policy: ForeignSettings,
        /// Firecrawl, in the older form.
        [later]
        firecrawl: ForeignSettings,
    }

    /// Images, audio and video.
    struct MediaTools {
        /// Models that understand media, tried in order.
        models: Vec<MediaModel>,
        /// Files at the same time.
        [min 1]
        concurrency: Option<u32>,
        /// Images.
        image: MediaKind,
        /// Sound.
        audio: MediaKind,
        /// Video.
        [later]
        video: MediaKind,
        /// Results are delivered when they are ready.
        [later]
        async_completion: ForeignSettings,
    }

    /// Leaving the sandbox.
    struct Elevated {
        /// Possible at all.
        enabled: Option<bool>,
        /// Who may ask for it, per channel.
        allow_from: BTreeMap<String, Vec<IdText>>,
    }

    /// Which sessions the session tools see.
    struct SessionTools {
        /// The own session, what it started, the agent's, or all.
        visibility: SessionVisibility,
    }

    /// Starting other agents.
    struct SpawnTools {
        /// Files handed to started agents.
        [later]
        attachments: SpawnAttachments,
    }

    /// Files handed to started agents.
    struct SpawnAttachments {
        /// Allow them.
        enabled: bool,
        /// Maximum bytes in all.
        [later]
        max_total_bytes: u64 = 5_242_880,
        /// Maximum files.
        [later]
        max_files: u32 = 50,
        /// Maximum bytes of one file.
        max_file_bytes: u64 = 1_048_576,
        /// Keep them with a kept session.
        [later]
        retain_on_session_keep: bool,
    }

    /// Agents writing to each other.
    struct AgentToAgent {
        /// Allow it.
        enabled: bool,
        /// Which agents, `*` for all.
        allow: Vec<String>,
    }

    /// Tools of agents started by agents.
    struct SubagentTools {
        /// Narrows what the parent has.
        tools: ToolPolicy,
        /// Model of started agents, in the older form.
        model: Option<ModelChoice>,
    }

    /// Tools inside a sandbox.
    struct SandboxTools {
        /// Narrows what the agent has.
        tools: ToolPolicy,
    }
}

section! {
    /// Searching the web. Keys of search services are kept as they are.
    struct WebSearch {
        /// Offer it.
        enabled: Option<bool>,
        /// Which service.
        provider: Option<String>,
        /// API key of the service.
        api_key: Option<SecretSetting>,
        /// Maximum results.
        [min 1]
        max_results: u32 = 5,
        /// Give up after this many seconds.
        [min 1]
        timeout_seconds: u64 = 30,
        /// Remember results for this many minutes.
        cache_ttl_minutes: f64 = 15.0,
        ..other: OpenMap,
    }

    /// One kind of media. Further keys are handed to the model that understands it.
    struct MediaKind {
        /// Understand it.
        enabled: Option<bool>,
        /// Models tried in order.
        models: Vec<MediaModel>,
        /// Largest file, in bytes.
        max_bytes: Option<u64>,
        /// Maximum characters returned.
        max_chars: Option<u64>,
        /// What the model is asked.
        prompt: Option<String>,
        /// Give up after this many seconds.
        timeout_seconds: Option<u64>,
        /// Language of the sound.
        language: Option<String>,
        ..other: OpenMap,
    }

    /// One model or program that understands media.
    struct MediaModel {
        /// Provider.
        provider: Option<String>,
        /// Model.
        model: Option<String>,
        /// `provider` or `cli`.
        kind as "type": Option<String>,
        /// Program, for `cli`.
        command: Option<String>,
        /// Its arguments.
        args: Vec<String>,
        ..other: OpenMap,
    }

    /// Stop an agent that repeats itself.
    struct LoopDetection {
        /// Watch for repetition.
        enabled: bool,
        ..other: OpenMap,
    }
}

words! {
    /// Starting set of tools.
    enum ToolProfile {
        /// No limit.
        Full = "full",
        /// Files, commands, web, sessions, memory.
        Coding = "coding",
        /// Messages and sessions.
        Messaging = "messaging",
        /// Only the status of the session.
        Minimal = "minimal",
    }
    /// Where commands run.
    enum ExecHost { Auto = "auto", Sandbox = "sandbox", Gateway = "gateway", Node = "node" }
    /// What decides whether a command runs.
    enum ExecMode {
        /// Nothing runs.
        Deny = "deny",
        /// Only pre-approved commands; the rest is denied without asking.
        Allowlist = "allowlist",
        /// Pre-approved commands run; the rest asks.
        Ask = "ask",
        /// What stays in a sandbox without network, or only looks, runs; a person is asked about the
        /// rest. The default. Where no sandbox can be built, nearly everything asks.
        Auto = "auto",
        /// Everything runs.
        Full = "full",
    }
    /// What may run at all.
    enum ExecSecurity { Deny = "deny", Allowlist = "allowlist", Full = "full" }
    /// When to ask you.
    enum ExecAsk { Off = "off", OnMiss = "on-miss", Always = "always" }
    /// Which sessions the session tools see.
    enum SessionVisibility { Tree = "tree", Own = "self", Agent = "agent", All = "all" }
}
