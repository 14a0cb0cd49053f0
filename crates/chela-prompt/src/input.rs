//! The plain facts a prompt is rendered from.
//!
//! Nothing here is looked up: whoever calls the renderer says what is so. Values are given as
//! they are; the renderer makes them fit to stand in a line.

mod context_file;
mod contribution;
mod skills;

use chela_core::{Audience, Origin, Trust};

pub(crate) use context_file::base_at;
pub use context_file::{ContextFile, FileCompleteness};
pub use contribution::{FamilyContribution, PromptReplacement};
pub use skills::{SkillEntry, SkillsListing};

use crate::CleanText;

/// Everything a prompt depends on. Equal input gives equal bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInput {
    /// The agent's working directory on the host.
    pub workspace_dir: String,
    pub mode: PromptMode,
    pub extent: PromptExtent,
    /// Who reads along in this session: private text is refused in a shared one.
    pub session: Audience,
    /// The tools that exist after policy, in any order.
    pub tools: Vec<PromptTool>,
    /// What an empty list of tools means.
    pub empty_tools: EmptyTools,
    pub tool_listing: ToolListing,
    /// Where a reply is read.
    pub surface: ReplySurface,
    /// Lines about native commands, from plugins.
    pub native_commands: Vec<SourcedValue<String>>,
    pub acp: AcpDelegation,
    pub approvals: ApprovalWay,
    pub delegation: WorkDelegation,
    pub contribution: Option<FamilyContribution>,
    pub skills: Option<SkillsListing>,
    pub memory: MemoryRecall,
    pub model_aliases: Vec<SourcedValue<String>>,
    pub time_zone: Option<String>,
    pub workspace_notes: Vec<SourcedValue<String>>,
    /// Local documentation; the public one is named when there is none.
    pub docs_path: Option<String>,
    pub source_path: Option<String>,
    pub sandbox: Option<SandboxFacts>,
    pub owners: OwnerList,
    pub reply_format: ReplyFormat,
    /// Context files in any order; the renderer sorts them.
    pub files: Vec<ContextFile>,
    pub truncation_notice: TruncationNotice,
    /// Files that found no room at all.
    pub left_out: Vec<String>,
    pub silent_replies: SilentReplies,
    /// Every channel through which the `message` tool can send.
    pub message_channels: Vec<String>,
    pub message_hints: Vec<SourcedValue<String>>,
    pub voice_hint: Option<SourcedValue<String>>,
    /// The group's or the sub-agent's own context.
    pub extra_context: Option<SourcedValue<CleanText>>,
    pub extra_kind: ExtraKind,
    pub reactions: Option<ReactionSettings>,
    /// The heartbeat prompt, when heartbeats are on for this agent.
    pub heartbeat: Option<SourcedValue<String>>,
    pub runtime: RuntimeFacts,
    /// What visibility the user chose for the model's reasoning.
    pub reasoning: ReasoningLevel,
    /// The thinking level; `off` when absent.
    pub thinking: Option<String>,
    /// The elevated level as it is now, where commands may leave a sandbox.
    pub elevated_now: Option<ElevatedLevel>,
    /// A plugin's own prompt, which the operator allowed to stand in for this one.
    pub replacement: Option<PromptReplacement>,
}

impl PromptInput {
    /// The input of a full prompt for a private session of which only the folder is known.
    pub fn new(workspace_dir: impl Into<String>) -> Self {
        Self {
            workspace_dir: workspace_dir.into(),
            mode: PromptMode::Full,
            extent: PromptExtent::Whole,
            session: Audience::Private,
            tools: Vec::new(),
            empty_tools: EmptyTools::Unknown,
            tool_listing: ToolListing::InText,
            surface: ReplySurface::Channel,
            native_commands: Vec::new(),
            acp: AcpDelegation::Off,
            approvals: ApprovalWay::ByChannel,
            delegation: WorkDelegation::Suggest,
            contribution: None,
            skills: None,
            memory: MemoryRecall::On(CitationMode::Auto),
            model_aliases: Vec::new(),
            time_zone: None,
            workspace_notes: Vec::new(),
            docs_path: None,
            source_path: None,
            sandbox: None,
            owners: OwnerList::default(),
            reply_format: ReplyFormat::Plain,
            files: Vec::new(),
            truncation_notice: TruncationNotice::Shown,
            left_out: Vec::new(),
            silent_replies: SilentReplies::Generic,
            message_channels: Vec::new(),
            message_hints: Vec::new(),
            voice_hint: None,
            extra_context: None,
            extra_kind: ExtraKind::Conversation,
            reactions: None,
            heartbeat: None,
            runtime: RuntimeFacts::default(),
            reasoning: ReasoningLevel::Off,
            thinking: None,
            elevated_now: None,
            replacement: None,
        }
    }
}

/// What the extra context of a full prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraKind {
    /// The context of a conversation that others read along in.
    Conversation,
    /// What the operator wants said besides.
    Instructions,
}

/// A value with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedValue<T> {
    pub value: T,
    pub origin: Origin,
    pub trust: Trust,
    pub audience: Audience,
}

impl<T> SourcedValue<T> {
    /// A value the operator set under `key`, for everyone in the session.
    pub fn config(key: impl Into<String>, value: impl Into<T>) -> Self {
        Self::new(value.into(), Origin::config(key), Trust::Operator)
    }

    /// A value found out by the runtime, for everyone in the session.
    pub fn runtime(value: impl Into<T>) -> Self {
        Self::new(value.into(), Origin::Runtime, Trust::Operator)
    }

    /// A value for everyone in the session.
    pub fn new(value: T, origin: Origin, trust: Trust) -> Self {
        Self {
            value,
            origin,
            trust,
            audience: Audience::Shared,
        }
    }
}

