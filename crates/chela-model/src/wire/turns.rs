//! A conversation in the order every endpoint wants it: each call followed by its result, no two
//! messages of a person in a row.

use crate::{Message, Part, ToolCall};

/// One turn of the conversation.
#[derive(Debug)]
pub enum Turn<'a> {
    User(Vec<&'a Part>),
    Assistant {
        content: &'a [Part],
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
    pub content: Option<&'a [Part]>,
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
                Part::Text { text } => Some(text.as_str()),
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
                Part::Image { mime, data } => Some((mime.as_str(), data.as_str())),
                _ => None,
            })
    }
}

/// The turns of a conversation with `model`. Only appending to the messages changes nothing in
/// the turns before, so the cached prefix stays.
pub fn turns<'a>(messages: &'a [Message], model: &str) -> Vec<Turn<'a>> {
    let last_user = messages
        .iter()
        .rposition(|message| matches!(message, Message::User { .. }))
        .unwrap_or(0);
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::User { content } => match turns.last_mut() {
                Some(Turn::User(parts)) => parts.extend(content),
                _ => turns.push(Turn::User(content.iter().collect())),
            },
            Message::Assistant {
                content,
                model: said_by,
            } => {
                turns.push(Turn::Assistant {
                    content,
                    same_model: said_by.as_deref() == Some(model),
                    current: at > last_user,
                });
                let results: Vec<CallResult<'a>> = message
                    .tool_calls()
                    .map(|call| result_of(call, &messages[at + 1..]))
                    .collect();
                if !results.is_empty() {
                    turns.push(Turn::Results(results));
                }
            }
            // Taken together with its call; without one it means nothing to an endpoint.
            Message::ToolResult { .. } => {}
        }
    }
    turns
}

/// The result lies between the call and what the model says next.
fn result_of<'a>(call: &'a ToolCall, after: &'a [Message]) -> CallResult<'a> {
    let found = after
        .iter()
        .take_while(|message| !matches!(message, Message::Assistant { .. }))
        .find_map(|message| match message {
            Message::ToolResult {
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
