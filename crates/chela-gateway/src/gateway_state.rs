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

/// Webhooks: where they come in, and what they must show. Without a token there are none.
#[derive(Debug)]
pub(crate) struct HookAccess {
    /// Without a slash at its end.
    pub path: String,
    pub access: Option<AccessToken>,
}
