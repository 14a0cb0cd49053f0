//! A home with a gateway that is started, and killed.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::client::GatewayPlace;

/// So many turns run side by side. As usual four do, which is right for models that people pay for.
const CONCURRENT: usize = 32;

pub struct ServedHome {
    dir: Arc<tempfile::TempDir>,
    token: String,
}

pub struct RunningGateway {
    child: Child,
    address: SocketAddr,
    token: String,
}

/// Kills the gateway of a home again and again, and starts it again.
pub struct GatewayKiller {
    place: GatewayPlace,
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<usize>,
}

impl ServedHome {
    pub fn new(model: &str) -> Self {
        let dir = Arc::new(tempfile::tempdir().expect("a folder for the home"));
        let home = dir.path().join(".chela");
        std::fs::create_dir_all(&home).expect("a home");
        let config = format!(
            r#"{{
                models: {{ providers: {{ echo: {{ baseUrl: "{model}", models: [{{ id: "echo", contextWindow: 200000 }}] }} }} }},
                agents: {{ defaults: {{ model: "echo/echo", maxConcurrent: {CONCURRENT} }} }},
                messages: {{ queue: {{ mode: "followup" }} }},
            }}"#
        );
        std::fs::write(home.join("chela.json"), config).expect("a config");
        let told = chela(dir.path(), &["init"]);
        assert!(told.status.success(), "{told:?}");
        let token = chela(dir.path(), &["gateway", "token"]);
        let token = String::from_utf8_lossy(&token.stdout).trim().to_owned();
        Self { dir, token }
    }

    pub fn start(&self) -> RunningGateway {
        start(self.dir.path(), &self.token)
    }

    pub fn export(&self, session: usize) -> String {
        let key = format!("agent:main:bench-{session}");
        let told = chela(self.dir.path(), &["sessions", "export", &key]);
        String::from_utf8_lossy(&told.stdout).into_owned()
    }

    pub fn keep_killing(&self, every: Duration) -> GatewayKiller {
        let (tell, address) = watch::channel(None);
        let stop = Arc::new(AtomicBool::new(false));
        let (dir, token, stopping) = (Arc::clone(&self.dir), self.token.clone(), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut kills = 0;
            loop {
                let gateway = start(dir.path(), &token);
                tell.send_replace(Some(gateway.address));
                let mut waited = Duration::ZERO;
                while waited < every && !stopping.load(Ordering::SeqCst) {
                    let piece = Duration::from_millis(50);
                    std::thread::sleep(piece);
                    waited += piece;
                }
                if stopping.load(Ordering::SeqCst) {
                    return kills;
                }
                // kill -9, as Drop does it.
                drop(gateway);
                kills += 1;
            }
        });
        GatewayKiller {
            place: GatewayPlace::moving(address, &self.token),
            stop,
            thread,
        }
    }
}

impl GatewayKiller {
    pub fn place(&self) -> GatewayPlace {
        self.place.clone()
    }

    /// Stops, and says how often it killed.
    pub async fn end(self) -> usize {
        self.stop.store(true, Ordering::SeqCst);
        let thread = self.thread;
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        joined.expect("a thread").expect("kills")
    }
}

impl RunningGateway {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn place(&self) -> GatewayPlace {
        GatewayPlace::fixed(self.address, &self.token)
    }

    /// Waits until nothing that was accepted is unanswered.
    pub fn wait_until_idle(&self) {
        use std::io::{Read as _, Write as _};
        loop {
            let mut stream = std::net::TcpStream::connect(self.address).expect("the gateway");
            let ask = format!(
                "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
                self.token
            );
            stream.write_all(ask.as_bytes()).expect("a request");
            let mut told = String::new();
            stream.read_to_string(&mut told).expect("metrics");
            let is_zero = |name: &str| told.contains(&format!("\n{name} 0\n"));
            if is_zero("chela_work_running") && is_zero("chela_work_waiting") {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for RunningGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(dir: &Path, token: &str) -> RunningGateway {
    let mut child = command(dir)
        .args(["gateway", "run", "--port", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a gateway");
    let mut out = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    let port = line.split("127.0.0.1:").nth(1).and_then(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u16>().ok()
    });
    let port = port.unwrap_or_else(|| panic!("the gateway does not listen: {line}"));
    std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    RunningGateway {
        child,
        address: (Ipv4Addr::LOCALHOST, port).into(),
        token: token.to_owned(),
    }
}

fn chela(dir: &Path, args: &[&str]) -> std::process::Output {
    command(dir).args(args).output().expect("chela runs")
}

/// The program, in an environment of its own. `CHELA_BENCH_PROGRAM` names another build of it.
fn command(dir: &Path) -> Command {
    let program = std::env::var("CHELA_BENCH_PROGRAM");
    let program = program.unwrap_or_else(|_| env!("CARGO_BIN_EXE_chela").to_owned());
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", dir)
        .env("PATH", std::env::var("PATH").unwrap_or_default())
        .env("CHELA_HOME", dir.join(".chela"))
        .current_dir(dir);
    command
}
