//! `chela guard …`, as typed.

use clap::{Args, Subcommand};

use super::AgentArg;

#[derive(Debug, Subcommand)]
pub enum GuardCommand {
    /// Plant a secret nobody has a use for, and see whether it is ever touched
    #[command(after_help = "\
Examples:
  chela guard canary --plant     in a file that looks like keys, and in memory
  chela guard canary             who touched it since (exit code 1 if a call tried to send it)
  chela guard canary --remove    remove it

The secret is never printed. If it turns up in a tool's result, it is hidden before a model
reads it; if it turns up in a call, the call is refused. Both are recorded.")]
    Canary(CanaryArgs),

    /// Explain why each call of a turn was allowed, asked about or refused
    #[command(after_help = "\
Examples:
  chela guard explain            the newest turn
  chela guard explain 42         the turn of request 42 (see `chela turn list`)

For every call: its effect, whether untrusted content was in context, where the words of its
arguments came from, the rule that decided, and the verdict.")]
    Explain {
        /// Any request of the turn (default: the newest)
        #[arg(value_parser = super::turn::request_number)]
        turn: Option<i64>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },

    /// Show what happens without asking, and what asks
    Policy {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },

    /// Show who wrote a file, and how Chela knows
    #[command(after_help = "\
Examples:
  chela guard why README.md
  chela guard why notes/plan.md --json

A file is trusted when this exact version was written by a turn without untrusted content or by a
command of yours, or when you approved it (`chela trust approve`). Everything else is untrusted:
it can be read freely, but what follows from it is asked about.")]
    Why {
        /// A file or folder, relative to the workspace or to this folder
        path: String,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },

    /// List untrusted content that was withheld
    Withheld {
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },

    /// Let the model read withheld content, or let a session act on what it has read
    #[command(after_help = "\
Examples:
  chela guard release held-3f2a4c0d91be   the model reads this content with your next message
  chela guard release                     stop asking because of what the main session read")]
    Release {
        /// The id of withheld content, from `chela guard withheld`
        id: Option<String>,
        /// The session (default: the main session)
        #[arg(long, value_name = "KEY")]
        session: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
    },
}

#[derive(Debug, Args)]
pub struct CanaryArgs {
    /// Plant one in the agent's workspace
    #[arg(long, conflicts_with_all = ["check", "remove"])]
    pub plant: bool,
    /// Show whether it was touched (the default)
    #[arg(long, conflicts_with = "remove")]
    pub check: bool,
    /// Remove it
    #[arg(long)]
    pub remove: bool,
    #[command(flatten)]
    pub agent: AgentArg,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
