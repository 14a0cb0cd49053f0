//! `agents`: defaults for all agents and the roster.

use std::collections::BTreeMap;

use super::*;

section! {
    /// The agents.
    struct Agents {
        /// Applies to every agent that does not override it.
        defaults: AgentDefaults,
        /// The agents, as a list. Without one there is a single agent named `main`.
        list: Vec<AgentEntry>,
        /// The agents, as a map from id to agent. Read as `agents.list`.
        entries: BTreeMap<String, AgentEntry>,
        /// `explicit`: a message that no binding claims has no owner and is not answered.
        [later]
        ownership: Option<Ownership>,
    }

    /// Applies to every agent that does not override it.
    struct AgentDefaults {
        /// The model that answers, as `provider/model`, an alias, or with fallbacks.
        model: Option<ModelChoice>,
        /// Model for images when the main one cannot read them.
        image_model: Option<ModelChoice>,
        /// Model that creates images.
        [later]
        image_generation_model: Option<ModelChoice>,
        /// Model that creates videos.
        [later]
        video_generation_model: Option<ModelChoice>,
        /// Model that creates music.
        [later]
        music_generation_model: Option<ModelChoice>,
        /// Try another provider when one cannot create images, videos or music.
        [later]
        media_generation_auto_provider_fallback: Option<bool>,
        /// Model that reads PDF files.
        [later]
        pdf_model: Option<ModelChoice>,
        /// Largest PDF read, in megabytes.
        [later]
        pdf_max_mb: f64 = 10.0,
        /// Maximum pages of a PDF that are read.
        [later]
        pdf_max_pages: u32 = 20,
        /// Cheap model for small jobs such as titles.
        [later]
        utility_model: Option<String>,
        /// Models by `provider/model`: alias and parameters of each.
        models: BTreeMap<String, AgentModel>,
        /// Which models may be chosen.
        model_policy: ModelPolicy,
        /// Parameters sent with every request; a model's and an agent's own win by key.
        params: OpenMap,
        /// Workspace folder of the default agent; others have `workspace-<id>` in the state folder.
        /// Relative paths are relative to the folder of the config file.
        workspace: Option<String>,
        /// Repository root shown to the model. Default: found upwards from the workspace.
        repo_root: Option<String>,
        /// Skills every agent may see, by name. Unset: all; empty: none; `!name`: all but that one.
        skills: Option<Vec<String>>,
        /// Limits on listing skills.
        skills_limits: SkillsLimits,
        /// Neither create nor inject bootstrap files.
        skip_bootstrap: bool,
        /// Optional bootstrap files that are not created.
        skip_optional_bootstrap_files: Vec<String>,
        /// When workspace files are injected.
        context_injection: ContextInjection,
        /// Maximum characters of one workspace file that enter the prompt.
        [min 1]
        bootstrap_max_chars: u64 = 20_000,
        /// Maximum characters of all workspace files together.
        [min 1]
        bootstrap_total_max_chars: u64 = 60_000,
        /// Maximum tokens of one workspace file; used instead of `bootstrapMaxChars` when set.
        [min 1]
        bootstrap_max_tokens: Option<u64>,
        /// Maximum tokens of all workspace files; used instead of `bootstrapTotalMaxChars` when set.
        [min 1]
        bootstrap_total_max_tokens: Option<u64>,
        /// Whether the prompt says that a file was cut.
        bootstrap_prompt_truncation_warning: TruncationWarning,
        /// What a fresh session reads before its first turn.
        startup_context: StartupContext,
        /// Limits on excerpts made at run time.
        context_limits: ContextLimits,
        /// Context window to plan with, in tokens. Default: the model's own.
        [min 1]
        context_tokens: Option<u64>,
        /// Text added to every system prompt.
        additional_system_prompt: Option<String>,
        /// Time zone of the user, for example `Europe/Berlin`. Default: the machine's.
        user_timezone: Option<String>,
        /// How the time of day is shown to the agent. `auto` is 24 hours.
        time_format: TimeFormat,
        /// Time zone of message envelopes: `utc`, `local`, `user` or a zone name.
        [later]
        envelope_timezone: Option<String>,
        /// Whether message envelopes carry the time.
        [later]
        envelope_timestamp: OnOff = OnOff::On,
        /// Whether message envelopes carry the time since the last message.
        [later]
        envelope_elapsed: OnOff = OnOff::On,
        /// Search over memory files. Also read from `memory.search`.
        memory_search: MemorySearch,
        /// Old tool results are removed from the context.
        context_pruning: ContextPruning,
        /// Long conversations are summarised.
        compaction: Compaction,
        /// Thinking level until a message says otherwise.
        thinking_default: Option<ThinkingLevel>,
        /// How much of tool use is shown.
        verbose_default: VerboseLevel,
        /// Whether reasoning is shown.
        reasoning_default: ReasoningVisibility,
        /// Elevated level until a message says otherwise.
        elevated_default: ElevatedLevel,
        /// Fast mode until a message says otherwise.
        [later]
        fast_mode_default: Option<OrAuto<bool>>,
        /// How tool progress is described.
        [later]
        tool_progress_detail: Option<ToolProgressDetail>,
        /// Replies are sent in blocks while they are written.
        [later]
        block_streaming_default: OnOff,
        /// Where a block may end.
        [later]
        block_streaming_break: Option<BlockBreak>,
        /// Size of the blocks.
        [later]
        block_streaming_chunk: BlockChunk,
        /// Joining of small blocks.
        [later]
        block_streaming_coalesce: BlockCoalesce,
        /// A pause before each block, as a person would make.
        [later]
        human_delay: HumanDelay,
        /// When the typing sign is shown.
        [later]
        typing_mode: Option<TypingMode>,
        /// Seconds between typing signs.
        [min 1, later]
        typing_interval_seconds: Option<u64>,
        /// Longest run, in seconds.
        [min 1]
        timeout_seconds: u64 = 172_800,
        /// Maximum model calls of one turn.
        [min 1]
        max_steps: u64 = 60,
        /// Runs at the same time, over all conversations.
        [min 1]
        max_concurrent: Option<u32>,
        /// Largest received file the agent sees, in megabytes.
        [later]
        media_max_mb: f64 = 5.0,
        /// Longest side of an image sent to the model, in pixels.
        [min 1, later]
        image_max_dimension_px: u32 = 1_200,
        /// How much detail images keep.
        [later]
        image_quality: ImageQuality,
        /// Periodic runs without a message.
        heartbeat: Heartbeat,
        /// Agents started by agents.
        subagents: Subagents,
        /// When the agent may stay silent.
        silent_reply: Option<SilentReply>,
        /// Where commands and file tools run.
        sandbox: Sandbox,
        /// Command line programs used as models.
        [later]
        cli_backends: BTreeMap<String, OpenMap>,
        /// Which runtime drives the agent.
        [later]
        agent_runtime: ForeignSettings,
        /// Settings of the embedded runtime.
        [later]
        embedded_pi: ForeignSettings,
        /// Settings of the embedded runtime.
        [later]
        embedded_agent: ForeignSettings,
        /// Settings that may change or disappear.
        [later]
        experimental: ForeignSettings,
    }

    /// One agent. What it does not set comes from `agents.defaults`.
    struct AgentEntry {
        /// Short name: a-z, 0-9, `_` and `-`.
        [required]
        id: String,
        /// Answers what no binding claims. At most one agent.
        default: Option<bool>,
        /// Name shown to people.
        name: Option<String>,
        /// What the agent is for, shown to other agents.
        description: Option<String>,
        /// Name, theme, emoji and avatar of the agent.
        identity: Identity,
        /// Workspace folder of this agent.
        workspace: Option<String>,
        /// Folder for the agent's own state. Never share it between agents.
        agent_dir: Option<String>,
        /// The model that answers. A plain name has no fallbacks.
        model: Option<ModelChoice>,
        /// Cheap model for small jobs such as titles.
        [later]
        utility_model: Option<String>,
        /// Models by `provider/model`: alias and parameters of each.
        models: BTreeMap<String, AgentModel>,
        /// Which models may be chosen; replaces the default.
        model_policy: Option<ModelPolicy>,
        /// Parameters sent with every request of this agent.
        params: OpenMap,
        /// Skills this agent may see; replaces the default. Empty: none; `!name`: all but that one.
        skills: Option<Vec<String>>,
        /// Limits on listing skills.
        skills_limits: Option<SkillsLimits>,
        /// Maximum model calls of one turn.
        [min 1]
        max_steps: Option<u64>,
        /// When workspace files are injected.
        context_injection: Option<ContextInjection>,
        /// Maximum characters of one workspace file that enter the prompt.
        [min 1]
        bootstrap_max_chars: Option<u64>,
        /// Maximum characters of all workspace files together.
        [min 1]
        bootstrap_total_max_chars: Option<u64>,
        /// Maximum tokens of one workspace file.
        [min 1]
        bootstrap_max_tokens: Option<u64>,
        /// Maximum tokens of all workspace files.
        [min 1]
        bootstrap_total_max_tokens: Option<u64>,
        /// Limits on excerpts made at run time.
        context_limits: Option<ContextLimits>,
        /// What in the context is never cut, changes often, or is inherited.
        context: Option<Context>,
        /// Search over memory files. Also read from `memory.search` of the agent.
        memory_search: Option<MemorySearch>,
        /// Memory of this agent, in the newer form. Read as `memorySearch`.
        memory: Option<AgentMemory>,
        /// Whether reasoning is shown.
        reasoning_default: Option<ReasoningVisibility>,
        /// Fast mode until a message says otherwise.
        [later]
        fast_mode_default: Option<OrAuto<bool>>,
        /// How tool progress is described.
        [later]
        tool_progress_detail: Option<ToolProgressDetail>,
        /// When the typing sign is shown.
        [later]
        typing_mode: Option<TypingMode>,
        /// Seconds between typing signs.
        [min 1, later]
        typing_interval_seconds: Option<u64>,
        /// A pause before each block, as a person would make.
        [later]
        human_delay: Option<HumanDelay>,
        /// Periodic runs of this agent. If any agent has this, only those agents run them.
        heartbeat: Option<Heartbeat>,
        /// When the agent reacts in groups.
        [later]
        group_chat: Option<GroupChat>,
        /// Voice of this agent.
        tts: Option<Tts>,
        /// Agents this agent may start.
        subagents: Option<AgentSubagents>,
        /// When the agent may stay silent.
        silent_reply: Option<SilentReply>,
        /// Where commands and file tools run.
        sandbox: Option<Sandbox>,
        /// What this agent may use; narrows the global policy.
        tools: Option<AgentTools>,
        /// Guard rules for this agent.
        guard: Option<AgentGuard>,
        /// Spending limits of this agent.
        limits: Option<LimitSet>,
        /// What runs the agent.
        [later]
        runtime: Option<AgentRuntime>,
        /// Which runtime drives the agent.
        [later]
        agent_runtime: Option<ForeignSettings>,
        /// Plugin slots of this agent.
        [later]
        plugins: Option<ForeignSettings>,
        /// Settings of the embedded runtime.
        [later]
        embedded_pi: Option<ForeignSettings>,
        /// Settings of the embedded runtime.
        [later]
        embedded_agent: Option<ForeignSettings>,
        /// Settings that may change or disappear.
        [later]
        experimental: Option<ForeignSettings>,
    }

    /// One model an agent may use.
    struct AgentModel {
        /// Short name for chats and the prompt.
        alias: Option<String>,
        /// Parameters sent with every request to this model.
        params: OpenMap,
        /// Stream the answer.
        [later]
        streaming: Option<bool>,
        /// Which runtime drives the model.
        [later]
        agent_runtime: ForeignSettings,
    }

    /// Which models may be chosen.
    struct ModelPolicy {
        /// Names, aliases, or prefixes ending in `*`. Empty: any.
        allow: Vec<String>,
    }

    /// Who the agent is, as shown to people.
    struct Identity {
        /// Name.
        name: Option<String>,
        /// Theme, in a few words.
        [later]
        theme: Option<String>,
        /// Emoji.
        emoji: Option<String>,
        /// Image: a path in the workspace, a URL or a data URL.
        [later]
        avatar: Option<String>,
        /// Creature or character.
        [later]
        creature: Option<String>,
        /// Manner, in a few words.
        [later]
        vibe: Option<String>,
    }

    /// Agents started by agents.
    struct Subagents {
        /// How strongly the prompt asks to delegate.
        [means "suggest"]
        delegation_mode: Option<DelegationMode>,
        /// Agents that may be started, `*` for any. Unset: the agent itself.
        allow_agents: Option<Vec<String>>,
        /// The caller must name the agent to start.
        require_agent_id: bool,
        /// Model of started agents. Default: the caller's.
        model: Option<ModelChoice>,
        /// Thinking level of started agents. Default: the caller's.
        thinking: Option<String>,
        /// Started agents running at the same time.
        [min 1]
        max_concurrent: u32 = 8,
        /// Children one session may have at the same time.
        [min 1, max 20]
        max_children_per_agent: u32 = 5,
        /// How deep agents may start agents.
        [min 1, max 5]
        max_spawn_depth: u32 = 1,
        /// Longest run in seconds; 0: no limit.
        run_timeout_seconds: u64,
        /// Longest wait for a result to be delivered, in milliseconds.
        [min 1, later]
        announce_timeout_ms: u64 = 120_000,
        /// Sessions of finished agents are archived after this many minutes; 0: never.
        archive_after_minutes: u64 = 60,
    }

    /// Agents one agent may start. There is no `thinking` here: it is set for all in
    /// `agents.defaults.subagents`.
    struct AgentSubagents {
        /// How strongly the prompt asks to delegate.
        delegation_mode: Option<DelegationMode>,
        /// Agents that may be started, `*` for any.
        allow_agents: Option<Vec<String>>,
        /// The caller must name the agent to start.
        require_agent_id: Option<bool>,
        /// Model of started agents.
        model: Option<ModelChoice>,
        /// Started agents running at the same time.
        [min 1]
        max_concurrent: Option<u32>,
        /// Children one session may have at the same time.
        [min 1, max 20]
        max_children_per_agent: Option<u32>,
        /// How deep agents may start agents.
        [min 1, max 5]
        max_spawn_depth: Option<u32>,
        /// Sessions of finished agents are archived after this many minutes.
        archive_after_minutes: Option<u64>,
    }

    /// A pause before each block of a reply.
    struct HumanDelay {
        /// Kind of pause.
        mode: HumanDelayMode,
        /// Shortest pause in milliseconds, for `custom`.
        [later]
        min_ms: Option<u64>,
        /// Longest pause in milliseconds, for `custom`.
        [later]
        max_ms: Option<u64>,
    }

    /// Size of the blocks a reply is sent in.
    struct BlockChunk {
        /// Fewest characters.
        [min 1, later]
        min_chars: Option<u64>,
        /// Maximum characters.
        [min 1]
        max_chars: Option<u64>,
        /// Where to cut.
        [later]
        break_preference: Option<BreakPreference>,
    }

    /// Joining of small blocks.
    struct BlockCoalesce {
        /// Fewest characters.
        [min 1, later]
        min_chars: Option<u64>,
        /// Maximum characters.
        [min 1]
        max_chars: Option<u64>,
        /// Wait this many milliseconds for more.
        [later]
        idle_ms: Option<u64>,
    }

    /// What runs the agent.
    struct AgentRuntime {
        /// Kind of runtime: `embedded` or `acp`.
        [later]
        kind as "type": Option<String>,
        /// Settings of an Agent Client Protocol runtime.
        acp: ForeignSettings,
    }
}

