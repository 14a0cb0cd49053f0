//! The process: opens what it needs, listens, works, and ends in order.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use chela_agent::prelude::{Agents, Host, LoadedConfig, Trust};
use chela_core::ok_or_warn;
use chela_store::{InboxStore, OutboxStore as _, SqliteRuntimeStore, StoreError};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

use crate::access_token::{AccessError, AccessToken, read_secret};
use crate::clock::run_clock;
use crate::config_reload::watch_config;
use crate::config_standing::ConfigReload;
use crate::delivery::{DeliveryCarriers, DeliveryDesk};
use crate::gateway_state::{GatewayState, HookAccess};
use crate::http;
use crate::instance::{GatewayPlace, InstanceError, InstanceLock, RunningGateway};
use crate::known_names::KnownNames;
use crate::lanes::WorkLanes;
use crate::listen_address::{ListenAddressError, listen_address};
use crate::listener;
use crate::mcp_callers::LanesDesk;
use crate::restart_desk::RestartAsk;
use crate::telemetry::run_telemetry;
use crate::tls::{ServerCertificate, TlsSetupError};
use crate::work_item::{DeliveryTarget, WorkItem, WorkOptions, WorkSource};

/// Outcomes are kept for so long: until then the same work is known again.
const KEEP_OUTCOMES: u64 = 7 * 24 * 3_600 * 1_000;
const FORGET_EVERY: Duration = Duration::from_secs(3_600);
/// So long the end of the process waits for a collector.
const TELEMETRY_TIME: Duration = Duration::from_secs(2);

/// What the operator asked for on the command line, beside the config.
#[derive(Debug, Clone, Default)]
pub struct GatewayAsk {
    pub port: Option<u16>,
    pub version: String,
    /// Done with the agents of each config before they work.
    pub agents_opened: Option<fn(&Arc<Agents>)>,
    /// Where the log of the process is.
    pub log_file: Option<PathBuf>,
}

/// Why the gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot listen on {address}: {why}")]
    Listen {
        address: SocketAddr,
        why: std::io::Error,
    },
    #[error(transparent)]
    Place(#[from] ListenAddressError),
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    #[error("hooks.path must start with `/` and name its own path, such as /hooks")]
    HookPath,
}

/// A gateway that listens and has not begun to work.
#[derive(Debug)]
pub struct Gateway {
    listener: TcpListener,
    state: Arc<GatewayState>,
    instance: InstanceLock,
}

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainOutcome {
    /// Nothing was under way any more.
    Drained,
    /// Turns were still running; the next process goes on with them.
    LeftBehind { turns: usize },
}

/// How it ended, and whether it is to start over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayEnd {
    pub outcome: DrainOutcome,
    pub restart: Option<RestartAsk>,
}

/// What the session reads that asked for a restart.
const RESTARTED: &str = include_str!("../text/restarted.md");

impl Gateway {
    /// Becomes the gateway of a home.
    pub async fn open(
        host: &Host,
        loaded: Arc<LoadedConfig>,
        ask: &GatewayAsk,
    ) -> Result<Self, GatewayError> {
        let instance = InstanceLock::take(host)?;
        let address = listen_address(&loaded, ask.port)?;
        let certificate = ServerCertificate::of(host, &loaded)?;
        let access = AccessToken::load(host, &loaded).await?;
        let hooks = hook_access(host, &loaded).await?;
        let names = KnownNames::of(&loaded);
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|why| GatewayError::Listen { address, why })?;
        let bound = listener.local_addr();
        let bound = bound.map_err(|why| GatewayError::Listen { address, why })?;
        let store = SqliteRuntimeStore::open(&SqliteRuntimeStore::path_in(&host.state_dir()))?;
        let agents = Agents::open(host, Arc::clone(&loaded));
        if let Some(opened) = ask.agents_opened {
            opened(&agents);
        }
        agents.scan_skills_beside();
        let lanes = WorkLanes::open(agents, Arc::new(store)).await?;
        let place = GatewayPlace {
            address: bound.ip().to_string(),
            port: bound.port(),
            certificate: certificate
                .as_ref()
                .and_then(ServerCertificate::fingerprint),
        };
        let reload = ConfigReload::new(loaded, host.unix_millis(), ask.agents_opened);
        let running = instance.write_down(host, place, &ask.version, reload.standing())?;
        let is_encrypted = certificate.is_some();
        tracing::info!(address = %bound, pid = running.pid, is_encrypted, "the gateway listens");
        let state = Arc::new(GatewayState {
            access,
            hooks,
            names: RwLock::new(names),
            certificate,
            restart: Arc::clone(lanes.restart()),
            mcp: LanesDesk::board(&lanes),
            lanes,
            reload,
            log_file: ask.log_file.clone(),
            clients: Mutex::default(),
            next_client: 1.into(),
            running,
            draining: false.into(),
            requests: 0.into(),
            refused: 0.into(),
            connections: 0.into(),
            turned_away: 0.into(),
        });
        Ok(Self {
            listener,
            state,
            instance,
        })
    }

    /// Where it listens.
    pub fn running(&self) -> &RunningGateway {
        &self.state.running
    }

    pub fn lanes(&self) -> &WorkLanes {
        &self.state.lanes
    }

    /// Rings when the config is to be read again now.
    pub fn reload_bell(&self) -> Arc<Notify> {
        self.state.reload.ask()
    }

    /// Works until `stop` is answered or a restart is asked for; then lets what runs come to its
    /// end for `patience`, unless `hurry` is answered before.
    pub async fn run(
        self,
        stop: impl Future<Output = ()>,
        hurry: impl Future<Output = ()>,
        patience: Duration,
    ) -> GatewayEnd {
        let (stopping, is_stopping) = watch::channel(false);
        let lanes = self.state.lanes.clone();
        let router = http::router(&self.state);
        let serving = tokio::spawn(listener::serve(
            self.listener,
            router,
            Arc::clone(&self.state),
            is_stopping.clone(),
        ));
        let working = {
            let (lanes, is_stopping) = (lanes.clone(), is_stopping.clone());
            tokio::spawn(async move { lanes.run(is_stopping).await })
        };
        let forgetting = tokio::spawn(forget_old_outcomes(lanes.clone()));
        let clock = tokio::spawn(run_clock(lanes.clone(), is_stopping.clone()));
        let delivering = {
            let desk = DeliveryDesk::new(lanes.clone(), DeliveryCarriers::usual(&lanes));
            let is_stopping = is_stopping.clone();
            tokio::spawn(async move { desk.run(is_stopping).await })
        };
        let watching = tokio::spawn(watch_config(Arc::clone(&self.state), is_stopping.clone()));
        let version = self.state.running.version.clone();
        let telemetry = tokio::spawn(run_telemetry(lanes.clone(), version, is_stopping.clone()));
        let restart = tokio::select! {
            () = stop => None,
            asked = self.state.restart.wait() => Some(asked),
        };
        tracing::info!("the gateway shuts down: what runs comes to its end");
        self.state.draining.store(true, Ordering::SeqCst);
        stopping.send_replace(true);
        self.state.tell_shutdown(restart.is_some());
        let drained = tokio::select! {
            drained = tokio::time::timeout(patience, working) => drained.is_ok(),
            () = hurry => {
                tracing::warn!("told to end once more: what runs is left to the next process");
                false
            }
        };
        forgetting.abort();
        clock.abort();
        // One that is under way is tried again after the start: its id is the same.
        delivering.abort();
        watching.abort();
        // What is left is sent, as far as a collector takes it at once.
        if tokio::time::timeout(TELEMETRY_TIME, telemetry)
            .await
            .is_err()
        {
            tracing::debug!("the last telemetry was not sent");
        }
        serving.abort();
        if let Some(ask) = &restart {
            tell_who_asked(&lanes, ask).await;
        }
        let outcome = match drained {
            true => DrainOutcome::Drained,
            false => DrainOutcome::LeftBehind {
                turns: lanes.counts().running.load(Ordering::SeqCst),
            },
        };
        tracing::info!(?outcome, "the gateway has ended");
        // Answers that are on their way are written before the process goes.
        wait_for_connections(&self.state).await;
        drop(self.instance);
        GatewayEnd { outcome, restart }
    }
}

