//! The one way out: a proxy outside the walls that connects to listed hosts only.
//!
//! Inside there is no route and no name service. Programs that know HTTP proxies are told of one
//! on the loopback; the helper hands its connections on to this one over a socket that is a
//! file. The name a program asks for is looked up here, and the address it leads to is checked:
//! a listed name cannot be pointed at the machine itself or its network.

mod hosts;
mod listener;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chela_core::{Host, ok_or_debug};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::reachable::{HostLookup, SystemLookup, is_public};

pub use hosts::EgressHosts;

/// A head longer than this is no request for a connection.
const MOST_HEAD: usize = 16 * 1024;
/// For the head of a request, and for the way to a server.
const PATIENCE: Duration = Duration::from_secs(30);
/// Names of sockets are short.
const LONGEST_SOCKET_PATH: usize = 100;

/// A proxy that runs. Dropping it ends it.
#[derive(Debug)]
pub struct EgressProxy {
    socket: PathBuf,
    task: JoinHandle<()>,
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.task.abort();
        ok_or_debug!(std::fs::remove_file(&self.socket), "a socket stays behind");
    }
}

impl EgressProxy {
    /// Starts one in the background of the current runtime.
    pub fn start(host: &Host, hosts: EgressHosts) -> Result<Self, String> {
        Self::with(host, hosts, Arc::new(SystemLookup))
    }

    fn with(host: &Host, hosts: EgressHosts, lookup: Arc<dyn HostLookup>) -> Result<Self, String> {
        let folder = host.state_dir().join("run");
        let socket = folder.join(format!("egress-{}", host.random_hex(6)));
        let failed = |error: &dyn std::fmt::Display| {
            format!(
                "The sandbox's proxy cannot listen at {}: {error}.",
                socket.display()
            )
        };
        if socket.as_os_str().len() > LONGEST_SOCKET_PATH {
            return Err(failed(&"the path is too long for a socket"));
        }
        std::fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
        // Of a process that had this number before; what cannot be removed cannot be bound.
        if socket.exists() {
            let gone = std::fs::remove_file(&socket);
            ok_or_debug!(gone, "an old socket stays", path = %socket.display());
        }
        let task = listener::listen(&socket, Arc::new(hosts), lookup);
        let task = task.map_err(|error| failed(&error))?;
        Ok(Self { socket, task })
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

async fn connection(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    hosts: &EgressHosts,
    lookup: &dyn HostLookup,
) -> io::Result<()> {
    let (head, rest) = match timeout(PATIENCE, head(&mut client)).await {
        Ok(read) => read?,
        Err(_) => return Ok(()),
    };
    let wanted = match EgressTarget::read(&head) {
        Ok(wanted) => wanted,
        Err(why) => return refuse(&mut client, "400 Bad Request", why).await,
    };
    if let Err(why) = hosts.allow(&wanted.host, wanted.port) {
        return refuse(&mut client, "403 Forbidden", &why).await;
    }
    let mut server = match timeout(PATIENCE, reach(&wanted, hosts, lookup)).await {
        Ok(Ok(server)) => server,
        Ok(Err(why)) => return refuse(&mut client, "502 Bad Gateway", &why).await,
        Err(_) => return refuse(&mut client, "504 Gateway Timeout", "no answer in time").await,
    };
    match &wanted.forward {
        // Plain HTTP: the request goes on in the form a server expects.
        Some(request) => {
            server.write_all(request).await?;
            server.write_all(&rest).await?;
        }
        None => {
            client
                .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .await?;
            server.write_all(&rest).await?;
        }
    }
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// The head of the request, and what came after it.
async fn head(client: &mut (impl AsyncRead + Unpin)) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = client.read(&mut buffer).await?;
        bytes.extend(buffer.get(..length).unwrap_or_default());
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((bytes, rest));
        }
        if length == 0 || bytes.len() > MOST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// Where a client wants to go.
#[derive(Debug, PartialEq, Eq)]
struct EgressTarget {
    host: String,
    port: u16,
    /// For plain HTTP: the head of the request as the server gets it.
    forward: Option<Vec<u8>>,
}

impl EgressTarget {
    fn read(head: &[u8]) -> Result<Self, &'static str> {
        const NOT_HTTP: &str = "this proxy speaks HTTP: CONNECT host:port, or GET http://host/";
        let text = std::str::from_utf8(head).map_err(|_| NOT_HTTP)?;
        // Some servers end a line where we do not, and would read a second Host there.
        if text
            .split("\r\n")
            .any(|line| line.contains(['\r', '\n', '\0']))
        {
            return Err(NOT_HTTP);
        }
        let (line, headers) = text.split_once("\r\n").ok_or(NOT_HTTP)?;
        let mut words = line.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(NOT_HTTP);
        };
        if !version.starts_with("HTTP/1.") {
            return Err(NOT_HTTP);
        }
        if method == "CONNECT" {
            let (host, port) = authority(target, None).ok_or(NOT_HTTP)?;
            return Ok(Self {
                host,
                port,
                forward: None,
            });
        }
        let rest = target.strip_prefix("http://").ok_or(NOT_HTTP)?;
        let (name, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let (host, port) = authority(name, Some(80)).ok_or(NOT_HTTP)?;
        // One request a connection: the next one might be meant for another host.
        let mut forward = format!("{method} {path} HTTP/1.1\r\nHost: {name}\r\n");
        forward.push_str("Connection: close\r\n");
        for header in headers.split("\r\n").filter(|header| !header.is_empty()) {
            let name = header.split(':').next().unwrap_or_default().trim();
            let ours = ["host", "connection", "proxy-connection", "keep-alive"];
            let secret = name.to_ascii_lowercase().starts_with("proxy-");
            if !secret && !ours.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
                forward.push_str(header);
                forward.push_str("\r\n");
            }
        }
        forward.push_str("\r\n");
        Ok(Self {
            host,
            port,
            forward: Some(forward.into_bytes()),
        })
    }
}

