//! The model interfaces: OpenAI's two and Anthropic's, streamed and whole.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use super::{TestGateway, message, said};
use crate::scene::ScriptedHome;

fn scene() -> ScriptedHome {
    ScriptedHome::new(EndpointScript::always(ScriptStep::reply(
        "You said {{user}}.",
    )))
}

/// The data of the events of a stream.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

#[test]
fn a_chat_completion_is_answered_whole_and_in_a_stream() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply(
        "An answer that is long enough for several pieces of a stream.",
    )));
    let gateway = TestGateway::start(&scene.home);
    let models = gateway.get("/v1/models").json();
    let ids: Vec<&str> = models["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|model| model["id"].as_str())
        .collect();
    assert_eq!(ids, ["chela", "chela/main"]);
    let whole = gateway.post("/v1/chat/completions", &message("hi"));
    let text = said(&whole);
    assert!(text.starts_with("An answer"), "{text}");
    assert_eq!(whole.json()["object"], "chat.completion");
    assert!(whole.json()["usage"]["prompt_tokens"].as_u64().unwrap() > 0);

    let mut ask = message("hi");
    ask["stream"] = true.into();
    ask["stream_options"] = json!({ "include_usage": true });
    let streamed = gateway.post("/v1/chat/completions", &ask);
    assert!(
        streamed.head.contains("text/event-stream"),
        "{}",
        streamed.head
    );
    let events = events(&streamed.body);
    let pieces: Vec<&str> = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .filter(|piece| !piece.is_empty())
        .collect();
    assert!(pieces.len() > 1, "{pieces:?}");
    assert_eq!(pieces.concat(), text);
    assert!(
        events
            .iter()
            .any(|event| event["choices"][0]["finish_reason"] == "stop")
    );
    assert!(
        events
            .iter()
            .any(|event| event["usage"]["total_tokens"].as_u64() > Some(0))
    );
    assert!(
        streamed.body.trim_end().ends_with("data: [DONE]"),
        "{}",
        streamed.body
    );
}

#[test]
fn a_session_is_kept_where_one_is_named_and_not_elsewhere() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    said(&gateway.say("main", "remember the plum"));
    said(&gateway.say("main", "second"));
    let asked = scene.endpoint.calls().pop().unwrap().body;
    assert!(asked.contains("remember the plum"), "{asked}");
    // The terminal talks in the same session.
    let exported = scene
        .home
        .run(&["sessions", "export", "agent:main:main"])
        .ok();
    assert!(exported.contains("remember the plum"), "{exported}");
    said(&gateway.post("/v1/chat/completions", &message("third")));
    let asked = scene.endpoint.calls().pop().unwrap().body;
    assert!(!asked.contains("plum"), "{asked}");

    // Whom a program speaks for has a session of their own.
    let ask = |user: &str, text: &str| {
        let mut ask = message(text);
        ask["user"] = user.into();
        said(&gateway.post("/v1/chat/completions", &ask));
        scene.endpoint.calls().pop().unwrap().body
    };
    ask("ann", "the word is quince");
    assert!(ask("ann", "what was it?").contains("quince"));
    assert!(!ask("ben", "what was it?").contains("quince"));
}

#[test]
fn what_a_program_tells_of_earlier_words_is_external() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let ask = json!({ "messages": [
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "first words" },
        { "role": "assistant", "content": "an earlier answer" },
        { "role": "user", "content": [{ "type": "text", "text": "and now?" }] },
    ] });
    said(&gateway.post("/v1/chat/completions", &ask));
    let asked = scene.endpoint.calls().pop().unwrap().body;
    // It stands between the marks of foreign text.
    let before = &asked[..asked.find("an earlier answer").unwrap()];
    let opened = before.rfind("<<<EXTERNAL_UNTRUSTED_CONTENT");
    assert!(opened.is_some(), "{asked}");
    assert!(opened > before.rfind("<<<END_EXTERNAL"), "{asked}");
    assert!(asked.contains("Be brief."), "{asked}");
}

