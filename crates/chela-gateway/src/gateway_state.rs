//! What every request may need.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, RwLock};

use chela_agent::served_agent::AskBoard;
use chela_core::lock;
use serde::Serialize;
use serde_json::{Value, json};

use crate::access_token::AccessToken;
use crate::config_standing::ConfigReload;
use crate::event_hub::NewEvent;
use crate::instance::RunningGateway;
use crate::known_names::KnownNames;
use crate::lanes::WorkLanes;
use crate::restart_desk::RestartDesk;
use crate::tls::ServerCertificate;

/// The running gateway, as requests see it.
#[derive(Debug)]
pub(crate) struct GatewayState {
    pub lanes: WorkLanes,
    pub access: AccessToken,
    pub hooks: HookAccess,
    pub names: RwLock<KnownNames>,
    /// What it encrypts with, where it does.
    pub certificate: Option<ServerCertificate>,
    pub running: RunningGateway,
    pub reload: ConfigReload,
    pub restart: Arc<RestartDesk>,
    /// Questions of callers of /mcp.
    pub mcp: Arc<AskBoard>,
    /// Where the log is, for clients that follow it.
    pub log_file: Option<PathBuf>,
    pub clients: Mutex<BTreeMap<u64, ClientSeat>>,
    pub next_client: AtomicU64,
    pub draining: AtomicBool,
    pub requests: AtomicU64,
    pub refused: AtomicU64,
    pub connections: AtomicUsize,
    pub turned_away: AtomicU64,
}

impl std::fmt::Debug for HookAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookAccess")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl GatewayState {
    /// Something that concerns every client.
    pub fn tell(&self, event: &'static str, data: Value) {
        self.lanes.hub().publish(NewEvent {
            at: self.lanes.host().unix_millis(),
            event,
            work: None,
            session: None,
            data,
        });
    }

    /// Clients hear that the process ends, and whether it comes back.
    pub fn tell_shutdown(&self, restarts: bool) {
        self.tell("gateway.stopping", json!({ "restarts": restarts }));
    }

    /// Who is connected now.
    pub fn client_seats(&self) -> Vec<ClientSeat> {
        lock(&self.clients).values().cloned().collect()
    }
}

/// A client on the WebSocket, as others see it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientSeat {
    pub client: u64,
    /// What it calls itself: `terminal`, `page`.
    pub surface: String,
    /// It shows questions to the owner.
    pub asks: bool,
    /// Milliseconds since 1970.
    pub since: u64,
}

/// Webhooks: where they come in, and what they must show. Without a token or a secret there are none.
pub(crate) struct HookAccess {
    /// Without a slash at its end.
    pub path: String,
    pub access: Option<AccessToken>,
    /// What requests are signed with.
    pub secret: Option<String>,
}

impl HookAccess {
    /// Whether anyone could be let in.
    pub fn is_open(&self) -> bool {
        self.access.is_some() || self.secret.is_some()
    }
}
