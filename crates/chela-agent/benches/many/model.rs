//! A model endpoint that answers at once: a thread that reads no more of a request than it must.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::meter::thread_cpu;

/// A message with these words is answered by ten calls, one after the other.
pub const TEN_CALLS: &str = "make your ten calls";
const CALL_ID: &str = "bench-call-";

pub struct InstantModel {
    address: SocketAddr,
    /// Nanoseconds of CPU its thread took.
    cpu: Arc<AtomicU64>,
}

impl InstantModel {
    pub fn start() -> Self {
        let runtime = crate::home::runtime(1);
        let listener = runtime
            .block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        let cpu = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&cpu);
        std::thread::spawn(move || {
            runtime.block_on(async {
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).expect("a socket");
                    tokio::spawn(serve(stream, Arc::clone(&told)));
                }
            });
        });
        Self { address, cpu }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu.load(Ordering::Relaxed))
    }
}

async fn serve(mut stream: TcpStream, cpu: Arc<AtomicU64>) {
    let mut bytes = Vec::with_capacity(256 * 1024);
    loop {
        let Some((head, length)) = read_request(&mut stream, &mut bytes).await else {
            return;
        };
        let answer = if bytes.starts_with(b"GET") {
            whole(r#"{"object":"list","data":[{"id":"instant","object":"model"}]}"#)
        } else {
            streamed(&bytes[head..head + length])
        };
        bytes.drain(..head + length);
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
        let taken = thread_cpu().as_nanos();
        cpu.store(u64::try_from(taken).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// The lengths of head and body, once all of both is there. None when the other side is done.
async fn read_request(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<(usize, usize)> {
    loop {
        if let Some(end) = find(bytes, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .map_or(0, |value| value.trim().parse().expect("a length"));
            while bytes.len() < end + 4 + length {
                if stream.read_buf(bytes).await.ok()? == 0 {
                    return None;
                }
            }
            return Some((end + 4, length));
        }
        if stream.read_buf(bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// What was said last decides: the person's words, or the result of the call with a number.
fn streamed(body: &[u8]) -> String {
    let text = std::str::from_utf8(body).unwrap_or_default();
    let asked = text.rfind(TEN_CALLS);
    let called = text.rfind(CALL_ID).map(|at| at + CALL_ID.len());
    let next = match (asked, called) {
        (Some(asked), Some(called)) if called > asked => {
            let digits: String = text[called..]
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse::<usize>().expect("a number of a call") + 1
        }
        (Some(_), _) => 1,
        (None, _) => 11,
    };
    let input = body.len() / 4;
    let (delta, end) = if next <= 10 {
        let call = format!(
            r#"{{"role":"assistant","tool_calls":[{{"index":0,"id":"{CALL_ID}{next}","type":"function","function":{{"name":"read","arguments":"{{\"path\":\"note-{next}.txt\"}}"}}}}]}}"#
        );
        (call, "tool_calls")
    } else {
        (
            r#"{"role":"assistant","content":"It is done."}"#.to_owned(),
            "stop",
        )
    };
    let open = r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"instant""#;
    let events = format!(
        "{open},\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n\
         {open},\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{end}\"}}]}}\n\n\
         {open},\"choices\":[],\"usage\":{{\"prompt_tokens\":{input},\"completion_tokens\":9,\
         \"total_tokens\":{}}}}}\n\ndata: [DONE]\n\n",
        input + 9
    );
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{events}",
        events.len()
    )
}

fn whole(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
