//! What the helper is told, as its first argument.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{CommandBounds, PathAccess};

/// The hidden command under which the program starts itself again.
pub const HELPER_COMMAND: &str = "__sandbox-exec";

/// The exit code of a helper that could not build the sandbox, so that nothing was run.
pub const HELPER_FAILED: u8 = 125;

/// The port on the sandbox's own loopback where the way out begins. Every command has a network
/// of its own, so it is always free.
pub const EGRESS_PORT: u16 = 3128;

/// The variable that names, to the helper alone, the open file for its notes on what is written.
#[cfg(target_os = "linux")]
pub(crate) const WRITES_VARIABLE: &str = "CHELA_WRITES_FD";

/// What is to be given up before the command runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelperOrder {
    pub stage: HelperStage,
    /// What the command is told its name is.
    pub name: String,
    pub bounds: CommandBounds,
    /// Files within reach; `None` where the mounts decide that already.
    pub walls: Option<PathAccess>,
    /// The rules of Landlock to use: those of this version.
    pub landlock: u8,
    pub namespaces: SandboxNamespaces,
    pub sockets: AllowedSockets,
    pub signals: SignalLimit,
    /// The socket of the proxy, where there is a way out.
    pub egress: Option<PathBuf>,
    /// Where to join the groups whose limits hold.
    pub groups: Vec<PathBuf>,
    /// The process without which a tied command has no business.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starter: Option<i32>,
    /// Where it is noted what the command writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<PathBuf>,
    /// Folders that are shown in place of others, each with the one it is shown over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<(PathBuf, PathBuf)>,
}

impl HelperOrder {
    /// Asks what the machine allows.
    pub fn probe() -> Self {
        Self {
            stage: HelperStage::Probe,
            name: String::new(),
            bounds: CommandBounds::none(),
            walls: None,
            landlock: 0,
            namespaces: SandboxNamespaces::Given,
            sockets: AllowedSockets::None,
            signals: SignalLimit::Fenced,
            egress: None,
            groups: Vec::new(),
            starter: None,
            notes: None,
            over: Vec::new(),
        }
    }

    /// Becomes what follows, under this name, for as long as this process lives.
    pub fn tie(name: String) -> Self {
        Self {
            stage: HelperStage::Tie,
            name,
            starter: i32::try_from(std::process::id()).ok(),
            ..Self::probe()
        }
    }

    /// Becomes what follows, under this name, and keeps it from what Chela keeps.
    pub fn fence(name: String) -> Self {
        Self {
            stage: HelperStage::Fence,
            name,
            ..Self::probe()
        }
    }

    /// Joins these groups, opens the notes and becomes what follows.
    pub fn join(groups: Vec<PathBuf>, notes: Option<PathBuf>) -> Self {
        Self {
            stage: HelperStage::Join,
            groups,
            notes,
            ..Self::probe()
        }
    }
}

/// What the helper becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HelperStage {
    /// Says what this machine allows, and ends.
    Probe,
    /// Joins the groups, opens the notes and becomes the program, which builds the walls.
    Join,
    /// Stays outside, keeps the way out open and ends whatever the command leaves behind.
    Supervise,
    /// Becomes the command.
    Enter,
    /// Becomes a command without walls that ends when the one who started it does.
    Tie,
    /// Becomes a command that may do everything but change what Chela keeps.
    Fence,
}

/// Whether network, IPC and mounts are the sandbox's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxNamespaces {
    /// Those around it: bubblewrap made them, or the machine allows none.
    Given,
    /// Made by the helper.
    Own,
}

/// Which sockets may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AllowedSockets {
    None,
    /// TCP and UDP, which lead no further than the own loopback, and sockets that are files:
    /// only files inside can be reached.
    Local,
}

/// What keeps signals from processes outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignalLimit {
    /// Processes outside cannot be named or are out of scope.
    Fenced,
    /// No scope is known to this kernel, so none are sent.
    Denied,
}

/// What this machine allows, as the probe says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeResult {
    /// The version of Landlock; 0: none.
    pub landlock: u8,
    /// Network, IPC and mounts of its own can be had.
    pub own_namespaces: bool,
}
