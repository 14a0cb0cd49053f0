//! The messages of a program, as the model interfaces write them, in our own words: what is said
//! now, what was said before, and what came of calls the program was asked to make.

use serde::Deserialize;
use serde_json::Value;

use super::chat_completions::read_content;
use super::turn_request::TurnRequest;
use crate::caller_tools::CallerResult;
use crate::error_reply::ErrorReply;
use crate::work_item::CallerTool;

/// A message of any of the interfaces.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ProgramMessage {
    pub role: String,
    #[serde(default)]
    pub content: Value,
    /// OpenAI: the calls of an assistant's message.
    #[serde(default)]
    pub tool_calls: Option<Vec<Value>>,
    /// OpenAI: the call a message of the role `tool` is the result of.
    #[serde(default)]
    pub tool_call_id: Option<String>,
}

/// Sorts messages: what the user said since the last answer is said now.
pub(super) fn read_messages(messages: Vec<ProgramMessage>) -> Result<TurnRequest, ErrorReply> {
    let mut request = TurnRequest::default();
    let answered = messages
        .iter()
        .rposition(|message| message.role == "assistant");
    let is_said =
        |message: &ProgramMessage| matches!(message.role.as_str(), "user" | "tool" | "function");
    if !messages.iter().any(is_said) {
        return Err(ErrorReply::bad_request(
            "`messages` holds no message with the role `user`",
        ));
    }
    let last_user = messages.iter().rposition(|message| message.role == "user");
    for (at, message) in messages.into_iter().enumerate() {
        let is_new = answered.is_none_or(|answered| at > answered);
        let results = results_of(&message);
        let (text, images) = read_content(&message.content)?;
        match message.role.as_str() {
            "system" | "developer" => request.instructions.push(text),
            "tool" | "function" if is_new && !results.is_empty() => request.results.extend(results),
            "user" if is_new && Some(at) == last_user => {
                request.results.extend(results);
                request.text = text;
                request.images = images;
            }
            "assistant" => {
                let calls = calls_in_words(&message);
                let said = [text, calls].join("\n").trim().to_owned();
                if !said.is_empty() {
                    request.history.push((message.role, said));
                }
            }
            "user" | "tool" | "function" => {
                let told = results.into_iter().map(|result| result.text);
                let told: Vec<String> = std::iter::once(text).chain(told).collect();
                let told = told.join("\n").trim().to_owned();
                if !told.is_empty() {
                    request.history.push((message.role, told));
                }
            }
            _ => {}
        }
    }
    let is_empty = request.text.trim().is_empty() && request.images.is_empty();
    match is_empty && request.results.is_empty() {
        true => Err(ErrorReply::bad_request(
            "the last message is empty, or is not the user's",
        )),
        false => Ok(request),
    }
}

/// The results a message holds: of the role `tool`, or in parts as Anthropic writes them.
fn results_of(message: &ProgramMessage) -> Vec<CallerResult> {
    if let Some(call) = &message.tool_call_id {
        return vec![CallerResult {
            call: call.clone(),
            text: plain_text(&message.content),
            failed: false,
        }];
    }
    let parts = message.content.as_array().into_iter().flatten();
    parts
        .filter(|part| part.get("type").and_then(Value::as_str) == Some("tool_result"))
        .filter_map(|part| {
            Some(CallerResult {
                call: part.get("tool_use_id")?.as_str()?.to_owned(),
                text: plain_text(part.get("content").unwrap_or(&Value::Null)),
                failed: part
                    .get("is_error")
                    .and_then(Value::as_bool)
                    .unwrap_or(false),
            })
        })
        .collect()
}

