//! The input as the table and the text files see it: cleaned, sorted, with a name for everything.

use std::borrow::Cow;
use std::collections::HashSet;

use chela_core::{Audience, Origin, Trust, Zone};

use crate::files::FileList;
use crate::out::{Out, item, one_line};
use crate::template::Values;
use crate::tool_list::ToolList;
use crate::{
    Acp, Citations, Elevated, ElevatedPermission, FullAccess, FullAccessBlock, HostBrowser,
    MemoryRecall, PartKind, PromptInput, PromptMode, ReactionLevel, ReasoningLevel, Sandbox,
    Sourced, WorkspaceAccess, owners, runtime_line,
};

pub(crate) struct View<'a> {
    pub(crate) input: &'a PromptInput,
    pub(crate) tools: ToolList<'a>,
    pub(crate) stable_files: FileList<'a>,
    pub(crate) dynamic_files: FileList<'a>,
    /// The channel in lower case.
    pub(crate) channel: Option<String>,
    /// In lower case, sorted, each once.
    pub(crate) capabilities: Vec<String>,
}

impl<'a> View<'a> {
    pub(crate) fn new(input: &'a PromptInput) -> Self {
        let notice = input.truncation_notice;
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
            stable_files: FileList::new(&input.files, Zone::Stable, notice),
            dynamic_files: FileList::new(&input.files, Zone::Volatile, notice),
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

    pub(crate) fn recalls_memory(&self) -> bool {
        self.input.memory != MemoryRecall::Off
            && (self.tools.has("memory_search") || self.tools.has("memory_get"))
    }

    fn sandbox(&self) -> Option<&'a Sandbox> {
        self.input.sandbox.as_ref()
    }

    fn container_dir(&self) -> Option<Cow<'a, str>> {
        value(&self.sandbox()?.container_dir)
    }

    fn elevated(&self) -> Option<&'a Elevated> {
        self.sandbox()?
            .elevated
            .as_ref()
            .filter(|elevated| elevated.permission == ElevatedPermission::Allowed)
    }

    /// What stands against full access, where elevation is possible at all.
    fn full_block(&self) -> Option<FullAccessBlock> {
        match self.elevated()?.full {
            FullAccess::Blocked(block) => Some(block),
            FullAccess::Available => None,
        }
    }

    fn access(&self) -> Option<WorkspaceAccess> {
        self.sandbox()?.access
    }

    fn message_channels(&self) -> impl Iterator<Item = String> {
        let mut seen = HashSet::new();
        self.input
            .message_channels
            .iter()
            .map(|channel| one_line(channel).to_lowercase())
            .filter(move |channel| !channel.is_empty() && seen.insert(channel.clone()))
    }

    fn write_owners(&self, out: &mut Out) {
        let owners = &self.input.owners;
        let shown: Vec<_> = owners::shown(owners).collect();
        let origin = Origin::config("commands.ownerAllowFrom");
        out.part(
            PartKind::Line,
            origin,
            Trust::Operator,
            owners::audience(owners),
            |out| {
                out.push(&shown.join(", "));
            },
        );
    }

    fn write_skills(&self, out: &mut Out) {
        let Some(skills) = &self.input.skills else {
            return;
        };
        let start = out.len();
        out.push(skills.text());
        for entry in skills.entries() {
            let kind = PartKind::Skill {
                name: entry.name.clone(),
            };
            let range = start + entry.range.start..start + entry.range.end;
            out.part_at(
                kind,
                entry.origin.clone(),
                entry.trust,
                Audience::Shared,
                range,
            );
        }
        out.set_source(skills.origin(), skills.trust());
    }
}

