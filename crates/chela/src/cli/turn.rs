//! `chela turn …`, as typed.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum TurnCommand {
    /// List recorded requests, newest last
    #[command(after_help = "\
Examples:
  chela turn list
  chela turn list --session main -n 50
  chela turn list --json")]
    List {
        /// Only this conversation: its id, the start of it, or its key
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,
        /// Only this agent's
        #[arg(long, short = 'a', value_name = "ID")]
        agent: Option<String>,
        /// Show at most this many requests
        #[arg(long, short = 'n', value_name = "N", default_value_t = 30)]
        limit: usize,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show what a request contained, its outcome and its cost
    #[command(after_help = "\
Examples:
  chela turn show last
  chela turn show 12
  chela turn show 12 --raw | jq .messages     the bytes, with names in place of secrets")]
    Show {
        /// Its number, from `list`, or `last`
        #[arg(value_parser = request_number, default_value = "last")]
        id: i64,
        /// Print the request itself, byte for byte
        #[arg(long, conflicts_with = "json")]
        raw: bool,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Compare two requests, part by part
    Diff {
        /// The number of the first
        #[arg(value_parser = request_number)]
        one: i64,
        /// The number of the second
        #[arg(value_parser = request_number)]
        other: i64,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Rebuild a request and compare it with what was sent
    #[command(after_help = "\
Secrets are not recorded. Their values come from the current config \
and environment.")]
    Replay {
        /// Its number, from `list`, or `last`
        #[arg(value_parser = request_number)]
        id: i64,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Delete old requests from the ledger; the audit chain records the deletion
    #[command(
        after_help = "`ledger.keep` sets what is kept; this runs by itself once a day.

Examples:
  chela turn prune --dry-run
  chela turn prune --older-than 30d
  chela turn prune --max-size 200mb"
    )]
    Prune {
        /// Delete requests older than this: 30d, 12h
        #[arg(long, value_name = "AGE")]
        older_than: Option<String>,
        /// Keep at most this much, the newest: 500mb, 1gb
        #[arg(long, value_name = "SIZE")]
        max_size: Option<String>,
        /// Show what would be deleted, and delete nothing
        #[arg(long)]
        dry_run: bool,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}

/// Stands for the newest request; none has this number.
pub const LAST_REQUEST: i64 = 0;

pub(super) fn request_number(typed: &str) -> Result<i64, String> {
    if typed.eq_ignore_ascii_case("last") {
        return Ok(LAST_REQUEST);
    }
    let number = typed.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{typed}` is not a request number; `chela turn list` shows them"))
}
