//! What can be typed. What it means is decided in `cmd`.

pub mod approvals;
pub mod audit;
pub mod cache;
pub mod guard;
pub mod sandbox;
pub mod security;
pub mod skills;
pub mod stop;
pub mod trust;
pub mod turn;
pub mod undo;
pub mod usage;

mod chat;
mod memory;
mod models;
mod sessions;
mod testkit;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

pub use chat::ChatArgs;
pub use memory::{BenchMode, MemoryCommand, MemoryModelCommand};
pub use models::ModelsCommand;
pub use sessions::SessionsCommand;
pub use testkit::TestkitCommand;

#[derive(Debug, Parser)]
#[command(
    name = "chela",
    version,
    about = "A personal agent whose context you can see, question and trust",
    after_help = "\
Examples:
  chela                          set up on first use, then say what is where
  chela prompt                   the system prompt, exactly as a model would read it
  chela context list             what it is made of, and what each part costs
  chela context why SOUL.md      why a file, section or sentence is in it - or is not
  chela config set agents.defaults.userTimezone Europe/Berlin
  chela doctor                   what is wrong, and how to mend it

Everything Chela keeps is in ~/.chela (CHELA_HOME, or --profile for a second one).",
    propagate_version = false
)]
pub struct Cli {
    /// Use a separate installation, kept in ~/.chela-PROFILE
    #[arg(long, global = true, value_name = "PROFILE", env = None)]
    pub profile: Option<String>,

    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = ColorWhen::Auto, value_name = "WHEN")]
    pub color: ColorWhen,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the workspace of an agent: its persona, rules and notes
    #[command(after_help = "\
Examples:
  chela init                       the default agent, in ~/.chela/workspace
  chela init --agent research      another agent's workspace
  chela init --workspace ~/notes   use this folder (remembered in the config)

Nothing that exists is overwritten.")]
    Init(InitArgs),

    /// Talk to an agent, or get one answer
    #[command(after_help = chat::AFTER_HELP)]
    Chat(ChatArgs),

    /// What is set up, and where
    Status(JsonArgs),

    /// Look for problems, and mend what can be mended
    #[command(after_help = "\
Examples:
  chela doctor                       a report for people
  chela doctor --fix                 mend what is safe to mend; backups are kept
  chela doctor --lint --severity-min warning
                                     for scripts: exit 1 when something is found
  chela doctor --json                everything, always exit 0")]
    Doctor(DoctorArgs),

    /// Read, explain and change the config
    #[command(subcommand)]
    Config(ConfigCommand),

    /// The files an agent is made of, and their history
    #[command(subcommand)]
    Workspace(WorkspaceCommand),

    /// What is remembered: search it, measure it, keep it good
    #[command(subcommand)]
    Memory(MemoryCommand),

    /// Which models there are, and whether they answer
    #[command(subcommand)]
    Models(ModelsCommand),

    /// The conversations: list, read, export, clean up
    #[command(subcommand)]
    Sessions(SessionsCommand),

    /// The requests on record: list, show, compare, make again
    #[command(subcommand)]
    Turn(turn::TurnCommand),

    /// Take back what an agent did to files
    #[command(after_help = undo::AFTER_HELP)]
    Undo(undo::UndoArgs),

    /// What was decided and done, and whether the record is whole
    #[command(subcommand)]
    Audit(audit::AuditCommand),

    /// What the provider's cache could reuse, and why not more
    #[command(subcommand)]
    Cache(cache::CacheCommand),

    /// What was used: tokens and money, summed up
    #[command(after_help = "\
