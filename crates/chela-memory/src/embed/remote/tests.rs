//! Against a server on this machine that speaks each format, and one that misbehaves.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    ApiKey, EmbedHttpRequest, EmbedHttpResponse, EmbedTransport, EmbedWire, RemoteEmbedder,
    RemoteSettings,
};
use crate::embed::{EmbedCost, EmbedError, EmbedRole, EmbedText, Embedder, RetryAdvice};

/// What the server saw: request line and headers, and the body.
type Seen = Arc<Mutex<Vec<(String, Value)>>>;

/// Answers each request with what `answer` says, in bytes as they go over the wire.
fn server(answer: impl Fn(usize, &Value) -> Vec<u8> + Send + 'static) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    // It ends with the test process; no test waits for it.
    std::thread::spawn(move || {
        for (at, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let (head, body) = read(&mut stream);
            let body: Value = serde_json::from_slice(&body).unwrap();
            let reply = answer(at, &body);
            log.lock().unwrap().push((head, body));
            stream.write_all(&reply).unwrap();
        }
    });
    (base, seen)
}

fn read(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut some = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |n| n.parse().unwrap());
            if bytes.len() >= end + 4 + length {
                return (head, bytes[end + 4..end + 4 + length].to_vec());
            }
        }
        let count = stream.read(&mut some).unwrap();
        assert!(count > 0, "the request ended early");
        bytes.extend_from_slice(&some[..count]);
    }
}

fn reply(status: u16, headers: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status} x\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Plain HTTP/1.1 over a socket, and pauses that are only noted.
#[derive(Default)]
struct Socket {
    pauses: Mutex<Vec<Duration>>,
}

impl EmbedTransport for Socket {
    fn post(&self, request: EmbedHttpRequest) -> Result<EmbedHttpResponse, String> {
        let rest = request.url.strip_prefix("http://").ok_or("not http")?;
        let (host, path) = rest.split_once('/').ok_or("no path")?;
        let mut stream = TcpStream::connect(host).map_err(|error| error.to_string())?;
        let mut head = format!("POST /{path} HTTP/1.1\r\n");
        for (name, value) in &request.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", request.body.len()));
        let mut send = |bytes: &[u8]| stream.write_all(bytes).map_err(|e| e.to_string());
        send(head.as_bytes())?;
        send(&request.body)?;
        let mut bytes = Vec::new();
        stream
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        let end = bytes
            .windows(4)
            .position(|w| w == b"\r\n\r\n")
            .ok_or("the connection was closed")?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        Ok(EmbedHttpResponse {
            status: status.and_then(|s| s.parse().ok()).ok_or("no status")?,
            headers: lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            body: bytes[end + 4..].to_vec(),
        })
    }

    fn pause(&self, how_long: Duration) {
        self.pauses.lock().unwrap().push(how_long);
    }
}

const KEY: &str = "sk-test-0123456789";

fn settings(wire: EmbedWire, base: &str) -> RemoteSettings {
    RemoteSettings {
        provider: "openai".into(),
        wire,
        model: "tiny".into(),
        base_url: Some(base.into()),
        key: ApiKey::new(KEY),
        key_hint: "set OPENAI_API_KEY or `remote.apiKey`".into(),
        headers: vec![("X-Team".into(), "notes".into())],
        concurrency: 1,
        dimensions: None,
        query_type: None,
        document_type: None,
    }
}

fn embed(
    embedder: &RemoteEmbedder,
    texts: &[&str],
    role: EmbedRole,
) -> Result<Vec<Vec<f32>>, EmbedError> {
    let texts: Vec<EmbedText<'_>> = texts.iter().map(EmbedText::plain).collect();
    embedder.embed(&texts, role)
}

/// A vector that tells its text: its length, and one.
fn vector(text: &Value) -> Value {
    json!([text.as_str().unwrap().len(), 1])
}

