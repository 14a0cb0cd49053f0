//! What decides about a command besides its words: where it runs, what it may reach, what was
//! read and written before.

use std::path::{Path, PathBuf};

use chela_guard::flow::SessionTaint;

/// Under which circumstances a command would run.
#[derive(Debug, Clone, Copy)]
pub struct CommandCircumstances<'a> {
    pub ask: AskAlways,
    pub place: RunPlace,
    /// Whether text from outside was read in the session.
    pub taint: SessionTaint,
    /// Hosts it is to reach from inside the sandbox.
    pub hosts: &'a [String],
    pub state: StateReach,
}

/// Whether a command can change what Chela keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateReach {
    Kept,
    /// Nothing keeps it from that.
    Open,
}

/// Whether a call asks to be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskAlways {
    No,
    /// A person is asked even when the command is on the list.
    Always,
}

/// Where a command runs, as far as an approval is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPlace {
    /// On the machine itself; there is no sandbox for it.
    Host,
    /// On the machine itself, although there is a sandbox.
    LeftSandbox,
    Sandbox,
}

/// Knows which files were written after text from outside was read.
pub trait FolderDoubts: Send + Sync + std::fmt::Debug {
    /// One such file in a folder or below it that changed after a time in milliseconds since
    /// 1970.
    fn written_since(&self, folder: &Path, since: u64) -> Option<PathBuf>;
}

/// Where nothing is written down about files.
#[derive(Debug, Clone, Copy)]
pub struct NoDoubts;

impl FolderDoubts for NoDoubts {
    fn written_since(&self, _: &Path, _: u64) -> Option<PathBuf> {
        None
    }
}
