//! Which commands may run.
//!
//! The config ([`Exec`](chela_config::model::Exec)) and the approvals document each say what may
//! run; the stricter counts. What is checked is what will run: a command is read as the shell
//! would read it, every part is looked up as a file, and the file, its content, the arguments,
//! the folder and the variables are bound into the question a person is asked. After the answer
//! all of it is looked up again. The model is never among those who are asked.

mod carrying;
mod circumstances;
mod document;
mod gate;
mod limits;
mod list_match;
mod open_questions;
mod planned_command;
mod program;
mod read_only;
mod shell;
mod show;
mod skill_grant;
mod witness;

pub use circumstances::{
    AskAlways, CommandCircumstances, FolderDoubts, NoDoubts, RunPlace, StateReach,
};
pub use document::{
    AgentApprovals, ApprovalEntry, ApprovalLimits, ApprovalsDocument, DocumentError, EVERY_AGENT,
    HostGrant, KnownCall, KnownState,
};
pub use gate::{
    ClearedBy, ClearedCommand, CommandFreedom, CommandGate, CommandRefusal, CommandStanding,
    GateSetup, ProcessInput, binds_of,
};
pub use limits::{CommandRules, RuleAnswer};
pub use list_match::{check_pattern, exact};
pub use open_questions::{OpenCall, OpenQuestion, OpenQuestionRecord};
pub use planned_command::{CommandSegment, PlannedCommand, PlannedForm, SegmentTarget};
pub use program::{ProgramError, ProgramFile};
pub use read_only::{is_plain_config, is_plain_repository, quiet_git};
pub use show::{shown, typed};
pub use skill_grant::SkillRequest;

#[cfg(test)]
mod tests;
