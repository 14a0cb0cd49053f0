//! The network: nobody, or those who are listed.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::{SandboxedHome, everywhere, in_namespaces};

/// Whoever listens outside, in every way there is.
struct Ears {
    tcp: Vec<TcpListener>,
    udp: UdpSocket,
    unix: Vec<UnixListener>,
    hidden: UnixListener,
    facts: String,
}

impl Ears {
    fn new(cell: &SandboxedHome) -> Self {
        let tcp: Vec<TcpListener> = ["127.0.0.1:0", "127.0.0.2:0", "[::1]:0", "0.0.0.0:0"]
            .iter()
            .filter_map(|address| TcpListener::bind(address).ok())
            .collect();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let paths = [cell.path(".agent.sock"), cell.path(".chela/control.sock")];
        let unix = paths
            .iter()
            .map(|path| UnixListener::bind(path).unwrap())
            .collect();
        static EARS: AtomicU32 = AtomicU32::new(0);
        let number = EARS.fetch_add(1, Ordering::Relaxed);
        let name = format!("chela-test-{}-{number}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let hidden = UnixListener::bind_addr(&address).unwrap();
        let addresses: Vec<String> = tcp
            .iter()
            .map(|ear| ear.local_addr().unwrap().to_string())
            .collect();
        let facts = format!(
            "TCP='{}' UDP='{}' UNIX='{}' ABSTRACT='{name}'",
            addresses.join(","),
            udp.local_addr().unwrap(),
            paths.join(",")
        );
        Self {
            tcp,
            udp,
            unix,
            hidden,
            facts,
        }
    }

    /// Nobody was heard.
    fn heard_nothing(&self, backend: &str) {
        for ear in &self.tcp {
            ear.set_nonblocking(true).unwrap();
            assert!(ear.accept().is_err(), "{backend}: {ear:?}");
        }
        for ear in self.unix.iter().chain([&self.hidden]) {
            ear.set_nonblocking(true).unwrap();
            assert!(ear.accept().is_err(), "{backend}: {ear:?}");
        }
        self.udp.set_nonblocking(true).unwrap();
        assert!(
            self.udp.recv(&mut [0; 8]).is_err(),
            "{backend}: a datagram came out"
        );
    }
}

#[test]
fn without_egress_nothing_connects_anywhere() {
    for access in ["rw", "ro", "none"] {
        everywhere(&json!({ "workspaceAccess": access }), |cell| {
            let ears = Ears::new(cell);
            cell.holds("sockets", &ears.facts, 14);
            ears.heard_nothing(cell.backend);
        });
    }
}

#[test]
fn the_ears_hear_where_there_is_no_sandbox() {
    // Without this the test above could pass with deaf ears.
    everywhere(&json!({ "mode": "all" }), |cell| {
        let ears = Ears::new(cell);
        let script = format!(
            "ESCAPE=sockets {} exec '{}' --exact sandbox::inside::probe --nocapture",
            ears.facts,
            super::this_program().display()
        );
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(
            out.contains("tcp 127.0.0.1") && out.contains("ESCAPED"),
            "{out}"
        );
        for ear in ears.unix.iter().chain([&ears.hidden]) {
            ear.set_nonblocking(true).unwrap();
            assert!(ear.accept().is_ok());
        }
        ears.udp.set_nonblocking(true).unwrap();
        assert!(ears.udp.recv(&mut [0; 8]).is_ok());
    });
}

/// A server outside that answers everyone once it hears `hello`.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            let mut heard = [0; 5];
            let _ = stream.read_exact(&mut heard);
            let _ = stream.write_all(b"the server heard you");
        }
    });
    port
}

