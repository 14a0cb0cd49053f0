//! What the names in the text files mean.

use crate::out::{Out, one_line};
use crate::runtime_line;
use crate::tool_list::core_tools;
use crate::view::{View, lines, value};
use crate::{
    Acp, Citations, ElevatedLevel, EmptyTools, FullAccess, FullAccessBlock as Block, HostBrowser,
    MemoryRecall, ReactionLevel, ReasoningLevel, WorkspaceAccess as Access,
};

/// A set of names that hold: one bit for each row of [`FLAGS`], then one for each core tool.
pub(crate) type Flags = u128;

/// Whether a condition holds for an input.
type Holds = fn(&View<'_>) -> bool;

/// How a value is written into the prompt.
pub(crate) type Write = fn(&View<'_>, &mut Out);

/// The bit of a name that may stand in a condition.
pub(crate) fn flag(name: &str) -> Option<Flags> {
    if let Some(at) = FLAGS.iter().position(|(known, _)| *known == name) {
        return Some(1 << at);
    }
    let tool = name.strip_prefix("tool.")?;
    core_tools().position(|core| core == tool).map(tool_flag)
}

/// The bit of the core tool at this place of the list.
pub(crate) fn tool_flag(rank: usize) -> Flags {
    1 << (FLAGS.len() + rank)
}

/// All names that hold for an input, its core tools aside.
pub(crate) fn holding(view: &View<'_>) -> Flags {
    let held = FLAGS
        .iter()
        .enumerate()
        .filter(|(_, (_, holds))| holds(view));
    held.fold(0, |flags, (at, _)| flags | 1 << at)
}

/// How the value of a name is written.
pub(crate) fn value_of(name: &str) -> Option<Write> {
    VALUES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, write)| *write)
}

/// Conditions. Besides these, `tool.NAME` holds when the core tool of that name is available.
#[rustfmt::skip]
static FLAGS: [(&str, Holds); 42] = [
    ("no_tools", |v| v.tools.is_empty() && v.input.empty_tools == EmptyTools::Unknown),
    ("without_tools", |v| v.tools.is_empty() && v.input.empty_tools == EmptyTools::None),
    ("tool.update_plan", |v| v.tools.has("update_plan")),
    ("acp", |v| v.input.acp == Acp::On && v.input.sandbox.is_none() && v.tools.has("sessions_spawn")),
    ("channel", |v| v.channel.is_some()),
    ("inline_buttons", |v| v.can("inlinebuttons")),
    ("native_approvals", |v| v.can("inlinebuttons") || v.can("nativeapprovals")),
    ("several_channels", |v| v.message_channels().nth(1).is_some()),
    ("canvas_root", |v| value(&v.input.runtime.canvas_root).is_some()),

    ("citations_on", |v| v.input.memory == MemoryRecall::On(Citations::On)),
    ("citations_off", |v| v.input.memory == MemoryRecall::On(Citations::Off)),
    ("citations_auto", |v| v.input.memory == MemoryRecall::On(Citations::Auto)),
    ("docs_path", |v| value(&v.input.docs_path).is_some()),
    ("source_path", |v| value(&v.input.source_path).is_some()),

    ("soul", |v| v.stable_files.has_soul()),
    ("cut_files", |v| v.stable_files.cut().next().is_some()),
    ("dynamic_soul", |v| v.dynamic_files.has_soul()),
    ("dynamic_cut_files", |v| v.dynamic_files.cut().next().is_some()),

    ("container_dir", |v| v.container_dir().is_some()),
    ("access_none", |v| v.access() == Some(Access::None)),
    ("access_ro", |v| v.access() == Some(Access::ReadOnly)),
    ("access_rw", |v| v.access() == Some(Access::ReadWrite)),
    ("agent_mount", |v| v.in_sandbox(|sandbox| &sandbox.agent_mount).is_some()),
    ("browser_bridge", |v| v.in_sandbox(|sandbox| &sandbox.browser_bridge).is_some()),
    ("sandbox_missing", |v| v.in_sandbox(|sandbox| &sandbox.missing).is_some()),
    ("walls", |v| v.walls().is_some()),
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

    ("reactions_minimal", |v| v.reacts(ReactionLevel::Minimal)),
    ("reactions_extensive", |v| v.reacts(ReactionLevel::Extensive)),
    ("reasoning_off", |v| v.input.reasoning == ReasoningLevel::Off),
    ("reasoning_on", |v| v.input.reasoning == ReasoningLevel::On),
    ("reasoning_stream", |v| v.input.reasoning == ReasoningLevel::Stream),
];

/// Values. Each is written so that it stays inside its line, or brings its own lines.
#[rustfmt::skip]
static VALUES: [(&str, Write); 31] = [
    ("tools", |v, out| v.tools.write(out)),
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
    ("reasoning", |v, out| out.push(v.input.reasoning.as_str())),
];

#[cfg(test)]
mod tests {
    use super::{FLAGS, Flags};
    use crate::core_tools;

    #[test]
    fn every_name_has_a_bit_of_its_own() {
        assert!(FLAGS.len() + core_tools().count() <= Flags::BITS as usize);
    }
}
