//! `chela trust …`, as typed.

use clap::{Args, Subcommand};

use super::AgentArg;

#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// Show who wrote each file that shapes the agent, and what is waiting for you
    #[command(after_help = "\
Examples:
  chela trust status
  chela trust status --agent research --json

A file is trusted when Chela knows who wrote it: you through a command, the agent in a turn
without untrusted content, or Chela itself. guard.trust decides what happens to the rest. Files in
hooks/ are watched too; nothing runs them yet.")]
    Status {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show what changed since the recorded version
    #[command(after_help = "\
Examples:
  chela trust diff                everything waiting for you
  chela trust diff SOUL.md

Exits 1 when something differs.")]
    Diff {
        /// A file, such as SOUL.md (default: all that are waiting)
        file: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Review, then trust files as they are now or as the agent proposes them
    #[command(after_help = "\
Examples:
  chela trust approve SOUL.md
  chela trust approve --all --yes
  chela trust approve vendor/lib  approve everything in a folder as it is now: a checkout, an
                                  unpacked archive; its contents are shown first
  chela trust approve --folder    treat the workspace as your own: later changes give a warning
                                  instead of a quarantine, and what is in it now is approved")]
    Approve(ApproveArgs),
    /// Revoke trust: the file is quarantined until you approve it again
    #[command(after_help = "\
Examples:
  chela trust revoke MEMORY.md
  chela trust revoke --folder     the workspace is treated as someone else's folder again")]
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
    /// Refuse a change the agent made or proposed; the previous text is kept
    #[command(after_help = "\
Examples:
  chela trust refuse SOUL.md

What the agent proposed is dropped. What it wrote with untrusted content in context is
replaced by the last trusted version; a file without one is removed.")]
    Refuse {
        /// A file, such as SOUL.md
        file: String,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Restore the last trusted version of a file
    #[command(after_help = "\
Examples:
  chela trust restore SOUL.md
  chela trust restore SOUL.md --to 3f2a4c     an earlier one, from `chela trust status --json`

The text it replaces is kept in the workspace history, if there is one.")]
    Restore {
        /// A file, such as SOUL.md
        file: String,
        /// The hash of a recorded version, or the start of it
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
    /// Every file waiting for you
    #[arg(long, conflicts_with = "folder")]
    pub all: bool,
    /// The workspace itself, with everything in it
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
