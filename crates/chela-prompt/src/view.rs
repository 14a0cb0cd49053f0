//! The input as the table and the text files see it: cleaned, sorted, with a name for everything.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use chela_core::{Audience, Origin, Trust};

use crate::files::FileList;
use crate::out::{PromptWriter, SpanSource, item, one_line};
use crate::tool_list::ToolList;
use crate::{
    ElevatedExec, ElevatedPermission, FullAccess, FullAccessBlock, HostBrowser, MemoryRecall,
    PartKind, PromptExtent, PromptInput, PromptMode, ReactionLevel, SandboxExtent, SandboxFacts,
    SandboxWalls, SourcedValue, SpanOrigin, TruncationNotice, WorkspaceAccess, owners,
};

pub(crate) struct InputView<'a> {
    pub(crate) input: &'a PromptInput,
    pub(crate) tools: ToolList<'a>,
    pub(crate) stable_files: FileList<'a>,
    pub(crate) dynamic_files: FileList<'a>,
    /// The channel in lower case.
    pub(crate) channel: Option<String>,
    /// In lower case, sorted, each once.
    pub(crate) capabilities: Vec<String>,
}

impl<'a> InputView<'a> {
    pub(crate) fn new(input: &'a PromptInput) -> Self {
        let (stable_files, dynamic_files) = FileList::both(&input.files, input.truncation_notice);
        let mut capabilities: Vec<String> = input
            .runtime
            .capabilities
            .iter()
            .map(|capability| one_line(capability).to_lowercase())
            .filter(|capability| !capability.is_empty())
            .collect();
        capabilities.sort();
        capabilities.dedup();
        Self {
            input,
            tools: ToolList::new(&input.tools),
            stable_files,
            dynamic_files,
            channel: value(&input.runtime.channel).map(|channel| channel.to_lowercase()),
            capabilities,
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.input.mode == PromptMode::Full
    }

    pub(crate) fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known == capability)
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.input.extent == PromptExtent::Whole
    }

    /// Whether something can be said to anybody but whoever asked.
    pub(crate) fn reaches_others(&self) -> bool {
        let tools = ["message", "sessions_send", "sessions_spawn", "subagents"];
        tools.iter().any(|tool| self.tools.has(tool))
    }

    pub(crate) fn recalls_memory(&self) -> bool {
        self.input.memory != MemoryRecall::Off
            && (self.tools.has("memory_search") || self.tools.has("memory_get"))
    }

    fn sandbox(&self) -> Option<&'a SandboxFacts> {
        self.input.sandbox.as_ref()
    }

    /// Whether the session itself is in a sandbox.
    pub(crate) fn is_sandboxed(&self) -> bool {
        self.sandbox()
            .is_some_and(|sandbox| sandbox.extent == SandboxExtent::Session)
    }

    /// Whether commands are in a sandbox and the session is not.
    pub(crate) fn runs_commands_inside(&self) -> bool {
        self.sandbox()
            .is_some_and(|sandbox| sandbox.extent == SandboxExtent::Commands)
    }

    /// A value of the sandbox; `None` when it is absent or blank, or there is no sandbox.
    pub(crate) fn in_sandbox(
        &self,
        of: fn(&SandboxFacts) -> &Option<String>,
    ) -> Option<Cow<'a, str>> {
        value(of(self.sandbox()?))
    }

    pub(crate) fn container_dir(&self) -> Option<Cow<'a, str>> {
        self.in_sandbox(|sandbox| &sandbox.container_dir)
    }

    pub(crate) fn walls(&self) -> Option<&'a SandboxWalls> {
        self.sandbox()?.walls.as_ref()
    }

    pub(crate) fn write_hosts(&self, out: &mut PromptWriter) {
        let hosts = self.walls().map_or(&[][..], |walls| &walls.hosts);
        let hosts: Vec<_> = hosts.iter().map(|host| one_line(host)).collect();
        out.push(&hosts.join(", "));
    }

    pub(crate) fn host_browser(&self) -> Option<HostBrowser> {
        Some(self.sandbox()?.host_browser)
    }

    pub(crate) fn elevated(&self) -> Option<&'a ElevatedExec> {
        self.sandbox()?
            .elevated
            .as_ref()
            .filter(|elevated| elevated.permission == ElevatedPermission::Allowed)
    }

    /// What stands against full access, where elevation is possible at all.
    pub(crate) fn full_block(&self) -> Option<FullAccessBlock> {
        match self.elevated()?.full {
            FullAccess::Blocked(block) => Some(block),
            FullAccess::Available => None,
        }
    }

    pub(crate) fn access(&self) -> Option<WorkspaceAccess> {
        self.sandbox()?.access
    }

    /// Files nobody reads here for lack of room, unless nobody is to be told.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = &str> {
        let told = self.input.truncation_notice == TruncationNotice::Shown;
        let files = self.input.left_out.iter().map(String::as_str);
        files.filter(move |_| told)
    }

    pub(crate) fn message_channels(&self) -> impl Iterator<Item = String> {
        let mut seen = HashSet::new();
        self.input
            .message_channels
            .iter()
            .map(|channel| one_line(channel).to_lowercase())
            .filter(move |channel| !channel.is_empty() && seen.insert(channel.clone()))
    }

    pub(crate) fn reacts(&self, level: ReactionLevel) -> bool {
        self.input
            .reactions
            .as_ref()
            .is_some_and(|reactions| reactions.level == level)
    }

    pub(crate) fn write_working_dir(&self, out: &mut PromptWriter) {
        match self.container_dir() {
            Some(container) => out.push(&container),
            None => out.push_value(&self.input.workspace_dir),
        }
    }

    /// The folder on the host that the container's working directory is.
    pub(crate) fn write_host_dir(&self, out: &mut PromptWriter) {
        match self.in_sandbox(|sandbox| &sandbox.host_dir) {
            Some(host) => out.push(&host),
            None => out.push_value(&self.input.workspace_dir),
        }
    }

    pub(crate) fn write_owners(&self, out: &mut PromptWriter) {
        let owners = &self.input.owners;
        let source = SpanSource {
            audience: owners::audience(owners),
            ..SpanSource::new(&Origin::config("commands.ownerAllowFrom"), Trust::Operator)
        };
        let shown: Vec<_> = owners::shown(owners).collect();
        out.part(PartKind::Line, source, |out| out.push(&shown.join(", ")));
    }

    pub(crate) fn write_reactions_channel(&self, out: &mut PromptWriter) {
        let channel = self
            .input
            .reactions
            .as_ref()
            .and_then(|known| value(&known.channel));
        out.push(&channel.unwrap_or(Cow::Borrowed("this channel")));
    }

    pub(crate) fn write_skills(&self, out: &mut PromptWriter) {
        let Some(skills) = &self.input.skills else {
            return;
        };
        let source = |origin: &SpanOrigin, trust| SpanSource {
            origin: origin.clone(),
            trust,
            audience: Audience::Shared,
        };
        let start = out.len();
        out.push(skills.text());
        for entry in skills.entries() {
            let kind = PartKind::Skill {
                name: Arc::clone(&entry.name),
            };
            let range = start + entry.range.start..start + entry.range.end;
            out.part_at(kind, source(&entry.origin, entry.trust), range);
        }
        out.set_source(&source(skills.origin(), skills.trust()));
    }
}

/// A value fit for a line; `None` when it is absent or blank.
pub(crate) fn value(given: &Option<String>) -> Option<Cow<'_, str>> {
    given
        .as_deref()
        .map(one_line)
        .filter(|value| !value.is_empty())
}

/// A sourced value fit for a line; `None` when it is absent or blank.
pub(crate) fn sourced(given: &Option<SourcedValue<String>>) -> Option<&SourcedValue<String>> {
    given
        .as_ref()
        .filter(|given| !item(&given.value).is_empty())
}

/// The lines that say something, each once.
pub(crate) fn lines(given: &[SourcedValue<String>]) -> Vec<&SourcedValue<String>> {
    let mut seen = HashSet::new();
    given
        .iter()
        .filter(|line| {
            let text = item(&line.value);
            !text.is_empty() && seen.insert(text)
        })
        .collect()
}
