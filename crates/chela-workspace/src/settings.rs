//! What the operator may decide about context files, as plain values.

use chela_core::cut::CutLimit;

/// The knobs of one agent that shape its context files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapSettings {
    /// `agents.defaults.bootstrapMaxChars`, or its twin in tokens.
    pub per_file: CutLimit,
    /// `agents.defaults.bootstrapTotalMaxChars`, or its twin in tokens.
    pub total: CutLimit,
    /// `agents.defaults.bootstrapPromptTruncationWarning`.
    pub warning: TruncationWarning,
    /// `agents.defaults.contextInjection`.
    pub injection: ContextInjection,
    /// `agents.defaults.skipBootstrap`: no files are created and none injected.
    pub skip: bool,
    /// `context.pin`: headings whose sections survive every cut.
    pub pins: Vec<String>,
    /// Files that lie below the cache boundary, besides HEARTBEAT.md.
    pub dynamic: Vec<String>,
    /// Files that sub-agents and cron runs get, besides AGENTS.md and TOOLS.md.
    pub inherit: Vec<String>,
    /// `agents.defaults.skipOptionalBootstrapFiles`: not created, and not missed.
    pub skip_optional: Vec<String>,
    pub heartbeat: HeartbeatFile,
    /// Globs of more context files, relative to the workspace and confined to it.
    pub extra_files: Vec<String>,
}

impl Default for BootstrapSettings {
    fn default() -> Self {
        Self {
            per_file: CutLimit::Chars(20_000),
            total: CutLimit::Chars(60_000),
            warning: TruncationWarning::Always,
            injection: ContextInjection::Always,
            skip: false,
            pins: Vec::new(),
            dynamic: Vec::new(),
            inherit: Vec::new(),
            skip_optional: Vec::new(),
            heartbeat: HeartbeatFile::Read,
            extra_files: Vec::new(),
        }
    }
}

/// Whether the model is told that files were shortened. The owner is told either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TruncationWarning {
    Off,
    /// In the first session that meets this version of the files under these limits.
    Once,
    Always,
}

/// When context files are put into the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContextInjection {
    Always,
    /// Not on turns that safely continue what the model has seen.
    ContinuationSkip,
    Never,
}

/// Whether a session reads HEARTBEAT.md. In a chat it would be a standing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeartbeatFile {
    Read,
    /// There are no heartbeats.
    HeartbeatsOff,
    /// `agents.defaults.heartbeat.includeSystemPromptSection` is false: only heartbeats read it.
    OnlyHeartbeats,
}
