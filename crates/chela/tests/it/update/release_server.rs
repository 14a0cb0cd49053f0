//! A web server with files that a test puts there.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;

#[derive(Default)]
struct ServedFile {
    bytes: Vec<u8>,
    /// Ends the answer after so many bytes.
    breaks_off: Option<usize>,
    /// Another address instead; empty for none.
    leads: String,
}

#[derive(Default)]
struct ServerState {
    files: BTreeMap<String, ServedFile>,
    asked: Vec<String>,
}

pub struct ReleaseServer {
    at: SocketAddr,
    state: Arc<Mutex<ServerState>>,
}

impl ReleaseServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(ServerState::default()));
        let shared = Arc::clone(&state);
        // It ends with the test: nothing waits for it.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that hangs up early is part of what is tested.
                drop(answer(stream, &shared));
            }
        });
        Self { at, state }
    }

    pub fn address(&self, path: &str) -> String {
        format!("http://{}/{path}", self.at)
    }

    pub fn put(&self, path: &str, bytes: Vec<u8>) {
        let mut state = self.state.lock().unwrap();
        let file = state.files.entry(format!("/{path}")).or_default();
        file.bytes = bytes;
        file.breaks_off = None;
    }

    pub fn get(&self, path: &str) -> Vec<u8> {
        self.state.lock().unwrap().files[&format!("/{path}")]
            .bytes
            .clone()
    }

    pub fn take(&self, path: &str) {
        self.state.lock().unwrap().files.remove(&format!("/{path}"));
    }

    pub fn breaks_off(&self, path: &str, after: usize) {
        let mut state = self.state.lock().unwrap();
        state
            .files
            .entry(format!("/{path}"))
            .or_default()
            .breaks_off = Some(after);
    }

    pub fn leads(&self, path: &str, place: &str) {
        let mut state = self.state.lock().unwrap();
        state.files.entry(format!("/{path}")).or_default().leads = place.to_owned();
    }

    pub fn asked(&self) -> Vec<String> {
        self.state.lock().unwrap().asked.clone()
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<ServerState>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    while lines
        .next()
        .transpose()?
        .is_some_and(|line| !line.is_empty())
    {}
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut state = state.lock().unwrap();
    state.asked.push(path.clone());
    let Some(file) = state.files.get(&path) else {
        return stream.write_all(
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        );
    };
    if !file.leads.is_empty() {
        let head = format!(
            "HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            file.leads
        );
        return stream.write_all(head.as_bytes());
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        file.bytes.len()
    );
    stream.write_all(head.as_bytes())?;
    let end = file.breaks_off.unwrap_or(file.bytes.len());
    stream.write_all(&file.bytes[..end])
}

/// A `.tar.gz` of these files, all of them programs.
pub fn archive_with(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        tar.append_data(&mut header, path, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}
