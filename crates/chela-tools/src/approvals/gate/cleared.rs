//! A command that may run, or why it may not.

use std::collections::BTreeMap;

use chela_core::ContentHash;

use crate::approvals::document::DocumentError;
use crate::approvals::planned_command::PlannedCommand;
use crate::approvals::program::ProgramError;
use crate::approvals::read_only::quiet_git;

/// A command that may run, once: checked again on the way.
#[derive(Debug)]
pub struct ClearedCommand {
    pub planned: PlannedCommand,
    /// Who said yes.
    pub by: ClearedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClearedBy {
    Policy,
    List,
    Person,
    Session,
    /// Nobody had to: it only looks, or stays in the sandbox.
    Freedom,
    /// Nobody had to: it only puts on record what lies in the workspace.
    Records,
}

/// Why a command does not run; written for the model.
#[derive(Debug, thiserror::Error)]
pub enum CommandRefusal {
    #[error(
        "Commands are off for this agent (tools.exec.mode: deny). Do it another way, or tell the owner, who can turn them on: `chela config set tools.exec.mode ask`, and `chela approvals set cautious` where `chela approvals get` says that the document forbids them."
    )]
    Off,
    #[error(
        "Not allowed: {0}. Only listed commands may run; nobody is asked. The owner can list it (`chela approvals allow PROGRAM`) or be asked (`chela config set tools.exec.mode ask`)."
    )]
    NotListed(String),
    #[error(
        "The owner said no to this command. Do not try it in another form; ask what to do instead."
    )]
    Denied,
    #[error(
        "This command needs the owner's yes and nobody answered: {0}. Find a way without it, or tell the owner, who is asked in `chela chat` and can list it with `chela approvals allow PROGRAM`."
    )]
    Unanswered(String),
    #[error(
        "The owner said no to this, or to several things in a row, and is not asked again until they have written. Nothing was run; say what you wanted to do and why."
    )]
    LeftInPeace,
    #[error(
        "The command is too long to be approved at a glance. Write it to a script file and run that."
    )]
    TooLong,
    #[error("What would run is not what was approved: {0}. Nothing was run.")]
    Changed(String),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Program(#[from] ProgramError),
}

pub(super) fn unchanged(
    planned: &PlannedCommand,
    binds: ContentHash,
) -> Result<PlannedCommand, CommandRefusal> {
    let again = planned
        .again()
        .map_err(|error| CommandRefusal::Changed(error.to_string()))?;
    match again.binds() == binds {
        true => Ok(again),
        false => Err(CommandRefusal::Changed(
            "a program or script changed meanwhile".to_owned(),
        )),
    }
}

impl ClearedCommand {
    /// Variables it runs with besides its own.
    pub fn variables(&self) -> BTreeMap<String, String> {
        match self.by {
            ClearedBy::Records => quiet_git(),
            _ => BTreeMap::new(),
        }
    }

    /// The last look before it runs: files are found and read once more.
    pub fn check(self) -> Result<PlannedCommand, CommandRefusal> {
        let binds = self.planned.binds();
        unchanged(&self.planned, binds)
    }
}
