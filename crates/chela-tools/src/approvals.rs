//! Which commands may run.
//!
//! The config ([`Exec`](chela_config::model::Exec)) and the approvals document each say what may
//! run; the stricter counts. What is checked is what will run: a command is read as the shell
//! would read it, every part is looked up as a file, and the file, its content, the arguments,
//! the folder and the variables are bound into the question a person is asked. After the answer
//! all of it is looked up again. The model is never among those who are asked.

mod document;
mod gate;
mod limits;
mod listed;
mod planned;
mod program;
mod shell;
mod show;

pub use document::{
    AgentApprovals, Document, DocumentError, EVERY_AGENT, Entry, KnownCall, KnownState, Limits,
};
pub use gate::{By, Cleared, Gate, GateSetup, Harden, Refusal};
pub use limits::{Answer, Rules};
pub use listed::{check_pattern, exact};
pub use planned::{Form, Planned, Runs, Segment};
pub use program::{Program, ProgramError};
pub use show::{shown, typed};

#[cfg(test)]
mod tests;
