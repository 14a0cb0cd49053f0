//! Which process is at the other end of a local connection. A command of an agent runs as the
//! owner's user and can read the owner's token; what it says is not the owner's word.

use std::net::SocketAddr;

use chela_core::Host;
use chela_sandbox::{may_come_from_command, running_commands};

/// Whether a connection may come from a command of an agent. Looked at only while one runs.
pub(crate) fn is_from_command(host: &Host, peer: SocketAddr, local: SocketAddr) -> bool {
    if !peer.ip().to_canonical().is_loopback() || running_commands(host).is_empty() {
        return false;
    }
    let Some(inode) = socket_inode(peer, local) else {
        return false;
    };
    let owners = processes_with(&inode);
    let mut owners = owners.into_iter().filter(|pid| *pid != own_pid());
    owners.any(|pid| may_come_from_command(host, pid))
}

fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// The socket of the other end, as the kernel numbers it.
fn socket_inode(peer: SocketAddr, local: SocketAddr) -> Option<String> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .find_map(|table| {
            let text = std::fs::read_to_string(table).ok()?;
            text.lines().skip(1).find_map(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                let port = |at: usize| {
                    let (_, port) = fields.get(at)?.rsplit_once(':')?;
                    u16::from_str_radix(port, 16).ok()
                };
                // Seen from there: its local end is our peer.
                let is_it = port(1) == Some(peer.port()) && port(2) == Some(local.port());
                is_it.then(|| fields.get(9).map(|inode| (*inode).to_owned()))?
            })
        })
}

fn processes_with(inode: &str) -> Vec<i32> {
    let wanted = format!("socket:[{inode}]");
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter(|pid| {
            let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
            let mut files = files.into_iter().flatten().flatten();
            files.any(|file| {
                std::fs::read_link(file.path())
                    .is_ok_and(|target| target.as_os_str() == wanted.as_str())
            })
        })
        .collect()
}
