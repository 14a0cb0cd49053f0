//! A prompt as its reader is sent it, with everything that goes along before the first word of a
//! person.

use chela_config::model::Placement;
use chela_core::{Origin, Trust};
use chela_inspect::{RequestShape, ToolPlace};
use chela_model::{
    ModelTarget, PromptProfile, ToolMode, ToolSchema, answer_form, stable_text, tool_texts,
};
use chela_prompt::Prompt;

use super::PromptSize;
use crate::runtime_blocks::{BlockKind, RuntimeBlock, tail};

/// Who reads a prompt.
pub(super) struct PromptReader {
    /// `None` where no model is configured.
    pub target: Option<ModelTarget>,
    pub size: PromptSize,
}

/// How much of a prompt a model can bear.
pub(super) fn size_for(target: Option<&ModelTarget>) -> PromptSize {
    match target.map(ModelTarget::prompt_profile) {
        Some(PromptProfile::Short) => PromptSize::Short,
        _ => PromptSize::Full,
    }
}

impl PromptReader {
    /// How much it can read at once, where that is known.
    pub(super) fn window(&self) -> Option<usize> {
        let window = self.target.as_ref()?.info().context_window?;
        usize::try_from(window).ok()
    }

    /// What is sent of a prompt and these tools.
    pub(super) fn shape(
        &self,
        prompt: &Prompt,
        tools: &[ToolSchema],
        placement: Option<Placement>,
        pending: Option<RuntimeBlock>,
    ) -> RequestShape {
        let mode = match &self.target {
            Some(target) if !tools.is_empty() => target.tool_mode(),
            _ => ToolMode::Native,
        };
        let (mut system, tool_texts) = match &self.target {
            Some(target) => (
                stable_text(prompt.stable(), tools, mode).into_owned(),
                tool_texts(target, tools, mode),
            ),
            None => (
                prompt.stable().to_owned(),
                tools.iter().map(plainly).collect(),
            ),
        };
        let mut blocks: Vec<RuntimeBlock> = pending.into_iter().collect();
        match placement {
            Some(Placement::SystemTail) => system.push_str(prompt.volatile().trim()),
            _ => blocks.push(facts_of(prompt)),
        }
        let message_head = tail(&blocks, &[]).map(|(text, _)| text);
        RequestShape {
            wire: self
                .target
                .as_ref()
                .map(|target| target.info().api.name().to_owned())
                .unwrap_or_default(),
            system,
            tool_texts,
            answer_form: self
                .target
                .as_ref()
                .and_then(|target| answer_form(target, tools, mode)),
            tool_place: match mode {
                ToolMode::Native => ToolPlace::Beside,
                ToolMode::Constrained => ToolPlace::InSystem,
            },
            message_head: message_head.unwrap_or_default(),
        }
    }
}

/// The volatile zone as the first message of a session begins with it.
fn facts_of(prompt: &Prompt) -> RuntimeBlock {
    RuntimeBlock {
        kind: BlockKind::Facts,
        text: prompt.volatile().trim().to_owned(),
        origin: Origin::Runtime,
        trust: Trust::Operator,
    }
}

/// A tool where nobody knows yet in whose format it will be sent.
fn plainly(tool: &ToolSchema) -> String {
    let schema = serde_json::json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": *tool.parameters,
    });
    schema.to_string()
}