#[test]
fn egress_opens_listed_hosts_and_no_others() {
    let (listed, unlisted) = (server(), server());
    let settings = json!({ "workspaceAccess": "rw", "egress": [format!("127.0.0.1:{listed}")] });
    in_namespaces(&settings, |cell| {
        let to = |want: String| cell.attempt("proxy", &format!("WANT={want}"));
        let reached = to(format!("127.0.0.1:{listed}"));
        assert!(
            reached.contains("the server heard you"),
            "{}: {reached}",
            cell.backend
        );
        for want in [
            format!("127.0.0.1:{unlisted}"),
            format!("localhost:{listed}"),
            format!("127.0.0.2:{listed}"),
            format!("[::1]:{listed}"),
            "example.org:443".to_owned(),
            "169.254.169.254:80".to_owned(),
        ] {
            let answer = to(want.clone());
            assert!(
                answer.contains("403 Forbidden"),
                "{} {want}: {answer}",
                cell.backend
            );
        }
        // Past the proxy there is no way.
        let ears = Ears::new(cell);
        let facts = ears
            .facts
            .replace("TCP='", &format!("TCP='127.0.0.1:{listed},"));
        cell.holds("sockets", &facts, 14);
        ears.heard_nothing(cell.backend);
    });
}

#[test]
fn servers_of_its_own_can_be_reached_inside() {
    in_namespaces(&json!({ "workspaceAccess": "rw" }), |cell| {
        // A loopback of its own: what listens there is seen by nobody outside.
        let ours = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = ours.local_addr().unwrap().port();
        let out = cell.attempt("sockets", &format!("TCP=127.0.0.1:{port}"));
        assert!(
            out.contains(&format!("tcp 127.0.0.1:{port}: held")),
            "{}: {out}",
            cell.backend
        );
    });
}

#[test]
fn without_namespaces_egress_is_refused_and_told() {
    let settings = json!({ "workspaceAccess": "rw", "egress": ["example.org"] });
    let Some(cell) = SandboxedHome::new(super::BARE, &settings) else {
        return;
    };
    let explained = cell.home.run(&["sandbox", "explain"]).flat();
    assert!(explained.contains("network none"), "{explained}");
    assert!(
        explained.contains("sandbox.egress is ignored"),
        "{explained}"
    );
    let prompt = cell.home.run(&["prompt"]).ok();
    assert!(prompt.contains("Network for commands: none."), "{prompt}");
    assert!(!prompt.contains("example.org"), "{prompt}");
    let ears = Ears::new(&cell);
    cell.holds("sockets", &ears.facts, 14);
    ears.heard_nothing(cell.backend);
}

#[test]
fn open_egress_is_every_public_name_and_never_this_machine() {
    let port = server();
    let settings = json!({ "workspaceAccess": "rw", "egress": ["*"] });
    in_namespaces(&settings, |cell| {
        for want in [
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}"),
            format!("[::1]:{port}"),
            format!("0.0.0.0:{port}"),
            "169.254.169.254:80".to_owned(),
            "10.0.0.1:443".to_owned(),
        ] {
            let answer = cell.attempt("proxy", &format!("WANT={want}"));
            assert!(
                answer.contains("403 Forbidden"),
                "{} {want}: {answer}",
                cell.backend
            );
        }
        let ears = Ears::new(cell);
        cell.holds("sockets", &ears.facts, 14);
        ears.heard_nothing(cell.backend);
        let prompt = cell.home.run(&["prompt"]).ok();
        assert!(
            prompt.contains("only these hosts, over HTTP through the proxy"),
            "{prompt}"
        );
    });
}

#[test]
fn networks_of_containers_open_nothing() {
    for network in ["host", "bridge", "container:other"] {
        let settings = json!({ "workspaceAccess": "rw", "docker": { "network": network } });
        in_namespaces(&settings, |cell| {
            let ears = Ears::new(cell);
            cell.holds("sockets", &ears.facts, 14);
            ears.heard_nothing(cell.backend);
            let explained = cell.home.run(&["sandbox", "explain"]).flat();
            assert!(explained.contains("network none"), "{explained}");
            assert!(
                explained.contains(&format!("sandbox.docker.network `{network}`")),
                "{explained}"
            );
        });
    }
}