/// A door for the fuzz target: host, port, and the head a server gets.
#[doc(hidden)]
pub fn read_proxy_head(head: &[u8]) -> Option<(String, u16, Option<Vec<u8>>)> {
    let wanted = EgressTarget::read(head).ok()?;
    Some((wanted.host, wanted.port, wanted.forward))
}

/// `host:port`, `[v6]:port`.
fn authority(text: &str, default: Option<u16>) -> Option<(String, u16)> {
    if text.contains('@') {
        return None;
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            match after {
                "" => (host, None),
                after => (host, Some(after.strip_prefix(':')?)),
            }
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().ok()?,
        None => default?,
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let shaped = !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c));
    shaped.then_some((host, port))
}

async fn reach(
    wanted: &EgressTarget,
    hosts: &EgressHosts,
    lookup: &dyn HostLookup,
) -> Result<TcpStream, String> {
    let literal: Option<IpAddr> = wanted.host.parse().ok();
    let addresses = match literal {
        Some(address) => vec![address],
        None => lookup
            .addresses(&wanted.host)
            .await
            .map_err(|error| format!("{} was not found: {error}", wanted.host))?,
    };
    let may_be_private = hosts.names_machine(&wanted.host);
    let mut why = format!("{} has no address", wanted.host);
    for address in addresses {
        if !may_be_private && !is_public(address) {
            why = format!(
                "{} leads to {address}, an address of this machine or a private network",
                wanted.host
            );
            continue;
        }
        match TcpStream::connect(SocketAddr::new(address, wanted.port)).await {
            Ok(server) => return Ok(server),
            Err(error) => why = format!("{} could not be reached: {error}", wanted.host),
        }
    }
    Err(why)
}

async fn refuse(client: &mut (impl AsyncWrite + Unpin), status: &str, why: &str) -> io::Result<()> {
    let body = format!("The sandbox's proxy refuses: {why}.\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}

#[cfg(test)]
mod tests;
