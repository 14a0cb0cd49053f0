//! The place of one server: whether it runs, how often it failed, when it may be tried again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_config::LoadedConfig;
use chela_core::{Host, lock, ok_or_warn};
use chela_model::ModelHttp;
use tokio::time::Instant;

use super::slot_watch::watch_slot;
use super::{PoolError, SlotError};
use crate::challenge::LoginChallenge;
use crate::client::{ConnectAsk, McpClient};
use crate::link::{LinkError, ServerSignals};
use crate::login::ServerLogin;
use crate::record::{FailedStart, McpRecord, RecordChange, ServerRecord};
use crate::secret_desk::SecretDesk;
use crate::server_log::ServerLog;
use crate::spec::McpServerSpec;

/// After the first failure; twice as long after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// A server that ran so long did not fail for what made it fail before.
const STEADY: Duration = Duration::from_secs(60);

/// What a slot is made with.
pub(super) struct SlotAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a Arc<LoadedConfig>,
    pub http: &'a ModelHttp,
    pub desk: &'a Arc<SecretDesk>,
    pub spec: &'a McpServerSpec,
}

/// The place of one server.
pub(super) struct ServerSlot {
    host: Host,
    loaded: Arc<LoadedConfig>,
    http: ModelHttp,
    spec: Arc<McpServerSpec>,
    log: ServerLog,
    login: Arc<ServerLogin>,
    /// Held while it is connected, so that one start serves all who wait.
    connecting: tokio::sync::Mutex<()>,
    state: Mutex<SlotState>,
}

#[derive(Default)]
struct SlotState {
    client: Option<Arc<McpClient>>,
    since: Option<Instant>,
    last_used: Option<Instant>,
    in_use: usize,
    failures: u32,
    why: String,
    left_alone_until: Option<Instant>,
}

/// How a server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotStanding {
    /// Nobody needed it yet, or for a while.
    Idle,
    Running {
        version: String,
    },
    Failing {
        times: u32,
        why: String,
    },
}

/// A client that is used. While there is one the server is not idle.
pub(super) struct ClientUse {
    slot: Arc<ServerSlot>,
    client: Arc<McpClient>,
}

/// Whether something was tried before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UseAttempt {
    First,
    Second,
}

/// What became of something that was done with a server.
pub(super) enum SettledUse<T> {
    Done(Result<T, PoolError>),
    /// It is to be done once more.
    Again,
}

impl ClientUse {
    pub fn client(&self) -> &McpClient {
        &self.client
    }
}

impl Drop for ClientUse {
    fn drop(&mut self) {
        let mut state = lock(&self.slot.state);
        state.in_use = state.in_use.saturating_sub(1);
        state.last_used = Some(Instant::now());
    }
}

impl ServerSlot {
    pub fn new(ask: SlotAsk<'_>) -> Arc<Self> {
        let prefix = &ask.spec.prefix;
        Arc::new(Self {
            host: ask.host.clone(),
            loaded: Arc::clone(ask.loaded),
            http: ask.http.clone(),
            log: ServerLog::of(ask.host, prefix, Arc::clone(ask.desk)),
            login: ServerLogin::new(ask.host, ask.http, ask.spec, ask.desk),
            spec: Arc::new(ask.spec.clone()),
            connecting: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        })
    }

    pub fn spec(&self) -> &Arc<McpServerSpec> {
        &self.spec
    }

    /// Whether a server set up like this would be the same one, in the same walls.
    pub fn is_set_up_as(&self, spec: &McpServerSpec, loaded: &Arc<LoadedConfig>) -> bool {
        let is_same_config = Arc::ptr_eq(&self.loaded, loaded)
            || self.loaded.config.mcp.servers.get(&self.spec.name)
                == loaded.config.mcp.servers.get(&spec.name)
                && self.loaded.config.agents.defaults.sandbox
                    == loaded.config.agents.defaults.sandbox
                && self.loaded.config.secrets == loaded.config.secrets;
        is_same_config
            && self.spec.set_up_by == spec.set_up_by
            && self.spec.launch_hash() == spec.launch_hash()
    }

    pub fn standing(&self) -> SlotStanding {
        let state = lock(&self.state);
        match &state.client {
            Some(client) if client.ended().is_none() => SlotStanding::Running {
                version: client.era().version().to_owned(),
            },
            _ if state.failures > 0 => SlotStanding::Failing {
                times: state.failures,
                why: state.why.clone(),
            },
            _ => SlotStanding::Idle,
        }
    }

    pub fn last_lines(&self) -> Vec<String> {
        self.log.last_lines()
    }

