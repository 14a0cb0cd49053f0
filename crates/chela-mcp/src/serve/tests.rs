use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::*;
use crate::era::{CAPABILITIES_KEY, MODERN_VERSION, VERSION_KEY};

struct Echo;

impl ServedContent for Echo {
    fn instructions(&self) -> String {
        "Says what it hears.".to_owned()
    }

    fn tools(&self) -> Vec<ServedTool> {
        vec![ServedTool {
            name: "echo",
            title: "Echo",
            description: "Says it again.",
            schema: json!({ "type": "object", "properties": { "text": { "type": "string" } } }),
            reads_only: true,
        }]
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        arguments: &'a Map<String, Value>,
    ) -> ServedFuture<'a, ServedAnswer> {
        Box::pin(async move {
            match arguments.get("text").and_then(Value::as_str) {
                Some("for ever") => std::future::pending().await,
                Some(text) => Ok(ServedAnswer::text(text)),
                None => Ok(ServedAnswer::error("text is missing")),
            }
        })
    }

    fn resources(&self) -> ServedFuture<'_, Vec<ServedResource>> {
        Box::pin(async {
            Ok(vec![ServedResource {
                uri: "echo://a".to_owned(),
                name: "a".to_owned(),
                description: String::new(),
                mime: "text/plain",
            }])
        })
    }

    fn prompts(&self) -> ServedFuture<'_, Vec<ServedPrompt>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn prompt<'a>(&'a self, _: &'a str) -> ServedFuture<'a, String> {
        Box::pin(async { Err(RpcError::invalid_params("it is not there")) })
    }

    fn read<'a>(&'a self, uri: &'a str) -> ServedFuture<'a, ServedText> {
        Box::pin(async move {
            match uri {
                "echo://a" => Ok(ServedText {
                    uri: uri.to_owned(),
                    mime: "text/plain",
                    text: "a".to_owned(),
                }),
                _ => Err(RpcError::invalid_params("it is not there")),
            }
        })
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

/// What is answered to these lines, in the order of their ids.
fn told(lines: &[Value]) -> Vec<Value> {
    block_on(async {
        let service = McpService::new(Arc::new(Echo));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        serve_lines(service, text.as_bytes(), ours).await.unwrap();
        let mut answered = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut theirs, &mut answered)
            .await
            .unwrap();
        let mut answers: Vec<Value> = answered
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        answers.sort_by_key(|answer: &Value| answer["id"].as_i64());
        answers
    })
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn modern(params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({ VERSION_KEY: MODERN_VERSION, CAPABILITIES_KEY: {} });
    params
}

#[test]
fn both_eras_are_answered_over_lines() {
    let answers = told(&[
        request(
            1,
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {} }),
        ),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        request(2, "tools/list", json!({})),
        request(
            3,
            "tools/call",
            json!({ "name": "echo", "arguments": { "text": "hi" } }),
        ),
        request(4, "server/discover", modern(json!({}))),
        request(
            5,
            "tools/call",
            modern(json!({ "name": "echo", "arguments": { "text": "ho" } })),
        ),
        request(6, "resources/read", json!({ "uri": "echo://b" })),
        request(7, "resources/read", modern(json!({ "uri": "echo://b" }))),
        request(8, "no/such", json!({})),
        request(9, "tools/call", json!({ "name": "nothing" })),
    ]);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[1]["result"]["tools"][0]["name"], "echo");
    assert_eq!(answers[1]["result"].get("ttlMs"), None);
    assert_eq!(answers[2]["result"]["content"][0]["text"], "hi");
    assert_eq!(answers[3]["result"]["supportedVersions"][0], MODERN_VERSION);
    assert_eq!(answers[4]["result"]["resultType"], "complete");
    assert_eq!(answers[5]["error"]["code"], -32_002);
    assert_eq!(answers[6]["error"]["code"], -32_602);
    assert_eq!(answers[7]["error"]["code"], -32_601);
    assert_eq!(answers[8]["error"]["code"], -32_602);
}

#[test]
fn a_request_that_is_cancelled_is_not_answered() {
    let answers = told(&[
        request(
            1,
            "tools/call",
            json!({ "name": "echo", "arguments": { "text": "for ever" } }),
        ),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        request(2, "ping", json!({})),
        json!("no message"),
    ]);
    let ids: Vec<Option<i64>> = answers.iter().map(|answer| answer["id"].as_i64()).collect();
    assert_eq!(ids, [None, Some(2)]);
}

fn posted(
    version: Option<&str>,
    method: Option<&str>,
    name: Option<&str>,
    body: Value,
) -> (u16, i64) {
    let service = McpService::new(Arc::new(Echo));
    let body = body.to_string();
    let reply = block_on(answer_post(
        &service,
        HttpAsk {
            version,
            method,
            name,
            body: body.as_bytes(),
        },
    ));
    let code = reply
        .body
        .as_ref()
        .map(|body| body["error"]["code"].as_i64());
    (reply.status, code.flatten().unwrap_or_default())
}

#[test]
fn headers_say_what_the_body_says() {
    let now = Some(MODERN_VERSION);
    let call = || {
        request(
            1,
            "tools/call",
            modern(json!({ "name": "echo", "arguments": { "text": "x" } })),
        )
    };
    assert_eq!(
        posted(now, Some("tools/call"), Some(" echo "), call()),
        (200, 0)
    );
    assert_eq!(
        posted(now, Some("tools/call"), Some("=?base64?ZWNobw==?="), call()),
        (200, 0)
    );
    for (version, method, name) in [
        (now, Some("tools/list"), Some("echo")),
        (now, Some("TOOLS/CALL"), Some("echo")),
        (now, None, Some("echo")),
        (now, Some("tools/call"), Some("other")),
        (now, Some("tools/call"), Some("=?base64?ZWNobw=?=")),
        (now, Some("tools/call"), None),
        (None, Some("tools/call"), Some("echo")),
        (Some("2025-11-25"), Some("tools/call"), Some("echo")),
    ] {
        let said = posted(version, method, name, call());
        assert_eq!(said, (400, -32_020), "{version:?} {method:?} {name:?}");
    }
}

#[test]
fn versions_and_methods_that_are_not_there_have_their_status() {
    let now = Some(MODERN_VERSION);
    let list = Some("tools/list");
    assert_eq!(
        posted(Some("v9"), list, None, request(1, "tools/list", json!({}))),
        (400, -32_022)
    );
    assert_eq!(
        posted(now, list, None, request(1, "tools/list", json!({}))),
        (400, -32_602)
    );
    let gone = request(1, "initialize", modern(json!({})));
    assert_eq!(posted(now, Some("initialize"), None, gone), (404, -32_601));
    let older = request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    assert_eq!(posted(None, None, None, older), (200, 0));
    let unknown = request(1, "no/such", json!({}));
    assert_eq!(posted(None, None, None, unknown), (200, -32_601));
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(posted(None, None, None, note).0, 202);
    assert_eq!(posted(None, None, None, json!("x")).0, 400);
}
