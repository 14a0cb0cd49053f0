//! The servers of one process: started when they are needed, shared by all who need them, ended when
//! nobody does.

mod slot;
mod slot_watch;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use chela_config::LoadedConfig;
use chela_core::{ContentHash, Host, lock, ok_or_warn};
use chela_model::ModelHttp;
use serde_json::{Map, Value};

use crate::client::{CallAnswer, ServerAbout};
use crate::link::LinkError;
use crate::offer::{ServerPrompt, ServerResource, ServerTool};
use crate::record::{AcceptedBy, McpRecord, RecordChange};
use crate::secret_desk::SecretDesk;
use crate::spec::McpServerSpec;

pub use slot::SlotStanding;
use slot::{ServerSlot, SettledUse, UseAttempt};

/// Does something with a server, and once more where it has to begin anew.
macro_rules! use_client {
    ($slot:expr, $client:ident => $act:expr) => {{
        let slot: Arc<ServerSlot> = $slot;
        let mut attempt = UseAttempt::First;
        loop {
            let used = slot.begin_use().await?;
            let $client = used.client();
            let outcome: Result<_, SlotError> = $act;
            match slot.settle(used, outcome, attempt) {
                SettledUse::Done(outcome) => break outcome,
                SettledUse::Again => attempt = UseAttempt::Second,
            }
        }
    }};
}

/// Names of tools have at most so many characters.
const LONGEST_TOOL_NAME: usize = 64;

/// What a pool is made with.
#[derive(Debug)]
pub struct PoolAsk {
    pub host: Host,
    pub loaded: Arc<LoadedConfig>,
    pub http: ModelHttp,
    /// Takes secrets out of what servers print, and hears of every token.
    pub desk: Arc<SecretDesk>,
}

/// The servers of one process. Cheap to clone; the last one to go ends them.
#[derive(Clone)]
pub struct McpPool(Arc<PoolState>);

struct PoolState {
    host: Host,
    http: ModelHttp,
    desk: Arc<SecretDesk>,
    slots: Mutex<BTreeMap<String, Arc<ServerSlot>>>,
    record: Mutex<RecordCache>,
}

/// The record as it was last read, and the file it was read from.
#[derive(Default)]
struct RecordCache {
    stamp: Option<(SystemTime, u64)>,
    record: Arc<McpRecord>,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PooledTool {
    /// `server__tool`.
    pub name: String,
    /// The prefix of its server.
    pub server: String,
    pub tool: ServerTool,
    pub accepted_by: AcceptedBy,
}

/// Why a server did not do what was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PoolError {
    #[error("there is no MCP server `{server}`")]
    NoServer { server: String },
    #[error("the MCP server `{server}` has no tool `{tool}`")]
    NoTool { server: String, tool: String },
    #[error(
        "{tool} of the MCP server `{server}` waits for its owner: {why}; `chela mcp diff {server}` \
         shows it, `chela mcp trust {server}` approves it"
    )]
    Held {
        server: String,
        tool: String,
        why: &'static str,
    },
    #[error("the MCP server `{server}` cannot be used: {why}")]
    Down { server: String, why: String },
    #[error(
        "the MCP server `{server}` failed {times} times and is left alone for {seconds} s: {why}"
    )]
    LeftAlone {
        server: String,
        times: u32,
        seconds: u64,
        why: String,
    },
    #[error("the MCP server `{server}` wants a login: `chela mcp login {server}`")]
    Login { server: String },
    #[error("the MCP server `{server}` did not do it: {why}")]
    Failed { server: String, why: String },
}

impl std::fmt::Debug for McpPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("McpPool")
    }
}

impl Drop for PoolState {
    fn drop(&mut self) {
        for slot in lock(&self.slots).values() {
            slot.close_now();
        }
    }
}

impl McpPool {
    /// A pool of these servers. None is started.
    pub fn new(ask: PoolAsk, specs: Vec<McpServerSpec>) -> Self {
        let pool = Self(Arc::new(PoolState {
            host: ask.host,
            http: ask.http,
            desk: ask.desk,
            slots: Mutex::default(),
            record: Mutex::default(),
        }));
        pool.set_specs(&ask.loaded, specs);
        pool
    }

