//! One connection that asks, and asks again with the same key until it is answered.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Where a gateway is, while it may be gone.
#[derive(Clone)]
pub struct GatewayPlace {
    address: watch::Receiver<Option<SocketAddr>>,
    pub token: String,
}

impl GatewayPlace {
    pub fn fixed(address: SocketAddr, token: &str) -> Self {
        let (_, address) = watch::channel(Some(address));
        Self::moving(address, token)
    }

    pub fn moving(address: watch::Receiver<Option<SocketAddr>>, token: &str) -> Self {
        Self {
            address,
            token: token.to_owned(),
        }
    }

    fn now(&self) -> Option<SocketAddr> {
        *self.address.borrow()
    }
}

/// What is said where: the message's name stands in it.
pub struct MessageAsk<'a> {
    pub place: &'a GatewayPlace,
    pub session: usize,
    pub name: &'a str,
}

pub fn gateway_request(ask: &MessageAsk<'_>) -> String {
    let body = format!(
        r#"{{"model":"chela","messages":[{{"role":"user","content":"Please note {} and say so."}}]}}"#,
        ask.name
    );
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         idempotency-key: {}\r\nx-chela-session-key: bench-{}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        ask.place.token,
        ask.name,
        ask.session,
        body.len()
    )
}

/// What the model would be asked, of about the size a turn's request has.
pub fn model_request(ask: &MessageAsk<'_>) -> String {
    let body = format!(
        r#"{{"model":"echo","messages":[{{"role":"system","content":"{}"}},{{"role":"user","content":"{}"}}]}}"#,
        "x".repeat(24_000),
        ask.name
    );
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub struct PatientClient {
    stream: Option<TcpStream>,
    bytes: Vec<u8>,
}

impl PatientClient {
    pub fn new() -> Self {
        Self {
            stream: None,
            bytes: Vec::new(),
        }
    }

    /// The body of a 200. Everything else is tried again: a gateway that is being killed cuts
    /// connections, and one that starts refuses them.
    pub async fn ask(&mut self, place: &GatewayPlace, request: &str) -> String {
        loop {
            match tokio::time::timeout(Duration::from_secs(30), self.try_once(place, request)).await
            {
                Ok(Some(answer)) if answer.starts_with("HTTP/1.1 200") => return answer,
                Ok(Some(answer)) => {
                    let head: String = answer.chars().take(300).collect();
                    let told = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
                    assert!(
                        answer.starts_with("HTTP/1.1 503") || answer.starts_with("HTTP/1.1 429"),
                        "{head}\n{told}"
                    );
                }
                Ok(None) | Err(_) => {}
            }
            self.stream = None;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn try_once(&mut self, place: &GatewayPlace, request: &str) -> Option<String> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(place.now()?).await.ok()?;
                stream.set_nodelay(true).ok()?;
                self.bytes.clear();
                self.stream.insert(stream)
            }
        };
        stream.write_all(request.as_bytes()).await.ok()?;
        let end = read_message(stream, &mut self.bytes).await?;
        let answer = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
        self.bytes.drain(..end);
        Some(answer)
    }
}

/// Where a request or an answer ends, once all of it is there.
pub async fn read_message(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<usize> {
    loop {
        let head = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .map_or(0, |value| value.trim().parse().expect("a length"));
            let end = head + 4 + length;
            while bytes.len() < end {
                if stream.read_buf(bytes).await.ok()? == 0 {
                    return None;
                }
            }
            return Some(end);
        }
        if stream.read_buf(bytes).await.ok()? == 0 {
            return None;
        }
    }
}
