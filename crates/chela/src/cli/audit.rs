//! `chela audit …`, as typed.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check that no recorded entry was changed, removed, moved or cut off
    #[command(after_help = "\
Examples:
  chela audit verify
  chela audit verify --file audit.jsonl       an export, without the ledger

Exits 1 when something is wrong, and says where.")]
    Verify {
        /// Check this export instead
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show what was decided and done, newest last
    #[command(after_help = "\
Examples:
  chela audit show
  chela audit show --kind tool-decision -n 100
  chela audit show --about 3f2a4c             entries that mention this")]
    Show {
        /// Only this kind, such as prompt-build, tool-decision or approval
        #[arg(long, value_name = "KIND")]
        kind: Option<String>,
        /// Only entries containing this text
        #[arg(long, value_name = "TEXT")]
        about: Option<String>,
        /// Only from this entry on
        #[arg(long, value_name = "SEQ")]
        since: Option<u64>,
        /// Show at most this many entries
        #[arg(long, short = 'n', value_name = "N", default_value_t = 30)]
        limit: usize,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Export every entry as JSON lines that can be verified elsewhere
    Export {
        /// Write to this file instead of the terminal
        #[arg(long, short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
}
