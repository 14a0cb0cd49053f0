//! `chela usage`, as typed.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct UsageArgs {
    /// What to sum by
    #[arg(long, value_enum, default_value_t = ByName::Day, value_name = "WHAT")]
    pub by: ByName,
    /// Only the last so many days
    #[arg(long, value_name = "N")]
    pub days: Option<u64>,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ByName {
    Agent,
    Model,
    /// Which part of the prompt
    Section,
    /// Why the cached prefix was not longer
    Cause,
    Day,
}
