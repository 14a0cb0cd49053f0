//! What the model is told when a command failed at the walls of its sandbox.

use std::sync::Arc;

use chela_guard::LabelledText;

use super::ExecTool;
use super::place::{CommandPlace, LEAVING};
use crate::process::{CommandEnd, CommandJob, plain};
use crate::{OutputPiece, ToolOutput};

/// Bytes of the end of the output that are looked through.
const LOOKED_AT: usize = 4_000;

/// What programs say when there is no network, and when a file is out of reach.
const AT_THE_WALL: &[&str] = &[
    "read-only file system",
    "permission denied",
    "operation not permitted",
    "could not resolve",
    "couldn't resolve",
    "cannot resolve",
    "name resolution",
    "name or service not known",
    "network is unreachable",
    "network unreachable",
    "failed to lookup address",
    "eai_again",
    "enotfound",
    "enetunreach",
    "econnrefused",
    "connection refused",
    "unable to connect",
    "failed to connect",
    "no route to host",
    "not among the hosts",
    "unable to create",
    "no such file or directory",
    "command not found",
    "not found",
];

impl ExecTool {
    /// The output of a command, with what can be done where walls may be why it failed.
    pub(super) fn with_word_about_walls(
        &self,
        mut output: ToolOutput,
        job: &Arc<CommandJob>,
        place: &CommandPlace,
    ) -> ToolOutput {
        let failed = matches!(job.state().ended, Some(CommandEnd::Code(code)) if code != 0);
        let is_inside = matches!(place, CommandPlace::Sandbox(_)) && self.may_leave();
        if failed && is_inside && met_a_wall(job) {
            output.content.push(OutputPiece::Text(LabelledText::runtime(format!(
                "This ran in the sandbox: no network, and nothing outside the workspace. {LEAVING}"
            ))));
        }
        output
    }
}

fn met_a_wall(job: &CommandJob) -> bool {
    let end = {
        let mut spool = job.spool();
        spool.settle();
        plain(&spool.end(LOOKED_AT).bytes)
    };
    let end = end.to_lowercase();
    AT_THE_WALL.iter().any(|words| end.contains(words))
}
