//! What the names in the text files mean.

use crate::out::{PromptWriter, one_line};
use crate::runtime_line;
use crate::tool_list::core_tools;
use crate::view::{InputView, lines, value};
use crate::{
    AcpDelegation, ApprovalWay, CitationMode, ElevatedLevel, EmptyTools, FullAccess,
    FullAccessBlock as Block, HostBrowser, MemoryRecall, ReactionLevel, ReasoningLevel,
    ToolListing, WorkspaceAccess as Access,
};

/// A set of names that hold: one bit for each row of [`FLAGS`], then one for each core tool.
pub(crate) type NameFlags = u128;

/// Whether a condition holds for an input.
type Holds = fn(&InputView<'_>) -> bool;

/// How a value is written into the prompt.
pub(crate) type WriteValue = fn(&InputView<'_>, &mut PromptWriter);

/// The bit of a name that may stand in a condition.
pub(crate) fn flag(name: &str) -> Option<NameFlags> {
    if let Some(at) = FLAGS.iter().position(|(known, _)| *known == name) {
        return Some(1 << at);
    }
    let tool = name.strip_prefix("tool.")?;
    let rank = core_tools().position(|core| core == tool)?;
    Some(1 << (FLAGS.len() + rank))
}

/// Those of the names asked for that hold for an input.
pub(crate) fn holding(view: &InputView<'_>, asked: NameFlags) -> NameFlags {
    let tools = asked & view.tools.core_ranks() << FLAGS.len();
    let rows = FLAGS.iter().enumerate().map(|(at, row)| (1 << at, row));
    rows.filter(|(flag, (_, holds))| asked & flag != 0 && holds(view))
        .fold(tools, |flags, (flag, _)| flags | flag)
}

/// How the value of a name is written.
pub(crate) fn value_of(name: &str) -> Option<WriteValue> {
    VALUES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, write)| *write)
}

/// Conditions. Besides these, `tool.NAME` holds when the core tool of that name is available.
#[rustfmt::skip]
static FLAGS: [(&str, Holds); 53] = [
    ("no_tools", |v| v.tools.is_empty() && v.input.empty_tools == EmptyTools::Unknown),
    ("without_tools", |v| v.tools.is_empty() && v.input.empty_tools == EmptyTools::None),
    ("brief", |v| !v.is_whole()),
    ("by_schema", |v| !v.tools.is_empty() && v.input.tool_listing == ToolListing::BySchema),
    ("tool.update_plan", |v| v.tools.has("update_plan")),
    ("acp", |v| v.input.acp == AcpDelegation::On && !v.is_sandboxed() && v.tools.has("sessions_spawn")),
    ("channel", |v| v.channel.is_some()),
    ("inline_buttons", |v| v.can("inlinebuttons")),
    ("native_approvals", |v| v.can("inlinebuttons") || v.can("nativeapprovals")),
    ("approvals_by_channel", |v| v.input.approvals == ApprovalWay::ByChannel),
    ("approvals_asked", |v| v.input.approvals == ApprovalWay::Asked),
    ("approvals_queued", |v| v.input.approvals == ApprovalWay::Queued),
    ("approvals_refused", |v| v.input.approvals == ApprovalWay::Refused),
    ("approvals_relayed", |v| v.input.approvals == ApprovalWay::Relayed),
    ("several_channels", |v| v.message_channels().nth(1).is_some()),
    ("canvas_root", |v| value(&v.input.runtime.canvas_root).is_some()),

    ("citations_on", |v| v.input.memory == MemoryRecall::On(CitationMode::On)),
    ("citations_off", |v| v.input.memory == MemoryRecall::On(CitationMode::Off)),
    ("citations_auto", |v| v.input.memory == MemoryRecall::On(CitationMode::Auto)),
    ("docs_path", |v| value(&v.input.docs_path).is_some()),
    ("source_path", |v| value(&v.input.source_path).is_some()),

    ("soul", |v| v.stable_files.has_soul()),
    ("cut_files", |v| v.stable_files.cut().next().is_some()),
    ("left_out_files", |v| v.left_out().next().is_some()),
    ("dynamic_soul", |v| v.dynamic_files.has_soul()),
    ("dynamic_cut_files", |v| v.dynamic_files.cut().next().is_some()),

    ("container_dir", |v| v.container_dir().is_some()),
    ("access_none", |v| v.access() == Some(Access::None)),
    ("access_ro", |v| v.access() == Some(Access::ReadOnly)),
    ("access_rw", |v| v.access() == Some(Access::ReadWrite)),
    ("agent_mount", |v| v.in_sandbox(|sandbox| &sandbox.agent_mount).is_some()),
    ("browser_bridge", |v| v.in_sandbox(|sandbox| &sandbox.browser_bridge).is_some()),
    ("sandbox_missing", |v| v.in_sandbox(|sandbox| &sandbox.missing).is_some()),
    ("commands_only", |v| v.runs_commands_inside()),
    ("walls", |v| v.walls().is_some()),
    ("limited", |v| v.walls().is_some_and(|walls| !walls.limits.trim().is_empty())),
    ("network_none", |v| v.walls().is_some_and(|walls| walls.hosts.is_empty())),
    ("network_hosts", |v| v.walls().is_some_and(|walls| !walls.hosts.is_empty())),
    ("host_browser_allowed", |v| v.host_browser() == Some(HostBrowser::Allowed)),
    ("host_browser_blocked", |v| v.host_browser() == Some(HostBrowser::Blocked)),
    ("elevated", |v| v.elevated().is_some()),
    ("elevated_level", |v| v.elevated().is_some_and(|elevated| elevated.level.is_some())),
    ("full_available", |v| v.elevated().is_some_and(|elevated| elevated.full == FullAccess::Available)),
    ("full_blocked_by_host_policy", |v| v.full_block() == Some(Block::HostPolicy)),
    ("full_blocked_by_channel", |v| v.full_block() == Some(Block::Channel)),
    ("full_blocked_by_sandbox", |v| v.full_block() == Some(Block::Sandbox)),
    ("full_blocked_otherwise", |v| v.full_block() == Some(Block::Other)),

    ("elevated_now", |v| v.input.elevated_now.is_some()),
    ("reactions_minimal", |v| v.reacts(ReactionLevel::Minimal)),
    ("reactions_extensive", |v| v.reacts(ReactionLevel::Extensive)),
    ("reasoning_off", |v| v.input.reasoning == ReasoningLevel::Off),
    ("reasoning_on", |v| v.input.reasoning == ReasoningLevel::On),
    ("reasoning_stream", |v| v.input.reasoning == ReasoningLevel::Stream),
];

