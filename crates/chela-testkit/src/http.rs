//! HTTP/1.1 by hand: every byte sent is one that was meant.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LONGEST_HEAD: usize = 64 * 1024;
const LONGEST_BODY: usize = 256 * 1024 * 1024;

/// A request as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpRequest {
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// The path without the query.
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is not.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// One connection, and what was read ahead on it.
#[derive(Debug)]
pub struct HttpConnection {
    pub stream: TcpStream,
    ahead: Vec<u8>,
}

impl HttpConnection {
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            ahead: Vec::new(),
        }
    }

    /// The next request; none when the other side is done.
    pub async fn next(&mut self) -> io::Result<Option<HttpRequest>> {
        let head_end = loop {
            if let Some(at) = find(&self.ahead, b"\r\n\r\n") {
                break at;
            }
            if self.ahead.len() > LONGEST_HEAD {
                return Err(bad("the head of the request does not end"));
            }
            if self.more().await? == 0 {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&self.ahead[..head_end]).into_owned();
        self.ahead.drain(..head_end + 4);
        let mut request = parse_head(&head).ok_or_else(|| bad("not an HTTP request"))?;
        if request.header("expect").is_some() {
            self.stream
                .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
                .await?;
        }
        request.body = match request.header("transfer-encoding") {
            Some(coding) if coding.contains("chunked") => self.chunked().await?,
            _ => {
                let length = request.header("content-length").unwrap_or("0").parse();
                let length = length.map_err(|_| bad("content-length is not a number"))?;
                self.exactly(length).await?
            }
        };
        Ok(Some(request))
    }

    async fn chunked(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line_end = loop {
                match find(&self.ahead, b"\r\n") {
                    Some(at) => break at,
                    None => self.more_or_end().await?,
                }
            };
            let size = String::from_utf8_lossy(&self.ahead[..line_end]).into_owned();
            self.ahead.drain(..line_end + 2);
            let size = size.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| bad("a chunk has no size"))?;
            body.extend(self.exactly(size).await?);
            self.exactly(2).await?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > LONGEST_BODY {
            return Err(bad("the body is too long"));
        }
        while self.ahead.len() < length {
            self.more_or_end().await?;
        }
        Ok(self.ahead.drain(..length).collect())
    }

    async fn more(&mut self) -> io::Result<usize> {
        self.stream.read_buf(&mut self.ahead).await
    }

    async fn more_or_end(&mut self) -> io::Result<()> {
        match self.more().await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// The status line and headers of an answer.
pub fn head<'a>(status: u16, headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text
}

fn reason(status: u16) -> &'static str {
    match status {
        200..=299 => "OK",
        300..=399 => "Elsewhere",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        529 => "Overloaded",
        400..=499 => "Bad Request",
        _ => "Server Error",
    }
}

fn parse_head(head: &str) -> Option<HttpRequest> {
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?, first.next()?);
    first
        .next()
        .filter(|version| version.starts_with("HTTP/1."))?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Some(HttpRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body: Vec::new(),
    })
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
