//! `chela init`, as typed.

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Which agent (default: the default agent)
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,

    /// Fill a workspace again that was set up before and lost its files
    #[arg(long)]
    pub reseed: bool,

    /// Use this folder as the workspace and remember it in the config
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub workspace: Option<String>,

    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
