//! Tools of MCP servers, as tools of an agent.
//!
//! What a model is told of them is what is on record, so a session begins without starting anything. What
//! a call does to the world is what the server's owner granted, narrowed by what the server can reach;
//! what comes back is a stranger's text.

mod content_tool;
mod server_effect;
mod server_tool;

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use chela_config::LoadedConfig;
use chela_core::secret::Redactor;
use chela_core::{Entropy, Host, lock, ok_or_warn};
use chela_mcp::{McpPool, McpRecord, McpServerSpec, PoolAsk, SecretDesk, specs_of};
use chela_model::ModelHttp;
use chela_tools::Tool;
use futures_util::future::join_all;

use content_tool::ContentTool;
use server_tool::ServerCallTool;

pub use server_effect::effect_of_tool;

/// A session waits so long for servers that nobody has met before; what comes later is told later.
const FIRST_MEETING: Duration = Duration::from_secs(10);

/// The servers of a config, for as many agents as there are.
pub struct McpToolset {
    pool: McpPool,
    desk: Arc<SecretDesk>,
    entropy: Arc<dyn Entropy>,
    made: Mutex<MadeTools>,
    /// Servers whose first meeting was tried.
    met: Mutex<Vec<String>>,
}

/// The tools as they were made last, and of what.
#[derive(Default)]
struct MadeTools {
    record: Option<Arc<McpRecord>>,
    specs: Vec<Arc<McpServerSpec>>,
    tools: Vec<Arc<dyn Tool>>,
}

impl std::fmt::Debug for McpToolset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("McpToolset")
    }
}

/// The servers of one process, made when somebody asks for them.
#[derive(Default)]
pub(crate) struct McpSlot(OnceLock<Arc<McpToolset>>);

impl McpSlot {
    pub fn get(&self, make: impl FnOnce() -> McpToolset) -> Arc<McpToolset> {
        Arc::clone(self.0.get_or_init(|| Arc::new(make())))
    }

    /// Those there are, where somebody asked for them before.
    pub fn made(&self) -> Option<&Arc<McpToolset>> {
        self.0.get()
    }
}

impl McpToolset {
    /// None of the servers is started.
    pub fn open(host: &Host, loaded: &Arc<LoadedConfig>, redactor: Arc<Redactor>) -> Self {
        let (specs, faults) = specs_of(host, loaded);
        for fault in faults {
            tracing::warn!(%fault, "an MCP server is not used");
        }
        let desk = SecretDesk::new(redactor);
        let ask = PoolAsk {
            host: host.clone(),
            loaded: Arc::clone(loaded),
            http: ModelHttp::new(host, loaded),
            desk: Arc::clone(&desk),
        };
        Self {
            pool: McpPool::new(ask, specs),
            desk,
            entropy: Arc::clone(&host.entropy),
            made: Mutex::default(),
            met: Mutex::default(),
        }
    }

    /// The config is another one: servers that are set up as before go on.
    pub fn reload(&self, host: &Host, loaded: &Arc<LoadedConfig>, redactor: Arc<Redactor>) {
        let (specs, faults) = specs_of(host, loaded);
        for fault in faults {
            tracing::warn!(%fault, "an MCP server is not used");
        }
        self.desk.replace(redactor);
        self.pool.set_specs(loaded, specs);
        lock(&self.met).clear();
    }

    pub fn pool(&self) -> &McpPool {
        &self.pool
    }

    /// The tools there are now. The same values as long as nothing changed.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let specs = self.pool.specs();
        if specs.is_empty() {
            return Vec::new();
        }
        let record = self.pool.record();
        let mut made = lock(&self.made);
        let is_same = made
            .record
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, &record))
            && made.specs.len() == specs.len()
            && made
                .specs
                .iter()
                .zip(&specs)
                .all(|(a, b)| Arc::ptr_eq(a, b));
        if !is_same {
            *made = MadeTools {
                tools: self.make_tools(&specs, &record, &made.tools),
                record: Some(record),
                specs,
            };
        }
        made.tools.clone()
    }

    fn make_tools(
        &self,
        specs: &[Arc<McpServerSpec>],
        record: &McpRecord,
        before: &[Arc<dyn Tool>],
    ) -> Vec<Arc<dyn Tool>> {
        let spec_of = |server: &str| specs.iter().find(|spec| spec.prefix == server);
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for pooled in self.pool.tools() {
            let Some(spec) = spec_of(&pooled.server) else {
                continue;
            };
            let tool = ServerCallTool::new(&self.pool, spec, pooled, &self.entropy);
            tools.push(unchanged(tool, before));
        }
        let content = ContentTool::new(&self.pool, specs, record, &self.entropy);
        tools.extend(content.map(|tool| Arc::new(tool) as Arc<dyn Tool>));
        tools
    }

    /// Meets servers nobody has met before, so that it is known what they have. Each is met once a
    /// process; what takes too long goes on behind.
    pub async fn meet_new_servers(self: &Arc<Self>) -> Vec<String> {
        let unknown = self.pool.unknown();
        let new: Vec<String> = {
            let mut met = lock(&self.met);
            let new: Vec<String> = unknown
                .into_iter()
                .filter(|name| !met.contains(name))
                .collect();
            met.extend(new.iter().cloned());
            new
        };
        if new.is_empty() {
            return Vec::new();
        }
        let set = Arc::clone(self);
        let names = new.clone();
        let meeting = tokio::spawn(async move {
            let all = new.iter().map(|server| set.pool.learn(server));
            let outcomes = join_all(all).await;
            let failed = outcomes.into_iter().filter_map(Result::err);
            failed.map(|error| error.to_string()).collect::<Vec<_>>()
        });
        match tokio::time::timeout(FIRST_MEETING, meeting).await {
            Ok(met) => ok_or_warn!(met, "MCP servers cannot be met").unwrap_or_default(),
            Err(_) => {
                let still = self.pool.unknown();
                names
                    .iter()
                    .filter(|name| still.contains(name))
                    .map(|name| takes_long(name))
                    .collect()
            }
        }
    }
}

/// What a person reads who waited for a server.
fn takes_long(server: &str) -> String {
    tracing::info!(server, "an MCP server takes long to start");
    format!(
        "the MCP server `{server}` did not start within {} s: this turn goes without its tools. \
         `chela mcp test {server}` shows why, `chela mcp disable {server}` waits for it no more",
        FIRST_MEETING.as_secs()
    )
}

/// A tool that is told as it was is the same value, so that nothing is indexed anew.
fn unchanged(tool: ServerCallTool, before: &[Arc<dyn Tool>]) -> Arc<dyn Tool> {
    let spec = tool.spec();
    let known = before.iter().find(|known| {
        let told = known.spec();
        told.name == spec.name
            && told.description == spec.description
            && told.parameters == spec.parameters
            && told.effect == spec.effect
            && told.sinks == spec.sinks
            && known.described_by() == tool.described_by()
    });
    match known {
        Some(known) if tool.is_as_granted_before(known.as_ref()) => Arc::clone(known),
        _ => Arc::new(tool),
    }
}
