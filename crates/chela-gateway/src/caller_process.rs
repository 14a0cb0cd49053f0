//! Which process is at the other end of a local connection. A command of an agent runs as the
//! owner's user and can read the owner's token; what it says is not the owner's word.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use chela_core::Host;
use chela_sandbox::{may_come_from_command, may_command_live};

/// Whether a connection may come from a command of an agent. Looked at only while a command runs or
/// one that has ended may have left somebody behind; then who cannot be found counts as one: a
/// command that sends its request and ends at once has left no process to look at.
pub(crate) fn is_from_command(host: &Host, peer: SocketAddr, local: SocketAddr) -> bool {
    if !is_of_this_machine(peer) || !may_command_live(host) {
        return false;
    }
    let owners = match socket_inode(peer, local) {
        Some(inode) => processes_with(&inode),
        None => Vec::new(),
    };
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut others = owners.iter().filter(|pid| **pid != own);
    owners.is_empty() || others.any(|pid| may_come_from_command(host, *pid))
}

/// Whether the other end is here, whichever of the machine's addresses it uses: only such a one can
/// be bound.
fn is_of_this_machine(peer: SocketAddr) -> bool {
    let ip = peer.ip().to_canonical();
    let bound = || {
        let mut end = peer;
        end.set_ip(ip);
        end.set_port(0);
        UdpSocket::bind(end).is_ok()
    };
    ip.is_loopback() || bound()
}

/// The socket of the other end, as the kernel numbers it. None for one that its process has closed.
fn socket_inode(peer: SocketAddr, local: SocketAddr) -> Option<String> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .find_map(|table| {
            let text = std::fs::read_to_string(table).ok()?;
            text.lines()
                .skip(1)
                .find_map(|line| inode_in_row(line, peer, local))
        })
        .filter(|inode| inode != "0")
}

/// The inode of a row whose two ends are these, addresses included: another address of this machine
/// may use the same port. Seen from there, its local end is our peer.
fn inode_in_row(row: &str, peer: SocketAddr, local: SocketAddr) -> Option<String> {
    let mut fields = row.split_whitespace().skip(1);
    let ends = [read_end(fields.next()?)?, read_end(fields.next()?)?];
    let is_it = ends == [canonical(peer), canonical(local)];
    is_it.then(|| fields.nth(6).map(str::to_owned))?
}

fn canonical(end: SocketAddr) -> (IpAddr, u16) {
    (end.ip().to_canonical(), end.port())
}

/// An end as the table writes it: words of the address as the machine keeps them, then the port.
fn read_end(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for at in (0..address.len()).step_by(8) {
        let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match <[u8; 16]>::try_from(bytes.as_slice()) {
        Ok(long) => IpAddr::from(long),
        Err(_) => IpAddr::from(<[u8; 4]>::try_from(bytes.as_slice()).ok()?),
    };
    Some((ip.to_canonical(), port))
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

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use super::{inode_in_row, is_of_this_machine, processes_with, socket_inode};

    #[test]
    fn an_address_of_this_machine_is_one_that_can_be_bound() {
        for here in [
            "127.0.0.1:9",
            "127.9.9.9:9",
            "[::1]:9",
            "[::ffff:127.0.0.1]:9",
        ] {
            assert!(
                is_of_this_machine(here.parse().expect("an address")),
                "{here}"
            );
        }
        for elsewhere in ["203.0.113.7:9", "[2001:db8::7]:9"] {
            let elsewhere = elsewhere.parse().expect("an address");
            assert!(!is_of_this_machine(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn the_other_end_is_found_by_its_whole_address_until_it_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let (server, peer) = listener.accept().expect("accepted");
        let local = server.local_addr().expect("bound");
        let inode = socket_inode(peer, local).expect("it is open");
        let own = i32::try_from(std::process::id()).expect("fits");
        assert!(processes_with(&inode).contains(&own));

        let namesake = SocketAddr::new([127, 0, 0, 2].into(), peer.port());
        assert_eq!(
            socket_inode(namesake, local),
            None,
            "the same port elsewhere"
        );

        drop(client);
        assert_eq!(socket_inode(peer, local), None, "nobody holds it any more");
    }

    #[test]
    fn rows_of_both_tables_are_read() {
        let row = "1: 0100007F:8001 0100007F:4966 01 0:0 00:00 0 0 0 77 1";
        let long = "1: 0000000000000000FFFF00000100007F:8001 0000000000000000FFFF00000100007F:4966 01 0:0 00:00 0 0 0 78 1";
        let peer = "127.0.0.1:32769".parse().expect("an address");
        let local = "127.0.0.1:18790".parse().expect("an address");
        if cfg!(target_endian = "little") {
            assert_eq!(inode_in_row(row, peer, local).as_deref(), Some("77"));
            assert_eq!(inode_in_row(long, peer, local).as_deref(), Some("78"));
        }
        assert_eq!(inode_in_row(row, local, peer), None);
        assert_eq!(inode_in_row("no row", peer, local), None);
    }
}
