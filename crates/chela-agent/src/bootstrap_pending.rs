//! The first conversation of a workspace: told with the first message of a session, as long as it
//! was not held.

use chela_core::{Origin, Trust};
use chela_tools::{Effect, Tool, ToolNeed, Toolbox};
use chela_workspace::{CoreFile, FileReport, FileStatus};

use crate::runtime_blocks::{BlockKind, RuntimeBlock};

const PENDING: &str = include_str!("../text/bootstrap-pending.md");
const LIMITED: &str = include_str!("../text/bootstrap-limited.md");

/// What a run can do about a first conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BootstrapMeans {
    #[default]
    NoTools,
    /// No tool that writes files.
    NoWriter,
    Writes,
}

impl BootstrapMeans {
    pub fn of(toolbox: &Toolbox) -> Self {
        if toolbox.specs().next().is_none() {
            Self::NoTools
        } else if toolbox.tools().any(|tool| writes_files(tool.as_ref())) {
            Self::Writes
        } else {
            Self::NoWriter
        }
    }
}

/// What a model has to know of a first conversation that is still to come.
pub(crate) fn bootstrap_block(
    files: &[FileReport],
    means: BootstrapMeans,
    writes: WorkspaceWrites,
) -> Option<RuntimeBlock> {
    let file = files
        .iter()
        .find(|file| file.name == CoreFile::Bootstrap.name())?;
    let hindrance = match &file.status {
        FileStatus::FilteredByAudience => Some("others read this conversation"),
        status if !status.is_in_prompt() => return None,
        _ if means == BootstrapMeans::NoTools => Some("this run has no tools"),
        _ if writes == WorkspaceWrites::Refused => Some("the workspace can only be read"),
        _ if means == BootstrapMeans::NoWriter => Some("no tool of this run writes files"),
        _ => None,
    };
    Some(RuntimeBlock {
        kind: BlockKind::Bootstrap,
        text: match hindrance {
            None => PENDING.trim().to_owned(),
            Some(why) => LIMITED.trim().replace("{why}", why),
        },
        origin: Origin::Runtime,
        trust: Trust::Operator,
    })
}

fn writes_files(tool: &dyn Tool) -> bool {
    let only_reads = matches!(tool.spec().effect, Effect::Read | Effect::ReadUntrusted);
    tool.needs().contains(&ToolNeed::Folders) && !only_reads
}

/// Whether file tools may change the workspace at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkspaceWrites {
    Allowed,
    Refused,
}
