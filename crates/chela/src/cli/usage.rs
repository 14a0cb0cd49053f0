//! `chela usage`, as typed.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct UsageArgs {
    /// Group by
    #[arg(long, value_enum, default_value_t = ByName::Day, value_name = "WHAT")]
    pub by: ByName,
    /// Only the last N days
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
    /// By part of the prompt
    Section,
    /// By what broke the cached prefix
    Cause,
    Day,
}
