//! `chela sessions …`, as typed.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum, ValueHint};

use super::AgentArg;

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List conversations, newest first
    #[command(after_help = "\
Examples:
  chela sessions list
  chela sessions list --kind group --active 7d
  chela sessions list --all --json            including reset and archived ones")]
    List {
        /// Only this kind (repeat for more)
        #[arg(long, value_enum, value_name = "KIND")]
        kind: Vec<KindName>,
        /// Only those used within this time, such as 30m, 12h or 7d; a bare number is minutes
        #[arg(long, value_name = "TIME")]
        active: Option<String>,
        /// Only those whose name contains this
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// Include reset and archived conversations
        #[arg(long)]
        all: bool,
        /// Show at most this many
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Print a conversation
    #[command(after_help = "\
Examples:
  chela sessions show main
  chela sessions show 3f2a                    by the start of its id
  chela sessions show main --last 4 --json")]
    Show {
        /// Its id, the start of it, its key or its name
        #[arg(default_value = "main")]
        session: String,
        /// Only the newest entries
        #[arg(long, value_name = "N")]
        last: Option<usize>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Write a conversation to a file: to be read, or brought in again
    #[command(after_help = "\
Examples:
  chela sessions export -o talk.md            the main conversation, to be read
  chela sessions export main > main.jsonl
  chela sessions export 3f2a -o trip.md       what was said, to be read
  chela sessions export 3f2a -o trip.jsonl    every entry, for `chela sessions import`

The ending of the file chooses: .md, .json (one object), .jsonl (JSON lines, branches that were left
included). Without a file it is JSON lines; --format says otherwise.")]
    Export {
        /// Its id, the start of it, its key or its name
        #[arg(default_value = "main")]
        session: String,
        /// Write to this file instead of standard output
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Write this format, whatever the ending
        #[arg(long, value_enum, value_name = "FORMAT")]
        format: Option<FormatName>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Import conversations from JSON lines: an export, or another agent system's session files
    #[command(after_help = "\
Examples:
  chela sessions import trip.jsonl
  chela sessions import old.jsonl --key agent:main:main
  chela sessions import ~/.openclaw/agents/main/sessions

From a folder, all files are read; a sessions.json in it gives each file's key. A conversation whose
key is in use is imported as a past one.")]
    Import {
        /// A file, or a folder of them
        #[arg(value_hint = ValueHint::AnyPath)]
        path: PathBuf,
        /// The session key it belongs to
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Give a conversation a name
    #[command(after_help = "Example:\n  chela sessions rename 3f2a 'Trip to Lisbon'")]
    Rename {
        /// Its id, the start of it, its key or its name
        session: String,
        /// The name; without it, the name is removed
        name: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Compact a conversation: older parts become a summary
    #[command(after_help = "\
Examples:
  chela sessions compact main
  chela sessions compact main --keep 'everything about the trip'
  chela sessions compact main --undo     restore the full conversation

Nothing is deleted. The model writes the summary; without a model, fixed rules do.")]
    Compact {
        /// Its id, the start of it, its key or its name
        session: String,
        /// What the summary should keep
        #[arg(long, value_name = "WORDS", conflicts_with = "undo")]
        keep: Option<String>,
        /// Undo the newest compaction
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Delete a conversation and everything in it
    #[command(after_help = "\
Examples:
  chela sessions rm 3f2a           show what would be deleted
  chela sessions rm 3f2a --yes     delete it")]
    Rm {
        /// Ids, starts of ids, keys or names
        #[arg(required = true)]
        sessions: Vec<String>,
        /// Delete, instead of showing what would be deleted
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Remove old or surplus conversations, following session.maintenance
    #[command(after_help = "\
Examples:
  chela sessions cleanup               follow session.maintenance.mode
  chela sessions cleanup --dry-run     show what would be removed
  chela sessions cleanup --enforce     remove, whatever the mode

Each conversation is archived beside the session file before it is removed.")]
    Cleanup {
        /// Remove nothing
        #[arg(long, conflicts_with = "enforce")]
        dry_run: bool,
        /// Remove, even in mode `warn`
        #[arg(long)]
        enforce: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Recover what can be read from a damaged session file into a new one
    #[command(after_help = "\
Examples:
  chela sessions rescue                the default agent's
  chela sessions rescue --agent research

The damaged file is moved aside, never deleted.

Exit codes: 0 everything was recovered, or the file is intact; 1 something could
not be read, or nothing is left to recover.")]
    Rescue {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    #[value(alias = "markdown")]
    Md,
    Json,
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindName {
    Main,
    Group,
    Cron,
    Hook,
    Node,
    Other,
}

impl From<FormatName> for chela_agent::spoken::ExportFormat {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Md => Self::Markdown,
            FormatName::Json => Self::Json,
            FormatName::Jsonl => Self::JsonLines,
        }
    }
}

impl From<KindName> for chela_core::SessionKind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Main => Self::Main,
            KindName::Group => Self::Group,
            KindName::Cron => Self::Cron,
            KindName::Hook => Self::Hook,
            KindName::Node => Self::Node,
            KindName::Other => Self::Other,
        }
    }
}