    /// Ends it.
    pub fn close_now(&self) {
        let client = lock(&self.state).client.take();
        if let Some(client) = client {
            client.close();
        }
    }

    /// Ends it if nobody has used it for long enough; says how long to wait before it is looked at
    /// again. `None`: there is nothing to look at any more.
    pub fn end_if_idle(&self, watched: &Arc<McpClient>) -> Option<Duration> {
        let mut state = lock(&self.state);
        let is_this = state.client.as_ref();
        is_this.filter(|client| Arc::ptr_eq(client, watched))?;
        let idle = self.spec.patience.idle;
        let unused = state
            .last_used
            .map_or(Duration::ZERO, |last| last.elapsed());
        if state.in_use > 0 || unused < idle {
            return Some(idle.saturating_sub(unused).max(Duration::from_millis(50)));
        }
        tracing::info!(server = self.spec.name, "an unused server is ended");
        state.client = None;
        None
    }

    /// The server, started if it does not run.
    pub async fn client(self: &Arc<Self>) -> Result<Arc<McpClient>, PoolError> {
        let _one = self.connecting.lock().await;
        if let Some(client) = self.living_client() {
            if client.signals().take_tools_changed() {
                self.take_tools(&client).await?;
            }
            return Ok(client);
        }
        self.check_pause()?;
        let connected = self.connect().await;
        match connected {
            Ok(client) => {
                let client = Arc::new(client);
                {
                    let mut state = lock(&self.state);
                    let now = Instant::now();
                    state.client = Some(Arc::clone(&client));
                    state.since = Some(now);
                    state.last_used = Some(now);
                }
                tokio::spawn(watch_slot(Arc::downgrade(self), Arc::downgrade(&client)));
                // What it says of its tools now is known before one of them is called.
                self.take_tools(&client).await?;
                Ok(client)
            }
            Err(LinkError::Login(challenge)) => Err(self.wants_login(&challenge)),
            Err(error) => Err(self.note_failure(&error.to_string())),
        }
    }

    fn living_client(&self) -> Option<Arc<McpClient>> {
        let mut state = lock(&self.state);
        let client = state.client.clone()?;
        let Some(why) = client.ended() else {
            return Some(client);
        };
        state.client = None;
        let was_steady = state.since.is_some_and(|since| since.elapsed() >= STEADY);
        if was_steady {
            state.failures = 0;
        }
        tracing::warn!(server = self.spec.name, why, "a server is gone");
        state.fail(&why);
        None
    }

    fn check_pause(&self) -> Result<(), PoolError> {
        let state = lock(&self.state);
        let now = Instant::now();
        match state.left_alone_until {
            Some(until) if until > now => Err(PoolError::LeftAlone {
                server: self.spec.prefix.clone(),
                times: state.failures,
                seconds: (until - now).as_secs() + 1,
                why: state.why.clone(),
            }),
            _ => Ok(()),
        }
    }

    async fn connect(&self) -> Result<McpClient, LinkError> {
        tracing::info!(server = self.spec.name, "a server is started");
        let connecting = McpClient::connect(ConnectAsk {
            host: &self.host,
            loaded: &self.loaded,
            http: &self.http,
            spec: &self.spec,
            login: &self.login,
            signals: Arc::new(ServerSignals::new(self.log.clone())),
        });
        // The probe, the handshake and a second try each have their patience.
        let most = self.spec.patience.connect.saturating_mul(3);
        let connected = tokio::time::timeout(most, connecting).await;
        connected.unwrap_or(Err(LinkError::Timeout(most)))
    }

    fn note_failure(&self, why: &str) -> PoolError {
        let why = match self.log.last_lines().last() {
            Some(_) => format!(
                "{why} (`chela mcp logs {}` shows what it printed)",
                self.spec.prefix
            ),
            None => why.to_owned(),
        };
        lock(&self.state).fail(&why);
        tracing::warn!(server = self.spec.name, why, "a server cannot be used");
        let failed = FailedStart {
            at: self.host.unix_time(),
            why: why.clone(),
        };
        let noted = McpRecord::change(&self.host, |record| {
            if let Some(server) = record.servers.get_mut(&self.spec.prefix) {
                server.failed = Some(failed);
            }
        });
        ok_or_warn!(noted, "the failure of a server is not on record");
        PoolError::Down {
            server: self.spec.prefix.clone(),
            why,
        }
    }

    fn wants_login(&self, challenge: &LoginChallenge) -> PoolError {
        if challenge.is_too_narrow {
            self.login.note_wanted(challenge.scope.as_deref());
        }
        PoolError::Login {
            server: self.spec.prefix.clone(),
        }
    }

