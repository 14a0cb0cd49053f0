//! One gateway per home: who runs it, and where others find it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use chela_core::{ContentHash, Host, ok_or_debug, ok_or_warn};
use chela_files::{
    FileMode, LockError, LockFile, WriteError, is_process_alive, read_if_there, this_boot,
    write_file,
};
use serde::{Deserialize, Serialize};

use crate::config_standing::ConfigStanding;

/// A gateway that runs, as it wrote itself down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningGateway {
    pub pid: u32,
    boot: String,
    pub address: String,
    pub port: u16,
    /// Milliseconds since 1970.
    pub started: u64,
    pub version: String,
    /// What tells the certificate it shows from others; `None` where it does not encrypt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<ContentHash>,
    /// The config it works with.
    #[serde(default)]
    pub config: ConfigStanding,
}

/// The right to be the gateway of a home. Given back when the process ends in whatever way.
#[derive(Debug)]
pub(crate) struct InstanceLock {
    _lock: LockFile,
    file: PathBuf,
}

/// Where a gateway listens.
#[derive(Debug)]
pub(crate) struct GatewayPlace {
    pub address: String,
    pub port: u16,
    pub certificate: Option<ContentHash>,
}

/// Why this process cannot be the gateway.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    #[error("a gateway runs already for this home (process {pid}, {address}:{port})")]
    Running {
        pid: u32,
        address: String,
        port: u16,
    },
    #[error("another process holds the lock of the gateway; `chela gateway status` looks again")]
    Locked,
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("where the gateway listens cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl InstanceLock {
    pub fn take(host: &Host) -> Result<Self, InstanceError> {
        let state = host.state_dir().join("state");
        let lock = LockFile::try_take(&state.join("gateway.lock"))?;
        match (lock, RunningGateway::find(host)) {
            (Some(lock), _) => Ok(Self {
                _lock: lock,
                file: file_of(host),
            }),
            (None, Some(running)) => Err(InstanceError::Running {
                pid: running.pid,
                address: running.address,
                port: running.port,
            }),
            (None, None) => Err(InstanceError::Locked),
        }
    }

    /// Says where it listens.
    pub fn write_down(
        &self,
        host: &Host,
        place: GatewayPlace,
        version: &str,
        config: ConfigStanding,
    ) -> Result<RunningGateway, InstanceError> {
        let running = RunningGateway {
            pid: std::process::id(),
            boot: this_boot().to_owned(),
            address: place.address,
            port: place.port,
            certificate: place.certificate,
            started: host.unix_millis(),
            version: version.to_owned(),
            config,
        };
        running.write_down(host)?;
        Ok(running)
    }
}

impl Drop for InstanceLock {
    fn drop(&mut self) {
        let gone = std::fs::remove_file(&self.file);
        ok_or_debug!(gone, "the gateway that ended is still written down");
    }
}

impl RunningGateway {
    /// Puts what is said of it on disk, where other processes look.
    pub(crate) fn write_down(&self, host: &Host) -> Result<(), InstanceError> {
        let text = serde_json::to_string_pretty(self)?;
        write_file(&file_of(host), text.as_bytes(), FileMode::Private)?;
        Ok(())
    }

    /// Where it is, as an address.
    pub fn url(&self) -> String {
        let scheme = match self.certificate {
            Some(_) => "https",
            None => "http",
        };
        match self.address.contains(':') {
            true => format!("{scheme}://[{}]:{}", self.address, self.port),
            false => format!("{scheme}://{}:{}", self.address, self.port),
        }
    }

    /// Where a program of this machine reaches it.
    pub(crate) fn socket_address(&self) -> Option<SocketAddr> {
        let ip: IpAddr = self.address.parse().ok()?;
        let ip = match ip {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        Some(SocketAddr::new(ip, self.port))
    }

    /// The process of a gateway that is written down and does not run: it did not end by itself.
    pub fn left_behind(host: &Host) -> Option<u32> {
        let running = Self::read(host)?;
        (!is_process_alive(&running.boot, running.pid)).then_some(running.pid)
    }

    /// The gateway of this home, if one runs.
    pub fn find(host: &Host) -> Option<Self> {
        let running = Self::read(host)?;
        is_process_alive(&running.boot, running.pid).then_some(running)
    }

    fn read(host: &Host) -> Option<Self> {
        let text = ok_or_warn!(
            read_if_there(&file_of(host)),
            "whether a gateway runs cannot be read"
        )??;
        ok_or_debug!(
            serde_json::from_str(&text),
            "what is written down of a gateway cannot be read"
        )
    }
}

fn file_of(host: &Host) -> PathBuf {
    host.state_dir().join("state").join("gateway.json")
}
