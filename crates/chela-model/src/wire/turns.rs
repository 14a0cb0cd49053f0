//! A conversation in the order every endpoint wants it: each call followed by its result, no two
//! messages of a person in a row.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{MessagePart, ModelMessage, ToolCall};

/// One turn of the conversation.
#[derive(Debug)]
pub enum WireTurn<'a> {
    User(Vec<&'a MessagePart>),
    Assistant {
        content: &'a [MessagePart],
        /// Said by the model that is asked now: its signatures count.
        same_model: bool,
        /// After the last message of a person.
        current: bool,
    },
    /// The results of the calls just before, in their order.
    Results(Vec<CallResult<'a>>),
}

/// What a call gave.
#[derive(Debug)]
pub struct CallResult<'a> {
    pub call: &'a ToolCall,
    /// `None`: the turn ended before the call did.
    pub content: Option<&'a [MessagePart]>,
    pub is_error: bool,
}

/// Said of a call that never ended.
pub const NO_RESULT: &str = "No result: the turn ended before this call did.";

impl CallResult<'_> {
    /// The text of the result; never empty.
    pub fn text(&self) -> String {
        let Some(content) = self.content else {
            return NO_RESULT.to_owned();
        };
        let text: Vec<&str> = content
            .iter()
            .filter_map(|part| match part {
                MessagePart::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let text = text.join("\n");
        match (text.is_empty(), self.images().next()) {
            (false, _) => text,
            (true, Some(_)) => "(see the picture)".to_owned(),
            (true, None) => "(no output)".to_owned(),
        }
    }

    /// Kind and base64 of each picture.
    pub fn images(&self) -> impl Iterator<Item = (&str, &str)> {
        self.content
            .unwrap_or_default()
            .iter()
            .filter_map(|part| match part {
                MessagePart::Image { mime, data } => Some((mime.as_str(), data.as_str())),
                _ => None,
            })
    }
}

/// The turns of a conversation with `model`. Only appending to the messages changes nothing in
/// the turns before, so the cached prefix stays.
pub fn turns<'a>(messages: &'a [Arc<ModelMessage>], model: &str) -> Vec<WireTurn<'a>> {
    let last_user = messages
        .iter()
        .rposition(|message| matches!(**message, ModelMessage::User { .. }))
        .unwrap_or(0);
    let mut turns: Vec<WireTurn<'a>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match &**message {
            ModelMessage::User { content } => match turns.last_mut() {
                Some(WireTurn::User(parts)) => parts.extend(content),
                _ => turns.push(WireTurn::User(content.iter().collect())),
            },
            ModelMessage::Assistant {
                content,
                model: said_by,
            } => {
                turns.push(WireTurn::Assistant {
                    content,
                    same_model: said_by.as_deref() == Some(model),
                    current: at > last_user,
                });
                let after = messages.get(at + 1..).unwrap_or_default();
                let results: Vec<CallResult<'a>> = message
                    .tool_calls()
                    .map(|call| result_of(call, after))
                    .collect();
                if !results.is_empty() {
                    turns.push(WireTurn::Results(results));
                }
            }
            // Taken together with its call; without one it means nothing to an endpoint.
            ModelMessage::ToolResult { .. } => {}
        }
    }
    turns
}

/// Adds parts to the last message where that is of the same role: results and the words that came
/// after them are one turn of the person's side.
pub fn push_parts(messages: &mut Vec<Value>, role: &str, field: &str, parts: Vec<Value>) {
    let last = messages.last_mut().filter(|last| last["role"] == role);
    match last.and_then(|last| last.get_mut(field)?.as_array_mut()) {
        Some(list) => list.extend(parts),
        None => messages.push(json!({"role": role, field: parts})),
    }
}

/// The result lies between the call and what the model says next.
fn result_of<'a>(call: &'a ToolCall, after: &'a [Arc<ModelMessage>]) -> CallResult<'a> {
    let found = after
        .iter()
        .take_while(|message| !matches!(***message, ModelMessage::Assistant { .. }))
        .find_map(|message| match &**message {
            ModelMessage::ToolResult {
                call_id,
                content,
                is_error,
                ..
            } if *call_id == call.id => Some((content.as_slice(), *is_error)),
            _ => None,
        });
    CallResult {
        call,
        content: found.map(|(content, _)| content),
        is_error: found.is_none_or(|(_, is_error)| is_error),
    }
}
