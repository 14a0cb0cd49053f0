//! `chela docs`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub const AFTER_HELP: &str = "\
Examples:
  chela docs                     list the pages
  chela docs config              every key of the config
  chela docs commands | less     every command
  chela docs --search sandbox    pages that mention it

The pages are built in: nothing is downloaded.";

#[derive(Debug, Args)]
pub struct DocsArgs {
    /// Which page; without it, the pages are listed
    #[arg(value_name = "TOPIC")]
    pub topic: Option<String>,

    /// List all lines that contain this text
    #[arg(long, value_name = "TEXT", conflicts_with = "topic")]
    pub search: Option<String>,

    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,

    /// Write the generated reference pages into a folder
    #[arg(long, hide = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub write: Option<PathBuf>,
}
