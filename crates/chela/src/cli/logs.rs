//! `chela logs`, as typed.

use clap::{Args, ValueEnum};

pub const AFTER_HELP: &str = "\
Examples:
  chela logs                       the newest lines
  chela logs -f                    and new ones as they come
  chela logs --level warn --since 1d
  chela logs --turn 8f3a           what one turn did (`chela turn show N` has its id)
  chela logs --json | jq .message

The log is ~/.chela/logs/chela.log; `logging.level` sets how much goes there. Secrets are removed
before a line is written.";

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Follow new lines until Ctrl-C
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// This level and above
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub level: Option<LevelName>,
    /// No older than this: 30s, 10m, 2h, 3d
    #[arg(long, value_name = "AGE")]
    pub since: Option<String>,
    /// Only one turn: its id or the start of it
    #[arg(long, value_name = "ID")]
    pub turn: Option<String>,
    /// Show at most this many lines
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub lines: usize,
    /// Print JSON for scripts, one object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LevelName {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}
