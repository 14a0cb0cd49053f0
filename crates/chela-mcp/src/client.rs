//! A server that is spoken to: which version it speaks, what it has, what it answers.

mod connect;
mod result;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;

use crate::era::{ProtocolEra, with_meta};
use crate::json_member::{put, put_within};
use crate::link::{LinkError, LinkRequest, ServerLink, ServerSignals};
use crate::message::RpcError;
use crate::offer::{
    HeaderParam, ServerPrompt, ServerResource, ServerTool, UnusableTool, read_instructions,
};

pub(crate) use connect::ConnectAsk;
pub use result::{CallAnswer, ResultPiece};

/// Things of one kind a server may offer, and pages they may come in.
const MOST_OFFERED: usize = 256;
const MOST_PAGES: usize = 32;
/// How often a server may ask for a call to be repeated.
const MOST_REPEATS: usize = 8;
/// What is listened to goes on.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);

/// A server that is spoken to. Dropping it ends the connection.
pub(crate) struct McpClient {
    link: Arc<dyn ServerLink>,
    signals: Arc<ServerSignals>,
    era: ProtocolEra,
    about: ServerAbout,
    ids: Arc<AtomicI64>,
    patience: Duration,
    listener: Option<AbortHandle>,
}

/// What a server says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerAbout {
    pub name: String,
    pub version: String,
    pub instructions: Option<String>,
    pub has_tools: bool,
    pub has_resources: bool,
    pub has_prompts: bool,
    pub tells_changes: bool,
}

/// The tools of a server, and those that cannot be used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListedTools {
    pub tools: Vec<ServerTool>,
    pub unusable: Vec<UnusableTool>,
}

impl ServerAbout {
    fn read(told: &Value, info: Option<&Value>) -> Self {
        let info = info.unwrap_or(&Value::Null);
        let capabilities = &told["capabilities"];
        let has = |name: &str| capabilities[name].is_object();
        let line = |value: &Value| {
            let text = value.as_str().unwrap_or_default();
            crate::link::shown(text)
        };
        Self {
            name: line(&info["name"]),
            version: line(&info["version"]),
            instructions: read_instructions(told),
            has_tools: has("tools"),
            has_resources: has("resources"),
            has_prompts: has("prompts"),
            tells_changes: ["tools", "resources", "prompts"].into_iter().any(|name| {
                let told = capabilities[name].get("listChanged");
                told.and_then(Value::as_bool) == Some(true)
            }),
        }
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
        self.link.close();
    }
}

impl McpClient {
    pub fn era(&self) -> &ProtocolEra {
        &self.era
    }

    pub fn about(&self) -> &ServerAbout {
        &self.about
    }

    pub fn signals(&self) -> &ServerSignals {
        &self.signals
    }

    /// The same for whoever outlives it.
    pub fn shared_signals(&self) -> Arc<ServerSignals> {
        Arc::clone(&self.signals)
    }

    /// Why it is of no use any more.
    pub fn ended(&self) -> Option<String> {
        self.link.ended()
    }

    /// Ends it.
    pub fn close(&self) {
        self.link.close();
    }

