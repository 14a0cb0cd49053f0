//! `chela undo`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub const AFTER_HELP: &str = "\
Examples:
  chela undo                      take back what the last turn did to files
  chela undo --list               which changes there are, the newest first
  chela undo --dry-run            only say what would happen
  chela undo 14                   take back one change
  chela undo 3f2a4c               take back a whole turn
  chela undo --keep notes/x.md    leave a file as it is, and stand for what it says

Changes made by the tools write, edit and apply_patch can be taken back; what a command did
cannot. A file that somebody else has changed since is left alone unless --force is given.
An undo is on record too: its own number brings everything back.";

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// A change by its number, or a turn by the beginning of its id; the last turn without it
    #[arg(value_name = "TURN|CHANGE", conflicts_with_all = ["list", "keep"])]
    pub what: Option<String>,
    /// Show the changes on record
    #[arg(long, conflicts_with_all = ["keep", "dry_run", "force"])]
    pub list: bool,
    /// Most changes to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Only say what would happen
    #[arg(long, conflicts_with = "keep")]
    pub dry_run: bool,
    /// Overwrite files that somebody else has changed since; what they hold now is kept
    #[arg(long, conflicts_with = "keep")]
    pub force: bool,
    /// Leave this file as it is: from now on its text counts as yours, though it was written
    /// after text from outside was read
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub keep: Option<PathBuf>,
    /// Whose changes; the default agent's without it
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
