//! The tools that results told a model of after its session began.
//!
//! They are read from the transcript, so that a later process sends the same request.

use chela_model::{ModelTarget, ToolMode, ToolSchema};
use chela_session::{EntryBody, TranscriptEntry};
use chela_tools::offered_tools;
use serde_json::Value;

use super::{ContextBuilder, RequestPrefix};
use crate::assemble::hide_in_tools;
use crate::toolset::schema_of;

/// The tools that the results of a branch told of, in that order, each once.
pub(crate) fn found_in(branch: &[TranscriptEntry]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in branch {
        if let EntryBody::Message { meta, .. } = &entry.body {
            add_offers(&mut found, &meta.details);
        }
    }
    found
}

/// Adds the tools that a result with these details told of.
pub(crate) fn add_offers(found: &mut Vec<String>, details: &Value) {
    for name in offered_tools(details) {
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
}

impl ContextBuilder {
    /// Those of the tools found that can be called and do not stand in the prefix. None for a model
    /// that calls them by name: then what it is sent stays as it was.
    pub(crate) fn found_tools(
        &self,
        prefix: &RequestPrefix,
        found: &[String],
        target: &ModelTarget,
    ) -> Vec<ToolSchema> {
        let by_name = target.takes_calls_by_name() && target.tool_mode() == ToolMode::Native;
        if found.is_empty() || by_name {
            return Vec::new();
        }
        self.unlisted_tools(prefix, found, &[])
    }

    /// Those of some tools that can be called and stand neither in the prefix nor in a list.
    pub(crate) fn unlisted_tools(
        &self,
        prefix: &RequestPrefix,
        names: &[String],
        listed: &[ToolSchema],
    ) -> Vec<ToolSchema> {
        if names.is_empty() {
            return Vec::new();
        }
        let toolbox = self.current_tools(prefix);
        let stands = |name: &str| {
            let mut standing = prefix.text.tools.iter().chain(listed);
            standing.any(|tool| tool.name == name)
        };
        let mut tools: Vec<ToolSchema> = names
            .iter()
            .filter(|name| !stands(name))
            .filter_map(|name| toolbox.get(name))
            .map(|tool| schema_of(tool.spec(), prefix.size))
            .collect();
        hide_in_tools(&mut tools, self.scope.agents.assembler.redactor());
        tools
    }
}
