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
  chela sessions list --all --json            also those that were reset or put away")]
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
        /// Also conversations that were reset or put away
        #[arg(long)]
        all: bool,
        /// Most sessions
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Print what was said in a conversation
    #[command(after_help = "\
Examples:
  chela sessions show main
  chela sessions show 3f2a                    by the start of its id
  chela sessions show main --last 4 --json")]
    Show {
        /// Its id, the start of it, its key or its name
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
  chela sessions export main > main.jsonl
  chela sessions export 3f2a -o trip.md       what was said, to be read
  chela sessions export 3f2a -o trip.jsonl    every entry, for `chela sessions import`

The ending of the file chooses: .md, .json (one object), .jsonl (JSON lines, branches that were left
included). Without a file it is JSON lines; --format says otherwise.")]
    Export {
        /// Its id, the start of it, its key or its name
        session: String,
        /// Write here instead of to standard output
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Write this format, whatever the ending
        #[arg(long, value_enum, value_name = "FORMAT")]
        format: Option<FormatName>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Read conversations from JSON lines: an export, or another agent system's session files
    #[command(after_help = "\
Examples:
  chela sessions import trip.jsonl
  chela sessions import old.jsonl --key agent:main:main
  chela sessions import ~/.openclaw/agents/main/sessions

A folder is read whole; a sessions.json in it says which key each file has. A conversation whose
key is in use is kept as a past one.")]
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
        /// The name; left out, the name is taken away
        name: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Make a conversation shorter: what is older becomes a summary
    #[command(after_help = "\
Examples:
  chela sessions compact main
  chela sessions compact main --keep 'everything about the trip'
  chela sessions compact main --undo     as long again as it was

Nothing is deleted. The model writes the summary; without one it is made by rules.")]
    Compact {
        /// Its id, the start of it, its key or its name
        session: String,
        /// What the summary should keep
        #[arg(long, value_name = "WORDS", conflicts_with = "undo")]
        keep: Option<String>,
        /// Take the newest compaction back
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Delete a conversation and everything said in it
    #[command(after_help = "\
Examples:
  chela sessions rm 3f2a           show what would go
  chela sessions rm 3f2a --yes     delete it")]
    Rm {
        /// Ids, starts of ids, keys or names
        #[arg(required = true)]
        sessions: Vec<String>,
        /// Delete, instead of showing what would go
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Remove conversations that are old or too many, as session.maintenance says
    #[command(after_help = "\
Examples:
  chela sessions cleanup               as session.maintenance.mode says
  chela sessions cleanup --dry-run     only say what would go
  chela sessions cleanup --enforce     remove it, whatever the mode

Each conversation is written to an archive beside the session file before it goes.")]
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
    /// Save what can be read of a damaged session file, and begin a new one with it
    #[command(after_help = "\
Examples:
  chela sessions rescue                the default agent's
  chela sessions rescue --agent research

The damaged file is put aside, never deleted.

Exit codes: 0 everything was saved, or the file is sound; 1 something could
not be read, or nothing is left to rescue.")]
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
