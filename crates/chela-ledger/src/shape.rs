//! What a request is made of, in the order a provider's cache reads it.
//!
//! Whatever the order of members in the JSON, every provider puts tools first, then the system
//! prompt, then the conversation. A cached prefix is a prefix of that.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::json::{JsonKind, JsonTree, JsonValue};

/// Where in a request something stands, in words of the domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum RequestPlace {
    /// The request as a whole.
    Request,
    Tool {
        name: String,
    },
    /// The system prompt, outside of any known section.
    System,
    Section {
        id: String,
    },
    Setting {
        key: String,
    },
    Message {
        index: usize,
        role: String,
    },
}

impl std::fmt::Display for RequestPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Request => f.write_str("the whole request"),
            Self::Tool { name } => write!(f, "tool {name}"),
            Self::System => f.write_str("the system prompt"),
            Self::Section { id } => write!(f, "section {id}"),
            Self::Setting { key } => write!(f, "setting {key}"),
            Self::Message { index, role } => write!(f, "message {index} ({role})"),
        }
    }
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestUnit {
    pub place: RequestPlace,
    /// Where it stands in the JSON, as a path.
    pub path: String,
    pub range: Range<usize>,
}

/// A request taken apart, each list in the order it is sent.
#[derive(Debug, Default)]
pub struct RequestShape {
    pub tools: Vec<RequestUnit>,
    pub system: Vec<RequestUnit>,
    /// Parameters that change how the prompt is written for the model.
    pub settings: Vec<RequestUnit>,
    pub messages: Vec<RequestUnit>,
    /// Every other parameter: nothing the cache cares about.
    pub others: Vec<RequestUnit>,
}

const SYSTEM: [&str; 4] = [
    "system",
    "instructions",
    "systemInstruction",
    "system_instruction",
];
const CONVERSATION: [&str; 3] = ["messages", "input", "contents"];
/// Others, such as the temperature, do not touch what is cached.
const SHAPING: [&str; 8] = [
    "tool_choice",
    "toolConfig",
    "thinking",
    "think",
    "reasoning",
    "reasoning_effort",
    "response_format",
    "chat_template_kwargs",
];
/// A mark for the provider's cache, no part of what is cached; it moves with every turn.
const MARK: &str = "cache_control";

impl RequestShape {
    /// A body that is no JSON object is one message. What is `unread` is for the server alone.
    pub fn of(body: &[u8], unread: &[&str]) -> Self {
        let mut shape = Self::default();
        let tree = JsonTree::of(body).filter(|tree| tree.root().kind() == JsonKind::Object);
        let Some(tree) = tree else {
            shape.messages.push(RequestUnit {
                place: RequestPlace::Request,
                path: String::new(),
                range: 0..body.len(),
            });
            return shape;
        };
        for member in tree.root().children() {
            match member.name() {
                Some("tools") => shape.take_tools(member, "tools"),
                Some(name) if SYSTEM.contains(&name) => shape.take_system(member, name),
                Some(name) if CONVERSATION.contains(&name) => shape.take_messages(member, name),
                name => {
                    let key = name.unwrap_or("?").to_owned();
                    let is_read = !unread.contains(&key.as_str());
                    let list = match is_read && SHAPING.contains(&key.as_str()) {
                        true => &mut shape.settings,
                        false => &mut shape.others,
                    };
                    list.push(RequestUnit {
                        path: key.clone(),
                        place: RequestPlace::Setting { key },
                        range: member.range(),
                    });
                }
            }
        }
        shape
    }

    /// Every unit the cache reads, in its order.
    pub fn units(&self) -> impl Iterator<Item = &RequestUnit> {
        self.tools
            .iter()
            .chain(&self.system)
            .chain(&self.settings)
            .chain(&self.messages)
    }

    fn take_tools(&mut self, list: JsonValue<'_, '_>, path: &str) {
        for tool in list.children() {
            let path = tool.path_within(path);
            // One provider wraps the list in a list.
            let wrapped = ["functionDeclarations", "function_declarations"]
                .iter()
                .find_map(|name| tool.member(name));
            if let Some(inner) = wrapped {
                let path = inner.path_within(&path);
                self.take_tools(inner, &path);
                continue;
            }
            let name = tool
                .member("name")
                .or_else(|| tool.member("function")?.member("name"))
                .or_else(|| tool.member("type"))
                .and_then(|name| name.text());
            self.tools.push(RequestUnit {
                place: RequestPlace::Tool {
                    name: name.unwrap_or_else(|| "?".to_owned()),
                },
                path,
                range: tool.range(),
            });
        }
    }

    fn take_system(&mut self, value: JsonValue<'_, '_>, path: &str) {
        let blocks = match value.kind() {
            JsonKind::Array => Some(value),
            JsonKind::Object => value
                .member("parts")
                .filter(|parts| parts.kind() == JsonKind::Array),
            JsonKind::Text | JsonKind::Word => None,
        };
        let mut take = |value: JsonValue<'_, '_>, path: String| {
            self.system.push(RequestUnit {
                place: RequestPlace::System,
                path,
                range: value.range(),
            });
        };
        match blocks {
            Some(blocks) => {
                let outer = match value.kind() {
                    JsonKind::Object => blocks.path_within(path),
                    _ => path.to_owned(),
                };
                for block in blocks.children() {
                    take(block, block.path_within(&outer));
                }
            }
            None => take(value, path.to_owned()),
        }
    }

    fn take_messages(&mut self, list: JsonValue<'_, '_>, path: &str) {
        if list.kind() != JsonKind::Array {
            self.messages.push(RequestUnit {
                place: RequestPlace::Message {
                    index: 0,
                    role: "user".to_owned(),
                },
                path: path.to_owned(),
                range: list.range(),
            });
            return;
        }
        for (index, message) in list.children().enumerate() {
            let role = message
                .member("role")
                .or_else(|| message.member("type"))
                .and_then(|role| role.text())
                .unwrap_or_else(|| "?".to_owned());
            let path = message.path_within(path);
            if self.messages.is_empty() && matches!(role.as_str(), "system" | "developer") {
                match message.member("content") {
                    Some(content) => {
                        let path = content.path_within(&path);
                        self.take_system(content, &path);
                    }
                    None => self.take_system(message, &path),
                }
                continue;
            }
            self.messages.push(RequestUnit {
                place: RequestPlace::Message { index, role },
                path,
                range: message.range(),
            });
        }
    }
}

/// Whether two units are the same to the cache: marks meant for the cache itself do not count.
pub fn same(one: &[u8], other: &[u8]) -> bool {
    one == other
        || (is_marked(one) || is_marked(other))
            && unmarked(one).is_some_and(|plain| Some(plain) == unmarked(other))
}

fn is_marked(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| text.contains(MARK))
}

fn unmarked(bytes: &[u8]) -> Option<Json> {
    let mut value = serde_json::from_slice(bytes).ok()?;
    strip(&mut value);
    Some(value)
}

fn strip(value: &mut Json) {
    match value {
        Json::Object(members) => {
            members.shift_remove(MARK);
            members.values_mut().for_each(strip);
        }
        Json::Array(elements) => elements.iter_mut().for_each(strip),
        _ => {}
    }
}
