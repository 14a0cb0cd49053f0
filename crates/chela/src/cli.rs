//! What can be typed. What it means is decided in `cmd`.

pub mod approvals;
pub mod audit;
pub mod auth;
pub mod backup;
pub mod cache;
pub mod cron;
pub mod docs;
pub mod gateway;
pub mod guard;
pub mod heartbeat;
pub mod logs;
pub mod mcp;
pub mod plugins;
pub mod sandbox;
pub mod security;
pub mod setup;
pub mod skills;
pub mod stop;
pub mod trust;
pub mod turn;
pub mod undo;
pub mod update;
pub mod usage;

mod agents;
mod chat;
mod config;
mod context;
mod doctor;
mod folders;
mod init;
mod memory;
mod models;
mod prompt;
mod sessions;
mod shorthand;
mod testkit;
mod workspace;

#[cfg(test)]
mod tests;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use agents::AgentsCommand;
pub use chat::{ChatArgs, ResumeArgs, TalkArgs};
pub use config::{ConfigCommand, PatchArgs};
pub use context::{ContextArgs, ContextCommand};
pub use doctor::{DoctorArgs, SeverityName};
pub use folders::FoldersCommand;
pub use init::InitArgs;
pub use memory::{MemoryCommand, MemoryModelCommand, MemoryPlace};
pub use models::ModelsCommand;
pub use prompt::{ModeName, PromptArgs, PromptChoice, PromptCommand};
pub use sessions::SessionsCommand;
pub use shorthand::parse_typed;
pub use testkit::TestkitCommand;
pub use workspace::WorkspaceCommand;

/// Where the help of every command lists what all of them take.
const EVERYWHERE: &str = "Global options";

#[derive(Debug, Parser)]
#[command(
    name = "chela",
    version,
    about = "A personal agent whose context you can see, question and trust",
    after_help = "\
Examples:
  chela                          set up on first use, then talk
  chela 'what is on my list?'    one answer; git diff | chela 'review this' works, too
  chela --continue               the conversation you used last; --resume picks one
  chela prompt                   the system prompt, exactly as a model would read it
  chela context list             what it is made of, and what each part costs
  chela context why SOUL.md      why a file, section or sentence is in it - or is not
  chela config set agents.defaults.userTimezone Europe/Berlin
  chela doctor                   what is wrong, and how to fix it

Without a command, options are those of `chela chat`. Several words in quotes are
a message; so are several words that do not begin like a command. One word alone
is taken for a command, quoted or not: say it with `chela -p hi` or
`chela chat -m hi`.

Everything Chela keeps is in ~/.chela (CHELA_HOME puts it elsewhere; --profile
NAME is a second one beside it).",
    propagate_version = false
)]
pub struct Cli {
    /// Use a separate installation, kept in ~/.chela-PROFILE (with CHELA_HOME: $CHELA_HOME-PROFILE)
    #[arg(long, global = true, value_name = "PROFILE", env = None, help_heading = EVERYWHERE)]
    pub profile: Option<String>,

    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = ColorWhen::Auto, value_name = "WHEN", help_heading = EVERYWHERE)]
    pub color: ColorWhen,

    /// Show the log on standard error: a level, or info,model=debug (CHELA_LOG)
    #[arg(long, global = true, value_name = "FILTER", help_heading = EVERYWHERE)]
    pub log: Option<String>,

    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Create an agent's workspace: its persona, rules and notes
    #[command(after_help = "\
Examples:
  chela init                       the default agent, in ~/.chela/workspace
  chela init --agent research      another agent's workspace
  chela init --workspace ~/notes   use this folder (remembered in the config)

Nothing that exists is overwritten.")]
    Init(InitArgs),

    /// Choose a model, store its API key, test it and start chatting
    #[command(after_help = setup::AFTER_HELP)]
    Setup(setup::SetupArgs),

    /// Log in to providers that offer it, and list stored keys
    #[command(subcommand)]
    Auth(auth::AuthCommand),

    /// Talk to an agent, or get one answer
    #[command(visible_aliases = ["ask", "exec"], after_help = chat::AFTER_HELP)]
    Chat(Box<TalkArgs>),

    /// Go back to an earlier conversation
    #[command(after_help = chat::RESUME_HELP)]
    Resume(Box<ResumeArgs>),

    /// Show what is set up, and where
    Status(JsonArgs),

    /// Look for problems, and fix what can be fixed
    #[command(after_help = "\
