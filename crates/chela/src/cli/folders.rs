//! `chela folders`, as typed.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::JsonArgs;

#[derive(Debug, Subcommand)]
pub enum FoldersCommand {
    /// The folders you were asked about, and what you said
    List(JsonArgs),
    /// Let agents work in a folder
    #[command(
        after_help = "Examples:\n  chela folders allow ~/project\n  chela folders allow --read ~/papers"
    )]
    Allow {
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// Only to read in it
        #[arg(long)]
        read: bool,
    },
    /// Forget what you said about a folder: you are asked again
    Rm {
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
}
