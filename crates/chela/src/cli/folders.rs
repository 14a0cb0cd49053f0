//! `chela folders`, as typed.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::JsonArgs;

#[derive(Debug, Subcommand)]
pub enum FoldersCommand {
    /// List the folders you were asked about, and your answers
    List(JsonArgs),
    /// Let agents work in a folder
    #[command(
        after_help = "Examples:\n  chela folders allow ~/project\n  chela folders allow --read ~/papers"
    )]
    Allow {
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// Allow reading only
        #[arg(long)]
        read: bool,
    },
    /// Forget your answer for a folder, so that you are asked again
    Rm {
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
}
