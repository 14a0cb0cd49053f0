//! One request, and what is answered to it.

use serde_json::{Map, Value, json};

use super::{McpService, ServedPrompt, ServedResource, ServedTool};
use crate::era::{
    CAPABILITIES_KEY, LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSION, SERVER_KEY,
    SUBSCRIPTION_KEY, VERSION_KEY, own_name,
};
use crate::json_member::{put, put_within};
use crate::link::shown;
use crate::message::{RequestId, RpcError, RpcMessage};

/// Lists are the same until the program is another one, or its owner changed something.
const LIST_TTL_MILLIS: u64 = 60_000;

/// In which era a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskedEra {
    Legacy,
    Modern,
}

impl AskedEra {
    /// A request that says its version says everything.
    pub fn of(params: &Value) -> Self {
        match params["_meta"].get(VERSION_KEY) {
            Some(_) => Self::Modern,
            None => Self::Legacy,
        }
    }
}

/// Whether a request of the newer era says all it must.
pub(super) fn check_meta(params: &Value) -> Result<(), RpcError> {
    let meta = &params["_meta"];
    let Some(version) = meta[VERSION_KEY].as_str() else {
        return Err(RpcError::invalid_params(format!(
            "_meta lacks {VERSION_KEY}"
        )));
    };
    if version != MODERN_VERSION {
        return Err(unsupported(version));
    }
    match meta[CAPABILITIES_KEY] {
        Value::Object(_) => Ok(()),
        _ => Err(RpcError::invalid_params(format!(
            "_meta lacks {CAPABILITIES_KEY}"
        ))),
    }
}

/// The versions that are spoken here.
fn versions() -> Vec<&'static str> {
    std::iter::once(MODERN_VERSION)
        .chain(LEGACY_VERSIONS)
        .collect()
}

pub(super) fn unsupported(version: &str) -> RpcError {
    let data = json!({ "supported": versions(), "requested": shown(version) });
    let message = "this version of the protocol is not spoken here";
    RpcError::new(RpcError::UNSUPPORTED_VERSION, message).with_data(data)
}

impl McpService {
    /// Answers one request.
    pub(super) async fn answer(
        &self,
        id: &RequestId,
        method: &str,
        params: &Value,
        era: AskedEra,
    ) -> Result<Value, RpcError> {
        if era == AskedEra::Modern {
            check_meta(params)?;
        }
        let result = match (method, era) {
            ("initialize", AskedEra::Legacy) => self.initialize(params),
            ("ping", AskedEra::Legacy) => json!({}),
            ("server/discover", AskedEra::Modern) => self.discover(),
            ("tools/list", _) => self.list_tools(),
            ("tools/call", _) => self.call_tool(params).await?,
            ("resources/list", _) => self.list_resources().await?,
            ("resources/templates/list", _) => listing("resourceTemplates", Vec::new()),
            ("resources/read", _) => self.read_resource(params, era).await?,
            ("prompts/list", _) => self.list_prompts().await?,
            ("prompts/get", _) => self.get_prompt(params).await?,
            ("subscriptions/listen", AskedEra::Modern) => listened(id),
            (other, _) => return Err(RpcError::unknown_method(other)),
        };
        Ok(match era {
            AskedEra::Legacy => without_hints(result),
            AskedEra::Modern => identified(result),
        })
    }

    fn capabilities() -> Value {
        json!({ "tools": {}, "resources": {}, "prompts": {} })
    }

    fn initialize(&self, params: &Value) -> Value {
        let wanted = params["protocolVersion"].as_str().unwrap_or_default();
        let known = LEGACY_VERSIONS.iter().find(|known| **known == wanted);
        json!({
            "protocolVersion": known.copied().unwrap_or(LEGACY_VERSION),
            "capabilities": Self::capabilities(),
            "serverInfo": own_name(),
            "instructions": self.content.instructions(),
        })
    }

    fn discover(&self) -> Value {
        json!({
            "supportedVersions": versions(),
            "capabilities": Self::capabilities(),
            "instructions": self.content.instructions(),
            "ttlMs": LIST_TTL_MILLIS,
            "cacheScope": "private",
        })
    }

