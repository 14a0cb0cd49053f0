//! `chela workspace …`, as typed.

use clap::Subcommand;

use super::AgentArg;

#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    /// Print the workspace folder
    Path {
        #[command(flatten)]
        agent: AgentArg,
    },
    /// List the core files, and whether each is in the prompt
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
  chela workspace diff SOUL.md              since the last recorded version
  chela workspace diff SOUL.md 3f2a1c       since that version
  chela workspace diff SOUL.md 3f2a1c 9b0e  between two versions")]
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
    /// Edit a core file in your editor, and record the change as yours
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
    /// Restore an earlier version of a core file
    #[command(after_help = "\
Examples:
  chela workspace restore SOUL.md            undo the latest change
  chela workspace restore SOUL.md 3f2a1c     back to that version

The current text is recorded first, so a restore can itself be undone.")]
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
