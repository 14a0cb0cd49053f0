//! `chela undo`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub const AFTER_HELP: &str = "\
Examples:
  chela undo                      undo what the last turn did to files
  chela undo --list               list changes, newest first
  chela undo --dry-run            show what would happen
  chela undo 14                   undo one change
  chela undo 3f2a4c               undo a whole turn
  chela undo --keep notes/x.md    keep a file as it is, as if you had written it

Changes made by the tools write, edit and apply_patch can be undone; what a command did
cannot. A file that someone else has changed since is left alone unless --force is given.
An undo is recorded too: undo it by its own number to redo.";

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// A change by its number, or a turn by the start of its id (default: the last turn)
    #[arg(value_name = "TURN|CHANGE", conflicts_with_all = ["list", "keep"])]
    pub what: Option<String>,
    /// List recorded changes
    #[arg(long, conflicts_with_all = ["keep", "dry_run", "force"])]
    pub list: bool,
    /// Show at most this many changes
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Show what would happen, and change nothing
    #[arg(long, conflicts_with = "keep")]
    pub dry_run: bool,
    /// Overwrite files that someone else has changed since; a copy of their text is kept
    #[arg(long, conflicts_with = "keep")]
    pub force: bool,
    /// Keep this file as it is: from now on its text counts as yours, although it was written
    /// with untrusted content in context
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub keep: Option<PathBuf>,
    /// Whose changes (default: the default agent's)
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
