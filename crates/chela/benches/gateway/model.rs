//! A model endpoint that answers at once: a thread that says which message it was asked about.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// A message carries its name behind this; the answer says it back.
pub const MARK: &str = "message-";

pub struct EchoModel(SocketAddr);

impl EchoModel {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = runtime
            .block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            runtime.block_on(async {
                loop {
                    if let Ok((stream, _)) = listener.accept().await {
                        stream.set_nodelay(true).expect("a socket");
                        tokio::spawn(serve(stream));
                    }
                }
            });
        });
        Self(address)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.0)
    }

    pub fn place(&self) -> crate::client::GatewayPlace {
        crate::client::GatewayPlace::fixed(self.0, "")
    }
}

async fn serve(mut stream: TcpStream) {
    let mut bytes = Vec::with_capacity(128 * 1024);
    while let Some(end) = crate::client::read_message(&mut stream, &mut bytes).await {
        let answer = match bytes.starts_with(b"GET") {
            true => r#"{"object":"list","data":[{"id":"echo","object":"model"}]}"#.to_owned(),
            false => streamed(&bytes[..end]),
        };
        let kind = match bytes.starts_with(b"GET") {
            true => "application/json",
            false => "text/event-stream",
        };
        bytes.drain(..end);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        if stream.write_all((head + &answer).as_bytes()).await.is_err() {
            return;
        }
    }
}

fn streamed(request: &[u8]) -> String {
    let text = std::str::from_utf8(request).unwrap_or_default();
    let named = text.rfind(MARK).map_or("nothing", |at| {
        let rest = &text[at..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        &rest[..end.unwrap_or(rest.len())]
    });
    let input = request.len() / 4;
    let open = r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"echo""#;
    format!(
        "{open},\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":\"heard {named}\"}},\"finish_reason\":null}}]}}\n\n\
         {open},\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n\
         {open},\"choices\":[],\"usage\":{{\"prompt_tokens\":{input},\"completion_tokens\":5,\
         \"total_tokens\":{}}}}}\n\ndata: [DONE]\n\n",
        input + 5
    )
}
