//! From facts to prompt.

use chela_core::Zone;

use crate::out::PromptWriter;
use crate::table::{PromptSection, SECTIONS, block};
use crate::view::InputView;
use crate::{Prompt, PromptInput, PromptMode, RenderError, SectionId};

/// No plugin's prompt removes these.
const PROTECTED: [SectionId; 3] = [
    SectionId::Safety,
    SectionId::Sandbox,
    SectionId::AuthorizedSenders,
];

/// Room for our own sentences, so that the buffer is allocated once.
const OWN_TEXT: usize = 9 * 1024;

/// Renders the prompt these facts call for.
///
/// Pure: the same facts give the same bytes, on every machine and at any time.
pub fn render(input: &PromptInput) -> Result<Prompt, RenderError> {
    let mut out = PromptWriter::with_capacity(OWN_TEXT + contributed_bytes(input));
    out.reserve_parts(input.tools.len() + input.files.len() + skills(input));
    let view = InputView::new(input);
    match &input.replacement {
        Some(replacement) if input.mode != PromptMode::None => {
            for section in SECTIONS
                .iter()
                .filter(|section| PROTECTED.contains(&section.id))
            {
                section.render(&view, &mut out);
            }
            out.section(SectionId::Replacement, Zone::Stable, None, |out| {
                block(Some(&replacement.text), out);
            });
        }
        _ => SECTIONS
            .iter()
            .for_each(|section| section.render(&view, &mut out)),
    }
    out.finish(input.session)
}

/// Why a section is not in the prompt these facts call for; `None` when it is there.
pub fn why_absent(input: &PromptInput, id: SectionId) -> Option<SectionAbsence> {
    let section = SECTIONS.iter().find(|section| section.id == id)?;
    let PromptSection {
        modes, gate, needs, ..
    } = section;
    if !modes.include(input.mode) {
        return Some(SectionAbsence::Mode { mode: input.mode });
    }
    if !gate(&InputView::new(input)) {
        return Some(SectionAbsence::Needs { what: needs });
    }
    let replaced = input.replacement.is_some() && input.mode != PromptMode::None;
    (replaced && !PROTECTED.contains(&id)).then_some(SectionAbsence::Replaced)
}

/// What it takes for a section to appear, as the end of "it needs …"; empty when its mode is
/// enough.
pub fn needs(id: SectionId) -> &'static str {
    SECTIONS
        .iter()
        .find(|section| section.id == id)
        .map_or("", |section| section.needs)
}

/// The heading a section has when nothing else is said, number signs included.
pub fn usual_heading(id: SectionId) -> Option<&'static str> {
    SECTIONS
        .iter()
        .find(|section| section.id == id)?
        .usual_heading()
}

/// Why a section is not in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionAbsence {
    /// Prompts of this mode do not have it.
    Mode { mode: PromptMode },
    /// What it takes for the section to appear, as the end of "it needs …".
    Needs { what: &'static str },
    /// A plugin's prompt stands in its place.
    Replaced,
}

fn skills(input: &PromptInput) -> usize {
    input
        .skills
        .as_ref()
        .map_or(0, |skills| skills.entries().len())
}

fn contributed_bytes(input: &PromptInput) -> usize {
    let files = input
        .files
        .iter()
        .map(|file| file.path.len() + file.content.as_str().len() + 8);
    let skills = input
        .skills
        .as_ref()
        .map_or(0, |skills| skills.text().len());
    let extra = input
        .extra_context
        .as_ref()
        .map_or(0, |extra| extra.value.as_str().len());
    files.sum::<usize>() + skills + extra
}
