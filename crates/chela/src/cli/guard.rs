//! `chela guard …`, as typed.

use clap::{Args, Subcommand};

use super::AgentArg;

#[derive(Debug, Subcommand)]
pub enum GuardCommand {
    /// Plant a string nobody has a reason to repeat, and see whether it ever left
    #[command(after_help = "\
Examples:
  chela guard canary --plant     into a file that looks like keys, and into a memory
  chela guard canary             who came near it since (exit code 1 when it was carried)
  chela guard canary --remove    take it out again

The string is never printed. Where it turns up in a tool's result it is hidden before a model
reads it; where it turns up in a call, the call is refused. Both are on record.")]
    Canary(CanaryArgs),

    /// Why each call of a turn was made, asked about or refused
    #[command(after_help = "\
Examples:
  chela guard explain            the newest turn
  chela guard explain 42         the turn of request 42 (see `chela turn list`)

For every call: its effect, whether text from outside had been read, where the words of its
arguments came from, the rule that decided, and the verdict.")]
    Explain {
        /// A request of the turn (default: the newest)
        turn: Option<i64>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },

    /// What may happen without asking, and what asks
    Policy {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },

    /// Who wrote a file, and how that is known
    #[command(after_help = "\
Examples:
  chela guard why README.md
  chela guard why notes/plan.md --json

A file is your agent's own when a turn that had read nothing foreign wrote this very version, a
command of yours did, or you answered for it (`chela trust approve`). Everything else is foreign:
reading it is free, and what follows from it is asked about.")]
    Why {
        /// A file or folder, from the workspace or from here
        path: String,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },

    /// Texts from outside that were held back
    Withheld {
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },

    /// Let a model read a text that was held back, or let a session act on what it read
    #[command(after_help = "\
Examples:
  chela guard release held-3f2a4c0d91be   the model reads this text with your next message
  chela guard release                     stop asking because of what the main session read")]
    Release {
        /// A text that was held back, from `chela guard withheld`
        id: Option<String>,
        /// The session (default: the main one)
        #[arg(long, value_name = "KEY")]
        session: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
    },
}

#[derive(Debug, Args)]
pub struct CanaryArgs {
    /// Plant one in the workspace of the agent
    #[arg(long, conflicts_with_all = ["check", "remove"])]
    pub plant: bool,
    /// Say what became of it (this is what happens without a flag)
    #[arg(long, conflicts_with = "remove")]
    pub check: bool,
    /// Take it out again
    #[arg(long)]
    pub remove: bool,
    #[command(flatten)]
    pub agent: AgentArg,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