words! {
    /// Who owns a message no binding claims.
    enum Ownership { Explicit = "explicit", Default = "default" }
    /// When workspace files are injected.
    enum ContextInjection {
        /// Every turn.
        Always = "always",
        /// Not in turns that safely continue the one before.
        ContinuationSkip = "continuation-skip",
        /// No files at all.
        Never = "never",
    }
    /// Whether the prompt says that a file was cut.
    enum TruncationWarning { Always = "always", Once = "once", Off = "off" }
    /// How times are written.
    enum TimeFormat { Auto = "auto", Twelve = "12", TwentyFour = "24" }
    /// On or off.
    enum OnOff { Off = "off", On = "on" }
    /// How much the model thinks before it answers.
    enum ThinkingLevel {
        Off = "off", Minimal = "minimal", Low = "low", Medium = "medium", High = "high",
        Xhigh = "xhigh", Adaptive = "adaptive", Max = "max", Ultra = "ultra",
    }
    /// How much of tool use is shown.
    enum VerboseLevel { Off = "off", On = "on", Full = "full" }
    /// Whether reasoning is shown.
    enum ReasoningVisibility { Off = "off", On = "on", Stream = "stream" }
    /// How far commands may leave the sandbox.
    enum ElevatedLevel { On = "on", Off = "off", Ask = "ask", Full = "full" }
    /// How tool progress is described.
    enum ToolProgressDetail { Explain = "explain", Raw = "raw" }
    /// Where a block may end.
    enum BlockBreak { TextEnd = "text_end", MessageEnd = "message_end" }
    /// Where to cut a block.
    enum BreakPreference { Paragraph = "paragraph", Newline = "newline", Sentence = "sentence" }
    /// Kind of pause.
    enum HumanDelayMode { Off = "off", Natural = "natural", Custom = "custom" }
    /// When the typing sign is shown.
    enum TypingMode {
        Instant = "instant", Thinking = "thinking", Message = "message", Never = "never",
    }
    /// How much detail images keep.
    enum ImageQuality {
        Auto = "auto", Efficient = "efficient", Balanced = "balanced", High = "high",
    }
    /// How strongly the prompt asks to delegate.
    enum DelegationMode { Suggest = "suggest", Prefer = "prefer" }
}
