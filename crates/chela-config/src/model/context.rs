//! What enters the prompt from files, and what is taken out again.

use super::*;

section! {
    /// What in the context is never cut, changes often, or is inherited.
    struct Context {
        /// Headings of workspace files that are never cut.
        pin: Vec<String>,
        /// Workspace files that change often; they go below the cache boundary.
        dynamic: Vec<String>,
        /// Workspace files that agents started by this one also get, besides AGENTS.md and
        /// TOOLS.md.
        inherit: Vec<String>,
        /// Where the part of the prompt that may change from turn to turn goes.
        placement: Placement,
    }

    /// What a fresh session reads before its first turn.
    struct StartupContext {
        /// Read anything at all.
        enabled: bool = true,
        /// Which starts count.
        [later]
        apply_on: Vec<SessionStart> = vec![SessionStart::New, SessionStart::Reset],
        /// Daily notes read, counting back from today.
        daily_memory_days: u32 = 2,
        /// Largest file read, in bytes.
        max_file_bytes: u64 = 16_384,
        /// Maximum characters of one file.
        max_file_chars: u64 = 1_200,
        /// Maximum characters in total.
        max_total_chars: u64 = 2_800,
    }

    /// Limits on excerpts made at run time.
    struct ContextLimits {
        /// Maximum characters `memory_get` returns.
        [min 1, max 250_000]
        memory_get_max_chars: u64 = 12_000,
        /// Lines `memory_get` returns when none are asked for.
        [min 1, max 5_000]
        memory_get_default_lines: u64 = 120,
        /// Maximum characters of one tool result. Default: by the size of the context window.
        [min 1, max 1_000_000]
        tool_result_max_chars: Option<u64>,
        /// Maximum characters of AGENTS.md repeated after a compaction.
        [min 1, max 50_000]
        post_compaction_max_chars: u64 = 1_800,
    }

    /// Old tool results are removed from the context.
    struct ContextPruning {
        /// Whether and when.
        mode: PruningMode,
        /// Prune once the provider's cache is older than this; a bare number is minutes.
        ttl: DurationText = "5m".into(),
        /// Newest assistant turns that are left alone.
        keep_last_assistants: u32 = 3,
        /// Shorten results once this share of the window is used.
        [min 0.0, max 1.0]
        soft_trim_ratio: f64 = 0.3,
        /// Remove results once this share of the window is used.
        [min 0.0, max 1.0]
        hard_clear_ratio: f64 = 0.5,
        /// Fewest characters worth removing.
        min_prunable_tool_chars: u64 = 50_000,
        /// Tools whose results may be pruned.
        tools: NameFilter,
        /// How results are shortened.
        soft_trim: SoftTrim,
        /// How results are removed.
        hard_clear: HardClear,
    }

    /// Names let in and kept out.
    struct NameFilter {
        /// Only these; unset: all.
        allow: Option<Vec<String>>,
        /// Never these.
        deny: Vec<String>,
    }

    /// How tool results are shortened.
    struct SoftTrim {
        /// Results longer than this are shortened.
        max_chars: u64 = 4_000,
        /// Characters kept at the start.
        head_chars: u64 = 1_500,
        /// Characters kept at the end.
        tail_chars: u64 = 1_500,
    }

    /// How tool results are removed.
    struct HardClear {
        /// Remove at all.
        enabled: bool = true,
        /// What replaces them.
        placeholder: String = "[Old tool result content cleared]".into(),
    }

    /// Long conversations are summarised.
    struct Compaction {
        /// Summarise when the window fills. `false` stops only that; overflow still does.
        enabled: bool = true,
        /// `safeguard` checks the summary before it replaces anything.
        mode: CompactionMode,
        /// Plugin that writes the summary.
        [later]
        provider: Option<String>,
        /// Model that writes the summary. Default: the session's.
        model: Option<String>,
        /// Thinking level for the summary; `inherit` takes the session's.
        thinking_level: Option<String>,
        /// Give up after this many seconds.
        [min 1]
        timeout_seconds: u64 = 180,
        /// Tokens of recent messages kept as they are.
        [min 1]
        keep_recent_tokens: u64 = 20_000,
        /// Recent turns kept as they are.
        [max 12]
        recent_turns_preserve: u32 = 3,
        /// Tokens kept free for the answer.
        reserve_tokens: Option<u64>,
        /// Fewest tokens kept free for the answer.
        reserve_tokens_floor: Option<u64>,
        /// Largest share of the window for history.
        [min 0.1, max 0.9]
        max_history_share: Option<f64>,
        /// More instructions for the summary.
        custom_instructions: Option<String>,
        /// How exactly ids and names must survive.
        identifier_policy: IdentifierPolicy,
        /// Instructions for `identifierPolicy: custom`.
        identifier_instructions: Option<String>,
        /// Check the summary and try again.
        quality_guard: QualityGuard,
        /// Check the size in the middle of a turn as well.
        mid_turn_precheck: Enabled,
        /// When the memory index is updated afterwards.
        [later]
        post_index_sync: PostIndexSync,
        /// Headings of AGENTS.md repeated after a compaction.
        post_compaction_sections: Option<Vec<String>>,
        /// Summarise before a run once the transcript is this large.
        max_active_transcript_bytes: Option<ByteSize>,
        /// Cut the stored transcript after a compaction.
        [later]
        truncate_after_compaction: bool,
        /// Tell the user when it happens.
        [later]
        notify_user: bool,
        /// Let the agent write notes before it forgets.
        memory_flush: MemoryFlush,
    }

    /// Check the summary and try again.
    struct QualityGuard {
        /// Check at all.
        enabled: bool = true,
        /// How often to try again.
        max_retries: u32 = 1,
    }

    /// A switch.
    struct Enabled {
        /// On or off.
        enabled: bool,
    }

    /// Let the agent write notes before it forgets.
    struct MemoryFlush {
        /// Do it at all.
        enabled: bool = true,
        /// This many tokens before the compaction.
        soft_threshold_tokens: u64 = 4_000,
        /// Also once the transcript is this large.
        force_flush_transcript_bytes: Option<ByteSize>,
        /// Model that writes the notes.
        model: Option<String>,
        /// What the agent is asked.
        prompt: Option<String>,
        /// System text for that turn.
        [later]
        system_prompt: Option<String>,
    }
}

words! {
    /// Where the part of the prompt that may change goes.
    enum Placement {
        /// With the newest message, where the endpoint keeps what it has read.
        Auto = "auto",
        /// At the end of the system prompt: every change makes the history be read again.
        SystemTail = "system-tail",
        /// At the head of the newest message, and never rewritten.
        TurnTail = "turn-tail",
    }
    /// A start of a session.
    enum SessionStart { New = "new", Reset = "reset" }
    /// Whether and when tool results are pruned.
    enum PruningMode { Off = "off", CacheTtl = "cache-ttl" }
    /// How careful a compaction is.
    enum CompactionMode { Safeguard = "safeguard", Default = "default" }
    /// How exactly ids and names must survive a compaction.
    enum IdentifierPolicy { Strict = "strict", Off = "off", Custom = "custom" }
    /// When the memory index is brought up to date.
    enum PostIndexSync { Async = "async", Await = "await", Off = "off" }
}