    /// These are the servers from now on. One that is set up as before goes on; any other is ended and
    /// started anew when it is needed.
    pub fn set_specs(&self, loaded: &Arc<LoadedConfig>, specs: Vec<McpServerSpec>) {
        let mut slots = lock(&self.0.slots);
        let mut before = std::mem::take(&mut *slots);
        for spec in specs {
            let kept = before.remove(&spec.prefix);
            let kept = kept.filter(|slot| slot.is_set_up_as(&spec, loaded));
            let slot = kept.unwrap_or_else(|| self.slot_of(&spec, loaded));
            slots.insert(spec.prefix.clone(), slot);
        }
        for slot in before.values() {
            slot.close_now();
        }
    }

    fn slot_of(&self, spec: &McpServerSpec, loaded: &Arc<LoadedConfig>) -> Arc<ServerSlot> {
        let state = &self.0;
        ServerSlot::new(slot::SlotAsk {
            host: &state.host,
            loaded,
            http: &state.http,
            desk: &state.desk,
            spec,
        })
    }

    /// The servers, by the prefixes of their tools.
    pub fn specs(&self) -> Vec<Arc<McpServerSpec>> {
        let slots = lock(&self.0.slots);
        slots.values().map(|slot| Arc::clone(slot.spec())).collect()
    }

    pub fn spec(&self, server: &str) -> Option<Arc<McpServerSpec>> {
        let slots = lock(&self.0.slots);
        slots.get(server).map(|slot| Arc::clone(slot.spec()))
    }

    /// What is on record, read anew only when it changed.
    pub fn record(&self) -> Arc<McpRecord> {
        let path = McpRecord::path(&self.0.host);
        let facts = std::fs::metadata(&path).ok();
        let stamp = facts.and_then(|facts| Some((facts.modified().ok()?, facts.len())));
        let mut cache = lock(&self.0.record);
        if stamp.is_none() || cache.stamp != stamp {
            let read = McpRecord::load(&self.0.host);
            if let Some(record) = ok_or_warn!(read, "what is on record of servers cannot be read") {
                cache.record = Arc::new(record);
                cache.stamp = stamp;
            }
        }
        Arc::clone(&cache.record)
    }

    /// The tools a model may be told of: those on record of the servers there are. No server is
    /// started for that.
    pub fn tools(&self) -> Vec<PooledTool> {
        let record = self.record();
        let mut tools = Vec::new();
        for spec in self.specs() {
            let Some(server) = record.servers.get(&spec.prefix) else {
                continue;
            };
            for (tool, accepted_by) in server.usable() {
                if spec.filter.takes(&tool.name) {
                    tools.push(PooledTool {
                        name: tool_name(&spec.prefix, &tool.name),
                        server: spec.prefix.clone(),
                        tool: tool.clone(),
                        accepted_by,
                    });
                }
            }
        }
        tools
    }

    /// The servers of which nothing is on record yet.
    pub fn unknown(&self) -> Vec<String> {
        let record = self.record();
        let specs = self.specs().into_iter();
        specs
            .filter(|spec| !record.servers.contains_key(&spec.prefix))
            .map(|spec| spec.prefix.clone())
            .collect()
    }

    /// Starts a server if it does not run, asks it for its tools, and puts on record what it says.
    pub async fn learn(&self, server: &str) -> Result<RecordChange, PoolError> {
        self.slot(server)?.learn().await
    }

    /// What a server says of itself. It is started for that.
    pub async fn about(&self, server: &str) -> Result<(ServerAbout, String), PoolError> {
        let client = self.slot(server)?.client().await?;
        Ok((client.about().clone(), client.era().version().to_owned()))
    }