#[test]
fn the_newer_interface_goes_on_where_an_answer_ended() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let first = gateway.post(
        "/v1/responses",
        &json!({ "model": "chela/main", "input": "keep the fig" }),
    );
    assert_eq!(first.status, 200, "{first:?}");
    let first = first.json();
    assert_eq!(first["status"], "completed");
    assert!(
        first["output"][0]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("keep the fig")
    );
    let next = json!({ "input": [{ "role": "user", "content": "go on" }], "previous_response_id": first["id"], "stream": true });
    let streamed = gateway.post("/v1/responses", &next);
    let events = events(&streamed.body);
    assert_eq!(events.first().unwrap()["type"], "response.created");
    assert_eq!(events.last().unwrap()["type"], "response.completed");
    let numbers: Vec<u64> = events
        .iter()
        .filter_map(|event| event["sequence_number"].as_u64())
        .collect();
    assert!(
        numbers.is_sorted() && numbers.len() == events.len(),
        "{numbers:?}"
    );
    assert!(
        scene
            .endpoint
            .calls()
            .pop()
            .unwrap()
            .body
            .contains("keep the fig")
    );
    let unknown = gateway.post(
        "/v1/responses",
        &json!({ "input": "x", "previous_response_id": "resp_0" }),
    );
    assert_eq!(unknown.status, 404, "{unknown:?}");
}

#[test]
fn anthropics_interface_answers_in_its_own_form() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let key = gateway.token.clone();
    let ask = json!({ "model": "chela", "max_tokens": 100, "system": "Be kind.", "messages": [{ "role": "user", "content": "hello" }] });
    let whole = gateway.ask(
        "POST",
        "/v1/messages",
        &[("x-api-key", &key)],
        &ask.to_string(),
    );
    assert_eq!(whole.status, 200, "{whole:?}");
    assert_eq!(whole.json()["type"], "message");
    assert!(
        whole.json()["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("hello")
    );
    let mut ask = ask;
    ask["stream"] = true.into();
    let streamed = gateway.ask(
        "POST",
        "/v1/messages",
        &[("x-api-key", &key)],
        &ask.to_string(),
    );
    let kinds: Vec<String> = events(&streamed.body)
        .iter()
        .filter_map(|event| Some(event["type"].as_str()?.to_owned()))
        .collect();
    assert_eq!(kinds.first().map(String::as_str), Some("message_start"));
    assert_eq!(kinds.last().map(String::as_str), Some("message_stop"));
    let refused = gateway.ask("POST", "/v1/messages", &[("x-api-key", &key)], "{}");
    assert_eq!(refused.json()["type"], "error");
}

#[test]
fn what_cannot_be_done_is_said() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let mut tools = message("hi");
    for (tool, words) in [
        (
            json!({ "type": "function", "function": { "name": "exec" } }),
            "Chela reserves this name",
        ),
        (
            json!({ "type": "web_search_preview" }),
            "a tool of the type `web_search_preview`",
        ),
        (
            json!({ "type": "function", "function": { "name": "a b" } }),
            "no model can call it",
        ),
    ] {
        tools["tools"] = json!([tool]);
        let answer = gateway.post("/v1/chat/completions", &tools);
        assert_eq!(answer.status, 400);
        assert!(answer.body.contains(words), "{answer:?}");
    }
    let mut other = message("hi");
    other["model"] = "gpt-5".into();
    let answer = gateway.post("/v1/chat/completions", &other);
    assert_eq!(answer.status, 404);
    assert!(answer.body.contains("chela/main"), "{answer:?}");
    let answer = gateway.post("/v1/chat/completions", &json!({ "messages": [] }));
    assert_eq!(answer.status, 400);
    let document = gateway.get("/openapi.json").json();
    assert!(document["paths"]["/v1/chat/completions"]["post"].is_object());
    assert!(document["paths"].get("/hooks/agent").is_none());
}

#[test]
fn a_turn_that_fails_is_an_error_with_its_reason() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::status(401)));
    let gateway = TestGateway::start(&scene.home);
    let answer = gateway.post("/v1/chat/completions", &message("hi"));
    assert_eq!(answer.status, 502, "{answer:?}");
    assert_eq!(answer.json()["error"]["code"], "turn_failed");
}

#[test]
fn vectors_come_from_the_table_inside() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let ask = json!({ "model": "local", "input": ["the doctor's appointment", "a physician's visit", "compile the program"] });
    let rows = gateway.post("/v1/embeddings", &ask).json();
    let vector = |at: usize| -> Vec<f64> {
        let row = rows["data"][at]["embedding"].as_array().unwrap();
        row.iter().filter_map(Value::as_f64).collect()
    };
    let near = |one: &[f64], other: &[f64]| {
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
    };
    assert!(near(&vector(0), &vector(1)) > near(&vector(0), &vector(2)));
    assert!(scene.endpoint.calls().is_empty());
}