    /// Asks for its tools and puts on record what it says.
    pub async fn learn(self: &Arc<Self>) -> Result<RecordChange, PoolError> {
        let client = self.client().await?;
        self.take_tools(&client).await
    }

    /// The server, for one thing that is done with it.
    pub async fn begin_use(self: &Arc<Self>) -> Result<ClientUse, PoolError> {
        let client = self.client().await?;
        lock(&self.state).in_use += 1;
        Ok(ClientUse {
            slot: Arc::clone(self),
            client,
        })
    }

    /// What became of it. A session the server forgot is begun anew, once: what it refused was not
    /// done.
    pub fn settle<T>(
        &self,
        used: ClientUse,
        outcome: Result<T, SlotError>,
        attempt: UseAttempt,
    ) -> SettledUse<T> {
        let has_ended = used.client.ended().is_some();
        drop(used);
        SettledUse::Done(match outcome {
            Ok(value) => {
                self.note_success();
                Ok(value)
            }
            Err(SlotError::Pool(error)) => Err(error),
            Err(SlotError::Link(LinkError::SessionLost)) if attempt == UseAttempt::First => {
                tracing::info!(
                    server = self.spec.name,
                    "the session was lost; starting over"
                );
                self.close_now();
                return SettledUse::Again;
            }
            Err(SlotError::Link(LinkError::Login(challenge))) => Err(self.wants_login(&challenge)),
            Err(SlotError::Link(error)) => {
                if has_ended {
                    self.living_client();
                }
                Err(PoolError::Failed {
                    server: self.spec.prefix.clone(),
                    why: error.to_string(),
                })
            }
        })
    }

    fn note_success(&self) {
        let mut state = lock(&self.state);
        let is_steady = state.since.is_some_and(|since| since.elapsed() >= STEADY);
        if is_steady {
            state.failures = 0;
        }
    }

    /// What a server says of its tools, put on record.
    pub async fn take_tools(&self, client: &McpClient) -> Result<RecordChange, PoolError> {
        let failed = |why: String| PoolError::Failed {
            server: self.spec.prefix.clone(),
            why,
        };
        let listed = match client.list_tools().await {
            Ok(listed) => listed,
            Err(LinkError::Login(challenge)) => return Err(self.wants_login(&challenge)),
            Err(error) => return Err(self.note_failure(&error.to_string())),
        };
        let about = client.about();
        let described = format!("{} {}", about.name, about.version);
        let (host, spec) = (self.host.clone(), Arc::clone(&self.spec));
        let (about, version) = (about.clone(), client.era().version().to_owned());
        let changed = tokio::task::spawn_blocking(move || {
            McpRecord::change(&host, |record| {
                let server = record.servers.entry(spec.prefix.clone());
                let server = server.or_insert_with(|| ServerRecord {
                    name: spec.name.clone(),
                    launch: spec.launch_hash(),
                    about: String::new(),
                    version: String::new(),
                    instructions: None,
                    has_resources: false,
                    has_prompts: false,
                    tools: std::collections::BTreeMap::new(),
                    unusable: Vec::new(),
                    is_approved: false,
                    seen_at: 0,
                    failed: None,
                });
                let change = server.merge(&listed);
                let is_new = server.launch != spec.launch_hash()
                    || server.about != described.trim()
                    || server.version != version
                    || server.failed.is_some()
                    || !change.is_empty()
                    || server.seen_at == 0;
                if is_new {
                    server.name.clone_from(&spec.name);
                    server.launch = spec.launch_hash();
                    server.about = described.trim().to_owned();
                    server.version = version;
                    server.instructions = about.instructions;
                    server.has_resources = about.has_resources;
                    server.has_prompts = about.has_prompts;
                    server.seen_at = host.unix_time();
                    server.failed = None;
                }
                change
            })
        });
        let changed = changed.await.map_err(|error| failed(error.to_string()))?;
        let change = changed.map_err(|error| failed(error.to_string()))?;
        if !change.held.is_empty() {
            let held = change.held.join(", ");
            tracing::warn!(server = self.spec.name, held, "tools wait for their owner");
        }
        Ok(change)
    }
}

impl SlotState {
    fn fail(&mut self, why: &str) {
        self.failures = self.failures.saturating_add(1);
        self.why = why.to_owned();
        let doubled = 2_u32.saturating_pow(self.failures.saturating_sub(1).min(16));
        let pause = FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE);
        self.left_alone_until = Some(Instant::now() + pause);
    }
}