    fn list_tools(&self) -> Value {
        let tools = self.content.tools();
        listing("tools", tools.iter().map(tool_value).collect())
    }

    async fn call_tool(&self, params: &Value) -> Result<Value, RpcError> {
        let name = params["name"].as_str().unwrap_or_default();
        let tools = self.content.tools();
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
            let message = format!("there is no tool `{}`", shown(name));
            return Err(RpcError::invalid_params(message));
        };
        let empty = Map::new();
        let arguments = match &params["arguments"] {
            Value::Null => &empty,
            Value::Object(arguments) => arguments,
            _ => return Err(RpcError::invalid_params("`arguments` is not an object")),
        };
        tracing::info!(tool = tool.name, "a caller uses a tool");
        let answer = self.content.call(tool.name, arguments).await?;
        Ok(answer.to_value())
    }

    async fn list_resources(&self) -> Result<Value, RpcError> {
        let resources = self.content.resources().await?;
        let all = resources.iter().map(resource_value).collect();
        Ok(listing("resources", all))
    }

    async fn list_prompts(&self) -> Result<Value, RpcError> {
        let prompts = self.content.prompts().await?;
        Ok(listing(
            "prompts",
            prompts.iter().map(prompt_value).collect(),
        ))
    }

    async fn get_prompt(&self, params: &Value) -> Result<Value, RpcError> {
        let name = params["name"].as_str().unwrap_or_default();
        let text = self.content.prompt(name).await?;
        let content = json!({ "type": "text", "text": text });
        Ok(json!({ "messages": [{ "role": "user", "content": content }] }))
    }

    async fn read_resource(&self, params: &Value, era: AskedEra) -> Result<Value, RpcError> {
        let uri = params["uri"].as_str().unwrap_or_default();
        let read = self.content.read(uri).await.map_err(|error| {
            let error = error.with_data(json!({ "uri": shown(uri) }));
            // The older era has a code of its own for what is not there.
            match (era, error.code) {
                (AskedEra::Legacy, RpcError::INVALID_PARAMS) => RpcError {
                    code: -32_002,
                    ..error
                },
                _ => error,
            }
        })?;
        Ok(json!({
            "contents": [{ "uri": read.uri, "mimeType": read.mime, "text": read.text }],
            "ttlMs": 0,
            "cacheScope": "private",
        }))
    }
}

fn prompt_value(prompt: &ServedPrompt) -> Value {
    json!({ "name": prompt.name, "description": prompt.description })
}

fn tool_value(tool: &ServedTool) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.schema,
        "annotations": { "readOnlyHint": tool.reads_only, "openWorldHint": false },
    })
}

fn resource_value(resource: &ServedResource) -> Value {
    json!({
        "uri": resource.uri,
        "name": resource.name,
        "description": resource.description,
        "mimeType": resource.mime,
    })
}

/// A list, and how long it holds.
fn listing(key: &str, all: Vec<Value>) -> Value {
    let mut value = json!({ "ttlMs": LIST_TTL_MILLIS, "cacheScope": "private" });
    put(&mut value, key, all);
    value
}

/// What a caller who wants to listen is told before anything else: that nothing will be told.
pub(super) fn acknowledged(id: &RequestId) -> RpcMessage {
    let mut meta = json!({});
    put(&mut meta, SUBSCRIPTION_KEY, id.to_value());
    RpcMessage::Notification {
        method: "notifications/subscriptions/acknowledged".to_owned(),
        params: json!({ "_meta": meta, "notifications": {} }),
    }
}

/// Nothing changes while a caller listens, so the listening ends at once.
fn listened(id: &RequestId) -> Value {
    let mut meta = json!({});
    put(&mut meta, SUBSCRIPTION_KEY, id.to_value());
    json!({ "_meta": meta })
}

/// With what every answer of the newer era has.
fn identified(mut result: Value) -> Value {
    put(&mut result, "resultType", "complete");
    put_within(&mut result, "_meta", SERVER_KEY, own_name());
    result
}

/// Without what the older era does not know.
fn without_hints(mut result: Value) -> Value {
    if let Value::Object(fields) = &mut result {
        fields.shift_remove("ttlMs");
        fields.shift_remove("cacheScope");
    }
    result
}
