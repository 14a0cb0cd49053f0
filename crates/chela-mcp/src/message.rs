//! JSON-RPC 2.0, as the Model Context Protocol uses it.

use serde_json::{Map, Value, json};

use crate::json_member::put;

/// More than any message has to say; one that is longer ends the connection.
pub(crate) const MOST_MESSAGE_BYTES: usize = 8 << 20;

/// What names a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestId {
    Number(i64),
    Text(String),
}

/// One message, either way.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcMessage {
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Response {
        /// `None`: of a request that could not be read.
        id: Option<RequestId>,
        outcome: Result<Value, RpcError>,
    },
}

/// What the other side says that went wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

impl RpcError {
    pub const PARSE: i64 = -32_700;
    pub const INVALID_REQUEST: i64 = -32_600;
    pub const UNKNOWN_METHOD: i64 = -32_601;
    pub const INVALID_PARAMS: i64 = -32_602;
    pub const INTERNAL: i64 = -32_603;
    /// The headers of a request say something else than its body.
    pub const HEADER_MISMATCH: i64 = -32_020;
    /// The client lacks what the request needs.
    pub const MISSING_CAPABILITY: i64 = -32_021;
    /// The version of the protocol is not spoken here.
    pub const UNSUPPORTED_VERSION: i64 = -32_022;

    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Value::Null,
        }
    }

    pub fn unknown_method(method: &str) -> Self {
        let shown: String = method.chars().take(64).collect();
        Self::new(Self::UNKNOWN_METHOD, format!("no method `{shown}` here"))
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// Whether only a server of the newer era says this.
    pub(crate) fn is_of_newer_era(&self) -> bool {
        matches!(
            self.code,
            Self::HEADER_MISMATCH | Self::MISSING_CAPABILITY | Self::UNSUPPORTED_VERSION
        )
    }

    fn read(value: &Value) -> Option<Self> {
        let error = value.as_object()?;
        let message = error.get("message").and_then(Value::as_str);
        Some(Self {
            code: error.get("code")?.as_i64()?,
            message: message.unwrap_or_default().to_owned(),
            data: error.get("data").cloned().unwrap_or_default(),
        })
    }

    fn to_value(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if !self.data.is_null() {
            put(&mut error, "data", self.data.clone());
        }
        error
    }
}

impl RequestId {
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => number.as_i64().map(Self::Number),
            Value::String(text) => Some(Self::Text(text.clone())),
            _ => None,
        }
    }

    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => (*number).into(),
            Self::Text(text) => text.as_str().into(),
        }
    }
}

impl RpcMessage {
    /// Reads one message. The error says what is wrong with it, as an answer would.
    pub fn read(value: Value) -> Result<Self, RpcError> {
        let invalid = |why: &str| RpcError::new(RpcError::INVALID_REQUEST, why);
        let Value::Object(mut fields) = value else {
            return Err(invalid("a message is a JSON object"));
        };
        if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(invalid("`jsonrpc` is not \"2.0\""));
        }
        let id = match fields.get("id") {
            None | Some(Value::Null) => None,
            Some(id) => {
                Some(RequestId::read(id).ok_or_else(|| invalid("`id` is no text and no number"))?)
            }
        };
        match fields.remove("method") {
            Some(Value::String(method)) => {
                let params = fields.remove("params").unwrap_or_default();
                if !matches!(params, Value::Null | Value::Object(_)) {
                    return Err(invalid("`params` is not an object"));
                }
                // Null names no request, and answering it is forbidden.
                match (id, fields.contains_key("id")) {
                    (Some(id), _) => Ok(Self::Request { id, method, params }),
                    (None, false) => Ok(Self::Notification { method, params }),
                    (None, true) => Err(invalid("`id` is null")),
                }
            }
            Some(_) => Err(invalid("`method` is not a text")),
            None => Self::read_response(id, fields),
        }
    }

    fn read_response(
        id: Option<RequestId>,
        mut fields: Map<String, Value>,
    ) -> Result<Self, RpcError> {
        let outcome = match (fields.remove("result"), fields.remove("error")) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(RpcError::read(&error)
                .ok_or_else(|| RpcError::new(RpcError::INVALID_REQUEST, "an unreadable error"))?),
            _ => {
                let why = "neither a request nor a response";
                return Err(RpcError::new(RpcError::INVALID_REQUEST, why));
            }
        };
        Ok(Self::Response { id, outcome })
    }

    /// As it is sent.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Request { id, method, params } => match params {
                Value::Null => json!({ "jsonrpc": "2.0", "id": id.to_value(), "method": method }),
                params => json!({
                    "jsonrpc": "2.0", "id": id.to_value(), "method": method, "params": params,
                }),
            },
            Self::Notification { method, params } => match params {
                Value::Null => json!({ "jsonrpc": "2.0", "method": method }),
                params => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
            },
            Self::Response { id, outcome } => {
                let id = id.as_ref().map_or(Value::Null, RequestId::to_value);
                match outcome {
                    Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error.to_value() }),
                }
            }
        }
    }

    /// As a line.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        let mut line = self.to_value().to_string().into_bytes();
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{RequestId, RpcError, RpcMessage};

    #[test]
    fn messages_are_read_as_they_are_sent() {
        for message in [
            RpcMessage::Request {
                id: RequestId::Number(7),
                method: "tools/list".to_owned(),
                params: json!({ "cursor": "a" }),
            },
            RpcMessage::Request {
                id: RequestId::Text("x".to_owned()),
                method: "ping".to_owned(),
                params: json!(null),
            },
            RpcMessage::Notification {
                method: "notifications/cancelled".to_owned(),
                params: json!({ "requestId": 7 }),
            },
            RpcMessage::Response {
                id: Some(RequestId::Number(7)),
                outcome: Ok(json!({})),
            },
            RpcMessage::Response {
                id: None,
                outcome: Err(RpcError::new(RpcError::PARSE, "no JSON")),
            },
        ] {
            assert_eq!(RpcMessage::read(message.to_value()), Ok(message));
        }
    }

    #[test]
    fn what_is_no_message_is_told_so() {
        for wrong in [
            json!([]),
            json!("text"),
            json!({ "id": 1, "method": "x" }),
            json!({ "jsonrpc": "1.0", "id": 1, "method": "x" }),
            json!({ "jsonrpc": "2.0", "id": null, "method": "x" }),
            json!({ "jsonrpc": "2.0", "id": 1.5, "method": "x" }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": 4 }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "params": [1] }),
            json!({ "jsonrpc": "2.0", "id": 1 }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": {}, "error": {} }),
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "message": "x" } }),
        ] {
            let read = RpcMessage::read(wrong.clone());
            assert!(read.is_err(), "{wrong}");
        }
    }
}
