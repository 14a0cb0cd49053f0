//! The prompt, as a table. Reading it from top to bottom is reading the prompt.

use std::borrow::Cow;

use chela_core::Zone::{self, Stable, Volatile};

use crate::input::SourcedValue;
use crate::out::PromptWriter;
use crate::template::PromptTemplate;
use crate::texts::{PromptTexts, TEXTS};
use crate::view::{InputView, lines, sourced, value};
use crate::{
    CleanText, ExtraKind, FamilyContribution, PromptMode, ReplyFormat, ReplySurface,
    SectionId as Id, SilentReplies, WorkDelegation, owners,
};

/// One row: what a section is called, where it lies, when it is there and what it says.
pub(crate) struct PromptSection {
    pub(crate) id: Id,
    pub(crate) heading: SectionHeading,
    pub(crate) zone: Zone,
    pub(crate) modes: SectionModes,
    pub(crate) gate: fn(&InputView<'_>) -> bool,
    /// The gate in words.
    pub(crate) needs: &'static str,
    pub(crate) render: fn(&InputView<'_>, &mut PromptWriter),
}

pub(crate) enum SectionHeading {
    None,
    Is(&'static str),
    /// One of two, by the input.
    Either(fn(&InputView<'_>) -> &'static str),
    /// The contribution's own; this one where it has none.
    Own(Option<&'static str>, Contributed),
}

type Contributed = for<'a> fn(&'a InputView<'_>) -> Option<&'a SourcedValue<CleanText>>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SectionModes {
    All,
    Full,
    FullAndMinimal,
}

use SectionHeading::{Either, Is, Own};
use SectionModes::{All, Full, FullAndMinimal};

#[rustfmt::skip]
pub(crate) static SECTIONS: [PromptSection; 33] = [
    row(Id::Identity, SectionHeading::None, Stable, All, ALWAYS, "", |v, out| text(v, out, |t| &t.identity)),
    row(Id::Tooling, Is("## Tooling"), Stable, FullAndMinimal, WHOLE, ROOM, |v, out| text(v, out, |t| &t.tooling)),
    row(Id::InteractionStyle, Own(None, interaction_style), Stable, FullAndMinimal,
        |v| interaction_style(v).is_some(), "a style from the model's family",
        |v, out| block(interaction_style(v), out)),
    row(Id::ToolCallStyle, Own(Some("## Tool Call Style"), tool_call_style), Stable, FullAndMinimal, WHOLE, ROOM,
        |v, out| block_or_text(tool_call_style, v, out, |t| &t.tool_call_style)),
    row(Id::ExecutionBias, Own(Some("## Execution Bias"), execution_bias), Stable, FullAndMinimal,
        |v| v.is_full() || execution_bias(v).is_some(), "a full prompt, or a text from the model's family",
        |v, out| block_or_text(execution_bias, v, out, |t| &t.execution_bias)),
    row(Id::Delegation, Is("## Sub-Agent Delegation"), Stable, Full,
        |v| v.input.delegation == WorkDelegation::Prefer && v.tools.has("sessions_spawn"),
        "delegation mode `prefer` and the tool `sessions_spawn`",
        |v, out| text(v, out, |t| &t.delegation)),
    row(Id::ProviderPrefix, Own(None, stable_prefix), Stable, FullAndMinimal,
        |v| stable_prefix(v).is_some(), "a prefix from the model's family",
        |v, out| block(stable_prefix(v), out)),
    row(Id::Safety, Is("## Safety"), Stable, FullAndMinimal, ALWAYS, "", |v, out| text(v, out, |t| &t.safety)),
    row(Id::Control, Is("## Chela Control"), Stable, FullAndMinimal, WHOLE, ROOM, |v, out| text(v, out, |t| &t.control)),
    row(Id::Skills, Is("## Skills (mandatory)"), Stable, FullAndMinimal,
        |v| v.input.skills.is_some(), "at least one skill to list", |v, out| text(v, out, |t| &t.skills)),
    row(Id::MemoryRecall, Is("## Memory Recall"), Stable, Full,
        |v| v.recalls_memory(), "a memory tool, and memory recall not switched off",
        |v, out| text(v, out, |t| &t.memory_recall)),
    row(Id::SelfUpdate, Is("## Chela Self-Update"), Stable, Full,
        |v| v.tools.has("gateway"), "the tool `gateway`", |v, out| text(v, out, |t| &t.self_update)),
    row(Id::ModelAliases, Is("## Model Aliases"), Stable, Full,
        |v| !lines(&v.input.model_aliases).is_empty(), "at least one model alias",
        |v, out| text(v, out, |t| &t.model_aliases)),
    row(Id::TimeHint, SectionHeading::None, Stable, FullAndMinimal,
        knows_time_zone, "a known time zone", |v, out| text(v, out, |t| &t.time_hint)),
    row(Id::Workspace, Is("## Workspace"), Stable, FullAndMinimal, ALWAYS, "", |v, out| text(v, out, |t| &t.workspace)),
    row(Id::Documentation, Is("## Documentation"), Stable, Full, ALWAYS, "", |v, out| text(v, out, |t| &t.documentation)),
    row(Id::Sandbox, Is("## Sandbox"), Stable, FullAndMinimal,
        |v| v.input.sandbox.is_some(), "a sandbox", |v, out| text(v, out, |t| &t.sandbox)),
    row(Id::AuthorizedSenders, Is("## Authorized Senders"), Stable, Full,
        |v| owners::shown(&v.input.owners).next().is_some(), "at least one owner id",
        |v, out| text(v, out, |t| &t.authorized_senders)),
    row(Id::Time, Is("## Current Date & Time"), Stable, FullAndMinimal,
        knows_time_zone, "a known time zone", |v, out| text(v, out, |t| &t.time)),
    row(Id::WorkspaceFiles, Is("## Workspace Files (injected)"), Stable, FullAndMinimal, WHOLE, ROOM,
        |v, out| text(v, out, |t| &t.workspace_files)),
    row(Id::OutputDirectives, Is("## Assistant Output Directives"), Stable, Full,
        |v| v.input.surface == ReplySurface::Channel, "replies that a channel delivers",
        |v, out| text(v, out, |t| &t.output_directives)),
    row(Id::ReasoningFormat, Is("## Reasoning Format"), Stable, FullAndMinimal,
        |v| v.input.reply_format == ReplyFormat::Tagged, "a model that reasons in tags",
        |v, out| text(v, out, |t| &t.reasoning_format)),
    row(Id::ProjectContext, Is("# Project Context"), Stable, FullAndMinimal,
        |v| !v.stable_files.is_empty(), "at least one stable context file",
        |v, out| text(v, out, |t| &t.project_context)),
    row(Id::SilentReplies, Is("## Silent Replies"), Stable, Full,
        |v| v.input.silent_replies != SilentReplies::Never, "a conversation in which silence is allowed",
        |v, out| text(v, out, |t| &t.silent_replies)),

    // Here lies the cache boundary.

    row(Id::DynamicContext, Either(dynamic_heading), Volatile, FullAndMinimal,
        |v| !v.dynamic_files.is_empty(), "at least one dynamic context file",
        |v, out| text(v, out, |t| &t.dynamic_context)),
    row(Id::WebEmbed, Is("## Control UI Embed"), Volatile, Full,
        |v| v.channel.as_deref() == Some("webchat"), "the channel `webchat`",
        |v, out| text(v, out, |t| &t.web_embed)),
    row(Id::Messaging, Is("## Messaging"), Volatile, Full,
        |v| v.input.surface == ReplySurface::Channel || v.reaches_others(),
        "replies that a channel delivers, or a tool that reaches others", |v, out| text(v, out, |t| &t.messaging)),
    row(Id::Voice, Is("## Voice (TTS)"), Volatile, Full,
        |v| sourced(&v.input.voice_hint).is_some(), "a voice hint", |v, out| text(v, out, |t| &t.voice)),
    row(Id::ExtraContext, Either(extra_heading), Volatile, FullAndMinimal,
        |v| extra_context(v).is_some(), "context of the group or of the sub-agent, or instructions of the operator",
        |v, out| block(extra_context(v), out)),
    row(Id::Reactions, Is("## Reactions"), Volatile, FullAndMinimal,
        |v| v.input.reactions.is_some(), "guidance on reactions", |v, out| text(v, out, |t| &t.reactions)),
    row(Id::ProviderSuffix, Own(None, dynamic_suffix), Volatile, FullAndMinimal,
        |v| dynamic_suffix(v).is_some(), "a suffix from the model's family",
        |v, out| block(dynamic_suffix(v), out)),
    row(Id::Heartbeats, Is("## Heartbeats"), Volatile, Full,
        |v| sourced(&v.input.heartbeat).is_some(), "heartbeats switched on for this agent",
        |v, out| text(v, out, |t| &t.heartbeats)),
    row(Id::Runtime, Is("## Runtime"), Volatile, FullAndMinimal, ALWAYS, "", |v, out| text(v, out, |t| &t.runtime)),
];

const ALWAYS: fn(&InputView<'_>) -> bool = |_| true;
const WHOLE: fn(&InputView<'_>) -> bool = |v| v.is_whole();
const ROOM: &str = "more room than a small model has";

const fn row(
    id: Id,
    heading: SectionHeading,
    zone: Zone,
    modes: SectionModes,
    gate: fn(&InputView<'_>) -> bool,
    needs: &'static str,
    render: fn(&InputView<'_>, &mut PromptWriter),
) -> PromptSection {
    PromptSection {
        id,
        heading,
        zone,
        modes,
        gate,
        needs,
        render,
    }
}

impl SectionModes {
    pub(crate) fn include(self, mode: PromptMode) -> bool {
        match mode {
            PromptMode::Full => true,
            PromptMode::Minimal => self != Full,
            PromptMode::None => self == All,
        }
    }
}

impl PromptSection {
    /// Renders the section if its mode and its gate allow it.
    pub(crate) fn render(&self, view: &InputView<'_>, out: &mut PromptWriter) {
        if !self.modes.include(view.input.mode) || !(self.gate)(view) {
            return;
        }
        out.section(self.id, self.zone, self.printed_heading(view), |out| {
            (self.render)(view, out)
        });
    }

    /// The heading without regard to any input.
    pub(crate) fn usual_heading(&self) -> Option<&'static str> {
        match self.heading {
            Is(heading) => Some(heading),
            Own(fallback, _) => fallback,
            SectionHeading::None | Either(_) => None,
        }
    }

    /// The heading to print above the body. A contribution that brings its own prints it itself.
    fn printed_heading(&self, view: &InputView<'_>) -> Option<Cow<'static, str>> {
        let heading = match self.heading {
            SectionHeading::None => None,
            Is(heading) => Some(heading),
            Either(choose) => Some(choose(view)),
            Own(fallback, contributed) => {
                fallback.filter(|_| contributed(view).and_then(own_heading).is_none())
            }
        };
        heading.map(Cow::Borrowed)
    }
}

fn text(view: &InputView<'_>, out: &mut PromptWriter, of: fn(&PromptTexts) -> &PromptTemplate) {
    of(&TEXTS).write(view, out);
}

/// A contributed text, byte for byte.
pub(crate) fn block(contributed: Option<&SourcedValue<CleanText>>, out: &mut PromptWriter) {
    let Some(contributed) = contributed else {
        return;
    };
    out.push_block(contributed);
    if let Some(heading) = own_heading(contributed) {
        out.note_heading(heading);
    }
}

fn block_or_text(
    contributed: Contributed,
    view: &InputView<'_>,
    out: &mut PromptWriter,
    of: fn(&PromptTexts) -> &PromptTemplate,
) {
    match contributed(view) {
        Some(given) => block(Some(given), out),
        None => text(view, out, of),
    }
}

/// The first line of a text, if it is a heading.
fn own_heading(contributed: &SourcedValue<CleanText>) -> Option<&str> {
    let first = contributed.value.as_str().lines().next()?;
    let level = first.len() - first.trim_start_matches('#').len();
    ((1..=6).contains(&level) && first[level..].starts_with(' ')).then_some(first)
}

fn knows_time_zone(view: &InputView<'_>) -> bool {
    value(&view.input.time_zone).is_some()
}

fn dynamic_heading(view: &InputView<'_>) -> &'static str {
    if view.stable_files.is_empty() {
        "# Project Context"
    } else {
        "# Dynamic Project Context"
    }
}

fn extra_heading(view: &InputView<'_>) -> &'static str {
    match (view.is_full(), view.input.extra_kind) {
        (true, ExtraKind::Conversation) => "## Group Chat Context",
        (true, ExtraKind::Instructions) => "## Additional Instructions",
        (false, _) => "## Subagent Context",
    }
}

fn extra_context<'a>(view: &'a InputView<'_>) -> Option<&'a SourcedValue<CleanText>> {
    given(view.input.extra_context.as_ref())
}

fn interaction_style<'a>(view: &'a InputView<'_>) -> Option<&'a SourcedValue<CleanText>> {
    given(contribution(view)?.interaction_style.as_ref())
}

fn tool_call_style<'a>(view: &'a InputView<'_>) -> Option<&'a SourcedValue<CleanText>> {
    given(contribution(view)?.tool_call_style.as_ref())
}

fn execution_bias<'a>(view: &'a InputView<'_>) -> Option<&'a SourcedValue<CleanText>> {
    given(contribution(view)?.execution_bias.as_ref())
}

fn stable_prefix<'a>(view: &'a InputView<'_>) -> Option<&'a SourcedValue<CleanText>> {
    given(contribution(view)?.stable_prefix.as_ref())
}

fn dynamic_suffix<'a>(view: &'a InputView<'_>) -> Option<&'a SourcedValue<CleanText>> {
    given(contribution(view)?.dynamic_suffix.as_ref())
}

fn contribution<'a>(view: &'a InputView<'_>) -> Option<&'a FamilyContribution> {
    view.input.contribution.as_ref()
}

fn given(text: Option<&SourcedValue<CleanText>>) -> Option<&SourcedValue<CleanText>> {
    text.filter(|text| !text.value.is_empty())
}