    /// Calls a tool as it is on record. One whose words are others by now is not called.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallAnswer, PoolError> {
        let slot = self.slot(server)?;
        use_client!(slot, client => {
            // What the server says of it now was put on record when it was connected.
            match self.usable_tool(server, tool) {
                Ok(known) => {
                    let called = client.call_tool(tool, &known.headers, arguments).await;
                    called.map_err(SlotError::Link)
                }
                Err(error) => Err(error),
            }
        })
    }

    /// Reads what a server has at an address.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<CallAnswer, PoolError> {
        let slot = self.slot(server)?;
        use_client!(slot, client => client.read_resource(uri).await.map_err(SlotError::Link))
    }

    /// A text of a server with its places filled in.
    pub async fn get_prompt(
        &self,
        server: &str,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallAnswer, PoolError> {
        let slot = self.slot(server)?;
        use_client!(slot, client => client.get_prompt(name, arguments).await.map_err(SlotError::Link))
    }

    pub async fn list_resources(&self, server: &str) -> Result<Vec<ServerResource>, PoolError> {
        let slot = self.slot(server)?;
        use_client!(slot, client => client.list_resources().await.map_err(SlotError::Link))
    }

    pub async fn list_prompts(&self, server: &str) -> Result<Vec<ServerPrompt>, PoolError> {
        let slot = self.slot(server)?;
        use_client!(slot, client => client.list_prompts().await.map_err(SlotError::Link))
    }

    /// How a server stands in this process.
    pub fn standing(&self, server: &str) -> Option<SlotStanding> {
        self.slot(server).ok().map(|slot| slot.standing())
    }

    /// The newest lines a server printed.
    pub fn last_lines(&self, server: &str) -> Vec<String> {
        self.slot(server)
            .map(|slot| slot.last_lines())
            .unwrap_or_default()
    }

    /// Ends all of them, and gives them a moment for it.
    pub async fn close(&self) {
        let slots: Vec<Arc<ServerSlot>> = lock(&self.0.slots).values().cloned().collect();
        for slot in slots {
            slot.close_now();
        }
    }

    fn slot(&self, server: &str) -> Result<Arc<ServerSlot>, PoolError> {
        let slots = lock(&self.0.slots);
        slots
            .get(server)
            .cloned()
            .ok_or_else(|| PoolError::NoServer {
                server: crate::link::shown(server),
            })
    }

    fn usable_tool(&self, server: &str, tool: &str) -> Result<ServerTool, SlotError> {
        let record = self.record();
        let known = record.servers.get(server);
        let known = known.and_then(|known| known.tools.get(tool));
        let missing = || {
            SlotError::Pool(PoolError::NoTool {
                server: server.to_owned(),
                tool: crate::link::shown(tool),
            })
        };
        let known = known.filter(|known| known.is_there).ok_or_else(missing)?;
        match (&known.held, known.usable()) {
            (Some(held), _) => Err(SlotError::Pool(PoolError::Held {
                server: server.to_owned(),
                tool: crate::link::shown(tool),
                why: held.why.text(),
            })),
            (None, Some(tool)) => Ok(tool.clone()),
            (None, None) => Err(missing()),
        }
    }
}

/// What goes wrong while a client is used.
pub(crate) enum SlotError {
    Pool(PoolError),
    Link(LinkError),
}

/// The name of a tool as a model calls it.
pub fn tool_name(prefix: &str, tool: &str) -> String {
    let plain: String = tool
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') => c,
            _ => '-',
        })
        .collect();
    let name = format!("{prefix}__{plain}");
    match name.len() <= LONGEST_TOOL_NAME {
        true => name,
        // Two long names that begin alike stay two.
        false => {
            let hash = ContentHash::of(tool).to_string();
            let start: String = name.chars().take(LONGEST_TOOL_NAME - 9).collect();
            let end: String = hash.chars().take(8).collect();
            format!("{start}-{end}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tool_name;

    #[test]
    fn names_a_model_can_call() {
        assert_eq!(tool_name("docs", "search"), "docs__search");
        assert_eq!(tool_name("docs", "a.b c/ü"), "docs__a-b-c--");
        let long = "x".repeat(100);
        let name = tool_name("docs", &long);
        assert_eq!(name.len(), 64);
        assert_ne!(name, tool_name("docs", &format!("{long}y")));
    }
}
