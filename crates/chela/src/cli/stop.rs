//! `chela stop`, as typed.

use clap::Args;

pub const AFTER_HELP: &str = "\
Examples:
  chela stop --all                   stop every turn of every agent, and let none start
  chela stop --all --reason 'odd mails'
  chela stop                         show whether agents are stopped
  chela stop --lift                  let them work again";

#[derive(Debug, Args)]
pub struct StopArgs {
    /// Stop every agent of this home, in every process
    #[arg(long, conflicts_with = "lift")]
    pub all: bool,
    /// Shown to anyone who asks why
    #[arg(long, value_name = "TEXT", requires = "all")]
    pub reason: Option<String>,
    /// Let agents work again
    #[arg(long)]
    pub lift: bool,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
