//! `chela init`, as typed.

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Which agent (default: the default agent)
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,

    /// Recreate the files of a workspace that lost them
    #[arg(long)]
    pub reseed: bool,

    /// Use this folder as the workspace, and save that in the config
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub workspace: Option<String>,

    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
