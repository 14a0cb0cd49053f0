//! What a request asks, in whatever wire format it came.

use serde_json::Value;

use crate::http::HttpRequest;

/// The wire formats a model call can come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFormat {
    Chat,
    Responses,
    Anthropic,
    Gemini,
    Ollama,
}

/// How the answer is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerDelivery {
    Whole,
    Stream,
}

/// A model call, understood.
#[derive(Debug)]
pub struct ModelCall {
    pub format: CallFormat,
    pub delivery: AnswerDelivery,
    pub model: String,
    /// Text of the newest user message.
    pub user: String,
    /// Text of the newest tool result.
    pub tool: String,
    pub system: String,
    pub tools: Vec<String>,
    pub messages: usize,
    /// The newest message is a tool result.
    pub after_tool: bool,
}

/// Which model call a request is, if it is one.
pub fn format_of(request: &HttpRequest) -> Option<CallFormat> {
    if request.method != "POST" {
        return None;
    }
    let path = request.route();
    if path.ends_with("/chat/completions") {
        Some(CallFormat::Chat)
    } else if path.ends_with("/responses") {
        Some(CallFormat::Responses)
    } else if path.ends_with("/messages") {
        Some(CallFormat::Anthropic)
    } else if path.ends_with(":streamGenerateContent") || path.ends_with(":generateContent") {
        Some(CallFormat::Gemini)
    } else if path.ends_with("/api/chat") {
        Some(CallFormat::Ollama)
    } else {
        None
    }
}

impl ModelCall {
    pub fn read(format: CallFormat, request: &HttpRequest, body: &Value) -> Self {
        let list = match format {
            CallFormat::Responses => &body["input"],
            CallFormat::Gemini => &body["contents"],
            _ => &body["messages"],
        };
        let alone;
        let messages = match list {
            Value::Array(messages) => messages.as_slice(),
            Value::String(_) => {
                alone = [serde_json::json!({ "role": "user", "content": list })];
                &alone
            }
            _ => &[],
        };
        let newest = messages.iter().rev();
        let is_result = |message: &&Value| result_text(message).is_some();
        Self {
            format,
            delivery: delivery(format, request, body),
            model: model(format, request, body),
            user: newest
                .clone()
                .filter(|message| message["role"] == "user")
                .map(text_of)
                .find(|text| !text.is_empty())
                .unwrap_or_default(),
            tool: newest.clone().find_map(result_text).unwrap_or_default(),
            system: system(format, body, messages),
            tools: tool_names(format, body),
            messages: messages.len(),
            after_tool: messages.last().as_ref().is_some_and(is_result),
        }
    }

    /// Text with `{{…}}` replaced by what was asked.
    pub fn fill(&self, text: &str, call: u64) -> String {
        if !text.contains("{{") {
            return text.to_owned();
        }
        [
            ("{{user}}", self.user.as_str()),
            ("{{tool}}", &self.tool),
            ("{{system}}", &self.system),
            ("{{model}}", &self.model),
            ("{{tools}}", &self.tools.join(", ")),
            ("{{messages}}", &self.messages.to_string()),
            ("{{call}}", &call.to_string()),
        ]
        .into_iter()
        .fold(text.to_owned(), |text, (name, value)| {
            text.replace(name, value)
        })
    }
}

fn delivery(format: CallFormat, request: &HttpRequest, body: &Value) -> AnswerDelivery {
    let stream = match format {
        CallFormat::Gemini => request.route().ends_with(":streamGenerateContent"),
        // Ollama streams unless told not to, the others do not unless told to.
        CallFormat::Ollama => body["stream"] != false,
        _ => body["stream"] == true,
    };
    if stream {
        AnswerDelivery::Stream
    } else {
        AnswerDelivery::Whole
    }
}

fn model(format: CallFormat, request: &HttpRequest, body: &Value) -> String {
    let named = match format {
        CallFormat::Gemini => request
            .route()
            .rsplit('/')
            .next()
            .and_then(|last| last.split(':').next()),
        _ => body["model"].as_str(),
    };
    named.unwrap_or_default().to_owned()
}

fn system(format: CallFormat, body: &Value, messages: &[Value]) -> String {
    let field = match format {
        CallFormat::Responses => &body["instructions"],
        CallFormat::Anthropic => &body["system"],
        CallFormat::Gemini => &body["systemInstruction"],
        CallFormat::Chat | CallFormat::Ollama => &Value::Null,
    };
    let in_messages = messages
        .iter()
        .filter(|message| matches!(message["role"].as_str(), Some("system" | "developer")))
        .map(text_of);
    plain_text(field).into_iter().chain(in_messages).collect()
}

fn tool_names(format: CallFormat, body: &Value) -> Vec<String> {
    let listed = body["tools"].as_array().into_iter().flatten();
    let named = |value: &Value| value["name"].as_str().map(str::to_owned);
    match format {
        CallFormat::Chat | CallFormat::Ollama => {
            listed.filter_map(|tool| named(&tool["function"])).collect()
        }
        CallFormat::Responses | CallFormat::Anthropic => listed.filter_map(named).collect(),
        CallFormat::Gemini => listed
            .flat_map(|tool| {
                tool["functionDeclarations"]
                    .as_array()
                    .into_iter()
                    .flatten()
            })
            .filter_map(named)
            .collect(),
    }
}

/// What a person wrote in a message: tool results are not part of it.
fn text_of(message: &Value) -> String {
    plain_text(&message["content"])
        .or_else(|| plain_text(&message["parts"]))
        .unwrap_or_default()
}

/// Text given as a string, as an object with `text` or `parts`, or as a list of those.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(
            parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect(),
        ),
        Value::Object(object) => plain_text(object.get("parts").or_else(|| object.get("text"))?),
        _ => None,
    }
}

/// The text of the tool results in a message, if it has any.
fn result_text(message: &Value) -> Option<String> {
    if message["role"] == "tool" {
        return Some(text_of(message));
    }
    if message["type"] == "function_call_output" {
        return plain_text(&message["output"]);
    }
    let parts = message["content"]
        .as_array()
        .or_else(|| message["parts"].as_array())?;
    let texts: Vec<String> = parts
        .iter()
        .filter_map(|part| {
            if part["type"] == "tool_result" {
                return plain_text(&part["content"]);
            }
            let response = part.get("functionResponse")?.get("response")?;
            let only = response.get("output").or_else(|| response.get("result"));
            only.and_then(plain_text)
                .or_else(|| Some(response.to_string()))
        })
        .collect();
    (!texts.is_empty()).then(|| texts.concat())
}
