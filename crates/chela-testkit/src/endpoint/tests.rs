use std::io::{Read, Write};
use std::net::TcpStream;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    AnswerFault, EndpointScript, LineEnding, ScriptStep, ScriptedCall, ScriptedEndpoint, StepRule,
};

const FORMATS: [(&str, &str); 5] = [
    ("chat", "/v1/chat/completions"),
    ("responses", "/v1/responses"),
    ("anthropic", "/v1/messages"),
    (
        "gemini",
        "/v1beta/models/scripted:streamGenerateContent?alt=sse",
    ),
    ("ollama", "/api/chat"),
];

/// Sends one request and reads until the other side closes.
fn raw(endpoint: &ScriptedEndpoint, method: &str, path: &str, body: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", endpoint.port())).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = Vec::new();
    // A reset is an error after what came before it.
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Head and body, the body without its chunk sizes.
fn ask(endpoint: &ScriptedEndpoint, path: &str, body: &Value) -> (String, String) {
    let answer = raw(endpoint, "POST", path, &body.to_string());
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let body = &answer[end + 4..];
    if !head.contains("chunked") {
        return (head, String::from_utf8(body.to_vec()).unwrap());
    }
    let (mut rest, mut whole) = (body, Vec::new());
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        whole.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    (head, String::from_utf8(whole).unwrap())
}

fn hello(stream: bool) -> Value {
    let said = json!([{ "role": "user", "content": "hi" }]);
    json!({
        "model": "scripted",
        "stream": stream,
        "stream_options": { "include_usage": true },
        "messages": said,
        "input": said,
        "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }],
    })
}

fn speaking() -> ScriptStep {
    ScriptStep {
        reply: "You said: {{user}}".to_owned(),
        reasoning: "Hm.".to_owned(),
        tool_calls: vec![ScriptedCall {
            name: "read".to_owned(),
            arguments: json!({ "path": "a.txt" }),
            id: None,
        }],
        ..ScriptStep::default()
    }
}

#[test]
fn every_format_is_streamed_byte_for_byte() {
    for (name, path) in FORMATS {
        let endpoint = ScriptedEndpoint::start(EndpointScript::always(speaking())).unwrap();
        let (head, body) = ask(&endpoint, path, &hello(true));
        insta::assert_snapshot!(format!("stream_{name}"), format!("{head}\n\n{body}"));
    }
}

#[test]
fn every_format_is_answered_whole() {
    for (name, path) in FORMATS {
        let path = path.replace(":streamGenerateContent?alt=sse", ":generateContent");
        let endpoint = ScriptedEndpoint::start(EndpointScript::always(speaking())).unwrap();
        let (_, body) = ask(&endpoint, &path, &hello(false));
        let value: Value = serde_json::from_str(&body).unwrap();
        insta::assert_snapshot!(
            format!("whole_{name}"),
            serde_json::to_string_pretty(&value).unwrap()
        );
    }
}

#[test]
fn steps_are_played_in_turn_and_rules_go_first() {
    let rain = ScriptStep::reply("rain").when(StepRule {
        contains: Some("weather".to_owned()),
        ..StepRule::default()
    });
    let endpoint = ScriptedEndpoint::start(EndpointScript {
        otherwise: Some(ScriptStep::reply("{{call}} of {{messages}}: {{user}}")),
        ..EndpointScript::steps([ScriptStep::reply("one"), rain, ScriptStep::reply("two")])
    })
    .unwrap();
    let said = |text: &str| {
        let body = json!({ "messages": [{ "role": "user", "content": text }] });
        let (_, answer) = ask(&endpoint, "/v1/chat/completions", &body);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["choices"][0]["message"]["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let answers = ["a", "the weather?", "b", "c"].map(said);
    assert_eq!(answers, ["one", "rain", "two", "4 of 1: c"]);
    endpoint.wait_until_played();
    let calls = endpoint.calls();
    assert_eq!(calls.len(), 4);
    assert_eq!(calls[1].json()["messages"][0]["content"], "the weather?");
    assert_eq!(calls[1].header("Host"), Some("x"));
}

#[test]
fn tool_results_are_echoed_in_every_format() {
    let results = [
        json!({ "messages": [{ "role": "tool", "content": "42" }] }),
        json!({ "input": [{ "type": "function_call_output", "output": "42" }] }),
        json!({ "messages": [{ "role": "user", "content": [
            { "type": "tool_result", "content": [{ "type": "text", "text": "42" }] }] }] }),
        json!({ "contents": [{ "role": "user", "parts": [
            { "functionResponse": { "response": { "output": "42" } } }] }] }),
        json!({ "messages": [{ "role": "tool", "content": "42" }], "stream": false }),
    ];
    for ((_, path), body) in FORMATS.iter().zip(results) {
        let path = path.replace(":streamGenerateContent?alt=sse", ":generateContent");
        let endpoint =
            ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply("It is {{tool}}!")))
                .unwrap();
        let (_, answer) = ask(&endpoint, &path, &body);
        assert!(answer.contains("It is 42!"), "{path}: {answer}");
    }
}

#[test]
fn failures_speak_the_format() {
    let told: Vec<String> = FORMATS
        .iter()
        .map(|(_, path)| {
            let busy = ScriptStep::status(429).header("Retry-After", "7");
            let endpoint = ScriptedEndpoint::start(EndpointScript::steps([busy])).unwrap();
            let (head, body) = ask(&endpoint, path, &hello(true));
            assert!(head.contains("Retry-After: 7"), "{head}");
            let (_, over) = ask(&endpoint, path, &hello(true));
            format!("{body}\n{over}")
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    {"error":{"message":"scripted status 429","type":"rate_limit_error","param":null,"code":null}}
    {"error":{"message":"the script has no step for model call 2; add one, or `otherwise`","type":"invalid_request_error","param":null,"code":null}}
    {"error":{"message":"scripted status 429","type":"rate_limit_error","param":null,"code":null}}
    {"error":{"message":"the script has no step for model call 2; add one, or `otherwise`","type":"invalid_request_error","param":null,"code":null}}
    {"type":"error","error":{"type":"rate_limit_error","message":"scripted status 429"}}
    {"type":"error","error":{"type":"invalid_request_error","message":"the script has no step for model call 2; add one, or `otherwise`"}}
    {"error":{"code":429,"message":"scripted status 429","status":"RESOURCE_EXHAUSTED"}}
    {"error":{"code":400,"message":"the script has no step for model call 2; add one, or `otherwise`","status":"INVALID_ARGUMENT"}}
    {"error":"scripted status 429"}
    {"error":"the script has no step for model call 2; add one, or `otherwise`"}
    "#);
}

#[test]
fn an_answer_breaks_after_so_many_bytes() {
    let body = hello(true).to_string();
    for fault in [AnswerFault::Cut(100), AnswerFault::Reset(100)] {
        let step = ScriptStep::reply("a long reply that goes on").fault(fault);
        let endpoint = ScriptedEndpoint::start(EndpointScript::always(step)).unwrap();
        let answer = raw(&endpoint, "POST", "/v1/chat/completions", &body);
        let answer = String::from_utf8(answer).unwrap();
        let (_, sent) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(sent.len(), "64\r\n".len() + 100 + "\r\n".len(), "{sent}");
    }
}

#[test]
fn a_stream_can_fail_halfway_or_never_end() {
    let error = AnswerFault::Error {
        kind: "overloaded_error".to_owned(),
        message: "Overloaded".to_owned(),
    };
    for (name, path) in FORMATS {
        let step = ScriptStep::reply("x".repeat(200)).fault(error.clone());
        let endpoint = ScriptedEndpoint::start(EndpointScript::always(step)).unwrap();
        let (_, body) = ask(&endpoint, path, &hello(true));
        let last = body.trim_end().lines().last().unwrap();
        assert!(last.contains("Overloaded"), "{name}: {last}");
        assert!(body.contains("xxxx"), "{name}: {body}");
    }
    for fault in [AnswerFault::Endless, AnswerFault::EndlessLine] {
        let endpoint = ScriptedEndpoint::start(EndpointScript::always(
            ScriptStep::reply("on ").fault(fault),
        ))
        .unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", endpoint.port())).unwrap();
        let body = hello(true).to_string();
        let length = body.len();
        write!(
            stream,
            "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut much = vec![0; 1_000_000];
        stream.read_exact(&mut much).unwrap();
    }
}

#[test]
fn a_stalled_answer_ends_with_the_endpoint() {
    let step = ScriptStep::reply("wait").fault(AnswerFault::Stall(0));
    let endpoint = ScriptedEndpoint::start(EndpointScript::always(step)).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", endpoint.port())).unwrap();
    write!(
        stream,
        "POST /api/chat HTTP/1.1\r\ncontent-length: 2\r\n\r\n{{}}"
    )
    .unwrap();
    let mut head = [0; 15];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    drop(endpoint);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
}

#[test]
fn other_routes_are_served() {
    let page = ScriptStep::page(200, "text/html", "<p>hi</p>").when(StepRule {
        path: Some("/page".to_owned()),
        ..StepRule::default()
    });
    let script = EndpointScript {
        models: vec!["tiny".to_owned()],
        context_window: Some(4096),
        ..EndpointScript::steps([page])
    };
    let endpoint = ScriptedEndpoint::start(script).unwrap();
    let get = |path: &str| {
        let answer = String::from_utf8(raw(&endpoint, "GET", path, "")).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    assert_eq!(get("/page/1"), "<p>hi</p>");
    assert!(get("/v1/models").contains("\"id\":\"tiny\""));
    assert!(get("/api/tags").contains("\"name\":\"tiny\""));
    assert!(get("/props").contains("\"n_ctx\":4096"));
    assert!(get("/nowhere").contains("no such route: GET /nowhere"));
    let (_, embedded) = ask(
        &endpoint,
        "/v1/embeddings",
        &json!({ "input": ["a b", "b a"] }),
    );
    let embedded: Value = serde_json::from_str(&embedded).unwrap();
    assert_eq!(
        embedded["data"][0]["embedding"],
        embedded["data"][1]["embedding"]
    );
    let long = json!({ "messages": [{ "role": "user", "content": "x".repeat(20_000) }] });
    let (head, over) = ask(&endpoint, "/v1/chat/completions", &long);
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    assert!(over.contains("exceed_context_size_error"), "{over}");
}

#[test]
fn a_key_is_asked_for() {
    let script = EndpointScript {
        key: Some("sk-right".to_owned()),
        ..EndpointScript::always(ScriptStep::reply("hi"))
    };
    let endpoint = ScriptedEndpoint::start(script).unwrap();
    let (head, body) = ask(&endpoint, "/v1/messages", &hello(false));
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    assert!(body.contains("authentication_error"), "{body}");
    let (head, _) = ask(&endpoint, "/v1/messages?key=sk-right", &hello(false));
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However it is cut on the way, the same bytes arrive.
    #[test]
    fn cuts_change_nothing(text in "\\PC{1,60}", piece in 1_usize..9, write in 1_usize..9, format in 0_usize..5) {
        let step = ScriptStep { piece: Some(piece), ..ScriptStep::reply(text.clone()) };
        let cut = ScriptStep { write: Some(write), ..step.clone() };
        let endpoint = ScriptedEndpoint::start(EndpointScript::steps([step, cut])).unwrap();
        let path = FORMATS[format].1;
        let (_, one) = ask(&endpoint, path, &hello(true));
        let (_, other) = ask(&endpoint, path, &hello(true));
        let steady = |body: &str| body.replace("00000002", "00000001");
        // The second request is the first again, so its prompt is cached.
        let steady_counts = |body: &str| {
            let no_digits: String = steady(body).chars().filter(|c| !c.is_ascii_digit()).collect();
            no_digits
        };
        prop_assert_eq!(steady_counts(&one), steady_counts(&other));
    }

    #[test]
    fn crlf_and_pings_are_only_dress(text in "[a-z ]{1,40}") {
        let dressed = ScriptStep { line: LineEnding::Crlf, ping: true, ..ScriptStep::reply(text.clone()) };
        let endpoint = ScriptedEndpoint::start(EndpointScript::always(dressed)).unwrap();
        let (_, body) = ask(&endpoint, "/v1/chat/completions", &hello(true));
        let told: String = body
            .split("\r\n")
            .filter_map(|line| line.strip_prefix("data: "))
            .filter_map(|data| serde_json::from_str::<Value>(data).ok())
            .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
            .collect();
        prop_assert_eq!(told, text);
        prop_assert!(body.contains(": ping\r\n\r\n"));
    }
}
