//! What models are sent, without the secrets somebody left in it.

use std::borrow::Cow;

use chela_core::secret::Redactor;
use chela_model::{Message, Part, Request, ToolSchema};
use chela_prompt::{CleanText, PromptInput, Sourced};
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
    let clean = |text: &mut Sourced<CleanText>| {
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
            tool.parameters = hidden;
        }
    }
}

/// The last gate before the wire: values the installation holds are in no request, whatever way
/// they came, and also when they became known only after they were written down.
pub(crate) fn hide_in_request(request: &mut Request, redactor: &Redactor) {
    let known = |text: &mut String| {
        if let Cow::Owned(hidden) = redactor.redact_known(text) {
            *text = hidden;
        }
    };
    known(&mut request.system.stable);
    known(&mut request.system.tail);
    for tool in &mut request.tools {
        known(&mut tool.description);
    }
    for message in &mut request.messages {
        let (Message::User { content }
        | Message::Assistant { content, .. }
        | Message::ToolResult { content, .. }) = message;
        for part in content {
            match part {
                Part::Text { text } => known(text),
                // What is signed is sent back as it came, or not at all.
                Part::Reasoning {
                    text, signature, ..
                } if signature.is_none() => known(text),
                Part::ToolCall(call) => {
                    call.malformed.iter_mut().for_each(known);
                    call.arguments
                        .values_mut()
                        .for_each(|value| in_value(value, &known));
                }
                Part::Reasoning { .. } | Part::Image { .. } => {}
            }
        }
    }
}

fn in_value(value: &mut Value, act: &impl Fn(&mut String)) {
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