Examples:
  chela usage                     by day
  chela usage --by model --days 7
  chela usage --by cause          what broken prefixes had to do with it
  chela usage --by section --json")]
    Usage(usage::UsageArgs),

    /// The agents, what they may do and where each setting comes from
    #[command(subcommand)]
    Agents(AgentsCommand),

    /// What the agents know how to do: skills, their gates and whether to trust them
    #[command(subcommand)]
    Skills(skills::SkillsCommand),

    /// What the guard sees: canaries, and who came near them
    #[command(subcommand)]
    Guard(guard::GuardCommand),

    /// Who wrote the files that shape an agent: look, approve, withdraw, put back
    #[command(subcommand)]
    Trust(trust::TrustCommand),

    /// What is risky about this installation
    #[command(subcommand)]
    Security(security::SecurityCommand),

    /// Which commands agents may run without asking
    #[command(subcommand)]
    Approvals(approvals::ApprovalsCommand),

    /// Stop every agent at once, or let them work again
    #[command(after_help = stop::AFTER_HELP)]
    Stop(stop::StopArgs),

    /// Where commands run, and what they reach there
    #[command(subcommand)]
    Sandbox(sandbox::SandboxCommand),

    /// Print the system prompt exactly as a model would read it
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "\
Examples:
  chela prompt                                   the default agent's main session
  chela prompt --mode minimal                    what a sub-agent would read
  chela prompt --session agent:main:discord:group:42
  chela prompt --json > before.json              for `chela context diff before.json main`
  chela prompt --facts facts.json --json         from explicit facts: no config, disk or clock
  chela prompt snapshot prompts/                 keep golden prompts of your own agents
  chela prompt check prompts/                    fail when one has changed"
    )]
    Prompt(PromptArgs),

    /// What the prompt is made of, what it costs, and why
    #[command(subcommand)]
    Context(ContextCommand),

    /// Try agents offline: a model endpoint that follows a script
    #[command(subcommand)]
    Testkit(TestkitCommand),

    /// Print the completion script of a shell
    #[command(after_help = "\
