//! Requests over HTTP: what the headers say is what the body says, and each answer has its status.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::McpService;
use super::dispatch::{AskedEra, acknowledged, unsupported};
use crate::era::{LEGACY_VERSIONS, MODERN_VERSION, VERSION_KEY};
use crate::link::shown;
use crate::message::{RequestId, RpcError, RpcMessage};

/// What is answered with a stream.
const LISTEN: &str = "subscriptions/listen";

/// A request, as it came.
#[derive(Debug, Clone, Copy)]
pub struct HttpAsk<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a str>,
    /// `Mcp-Method`.
    pub method: Option<&'a str>,
    /// `Mcp-Name`.
    pub name: Option<&'a str>,
    pub body: &'a [u8],
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedReply {
    pub status: u16,
    /// `None`: nothing.
    pub body: Option<Value>,
    /// Whether the body is a list of messages to be told as a stream of events.
    pub is_stream: bool,
}

impl ServedReply {
    fn of(status: u16, message: &RpcMessage) -> Self {
        Self {
            status,
            body: Some(message.to_value()),
            is_stream: false,
        }
    }

    fn error(id: Option<RequestId>, error: RpcError) -> Self {
        let status = match error.code {
            RpcError::UNKNOWN_METHOD => 404,
            RpcError::INTERNAL => 500,
            _ => 400,
        };
        Self::of(
            status,
            &RpcMessage::Response {
                id,
                outcome: Err(error),
            },
        )
    }
}

/// Answers what was posted.
pub async fn answer_post(service: &McpService, ask: HttpAsk<'_>) -> ServedReply {
    let value: Value = match serde_json::from_slice(ask.body) {
        Ok(value) => value,
        Err(_) => {
            return ServedReply::error(None, RpcError::new(RpcError::PARSE, "it is not JSON"));
        }
    };
    let id = value.get("id").and_then(RequestId::read);
    let message = match RpcMessage::read(value) {
        Ok(message) => message,
        Err(error) => return ServedReply::error(id, error),
    };
    let RpcMessage::Request { id, method, params } = message else {
        // Nobody here waits for anything a client says by itself.
        return ServedReply {
            status: 202,
            body: None,
            is_stream: false,
        };
    };
    let era = match era_of(&ask, &params) {
        Ok(era) => era,
        Err(error) => return ServedReply::error(Some(id), error),
    };
    if era == AskedEra::Modern
        && let Err(error) = check_headers(&ask, &method, &params)
    {
        return ServedReply::error(Some(id), error);
    }
    match service.answer(&id, &method, &params, era).await {
        Ok(result) => {
            let first = (method == LISTEN).then(|| acknowledged(&id).to_value());
            let answer = RpcMessage::Response {
                id: Some(id),
                outcome: Ok(result),
            };
            match first {
                None => ServedReply::of(200, &answer),
                Some(first) => ServedReply {
                    status: 200,
                    body: Some(Value::Array(vec![first, answer.to_value()])),
                    is_stream: true,
                },
            }
        }
        Err(error) => {
            let mut reply = ServedReply::error(Some(id), error);
            // The older era says what went wrong in the body alone.
            if era == AskedEra::Legacy {
                reply.status = 200;
            }
            reply
        }
    }
}

/// The era, by the header where there is one; what the body says must be the same.
fn era_of(ask: &HttpAsk<'_>, params: &Value) -> Result<AskedEra, RpcError> {
    let told = params["_meta"].get(VERSION_KEY).and_then(Value::as_str);
    match (ask.version, told) {
        (None, None) => Ok(AskedEra::Legacy),
        (Some(header), None) if LEGACY_VERSIONS.contains(&header) => Ok(AskedEra::Legacy),
        // What the body lacks is said by whoever looks at the body.
        (Some(header), None) if header == MODERN_VERSION => Ok(AskedEra::Modern),
        (Some(header), None) => Err(unsupported(header)),
        (Some(header), Some(told)) if header == told => Ok(AskedEra::Modern),
        (header, Some(told)) => Err(mismatch("MCP-Protocol-Version", header, told)),
    }
}

/// Whoever passes a request on may go by its headers, so they must be true.
fn check_headers(ask: &HttpAsk<'_>, method: &str, params: &Value) -> Result<(), RpcError> {
    if ask.method.map(str::trim) != Some(method) {
        return Err(mismatch("Mcp-Method", ask.method, method));
    }
    let named = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let Some(named) = named else {
        return Ok(());
    };
    let header = ask.name.map(str::trim).and_then(decoded);
    match header.as_deref() == Some(named) {
        true => Ok(()),
        false => Err(mismatch("Mcp-Name", ask.name, named)),
    }
}

fn mismatch(header: &str, value: Option<&str>, told: &str) -> RpcError {
    let value = match value {
        Some(value) => format!("`{}`", shown(value)),
        None => "missing".to_owned(),
    };
    RpcError::new(
        RpcError::HEADER_MISMATCH,
        format!("{header} is {value}, and the body says `{}`", shown(told)),
    )
    .with_data(json!({ "header": header }))
}

/// A header's value as it is meant; `None` for one that is encoded wrongly.
fn decoded(value: &str) -> Option<String> {
    let inner = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match inner {
        None => Some(value.to_owned()),
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
    }
}