impl Values for View<'_> {
    fn flag(&self, name: &str) -> Option<bool> {
        if let Some(tool) = name.strip_prefix("tool.") {
            return Some(self.tools.has(tool));
        }
        let input = self.input;
        let elevated = self.elevated();
        Some(match name {
            "no_tools" => self.tools.is_empty(),
            "acp" => {
                input.acp == Acp::On && self.sandbox().is_none() && self.tools.has("sessions_spawn")
            }
            "native_approvals" => self.can("inlinebuttons") || self.can("nativeapprovals"),
            "inline_buttons" => self.can("inlinebuttons"),
            "channel" => self.channel.is_some(),
            "citations_on" => input.memory == MemoryRecall::On(Citations::On),
            "citations_off" => input.memory == MemoryRecall::On(Citations::Off),
            "citations_auto" => input.memory == MemoryRecall::On(Citations::Auto),
            "sandboxed" => self.sandbox().is_some(),
            "container_dir" => self.container_dir().is_some(),
            "host_dir" => self
                .sandbox()
                .is_some_and(|sandbox| value(&sandbox.host_dir).is_some()),
            "agent_mount" => self
                .sandbox()
                .is_some_and(|sandbox| value(&sandbox.agent_mount).is_some()),
            "browser_bridge" => self
                .sandbox()
                .is_some_and(|sandbox| value(&sandbox.browser_bridge).is_some()),
            "host_browser_allowed" => self
                .sandbox()
                .is_some_and(|sandbox| sandbox.host_browser == HostBrowser::Allowed),
            "host_browser_blocked" => self
                .sandbox()
                .is_some_and(|sandbox| sandbox.host_browser == HostBrowser::Blocked),
            "access_none" => self.access() == Some(WorkspaceAccess::None),
            "access_ro" => self.access() == Some(WorkspaceAccess::ReadOnly),
            "access_rw" => self.access() == Some(WorkspaceAccess::ReadWrite),
            "elevated" => elevated.is_some(),
            "elevated_level" => elevated.is_some_and(|elevated| elevated.level.is_some()),
            "full_available" => {
                elevated.is_some_and(|elevated| elevated.full == FullAccess::Available)
            }
            "full_blocked_by_host_policy" => self.full_block() == Some(FullAccessBlock::HostPolicy),
            "full_blocked_by_channel" => self.full_block() == Some(FullAccessBlock::Channel),
            "full_blocked_by_sandbox" => self.full_block() == Some(FullAccessBlock::Sandbox),
            "full_blocked_otherwise" => self.full_block() == Some(FullAccessBlock::Other),
            "docs_path" => value(&input.docs_path).is_some(),
            "source_path" => value(&input.source_path).is_some(),
            "canvas_root" => value(&input.runtime.canvas_root).is_some(),
            "several_channels" => self.message_channels().nth(1).is_some(),
            "reactions_minimal" => self.reacts(ReactionLevel::Minimal),
            "reactions_extensive" => self.reacts(ReactionLevel::Extensive),
            "reasoning_off" => input.reasoning == ReasoningLevel::Off,
            "reasoning_on" => input.reasoning == ReasoningLevel::On,
            "reasoning_stream" => input.reasoning == ReasoningLevel::Stream,
            _ => return None,
        })
    }

    fn write(&self, name: &str, out: &mut Out) -> bool {
        let input = self.input;
        let sandbox = self.sandbox();
        match name {
            "tools" => self.tools.write(out),
            "native_commands" => out.push_lines("", &lines(&input.native_commands)),
            "skills" => self.write_skills(out),
            "aliases" => out.push_lines("- ", &lines(&input.model_aliases)),
            "time_zone" => push(out, &input.time_zone),
            "working_dir" => match self.container_dir() {
                Some(container) => out.push(&container),
                None => out.push_value(&input.workspace_dir),
            },
            "workspace_dir" => out.push_value(&input.workspace_dir),
            "workspace_notes" => out.push_lines("- ", &lines(&input.workspace_notes)),
            "docs_path" => push(out, &input.docs_path),
            "source_path" => push(out, &input.source_path),
            "container_dir" => out.push(&self.container_dir().unwrap_or_default()),
            "host_dir" => push(out, &sandbox.and_then(|sandbox| sandbox.host_dir.clone())),
            "agent_mount" => push(
                out,
                &sandbox.and_then(|sandbox| sandbox.agent_mount.clone()),
            ),
            "browser_bridge" => {
                push(
                    out,
                    &sandbox.and_then(|sandbox| sandbox.browser_bridge.clone()),
                );
            }
            "elevated_level" => {
                let level = self.elevated().and_then(|elevated| elevated.level);
                out.push(level.map_or("", crate::ElevatedLevel::as_str));
            }
            "owners" => self.write_owners(out),
            "message_channels" => {
                let channels: Vec<_> = self.message_channels().collect();
                out.push_list(channels.iter().map(String::as_str));
            }
            "message_hints" => out.push_lines("- ", &lines(&input.message_hints)),
            "channel" => out.push(self.channel.as_deref().unwrap_or_default()),
            "canvas_root" => push(out, &input.runtime.canvas_root),
            "voice_hint" => push_sourced(out, input.voice_hint.as_ref()),
            "reactions_channel" => {
                let channel = input
                    .reactions
                    .as_ref()
                    .and_then(|known| value(&known.channel));
                out.push(&channel.unwrap_or(Cow::Borrowed("this channel")));
            }
            "heartbeat" => push_sourced(out, input.heartbeat.as_ref()),
            "runtime" => runtime_line::write(self, out),
            "reasoning" => out.push(input.reasoning.as_str()),
            _ => return false,
        }
        true
    }
}

impl View<'_> {
    fn reacts(&self, level: ReactionLevel) -> bool {
        self.input
            .reactions
            .as_ref()
            .is_some_and(|reactions| reactions.level == level)
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
pub(crate) fn sourced(given: &Option<Sourced<String>>) -> Option<&Sourced<String>> {
    given
        .as_ref()
        .filter(|given| !item(&given.value).is_empty())
}

/// The lines that say something, each once.
pub(crate) fn lines(given: &[Sourced<String>]) -> Vec<&Sourced<String>> {
    let mut seen = HashSet::new();
    given
        .iter()
        .filter(|line| {
            let text = item(&line.value);
            !text.is_empty() && seen.insert(text)
        })
        .collect()
}

fn push(out: &mut Out, given: &Option<String>) {
    out.push_value(given.as_deref().unwrap_or_default());
}

fn push_sourced(out: &mut Out, given: Option<&Sourced<String>>) {
    let Some(given) = given else { return };
    out.part(
        PartKind::Line,
        given.origin.clone(),
        given.trust,
        given.audience,
        |out| {
            out.push(&item(&given.value));
        },
    );
    out.set_source(&given.origin, given.trust);
}