Examples:
  chela completion bash > ~/.local/share/bash-completion/completions/chela
  chela completion zsh > ~/.zfunc/_chela
  chela completion fish > ~/.config/fish/completions/chela.fish")]
    Completion {
        /// Which shell
        shell: clap_complete::Shell,
    },

    /// Print the manual page
    #[command(after_help = "Example:\n  chela man | man -l -")]
    Man,

    /// Write the generated reference pages into a folder
    #[command(hide = true)]
    Docs {
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct JsonArgs {
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Which agent (default: the default agent)
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,

    /// Fill a workspace again that was set up before and lost its files
    #[arg(long)]
    pub reseed: bool,

    /// Use this folder as the workspace and remember it in the config
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub workspace: Option<String>,

    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Mend what is safe to mend; what is changed is backed up first
    #[arg(long, conflicts_with = "lint")]
    pub fix: bool,

    /// Print JSON for scripts (always exits 0)
    #[arg(long)]
    pub json: bool,

    /// Print findings only, and exit 1 when there are any
    #[arg(long)]
    pub lint: bool,

    /// Leave out findings below this severity
    #[arg(long, value_enum, default_value_t = SeverityName::Note, value_name = "SEVERITY")]
    pub severity_min: SeverityName,

    /// Run only these checks (repeat or separate with commas)
    #[arg(long, value_delimiter = ',', value_name = "CHECK")]
    pub only: Vec<String>,

    /// Leave these checks out
    #[arg(long, value_delimiter = ',', value_name = "CHECK")]
    pub skip: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SeverityName {
    Note,
    Warning,
    Error,
}

impl From<SeverityName> for chela_core::Severity {
    fn from(name: SeverityName) -> Self {
        match name {
            SeverityName::Note => Self::Note,
            SeverityName::Warning => Self::Warning,
            SeverityName::Error => Self::Error,
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print a value (secrets are hidden)
    #[command(after_help = "\
Examples:
  chela config get                            everything that is set
  chela config get agents.defaults.model
  chela config get 'agents.list[0]' --json")]
    Get {
        /// Path of the key; the whole config without it
        path: Option<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Set one value; comments and order of the file survive
    #[command(after_help = "\
Examples:
  chela config set agents.defaults.userTimezone Europe/Berlin
  chela config set agents.defaults.heartbeat.every 30m
  chela config set agents.defaults.skills '[\"deploy\", \"review\"]'
  chela config set --text gateway.auth.token 12345

A value that reads as JSON5 is taken as such, anything else as text (--text forces text).")]
    Set {
        /// Path of the key, such as agents.defaults.model
        path: String,
        /// The value: JSON5, or plain text
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Take the value as text even if it looks like a number, list or object
        #[arg(long)]
        text: bool,
    },
    /// Remove one value, so that the default counts again
    Unset {
        /// Path of the key
        path: String,
    },
    /// Merge a JSON5 document into the config; null removes a key
    #[command(after_help = "\
Examples:
  chela config patch '{agents: {defaults: {model: \"anthropic/claude-opus-4-5\"}}}'
  chela config patch --file changes.json5
  echo '{memory: null}' | chela config patch -")]
    Patch(PatchArgs),
    /// Replace the whole config by a JSON5 document, if it is valid
    Apply(PatchArgs),
    /// Print the JSON Schema of the config, or of one part of it
    #[command(after_help = "Example:\n  chela config schema agents.defaults.heartbeat")]
    Schema {
        /// Path of the key
        path: Option<String>,
    },
    /// Check the config strictly: every problem with line, column and a suggestion (exit code 78)
    Validate {
        /// Check this file instead
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Explain a key: value, where it comes from, default, meaning, who overrides it
    Explain {
        /// Path of the key
        path: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Print the path of the config file
    File {
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct PatchArgs {
    /// The document itself, or `-` for standard input
    #[arg(
        required_unless_present = "file",
        conflicts_with = "file",
        allow_hyphen_values = true
    )]
    pub document: Option<String>,
    /// Read the document from this file
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Show what would change, write nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Default, Args)]
pub struct AgentArg {
    /// Which agent (default: the default agent)
    #[arg(long, short = 'a', value_name = "ID")]
    pub agent: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    /// Print the folder of the workspace
    Path {
        #[command(flatten)]
        agent: AgentArg,
    },
    /// List the files that make the agent, and what becomes of each
    List {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show how a core file changed over time
    #[command(after_help = "Example:\n  chela workspace history SOUL.md")]
    History {
        /// A core file, such as SOUL.md (default: all of them)
        file: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show what changed in a core file
    #[command(after_help = "\
Examples:
  chela workspace diff SOUL.md             since the last recorded version
  chela workspace diff SOUL.md 3f2a1c      since that version
  chela workspace diff SOUL.md 3f2a1c 9b0e between two versions")]
    Diff {
        /// A core file, such as SOUL.md
        file: String,
        /// The older version, from `history`
        from: Option<String>,
        /// The newer version (default: the file as it is)
        to: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Change a core file in your editor, and put the change on record as yours
    #[command(after_help = "\
Example:
  chela workspace edit SOUL.md

Opens VISUAL or EDITOR. Changed in any other way, a file counts as changed by someone else until
`chela trust approve`.")]
    Edit {
        /// A core file, such as SOUL.md, or a note, such as memory/plans.md
        file: String,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Bring back an earlier version of a core file
    #[command(after_help = "\
Examples:
  chela workspace restore SOUL.md            undo the latest change
  chela workspace restore SOUL.md 3f2a1c     back to that version

The present text is recorded first, so a restore can itself be undone.")]
    Restore {
        /// A core file, such as SOUL.md
        file: String,
        /// The version, from `history` (default: the one before the latest)
        version: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Record the core files as they are now
    Snapshot {
        #[command(flatten)]
        agent: AgentArg,
        /// Why they changed
        #[arg(long, short, value_name = "WHY")]
        message: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List the agents
    List(JsonArgs),
    /// Add an agent to the config and make its workspace
    #[command(after_help = "\
Examples:
  chela agents add research
  chela agents add home --name Home --model ollama/qwen3 --workspace ~/home-agent")]
    Add {
        /// Its id: a-z, 0-9, `-`, `_`
        id: String,
        /// The name people see
        #[arg(long)]
        name: Option<String>,
        /// The model, as provider/model
        #[arg(long)]
        model: Option<String>,
        /// Its workspace folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        workspace: Option<String>,
    },
    /// Show every setting of an agent and where it comes from
    Show {
        /// Its id
        id: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Remove an agent from the config; its files stay
    Remove {
        /// Its id
        id: String,
    },
    /// Compare what the agents are and may do, with the key each setting comes from
    Matrix(JsonArgs),
}

/// Which prompt is meant: whose, in which mode, for which conversation.
#[derive(Debug, Clone, Args)]
pub struct PromptChoice {
    /// Which agent (default: the default agent)
    #[arg(long, short = 'a', value_name = "ID")]
    pub agent: Option<String>,
    /// Render in this mode instead of the one the session calls for
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<ModeName>,
    /// Render as for this channel, such as telegram or webchat
    #[arg(long, value_name = "CHANNEL")]
    pub channel: Option<String>,
    /// Render for this session key (default: the agent's main session)
    #[arg(long, value_name = "KEY")]
    pub session: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    Full,
    Minimal,
    None,
}

#[derive(Debug, Args)]
pub struct PromptArgs {
    #[command(flatten)]
    pub choice: PromptChoice,
    /// Render from a JSON document of facts instead (`-` for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["agent", "mode", "channel", "session"])]
    pub facts: Option<PathBuf>,
    /// Print text, boundary and sections as JSON
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<PromptCommand>,
}

#[derive(Debug, Subcommand)]
pub enum PromptCommand {
    /// Write golden prompts of all agents and kinds of session into a folder
    Snapshot {
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Compare with the golden prompts in a folder; exit 1 when one differs
    Check {
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// What is in the context, with sizes in characters and tokens
    List(ContextArgs),
    /// The same with sections, skills and tools one by one
    Detail(ContextArgs),
    /// The report as JSON
    Json(ContextArgs),
    /// A picture of the context: coloured bars here, a treemap in a file
    #[command(after_help = "\
Examples:
  chela context map
  chela context map -o context.svg     also .png and .html")]
    Map {
        #[command(flatten)]
        choice: PromptChoice,
        /// Write a treemap to this .svg, .png or .html file
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
    /// Why something is in the prompt, or is not
    #[command(after_help = "\
Examples:
  chela context why SOUL.md
  chela context why safety
  chela context why \"never share\"
  chela context why MEMORY.md --session agent:main:discord:group:42")]
    Why {
        /// A file, a section id or heading, a tool, a key, or words from the text
        what: String,
        #[command(flatten)]
        choice: PromptChoice,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Compare two prompts section by section, and say where the cached prefix breaks
    #[command(after_help = "\
Examples:
  chela context diff main research                        two agents
  chela context diff mode:full mode:minimal               two modes
  chela context diff channel:telegram channel:discord     two channels
  chela context diff before.json main                     a saved prompt and now
  chela context diff main agent:main:discord:group:42     two sessions")]
    Diff {
        /// An agent, mode:M, channel:C, a session key or a saved prompt
        a: String,
        /// The other one
        b: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Look for rules that repeat, contradict, hide or never reach the model
    #[command(after_help = "\
Exit codes: 0 nothing at or above --fail-on, 1 findings, 78 broken config.

Example for CI:
  chela context lint --fail-on warning")]
    Lint {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
        /// Exit 1 from this severity on
        #[arg(long, value_enum, default_value_t = SeverityName::Warning, value_name = "SEVERITY")]
        fail_on: SeverityName,
    },
}

#[derive(Debug, Args)]
pub struct ContextArgs {
    #[command(flatten)]
    pub choice: PromptChoice,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
