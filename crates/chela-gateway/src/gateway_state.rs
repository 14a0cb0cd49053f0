//! What every request may need.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use crate::access_token::AccessToken;
use crate::instance::RunningGateway;
use crate::known_names::KnownNames;
use crate::lanes::WorkLanes;

/// The running gateway, as requests see it.
#[derive(Debug)]
pub(crate) struct GatewayState {
    pub lanes: WorkLanes,
    pub access: AccessToken,
    pub hooks: HookAccess,
    pub names: KnownNames,
    pub running: RunningGateway,
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