    /// All tools it offers.
    pub async fn list_tools(&self) -> Result<ListedTools, LinkError> {
        if !self.about.has_tools {
            return Ok(ListedTools::default());
        }
        let mut listed = ListedTools::default();
        for told in self.list("tools/list", "tools").await? {
            match ServerTool::read(&told) {
                Ok(tool) if listed.tools.iter().any(|known| known.name == tool.name) => {
                    listed.unusable.push(UnusableTool {
                        name: tool.name,
                        why: "another tool of the server has its name".to_owned(),
                    });
                }
                Ok(tool) => listed.tools.push(tool),
                Err(unusable) => {
                    tracing::warn!(
                        tool = unusable.name,
                        why = unusable.why,
                        "a tool is left out"
                    );
                    listed.unusable.push(unusable);
                }
            }
        }
        listed.tools.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    /// All that can be read of it: fixed addresses, then patterns.
    pub async fn list_resources(&self) -> Result<Vec<ServerResource>, LinkError> {
        if !self.about.has_resources {
            return Ok(Vec::new());
        }
        let mut told = self.list("resources/list", "resources").await?;
        let patterns = self
            .list("resources/templates/list", "resourceTemplates")
            .await;
        match patterns {
            Ok(patterns) => told.extend(patterns),
            // A server need not have any.
            Err(LinkError::Rpc(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(told.iter().filter_map(ServerResource::read).collect())
    }

    /// All texts it has ready.
    pub async fn list_prompts(&self) -> Result<Vec<ServerPrompt>, LinkError> {
        if !self.about.has_prompts {
            return Ok(Vec::new());
        }
        let told = self.list("prompts/list", "prompts").await?;
        Ok(told.iter().filter_map(ServerPrompt::read).collect())
    }

    /// Calls a tool.
    pub async fn call_tool(
        &self,
        tool: &str,
        headers: &[HeaderParam],
        arguments: &Map<String, Value>,
    ) -> Result<CallAnswer, LinkError> {
        let headers = headers.iter().filter_map(|param| param.of_call(arguments));
        let params = json!({ "name": tool, "arguments": arguments });
        let told = self.ask_until_done("tools/call", params, headers.collect());
        Ok(CallAnswer::of_call(&told.await?))
    }

    /// Reads what is at an address.
    pub async fn read_resource(&self, uri: &str) -> Result<CallAnswer, LinkError> {
        let told = self.ask_until_done("resources/read", json!({ "uri": uri }), Vec::new());
        Ok(CallAnswer::of_resource(&told.await?))
    }

    /// A text with its places filled in.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallAnswer, LinkError> {
        let params = json!({ "name": name, "arguments": arguments });
        let told = self.ask_until_done("prompts/get", params, Vec::new());
        Ok(CallAnswer::of_prompt(&told.await?))
    }

    /// Asks, and asks again where the server wants the same once more with what it said.
    async fn ask_until_done(
        &self,
        method: &'static str,
        params: Value,
        headers: Vec<(String, String)>,
    ) -> Result<Value, LinkError> {
        let mut asked = params.clone();
        for _ in 0..MOST_REPEATS {
            let answer = self.ask(method, asked, headers.clone()).await?;
            let told = &answer;
            if told["resultType"].as_str() != Some("input_required") {
                return Ok(answer);
            }
            let wants = told["inputRequests"].as_object();
            if wants.is_some_and(|wants| !wants.is_empty()) {
                return Err(LinkError::Misbehaved(
                    "it asks for something it was told it cannot have".to_owned(),
                ));
            }
            let Some(state) = told["requestState"].as_str() else {
                break;
            };
            asked = params.clone();
            put(&mut asked, "requestState", state);
        }
        Err(LinkError::Misbehaved(
            "it wants the same call again and again".to_owned(),
        ))
    }

    async fn list(&self, method: &'static str, key: &str) -> Result<Vec<Value>, LinkError> {
        let mut all: Vec<Value> = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let params = match &cursor {
                Some(cursor) => json!({ "cursor": cursor }),
                None => json!({}),
            };
            let mut told = self.ask(method, params, Vec::new()).await?;
            match told.get_mut(key).map(Value::take) {
                Some(Value::Array(page)) => all.extend(page),
                _ => {
                    let why = format!("it answers {method} without a list");
                    return Err(LinkError::Misbehaved(why));
                }
            }
            let next = told.get("nextCursor").and_then(Value::as_str);
            let next = next.map(str::to_owned);
            if all.len() >= MOST_OFFERED || next.is_none() || next == cursor {
                break;
            }
            cursor = next;
        }
        if all.len() > MOST_OFFERED {
            tracing::warn!(
                method,
                many = all.len(),
                "a server offers too much: the rest is left out"
            );
            all.truncate(MOST_OFFERED);
        }
        Ok(all)
    }

    async fn ask(
        &self,
        method: &'static str,
        params: Value,
        headers: Vec<(String, String)>,
    ) -> Result<Value, LinkError> {
        let id = self.ids.fetch_add(1, Ordering::SeqCst);
        let mut params = match &self.era {
            ProtocolEra::Modern { version } => with_meta(params, version, &json!({})),
            ProtocolEra::Legacy { .. } => params,
        };
        // A sign of life now and then keeps a long call alive.
        if method == "tools/call" {
            put_within(&mut params, "_meta", "progressToken", id);
        }
        let request = LinkRequest {
            id,
            method,
            params,
            headers,
            patience: self.patience,
        };
        let told = self.link.request(request).await?;
        match told {
            Value::Object(_) => Ok(told),
            _ => Err(LinkError::Misbehaved(
                "its answer is not an object".to_owned(),
            )),
        }
    }

    /// Listens to changes, in the way of its era.
    fn listen(&mut self) {
        if !self.era.is_modern() {
            return Arc::clone(&self.link).listen();
        }
        if !self.about.tells_changes {
            return;
        }
        let task = listen_to_changes(
            Arc::clone(&self.link),
            Arc::clone(&self.ids),
            self.era.version().to_owned(),
        );
        self.listener = Some(tokio::spawn(task).abort_handle());
    }
}

/// Asks a server of the newer era to tell what changes, for as long as it does.
async fn listen_to_changes(link: Arc<dyn ServerLink>, ids: Arc<AtomicI64>, version: String) {
    const FIRST_PAUSE: Duration = Duration::from_secs(1);
    const LONGEST_PAUSE: Duration = Duration::from_secs(300);
    let mut pause = FIRST_PAUSE;
    while link.ended().is_none() {
        let wanted = json!({ "notifications": {
            "toolsListChanged": true,
            "resourcesListChanged": true,
            "promptsListChanged": true,
        } });
        let request = LinkRequest {
            id: ids.fetch_add(1, Ordering::SeqCst),
            method: "subscriptions/listen",
            params: with_meta(wanted, &version, &json!({})),
            headers: Vec::new(),
            patience: FOR_EVER,
        };
        match link.request(request).await {
            Ok(_) => pause = FIRST_PAUSE,
            // It does not do that.
            Err(LinkError::Rpc(RpcError { code, .. })) => {
                tracing::debug!(code, "a server does not tell of changes");
                return;
            }
            Err(LinkError::Login(_) | LinkError::Status { .. }) => return,
            Err(error) => {
                tracing::debug!(%error, "a server cannot be listened to");
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
        tokio::time::sleep(pause).await;
    }
}
