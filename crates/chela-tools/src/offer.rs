//! A tool of which a model is told from the start, or not, by where it is used.

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::Trust;
use serde_json::{Map, Value};

use crate::approvals::StateReach;
use crate::foresight::{CallWrites, FilePreview, ToolNeed};
use crate::{CallFuture, CallProspect, CallTarget, RunCall, Tool, ToolOffer, ToolSpec};

/// A tool whose offer depends on where it is used.
pub struct OfferedTool {
    tool: Arc<dyn Tool>,
    offer: ToolOffer,
}

impl std::fmt::Debug for OfferedTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OfferedTool")
            .field("tool", &self.tool.spec().name)
            .field("offer", &self.offer)
            .finish()
    }
}

impl OfferedTool {
    pub fn new(tool: Arc<dyn Tool>, offer: ToolOffer) -> Self {
        Self { tool, offer }
    }
}

impl Tool for OfferedTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn offer(&self) -> ToolOffer {
        self.offer
    }

    fn settle(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        self.tool.settle(arguments)
    }

    fn prospect(&self, arguments: &Map<String, Value>) -> CallProspect {
        self.tool.prospect(arguments)
    }

    fn targets(&self, arguments: &Map<String, Value>) -> Vec<CallTarget> {
        self.tool.targets(arguments)
    }

    fn writes_in(&self) -> Vec<PathBuf> {
        self.tool.writes_in()
    }

    fn state_reach(&self, arguments: &Map<String, Value>) -> StateReach {
        self.tool.state_reach(arguments)
    }

    fn writes(&self, arguments: &Map<String, Value>) -> CallWrites {
        self.tool.writes(arguments)
    }

    fn preview(&self, arguments: &Map<String, Value>) -> Vec<FilePreview> {
        self.tool.preview(arguments)
    }

    fn keeps_changes(&self) -> bool {
        self.tool.keeps_changes()
    }

    fn described_by(&self) -> Trust {
        self.tool.described_by()
    }

    fn needs(&self) -> Vec<ToolNeed> {
        self.tool.needs()
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        self.tool.run(call)
    }
}