/// Values. Each is written so that it stays inside its line, or brings its own lines.
#[rustfmt::skip]
static VALUES: [(&str, WriteValue); 33] = [
    ("tools", |v, out| if v.input.tool_listing == ToolListing::InText { v.tools.write(out) }),
    ("native_commands", |v, out| out.push_lines("", &lines(&v.input.native_commands))),
    ("skills", |v, out| v.write_skills(out)),
    ("aliases", |v, out| out.push_lines("- ", &lines(&v.input.model_aliases))),
    ("time_zone", |v, out| out.push_optional(&v.input.time_zone)),
    ("working_dir", |v, out| v.write_working_dir(out)),
    ("host_dir", |v, out| v.write_host_dir(out)),
    ("workspace_notes", |v, out| out.push_lines("- ", &lines(&v.input.workspace_notes))),
    ("docs_path", |v, out| out.push_optional(&v.input.docs_path)),
    ("source_path", |v, out| out.push_optional(&v.input.source_path)),
    ("owners", |v, out| v.write_owners(out)),

    ("files", |v, out| v.stable_files.write(out)),
    ("cut_files", |v, out| out.push_list(v.stable_files.cut())),
    ("left_out_files", |v, out| out.push_list(v.left_out())),
    ("dynamic_files", |v, out| v.dynamic_files.write(out)),
    ("dynamic_cut_files", |v, out| out.push_list(v.dynamic_files.cut())),

    ("container_dir", |v, out| out.push(&v.container_dir().unwrap_or_default())),
    ("agent_mount", |v, out| out.push(&v.in_sandbox(|sandbox| &sandbox.agent_mount).unwrap_or_default())),
    ("browser_bridge", |v, out| out.push(&v.in_sandbox(|sandbox| &sandbox.browser_bridge).unwrap_or_default())),
    ("sandbox_missing", |v, out| out.push(&v.in_sandbox(|sandbox| &sandbox.missing).unwrap_or_default())),
    ("network_hosts", |v, out| v.write_hosts(out)),
    ("sandbox_limits", |v, out| out.push(&one_line(v.walls().map_or("", |walls| &walls.limits)))),
    ("elevated_level", |v, out| {
        out.push(v.elevated().and_then(|elevated| elevated.level).map_or("", ElevatedLevel::as_str));
    }),

    ("channel", |v, out| out.push(v.channel.as_deref().unwrap_or_default())),
    ("canvas_root", |v, out| out.push_optional(&v.input.runtime.canvas_root)),
    ("message_channels", |v, out| out.push(&v.message_channels().collect::<Vec<_>>().join(", "))),
    ("message_hints", |v, out| out.push_lines("- ", &lines(&v.input.message_hints))),
    ("voice_hint", |v, out| out.push_line(v.input.voice_hint.as_ref())),
    ("reactions_channel", |v, out| v.write_reactions_channel(out)),
    ("heartbeat", |v, out| out.push_line(v.input.heartbeat.as_ref())),
    ("runtime", runtime_line::write),
    ("elevated_now", |v, out| {
        out.push(v.input.elevated_now.map_or("", ElevatedLevel::as_str));
    }),
    ("reasoning", |v, out| out.push(v.input.reasoning.as_str())),
];

#[cfg(test)]
mod tests {
    use super::{FLAGS, NameFlags};
    use crate::core_tools;

    #[test]
    fn every_name_has_a_bit_of_its_own() {
        assert!(FLAGS.len() + core_tools().count() <= NameFlags::BITS as usize);
    }
}