Examples:
  chela doctor                       a report for people
  chela doctor --fix                 fix what is safe to fix; backups are kept
  chela doctor --lint --severity-min warning
                                     for scripts: exit 1 when something is found
  chela doctor --json                everything, always exit 0")]
    Doctor(DoctorArgs),

    /// Read, explain and change the config
    #[command(subcommand)]
    Config(ConfigCommand),

    /// An agent's core files and their history
    #[command(subcommand)]
    Workspace(WorkspaceCommand),

    /// Search, inspect and maintain memory
    #[command(subcommand)]
    Memory(MemoryCommand),

    /// List models, and test whether they answer
    #[command(subcommand)]
    Models(ModelsCommand),

    /// List, read, export and clean up conversations
    #[command(subcommand)]
    Sessions(SessionsCommand),

    /// Recorded requests: list, show, compare, replay
    #[command(subcommand)]
    Turn(turn::TurnCommand),

    /// Undo what an agent did to files
    #[command(after_help = undo::AFTER_HELP)]
    Undo(undo::UndoArgs),

    /// What was decided and done, and whether the record is intact
    #[command(subcommand)]
    Audit(audit::AuditCommand),

    /// How much the provider's cache reused, and why not more
    #[command(subcommand)]
    Cache(cache::CacheCommand),

    /// The process that is always on: HTTP, WebSocket, webhooks
    #[command(subcommand, after_help = gateway::AFTER_HELP)]
    Gateway(gateway::GatewayCommand),

    /// Reminders and recurring jobs: what is due when, what ran, what it cost
    #[command(subcommand)]
    Cron(cron::CronCommand),

    /// What agents look at by themselves: when, whether a model is asked, and why not
    #[command(subcommand)]
    Heartbeat(heartbeat::HeartbeatCommand),

    /// Copy the home into one archive, check it, restore it
    #[command(subcommand)]
    Backup(backup::BackupCommand),

    /// Tokens and money spent, summed up
    #[command(after_help = "\
Examples:
  chela usage                     by day
  chela usage --by model --days 7
  chela usage --by cause          what broken cache prefixes cost
  chela usage --by section --json")]
    Usage(usage::UsageArgs),

    /// Show Chela's own log
    #[command(after_help = logs::AFTER_HELP)]
    Logs(logs::LogsArgs),

    /// Agents, what they may do, and where each setting comes from
    #[command(subcommand)]
    Agents(AgentsCommand),

    /// Skills: what agents know how to do, and which skills to trust
    #[command(subcommand)]
    Skills(skills::SkillsCommand),

    /// Tool servers (MCP): which there are, what they may do; and Chela as one
    #[command(subcommand)]
    Mcp(mcp::McpCommand),

    /// Plugins: what other people wrote, inside limits you grant
    #[command(subcommand)]
    Plugins(plugins::PluginsCommand),

    /// The guard: its rules, its decisions, and canaries
    #[command(subcommand)]
    Guard(guard::GuardCommand),

    /// Who wrote the files that shape an agent: inspect, approve, revoke, restore
    #[command(subcommand)]
    Trust(trust::TrustCommand),

    /// Find what is risky about this installation
    #[command(subcommand)]
    Security(security::SecurityCommand),

    /// Which commands agents may run without asking
    #[command(subcommand)]
    Approvals(approvals::ApprovalsCommand),

    /// Folders agents may work in besides their workspace
    #[command(subcommand)]
    Folders(FoldersCommand),

    /// Stop every agent at once, or let them work again
    #[command(after_help = stop::AFTER_HELP)]
    Stop(stop::StopArgs),

    /// Where commands run, and what they can reach
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

    /// What the prompt contains, what it costs, and why
    #[command(subcommand)]
    Context(ContextCommand),

    /// Try agents offline: a model endpoint that follows a script
    #[command(subcommand)]
    Testkit(TestkitCommand),

    /// Install a newer version, or go back to the previous one
    #[command(after_help = update::AFTER_HELP)]
    Update(update::UpdateArgs),

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

    /// Read the documentation, offline
    #[command(after_help = docs::AFTER_HELP)]
    Docs(docs::DocsArgs),
}

#[derive(Debug, Args)]
pub struct JsonArgs {
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Default, Args)]
pub struct AgentArg {
    /// Which agent (default: the default agent)
    #[arg(long, short = 'a', value_name = "ID")]
    pub agent: Option<String>,
}
