//! `chela sandbox …`, as typed.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Show whether a session is sandboxed, how, and what it can reach
    #[command(after_help = "\
Examples:
  chela sandbox explain
  chela sandbox explain --session agent:main:telegram:direct:42
  chela sandbox explain --agent research --json

Exits 1 when a session must be sandboxed and cannot be: exec is refused there.")]
    Explain {
        #[command(flatten)]
        whose: WhoseSandbox,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Run a command as a session's exec would, to see what it can reach
    #[command(after_help = "\
Examples:
  chela sandbox run -- ls -la ~
  chela sandbox run --session agent:main:cron:nightly -- sh -c 'curl https://example.org'

Exits with the command's exit code. If the session is not sandboxed, neither is the
command.")]
    Run {
        #[command(flatten)]
        whose: WhoseSandbox,
        /// Stop it after this many seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        timeout: u64,
        /// The command and its arguments
        #[arg(
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "COMMAND"
        )]
        command: Vec<String>,
    },
    /// Remove files of sandboxes no longer in use
    #[command(after_help = "\
Examples:
  chela sandbox prune --dry-run
  chela sandbox prune --work

Limits are sandbox.prune.idleHours and sandbox.prune.maxAgeDays, 0 for never. A chat does the
same from time to time. A sandbox's home and temporary files are removed; files that commands
left in its work folder stay unless --work is given. A sandbox that all agents share stays.")]
    Prune {
        /// Show what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Also remove the files that commands left in their work folder
        #[arg(long)]
        work: bool,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct WhoseSandbox {
    /// Which agent (default: the default agent)
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Which session (default: the agent's main one)
    #[arg(long, value_name = "KEY")]
    pub session: Option<String>,
    /// The channel a message would arrive on
    #[arg(long, value_name = "CHANNEL")]
    pub channel: Option<String>,
}