fn good(wire: EmbedWire, body: &Value) -> Value {
    let texts: Vec<Value> = match wire {
        EmbedWire::Gemini => body["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|request| request["content"]["parts"][0]["text"].clone())
            .collect(),
        _ => body["input"].as_array().unwrap().clone(),
    };
    match wire {
        // Out of order, as the format allows.
        EmbedWire::OpenAi | EmbedWire::Voyage => json!({ "data": texts.iter().enumerate().rev()
            .map(|(at, text)| json!({ "index": at, "embedding": vector(text) }))
            .collect::<Vec<_>>() }),
        EmbedWire::Gemini => json!({ "embeddings": texts.iter()
            .map(|text| json!({ "values": vector(text) }))
            .collect::<Vec<_>>() }),
        EmbedWire::Ollama => json!({ "embeddings": texts.iter().map(vector).collect::<Vec<_>>() }),
    }
}

#[test]
fn every_format_is_spoken() {
    let mut told = String::new();
    for wire in [
        EmbedWire::OpenAi,
        EmbedWire::Gemini,
        EmbedWire::Voyage,
        EmbedWire::Ollama,
    ] {
        let (base, seen) = server(move |_, body| reply(200, "", &good(wire, body)));
        let embedder = RemoteEmbedder::new(settings(wire, &base), Arc::new(Socket::default()));
        let made = embed(&embedder, &["a", "four"], EmbedRole::Document).unwrap();
        assert_eq!(made, [[1.0, 1.0], [4.0, 1.0]]);
        embed(&embedder, &["why?"], EmbedRole::Query).unwrap();
        for (head, body) in seen.lock().unwrap().iter() {
            let head: Vec<&str> = head
                .lines()
                .filter(|line| !line.starts_with("content-"))
                .collect();
            told.push_str(&format!("{} | {body}\n", head.join(" | ")));
        }
    }
    insta::assert_snapshot!(told, @r#"
    POST /embeddings HTTP/1.1 | authorization: Bearer sk-test-0123456789 | X-Team: notes | {"model":"tiny","input":["a","four"],"encoding_format":"float"}
    POST /embeddings HTTP/1.1 | authorization: Bearer sk-test-0123456789 | X-Team: notes | {"model":"tiny","input":["why?"],"encoding_format":"float"}
    POST /models/tiny:batchEmbedContents HTTP/1.1 | x-goog-api-key: sk-test-0123456789 | X-Team: notes | {"requests":[{"model":"models/tiny","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_DOCUMENT"},{"model":"models/tiny","content":{"parts":[{"text":"four"}]},"taskType":"RETRIEVAL_DOCUMENT"}]}
    POST /models/tiny:batchEmbedContents HTTP/1.1 | x-goog-api-key: sk-test-0123456789 | X-Team: notes | {"requests":[{"model":"models/tiny","content":{"parts":[{"text":"why?"}]},"taskType":"RETRIEVAL_QUERY"}]}
    POST /embeddings HTTP/1.1 | authorization: Bearer sk-test-0123456789 | X-Team: notes | {"model":"tiny","input":["a","four"],"input_type":"document"}
    POST /embeddings HTTP/1.1 | authorization: Bearer sk-test-0123456789 | X-Team: notes | {"model":"tiny","input":["why?"],"input_type":"query"}
    POST /api/embed HTTP/1.1 | authorization: Bearer sk-test-0123456789 | X-Team: notes | {"model":"tiny","input":["a","four"],"truncate":true}
    POST /api/embed HTTP/1.1 | authorization: Bearer sk-test-0123456789 | X-Team: notes | {"model":"tiny","input":["why?"],"truncate":true}
    "#);
}

#[test]
fn a_busy_service_is_asked_again_when_it_says() {
    let (base, _) = server(|at, body| match at {
        0 => reply(429, "Retry-After: 7\r\n", &json!({})),
        1 => reply(503, "", &json!({})),
        2 => reply(429, "retry-after-ms: 40\r\n", &json!({})),
        _ => reply(200, "", &good(EmbedWire::OpenAi, body)),
    });
    let socket = Arc::new(Socket::default());
    let embedder = RemoteEmbedder::new(settings(EmbedWire::OpenAi, &base), socket.clone());
    embed(&embedder, &["a"], EmbedRole::Document).unwrap();
    let pauses = socket.pauses.lock().unwrap().clone();
    assert_eq!(
        pauses,
        [
            Duration::from_secs(7),
            Duration::from_secs(1),
            Duration::from_millis(40)
        ]
    );
}

/// The error after all tries, and how many there were.
fn failure(answer: impl Fn(usize, &Value) -> Vec<u8> + Send + 'static) -> (EmbedError, usize) {
    let (base, seen) = server(answer);
    let embedder = RemoteEmbedder::new(
        settings(EmbedWire::OpenAi, &base),
        Arc::new(Socket::default()),
    );
    let problem = embed(&embedder, &["a", "b"], EmbedRole::Document).unwrap_err();
    let tries = seen.lock().unwrap().len();
    (problem, tries)
}

#[test]
fn what_cannot_be_mended_is_told_at_once_and_without_the_key() {
    let echo = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}") } });
    let (problem, tries) = failure(move |_, _| reply(401, "", &echo));
    assert_eq!(tries, 1);
    assert_eq!(problem.retry, RetryAdvice::Never);
    insta::assert_snapshot!(problem, @"embedding provider openai failed: 401 the API key was \
        rejected; set OPENAI_API_KEY or `remote.apiKey` (it says: Incorrect API key provided: \
        [key])");
    let (problem, tries) = failure(|_, _| reply(404, "", &json!({ "error": "no such model" })));
    assert_eq!(tries, 1);
    insta::assert_snapshot!(problem, @"embedding provider openai failed: 404 there is no model \
        `tiny` at this URL; check `model` and `remote.baseUrl` (it says: no such model)");
}

#[test]
fn a_service_in_trouble_is_given_up_after_a_few_tries() {
    let (problem, tries) = failure(|_, _| reply(500, "", &json!({})));
    assert_eq!(tries, 5);
    assert_eq!(problem.retry, RetryAdvice::Later);
    insta::assert_snapshot!(problem, @"embedding provider openai failed: 500 the service has a problem");
    // One that asks for an hour of patience is not waited for.
    let (_, tries) = failure(|_, _| reply(429, "retry-after: 3600\r\n", &json!({})));
    assert_eq!(tries, 1);
    // Half an answer.
    let (problem, tries) = failure(|_, body| {
        let whole = reply(200, "", &good(EmbedWire::OpenAi, body));
        whole[..whole.len() - 9].to_vec()
    });
    assert_eq!(tries, 5);
    insta::assert_snapshot!(problem, @"embedding provider openai failed: the answer was cut off or is not JSON");
}

#[test]
fn nobody_there_is_said_with_the_address() {
    let embedder = RemoteEmbedder::new(
        settings(EmbedWire::Ollama, "http://127.0.0.1:1"),
        Arc::new(Socket::default()),
    );
    let problem = embed(&embedder, &["a"], EmbedRole::Query).unwrap_err();
    let told = problem.to_string();
    assert!(told.contains("http://127.0.0.1:1 did not answer"), "{told}");
    assert!(told.contains("ollama serve"), "{told}");
}

#[test]
fn vectors_of_another_length_are_not_taken() {
    let (problem, tries) = failure(|_, _| {
        reply(
            200,
            "",
            &json!({ "data": [{ "embedding": [1, 2] }, { "embedding": [1, 2, 3] }] }),
        )
    });
    assert_eq!(tries, 1);
    insta::assert_snapshot!(problem, @"embedding provider openai failed: got vectors with 3 \
        numbers where 2 were expected; check `model` and `outputDimensionality`");
    let (problem, _) = failure(|_, _| reply(200, "", &json!({ "data": [{ "embedding": [1] }] })));
    insta::assert_snapshot!(problem, @"embedding provider openai failed: the answer does not \
        contain 2 vectors; check that `tiny` is an embedding model");
}

#[test]
fn many_texts_go_in_several_requests_and_come_back_in_order() {
    let (base, seen) = server(|_, body| reply(200, "", &good(EmbedWire::Ollama, body)));
    let embedder = RemoteEmbedder::new(
        RemoteSettings {
            concurrency: 3,
            ..settings(EmbedWire::Ollama, &base)
        },
        Arc::new(Socket::default()),
    );
    let texts: Vec<String> = (1..=100).map(|n| "x".repeat(n)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let made = embed(&embedder, &texts, EmbedRole::Document).unwrap();
    let lengths: Vec<f32> = made.iter().map(|vector| vector[0]).collect();
    assert_eq!(lengths, (1..=100).map(|n| n as f32).collect::<Vec<_>>());
    assert_eq!(seen.lock().unwrap().len(), 4);
    // The whole of it is one batch to the index.
    assert!(matches!(
        embedder.cost(),
        EmbedCost::PerBatch { texts: 96, .. }
    ));
}

#[test]
fn empty_and_endless_texts_are_sent_as_something_a_service_takes() {
    let (base, seen) = server(|_, body| reply(200, "", &good(EmbedWire::OpenAi, body)));
    let embedder = RemoteEmbedder::new(
        settings(EmbedWire::OpenAi, &base),
        Arc::new(Socket::default()),
    );
    let long = "ä".repeat(20_000);
    embed(&embedder, &[" ", &long], EmbedRole::Document).unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].1["input"][0], "-");
    assert_eq!(
        seen[0].1["input"][1].as_str().unwrap().chars().count(),
        8_000
    );
}

#[test]
fn nothing_that_is_shown_holds_the_key() {
    let settings = settings(EmbedWire::OpenAi, "http://127.0.0.1:1");
    let embedder = RemoteEmbedder::new(settings.clone(), Arc::new(Socket::default()));
    let request = EmbedHttpRequest {
        url: "http://x/".into(),
        headers: vec![("authorization".into(), KEY.into())],
        body: Vec::new(),
    };
    for shown in [
        format!("{settings:?}"),
        format!("{embedder:?}"),
        format!("{request:?}"),
    ] {
        assert!(!shown.contains(KEY), "{shown}");
    }
}
