//! `chela trust …`, as typed.

use clap::{Args, Subcommand};

use super::AgentArg;

#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// Who wrote each file that shapes the agent, and what waits for you
    #[command(after_help = "\
Examples:
  chela trust status
  chela trust status --agent research --json

A file is trusted when Chela knows who wrote it: you through a command, the agent in a turn that
had read nothing foreign, or Chela itself. guard.trust decides what happens with the rest. Files in
hooks/ are watched as well; nothing runs them yet.")]
    Status {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show what changed since the version on record
    #[command(after_help = "\
Examples:
  chela trust diff                everything that waits
  chela trust diff SOUL.md

Ends with exit code 1 when something differs.")]
    Diff {
        /// A file, such as SOUL.md (default: all that wait)
        file: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Trust files as they are now, or as the agent proposes them, after looking at the differences
    #[command(after_help = "\
Examples:
  chela trust approve SOUL.md
  chela trust approve --all --yes
  chela trust approve vendor/lib  answer for everything in a folder as it is now: a checkout, an
                                  unpacked archive; shown first with what it holds
  chela trust approve --folder    take the workspace for your own: later changes are told, not
                                  set aside, and what is in it now is approved")]
    Approve(ApproveArgs),
    /// Withdraw trust: the file is set aside until you approve it again
    #[command(after_help = "\
Examples:
  chela trust revoke MEMORY.md
  chela trust revoke --folder     the workspace counts as somebody else's folder again")]
    Revoke {
        /// A file, such as MEMORY.md
        #[arg(required_unless_present = "folder", conflicts_with = "folder")]
        file: Option<String>,
        /// The workspace itself
        #[arg(long)]
        folder: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Say no to a change the agent made or wanted to make: the former text stands
    #[command(after_help = "\
Examples:
  chela trust refuse SOUL.md

What the agent wanted to write is dropped. What it wrote while foreign text was being read is
replaced by the last trusted version; a file that had none is taken away.")]
    Refuse {
        /// A file, such as SOUL.md
        file: String,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Put the last trusted version of a file back
    #[command(after_help = "\
Examples:
  chela trust restore SOUL.md
  chela trust restore SOUL.md --to 3f2a4c     an earlier one, from `chela trust status --json`

The text it replaces is kept in the history of the workspace, where there is one.")]
    Restore {
        /// A file, such as SOUL.md
        file: String,
        /// The hash of a version on record, or the start of it
        #[arg(long, value_name = "HASH")]
        to: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// Files, such as SOUL.md, or one folder
    #[arg(required_unless_present_any = ["all", "folder"], conflicts_with_all = ["all", "folder"])]
    pub files: Vec<String>,
    /// Every file that waits
    #[arg(long, conflicts_with = "folder")]
    pub all: bool,
    /// The workspace itself, and what is in it
    #[arg(long)]
    pub folder: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    #[command(flatten)]
    pub agent: AgentArg,
    /// Print JSON for scripts; needs --yes
    #[arg(long, requires = "yes")]
    pub json: bool,
}
