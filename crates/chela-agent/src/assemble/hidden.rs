//! What models are sent, without the secrets somebody left in it.

use std::borrow::Cow;
use std::sync::Arc;

use chela_core::secret::Redactor;
use chela_model::{MessagePart, ModelMessage, SystemText, ToolSchema};
use chela_prompt::{CleanText, PromptInput, SourcedValue};
use serde_json::Value;

/// Takes secrets out of every text of a prompt that is not Chela's own: of the config, of plugins
/// and providers. Files and skills lose theirs where they are read.
pub(super) fn hide(input: &mut PromptInput, redactor: &Redactor) {
    let lists = [
        &mut input.native_commands,
        &mut input.model_aliases,
        &mut input.workspace_notes,
        &mut input.message_hints,
    ];
    for text in lists.into_iter().flatten() {
        plain(&mut text.value, redactor);
    }
    let texts = [&mut input.voice_hint, &mut input.heartbeat];
    for text in texts.into_iter().flatten() {
        plain(&mut text.value, redactor);
    }
    let facts = &mut input.runtime;
    let words = [
        &mut facts.model,
        &mut facts.default_model,
        &mut facts.channel,
    ];
    for word in words.into_iter().flatten() {
        plain(word, redactor);
    }
    input
        .message_channels
        .iter_mut()
        .chain(&mut facts.capabilities)
        .for_each(|word| plain(word, redactor));
    for tool in &mut input.tools {
        tool.summary
            .iter_mut()
            .for_each(|text| plain(text, redactor));
    }
    let clean = |text: &mut SourcedValue<CleanText>| {
        if let Cow::Owned(hidden) = redactor.redact(text.value.as_str()) {
            text.value = CleanText::new(&hidden);
        }
    };
    input.extra_context.iter_mut().for_each(clean);
    if let Some(given) = &mut input.contribution {
        let parts = [
            &mut given.interaction_style,
            &mut given.tool_call_style,
            &mut given.execution_bias,
            &mut given.stable_prefix,
            &mut given.dynamic_suffix,
        ];
        parts.into_iter().flatten().for_each(clean);
    }
    if let Some(replacement) = &mut input.replacement {
        clean(&mut replacement.text);
    }
}

/// Takes secrets out of what tools are said to be: their words come from the config, too.
pub(crate) fn hide_in_tools(tools: &mut [ToolSchema], redactor: &Redactor) {
    for tool in tools {
        plain(&mut tool.description, redactor);
        let parameters = tool.parameters.to_string();
        if let Cow::Owned(hidden) = redactor.redact_json(&parameters)
            && let Ok(hidden) = serde_json::from_str(&hidden)
        {
            tool.parameters = Arc::new(hidden);
        }
    }
}

/// The last gate before the wire: values the installation holds are in no request, whatever way
/// they came, and also when they became known only after they were written down. This is for what
/// a request begins with, [`hide_in_message`] for the rest of it. Says whether there was something
/// to hide.
pub(crate) fn hide_in_head(
    system: &mut SystemText,
    tools: &mut [ToolSchema],
    redactor: &Redactor,
) -> bool {
    let texts = [&mut system.stable, &mut system.tail];
    let tools = tools.iter_mut().map(|tool| &mut tool.description);
    let hidden = texts.into_iter().chain(tools);
    // Each of them, also once one held something.
    hidden
        .filter_map(|text| hide_known(text, redactor).then_some(()))
        .count()
        > 0
}

/// A message without the values the installation holds: the same one where it has none.
pub(crate) fn hide_in_message(said: &Arc<ModelMessage>, redactor: &Redactor) -> Arc<ModelMessage> {
    let mut message = ModelMessage::clone(said);
    let (ModelMessage::User { content }
    | ModelMessage::Assistant { content, .. }
    | ModelMessage::ToolResult { content, .. }) = &mut message;
    let mut is_changed = false;
    let mut known = |text: &mut String| is_changed |= hide_known(text, redactor);
    for part in content {
        match part {
            MessagePart::Text { text } => known(text),
            // What is signed is sent back as it came, or not at all.
            MessagePart::Reasoning {
                text, signature, ..
            } if signature.is_none() => known(text),
            MessagePart::ToolCall(call) => {
                call.malformed.iter_mut().for_each(&mut known);
                call.arguments
                    .values_mut()
                    .for_each(|value| in_value(value, &mut known));
            }
            MessagePart::Reasoning { .. } | MessagePart::Image { .. } => {}
        }
    }
    match is_changed {
        true => Arc::new(message),
        false => Arc::clone(said),
    }
}

/// Says whether there was something to hide.
fn hide_known(text: &mut String, redactor: &Redactor) -> bool {
    match redactor.redact_known(text) {
        Cow::Owned(hidden) => {
            *text = hidden;
            true
        }
        Cow::Borrowed(_) => false,
    }
}

fn in_value(value: &mut Value, act: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => act(text),
        Value::Array(items) => items.iter_mut().for_each(|item| in_value(item, act)),
        Value::Object(map) => map.values_mut().for_each(|item| in_value(item, act)),
        _ => {}
    }
}

fn plain(text: &mut String, redactor: &Redactor) {
    if let Cow::Owned(hidden) = redactor.redact(text) {
        *text = hidden;
    }
}