/// How much of the prompt is rendered. The runtime chooses; it is not a config key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromptMode {
    /// The main agent.
    Full,
    /// Sub-agents and isolated cron runs.
    Minimal,
    /// The identity line alone.
    None,
}

impl PromptMode {
    pub const ALL: [Self; 3] = [Self::Full, Self::Minimal, Self::None];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Minimal => "minimal",
            Self::None => "none",
        }
    }
}

/// Whether all is said that a mode has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptExtent {
    Whole,
    /// What a small model can keep in mind: manners and what it has no tools for are left out, what
    /// keeps it safe is not.
    Brief,
}

/// A tool that exists for this run. Core tools are described by Chela, others by `summary`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTool {
    pub name: String,
    pub summary: Option<String>,
    pub origin: Origin,
    pub trust: Trust,
}

impl PromptTool {
    /// One of Chela's own tools.
    pub fn core(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            summary: None,
            origin: Origin::BuiltIn,
            trust: Trust::Operator,
        }
    }
}

/// Whether the prompt lists the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolListing {
    /// A line for each.
    InText,
    /// They go along with their schemas: a list beside them would say everything twice.
    BySchema,
}

/// Where a reply is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplySurface {
    /// It is delivered by a channel, which may attach, quote and route.
    Channel,
    /// It is shown as it is to whoever asked.
    Terminal,
}

/// Whether work may be handed to harnesses that speak the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcpDelegation {
    Off,
    On,
}

/// How what needs the owner's yes gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalWay {
    /// As the channel can: by its own buttons, else by a typed command.
    ByChannel,
    /// The owner is asked on the spot, by the surface.
    Asked,
    /// Nobody is there; the question waits for a typed command.
    Queued,
    /// Nobody is there, and nothing waits.
    Refused,
    /// A sub-agent's questions are put to whoever watches its parent.
    Relayed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkDelegation {
    Suggest,
    /// The prompt asks for coordination instead of doing.
    Prefer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryRecall {
    Off,
    /// Described when a memory tool exists.
    On(CitationMode),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CitationMode {
    Auto,
    On,
    Off,
}

/// Who is allowlisted as an owner, and how that is shown to the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnerList {
    pub ids: Vec<String>,
    pub display: OwnerDisplay,
}

#[derive(Clone, PartialEq, Eq, Default)]
pub enum OwnerDisplay {
    /// The ids themselves; they count as private.
    #[default]
    Raw,
    /// The first 12 hex digits of HMAC-SHA256 under a secret of the installation.
    Hashed { secret: String },
}

impl std::fmt::Debug for OwnerDisplay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Raw => "Raw",
            Self::Hashed { .. } => "Hashed { secret: *** }",
        })
    }
}

/// What it means that no tool is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyTools {
    /// The list was not given: the standard set is described.
    Unknown,
    /// There are none.
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyFormat {
    Plain,
    /// A model that must be told to put reasoning and reply in tags.
    Tagged,
}

/// Whether the prompt says that context files were cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationNotice {
    Hidden,
    Shown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilentReplies {
    Generic,
    /// Where every message must be answered.
    Never,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactionSettings {
    pub level: ReactionLevel,
    pub channel: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReactionLevel {
    Minimal,
    Extensive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningLevel {
    Off,
    On,
    Stream,
}

impl ReasoningLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Stream => "stream",
        }
    }
}

/// The sandbox this run is in. Absent when it runs on the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxFacts {
    pub extent: SandboxExtent,
    /// The host folder behind the container's working directory.
    pub host_dir: Option<String>,
    pub container_dir: Option<String>,
    pub access: Option<WorkspaceAccess>,
    /// Where the agent's workspace is mounted inside the container.
    pub agent_mount: Option<String>,
    pub browser_bridge: Option<String>,
    pub host_browser: HostBrowser,
    pub elevated: Option<ElevatedExec>,
    /// What the kernel holds commands to; absent where that is not known.
    pub walls: Option<SandboxWalls>,
    /// Why the sandbox that must be there cannot be built.
    pub missing: Option<String>,
}

/// What is in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SandboxExtent {
    /// The session with all its tools.
    #[default]
    Session,
    /// Commands alone, each until the owner lets it out.
    Commands,
}

/// What the kernel holds sandboxed commands to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxWalls {
    /// Hosts that can be reached; none: there is no network.
    pub hosts: Vec<String>,
    /// In words: `256 processes, 1024 MiB of memory`.
    pub limits: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceAccess {
    None,
    ReadOnly,
    ReadWrite,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostBrowser {
    #[default]
    Unknown,
    Allowed,
    Blocked,
}

/// Leaving the sandbox for single commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElevatedExec {
    pub permission: ElevatedPermission,
    /// The current level.
    pub level: Option<ElevatedLevel>,
    pub full: FullAccess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElevatedPermission {
    Denied,
    Allowed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElevatedLevel {
    On,
    Off,
    Ask,
    Full,
}

impl ElevatedLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Ask => "ask",
            Self::Full => "full",
        }
    }
}

/// Whether the `full` level can be chosen, and what stands against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullAccess {
    Available,
    Blocked(FullAccessBlock),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullAccessBlock {
    HostPolicy,
    Channel,
    Sandbox,
    Other,
}

/// What the runtime line says. Absent fields are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuntimeFacts {
    pub agent: Option<String>,
    pub host: Option<String>,
    pub repo_root: Option<String>,
    pub os: Option<String>,
    pub arch: Option<String>,
    pub model: Option<String>,
    pub default_model: Option<String>,
    pub shell: Option<String>,
    pub channel: Option<String>,
    /// What the channel can do: `inlineButtons`, `nativeApprovals`, …
    pub capabilities: Vec<String>,
    /// Where hosted embeds are written.
    pub canvas_root: Option<String>,
}
