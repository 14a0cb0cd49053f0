//! How a command of the owner speaks to the gateway of the same home: one request, no library.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use chela_core::ContentHash;

use crate::instance::RunningGateway;
use crate::tls::sync_connection;

const PATIENCE: Duration = Duration::from_secs(5);
/// No answer to a command is larger.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// The way to a running gateway.
#[derive(Debug)]
pub struct LocalClient {
    address: SocketAddr,
    certificate: Option<ContentHash>,
    token: Option<String>,
}

/// What it answered.
#[derive(Debug)]
pub struct LocalReply {
    pub status: u16,
    pub body: String,
}

impl LocalClient {
    /// `None` where it listens at no address that can be read.
    pub fn of(running: &RunningGateway, token: Option<String>) -> Option<Self> {
        Some(Self {
            address: running.socket_address()?,
            certificate: running.certificate,
            token,
        })
    }

    pub fn get(&self, path: &str) -> io::Result<LocalReply> {
        self.send("GET", path, "")
    }

    pub fn post(&self, path: &str, body: &str) -> io::Result<LocalReply> {
        self.send("POST", path, body)
    }

    fn send(&self, method: &str, path: &str, body: &str) -> io::Result<LocalReply> {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let token = self.token.as_ref();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n{body}",
            self.address,
            body.len(),
            token.unwrap_or_default(),
        );
        let answer = match self.certificate {
            None => exchange(stream, &request)?,
            Some(shown) => exchange(sync_connection(stream, self.address.ip(), shown)?, &request)?,
        };
        let bad = || io::Error::other("the gateway answered something that is not HTTP");
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(bad)?;
        let status = head
            .split_whitespace()
            .nth(1)
            .and_then(|code| code.parse().ok());
        Ok(LocalReply {
            status: status.ok_or_else(bad)?,
            body: body.to_owned(),
        })
    }
}

fn exchange(mut stream: impl Read + Write, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(MOST_BYTES).read_to_string(&mut answer)?;
    Ok(answer)
}
