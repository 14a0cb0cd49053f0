//! The socket of the proxy, a file that only its owner may use.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::task::JoinHandle;

use super::EgressHosts;
use crate::reachable::HostLookup;

/// Listens, and serves whoever connects, until it is ended.
#[cfg(unix)]
pub(super) fn listen(
    socket: &Path,
    hosts: Arc<EgressHosts>,
    lookup: Arc<dyn HostLookup>,
) -> io::Result<JoinHandle<()>> {
    let listener = tokio::net::UnixListener::bind(socket)?;
    chela_files::set_permission_bits(socket, 0o600)?;
    Ok(tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (hosts, lookup) = (Arc::clone(&hosts), Arc::clone(&lookup));
            tokio::spawn(async move {
                // A client that goes away, or a server that does, ends its connection only.
                let ended = super::connection(client, &hosts, &*lookup).await;
                chela_core::ok_or_debug!(ended, "a connection of a sandbox broke off");
            });
        }
    }))
}

/// There is no sandbox here that could have a way out.
#[cfg(not(unix))]
pub(super) fn listen(
    _: &Path,
    _: Arc<EgressHosts>,
    _: Arc<dyn HostLookup>,
) -> io::Result<JoinHandle<()>> {
    Err(io::ErrorKind::Unsupported.into())
}
