//! What the tests of this crate share: models from a config text, and a small endpoint.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_config::{Severity, load_text};
use chela_core::Host;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::timer::SleepTimer;
use crate::{ModelRequest, ModelTarget, Models};

/// The models of a config.
pub fn models(config: &Value) -> Models {
    models_with(config, &[])
}

pub fn models_with(config: &Value, env: &[(&str, &str)]) -> Models {
    let mut host = Host::fixed("/home/me");
    for (name, value) in env {
        host.env.insert((*name).to_owned(), (*value).to_owned());
    }
    let loaded = load_text(&host, &config.to_string());
    let problems = loaded.diagnostics.iter();
    let problems = problems.filter(|found| found.severity > Severity::Note);
    let errors: Vec<String> = problems.map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{errors:?}");
    Models::of(&host, &loaded)
}

/// A model at an address.
pub fn target(api: &str, base_url: &str, more: Value) -> ModelTarget {
    let mut provider = serde_json::json!({
        "baseUrl": base_url,
        "api": api,
        "apiKey": "sk-test-secret",
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        provider[key] = value.clone();
    }
    let config = serde_json::json!({"models": {"providers": {"p": provider}}});
    models(&config).resolve("p/m").unwrap()
}

pub fn request(text: &str) -> ModelRequest {
    ModelRequest {
        messages: vec![crate::ModelMessage::user(text).into()],
        ..ModelRequest::default()
    }
}

/// What the endpoint does with one connection.
#[derive(Clone)]
pub enum ServerPlay {
    /// Sends these bytes and closes.
    Say(Vec<u8>),
    /// Sends these bytes and falls silent.
    Hang(Vec<u8>),
}

impl ServerPlay {
    pub fn status(status: u16, headers: &str, body: &str) -> Self {
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
            body.len()
        );
        Self::Say([head.as_bytes(), body.as_bytes()].concat())
    }

    /// A stream that ends when the connection does.
    pub fn stream(body: &str) -> Self {
        Self::Say(Self::streamed(body))
    }

    pub fn streamed(body: &str) -> Vec<u8> {
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        [head.as_bytes(), body.as_bytes()].concat()
    }
}

pub struct TestServer {
    pub url: String,
    /// Head and body of every request.
    pub asked: Arc<Mutex<Vec<(String, String)>>>,
}

/// Plays one after the other, the last one for all further connections.
pub async fn serve(plays: Vec<ServerPlay>) -> TestServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let heard = asked.clone();
    tokio::spawn(async move {
        for number in 0.. {
            let Ok((socket, _)) = listener.accept().await else {
                return;
            };
            let play = plays[number.min(plays.len() - 1)].clone();
            tokio::spawn(answer(socket, play, heard.clone()));
        }
    });
    TestServer { url, asked }
}

async fn answer(mut socket: TcpStream, play: ServerPlay, heard: Arc<Mutex<Vec<(String, String)>>>) {
    let mut bytes = Vec::new();
    let mut block = [0; 4096];
    let (head, body) = loop {
        let read = socket.read(&mut block).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        bytes.extend_from_slice(&block[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        if body.len() >= length {
            break (head.to_owned(), body.to_owned());
        }
    };
    heard.lock().unwrap().push((head, body));
    let (bytes, hang) = match play {
        ServerPlay::Say(bytes) => (bytes, false),
        ServerPlay::Hang(bytes) => (bytes, true),
    };
    // Two halves, so that every stream is cut somewhere.
    let middle = bytes.len() / 2;
    let _ = socket.write_all(&bytes[..middle]).await;
    let _ = socket.flush().await;
    tokio::task::yield_now().await;
    let _ = socket.write_all(&bytes[middle..]).await;
    if hang {
        std::future::pending::<()>().await;
    }
    let _ = socket.shutdown().await;
}

/// Does not wait, and remembers how long it would have.
#[derive(Debug, Default)]
pub struct NoTimer(pub Mutex<Vec<Duration>>);

impl SleepTimer for NoTimer {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.lock().unwrap().push(time);
        Box::pin(std::future::ready(()))
    }
}