/// The words of a result: a text, parts with texts, or anything else as it is written.
pub(super) fn plain_text(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match part.get("text") {
                Some(Value::String(text)) => text.clone(),
                _ => match part.get("type").and_then(Value::as_str) {
                    Some(kind @ ("image" | "image_url" | "input_image" | "document")) => {
                        format!("[{kind}: not shown]")
                    }
                    _ => part.to_string(),
                },
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// The calls of an earlier answer, for the record of what was said before.
fn calls_in_words(message: &ProgramMessage) -> String {
    let of_openai = message.tool_calls.iter().flatten().filter_map(|call| {
        let function = call.get("function")?;
        let name = function.get("name")?.as_str()?;
        let arguments = function.get("arguments").and_then(Value::as_str);
        Some(call_in_words(name, arguments.unwrap_or("{}")))
    });
    let parts = message.content.as_array().into_iter().flatten();
    let of_anthropic = parts
        .filter(|part| part.get("type").and_then(Value::as_str) == Some("tool_use"))
        .filter_map(|part| {
            let name = part.get("name")?.as_str()?;
            let input = part.get("input").unwrap_or(&Value::Null);
            Some(call_in_words(name, &input.to_string()))
        });
    of_openai.chain(of_anthropic).collect::<Vec<_>>().join("\n")
}

pub(super) fn call_in_words(name: &str, arguments: &str) -> String {
    format!("[calls the program's tool {name} with {arguments}]")
}

/// The tools of a program, and which of them has to be called.
#[derive(Debug, Default, PartialEq)]
pub(super) struct OfferedTools {
    pub tools: Vec<CallerTool>,
    pub must_call: Vec<String>,
}

impl OfferedTools {
    /// Whichever interface they are written for.
    pub fn read(tools: &[Value], choice: Option<&Value>) -> Result<Self, ErrorReply> {
        let (word, named) = match choice {
            None | Some(Value::Null) => ("auto", None),
            Some(Value::String(word)) => (word.as_str(), None),
            Some(other) => {
                let text = |pointer: &str| other.pointer(pointer).and_then(Value::as_str);
                let named = text("/name").or_else(|| text("/function/name"));
                (text("/type").unwrap_or("auto"), named)
            }
        };
        let tools = match word {
            "none" => return Ok(Self::default()),
            _ => tools.iter().map(read_tool).collect::<Result<Vec<_>, _>>()?,
        };
        let names = || tools.iter().map(|tool| tool.name.clone());
        let must_call: Vec<String> = match (word, named) {
            ("auto", _) => Vec::new(),
            ("required" | "any", _) => names().collect(),
            ("function" | "tool" | "custom", Some(named)) => {
                names().filter(|name| name == named).collect()
            }
            _ => {
                return Err(ErrorReply::bad_request(
                    "`tool_choice` can be auto, none, required (any) or the name of one of `tools`",
                ));
            }
        };
        if word != "auto" && must_call.is_empty() {
            return Err(ErrorReply::bad_request(
                "`tool_choice` asks for a call of a tool that is not in `tools`",
            ));
        }
        Ok(Self { tools, must_call })
    }
}

fn read_tool(tool: &Value) -> Result<CallerTool, ErrorReply> {
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    // OpenAI's older form has an envelope; Anthropic's calls the parameters otherwise.
    let function = tool.get("function").unwrap_or(tool);
    let kind = text(tool, "type").unwrap_or_else(|| "function".to_owned());
    let name = match (kind.as_str(), text(function, "name")) {
        ("function" | "custom", Some(name)) => name,
        (kind, _) => {
            return Err(ErrorReply::bad_request(format!(
                "a tool of the type `{}` cannot be offered; functions with a name can",
                chela_core::sanitize::literal(&kind.chars().take(40).collect::<String>())
            )));
        }
    };
    let parameters = function.get("parameters").or(function.get("input_schema"));
    let parameters = parameters.filter(|parameters| !parameters.is_null());
    let mut parameters = parameters
        .cloned()
        .unwrap_or_else(|| serde_json::json!({ "type": "object", "properties": {} }));
    if let Some(object) = parameters.as_object_mut() {
        object.entry("type").or_insert_with(|| "object".into());
    }
    Ok(CallerTool {
        name,
        description: text(function, "description").unwrap_or_default(),
        parameters,
    })
}