/// The session that asked for a restart hears of it: the next process finds this in the inbox.
async fn tell_who_asked(lanes: &WorkLanes, ask: &RestartAsk) {
    let Some((agent, session)) = &ask.session else {
        return;
    };
    let host = lanes.host();
    let item = WorkItem {
        id: format!("restart:{}", host.random_hex(8)),
        agent: agent.clone(),
        session: session.clone(),
        source: WorkSource::Runtime {
            what: "restart".to_owned(),
        },
        text: RESTARTED.trim().replace("{why}", &ask.why),
        external: Vec::new(),
        images: Vec::new(),
        delivery: DeliveryTarget::None,
        options: WorkOptions::default(),
        // It holds the agent's own words.
        text_trust: Some(Trust::Agent),
    };
    ok_or_warn!(
        lanes.submit(item).await,
        "whoever asked for the restart does not hear of it"
    );
}

async fn wait_for_connections(state: &GatewayState) {
    const TRIES: u32 = 50;
    for _ in 0..TRIES {
        if state.connections.load(Ordering::SeqCst) == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn forget_old_outcomes(lanes: WorkLanes) {
    loop {
        let before = lanes.host().unix_millis().saturating_sub(KEEP_OUTCOMES);
        let forgotten = lanes.store().forget_finished(before).await;
        ok_or_warn!(forgotten, "old outcomes stay in the inbox");
        let forgotten = lanes.store().forget_deliveries(before).await;
        ok_or_warn!(forgotten, "old deliveries stay in the outbox");
        tokio::time::sleep(FORGET_EVERY).await;
    }
}

async fn hook_access(host: &Host, loaded: &LoadedConfig) -> Result<HookAccess, GatewayError> {
    let hooks = &loaded.config.hooks;
    let path = hooks.path.trim_end_matches('/').to_owned();
    let taken = [
        "/v1",
        "/ws",
        "/approvals",
        "/tools",
        "/openapi.json",
        "/metrics",
        "/healthz",
        "/readyz",
    ];
    let is_fine = path.starts_with('/')
        && path.len() > 1
        && !path.contains(['{', '}', '*', '?', '#'])
        && !taken
            .iter()
            .any(|taken| path == *taken || path.starts_with(&format!("{taken}/")));
    if !is_fine {
        return Err(GatewayError::HookPath);
    }
    let secret = match (hooks.enabled, &hooks.secret) {
        (true, Some(secret)) => Some(read_secret(host, loaded, secret, "hooks.secret").await?),
        _ => None,
    };
    let access = match (hooks.enabled, &hooks.token) {
        (true, Some(token)) => {
            let secret = read_secret(host, loaded, token, "hooks.token").await?;
            Some(AccessToken::given(&secret))
        }
        (true, None) if secret.is_none() => {
            tracing::warn!(
                "hooks.enabled without hooks.token or hooks.secret: no webhook is accepted"
            );
            None
        }
        _ => None,
    };
    Ok(HookAccess {
        path,
        access,
        secret,
    })
}
