use std::time::Duration;

use serde_json::{Value, json};

use super::call_model;
use crate::testing::{ServerPlay, models_with, request, serve, target};
use crate::{
    CallFailure, ModelError, ModelHttp, ModelResponse, ModelTarget, ResponseEvent, StopReason,
};

const HELLO: &str = concat!(
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
);

async fn ask(target: &ModelTarget) -> (Vec<ResponseEvent>, Result<ModelResponse, ModelError>) {
    let mut events = Vec::new();
    let mut listen = |event| events.push(event);
    let response = call_model(target, &ModelHttp::direct(), &request("hi"), &mut listen).await;
    (events, response)
}

/// What a completions endpoint that plays this leads to.
async fn fault(play: ServerPlay, more: Value) -> ModelError {
    let server = serve(vec![play]).await;
    let target = target("openai-completions", &server.url, more);
    let error = ask(&target).await.1.unwrap_err();
    assert!(
        !format!("{error:?}").contains("sk-test-secret"),
        "{error:?}"
    );
    error
}

async fn status(status: u16, headers: &str, body: &str) -> ModelError {
    fault(ServerPlay::status(status, headers, body), json!({})).await
}

#[tokio::test]
async fn an_answer_is_streamed_and_its_cost_estimated_when_nobody_tells() {
    let server = serve(vec![ServerPlay::stream(HELLO)]).await;
    let (events, response) = ask(&target("openai-completions", &server.url, json!({}))).await;
    let response = response.unwrap();
    assert_eq!(events, [ResponseEvent::Text("Hello".into())]);
    assert_eq!(
        (response.stop, response.model.as_str()),
        (StopReason::End, "p/m")
    );
    assert!(response.usage.estimated && response.usage.input > 0 && response.usage.output > 0);
    let (head, body) = server.asked.lock().unwrap()[0].clone();
    let head = head.to_ascii_lowercase();
    assert!(
        head.starts_with("post /v1/chat/completions http/1.1"),
        "{head}"
    );
    assert!(
        head.contains("authorization: bearer sk-test-secret"),
        "{head}"
    );
    assert!(body.contains("\"stream\":true"), "{body}");
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_understood() {
    let body = json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]});
    let play = ServerPlay::status(200, "content-type: application/json\r\n", &body.to_string());
    let server = serve(vec![play]).await;
    let response = ask(&target("openai-completions", &server.url, json!({})))
        .await
        .1;
    assert_eq!(response.unwrap().content, [crate::MessagePart::text("Hi")]);
}

#[tokio::test]
async fn silence_after_the_last_word_does_not_matter() {
    let server = serve(vec![ServerPlay::Hang(ServerPlay::streamed(HELLO))]).await;
    let response = ask(&target("openai-completions", &server.url, json!({})))
        .await
        .1;
    assert_eq!(response.unwrap().stop, StopReason::End);
}

#[tokio::test]
async fn an_empty_answer_is_an_answer() {
    let server = serve(vec![ServerPlay::stream(
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    )])
    .await;
    let response = ask(&target("openai-completions", &server.url, json!({})))
        .await
        .1
        .unwrap();
    assert!(response.content.is_empty());
    assert_eq!(response.stop, StopReason::End);
}

#[tokio::test]
async fn every_fault_has_its_outcome() {
    use CallFailure::*;
    let wait = |seconds| Some(Duration::from_secs(seconds));
    let none = None;
    let cases: Vec<(&str, u16, &str, &str, CallFailure)> = vec![
        (
            "llama.cpp overflow",
            400,
            "",
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            ContextOverflow,
        ),
        (
            "openai overflow",
            400,
            "",
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}"#,
            ContextOverflow,
        ),
        (
            "anthropic overflow",
            400,
            "",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            ContextOverflow,
        ),
        (
            "anthropic too large",
            413,
            "",
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ContextOverflow,
        ),
        (
            "gemini overflow",
            400,
            "",
            r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            ContextOverflow,
        ),
        (
            "vllm overflow",
            400,
            "",
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}"#,
            ContextOverflow,
        ),
        (
            "bad key",
            401,
            "",
            r#"{"error":{"message":"Incorrect API key provided: sk-test-secret.","code":"invalid_api_key"}}"#,
            Unauthorized,
        ),
        (
            "gemini bad key",
            400,
            "",
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            Unauthorized,
        ),
        (
            "forbidden",
            403,
            "",
            r#"{"error":"Forbidden"}"#,
            Unauthorized,
        ),
        (
            "no money",
            402,
            "",
            r#"{"error":{"message":"This request requires more credits"}}"#,
            Billing,
        ),
        (
            "openai quota",
            429,
            "",
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}"#,
            Billing,
        ),
        (
            "anthropic credit",
            400,
            "",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            Billing,
        ),
        (
            "no model",
            404,
            "",
            r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#,
            NoModel,
        ),
        (
            "openrouter no model",
            400,
            "",
            r#"{"error":{"message":"m is not a valid model ID","code":400}}"#,
            NoModel,
        ),
        (
            "rate limit",
            429,
            "retry-after: 7\r\n",
            r#"{"error":{"message":"Rate limit reached"}}"#,
            RateLimited {
                retry_after: wait(7),
            },
        ),
        (
            "gemini rate limit",
            429,
            "",
            r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{"retryDelay":"34s"}]}}]"#,
            RateLimited {
                retry_after: wait(34),
            },
        ),
        (
            "overloaded",
            529,
            "",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Overloaded { retry_after: none },
        ),
        (
            "llama.cpp loading",
            503,
            "",
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            Overloaded { retry_after: none },
        ),
        ("server", 500, "", "Internal Server Error", Server),
        (
            "bad gateway",
            502,
            "content-type: text/html\r\n",
            "<html><head><title>502 Bad Gateway</title></head></html>",
            Server,
        ),
        (
            "bad request",
            400,
            "",
            r#"{"detail":"field required"}"#,
            Rejected,
        ),
        (
            "moved",
            301,
            "location: https://elsewhere.example/v1\r\n",
            "",
            Rejected,
        ),
    ];
    let mut told = Vec::new();
    for (name, code, headers, body, wanted) in cases {
        let error = status(code, headers, body).await;
        assert_eq!(error.failure, wanted, "{name}: {error:?}");
        told.push(format!(
            "{}\n  -> {}",
            error.message,
            error.hint.unwrap_or_default()
        ));
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[tokio::test]
async fn what_goes_wrong_on_the_way_is_told_apart() {
    let half = &HELLO[..HELLO.find("finish").unwrap()];
    let short = json!({"stallSeconds": 0.05, "firstByteSeconds": 0.05});
    let cases = [
        ("cut", ServerPlay::stream(half), json!({}), CallFailure::Cut),
        (
            "nothing at all",
            ServerPlay::stream(""),
            json!({}),
            CallFailure::Cut,
        ),
        (
            "closed before an answer",
            ServerPlay::Say(Vec::new()),
            json!({}),
            CallFailure::Unreachable,
        ),
        (
            "malformed",
            ServerPlay::stream("data: {oops\n\n"),
            json!({}),
            CallFailure::Malformed,
        ),
        (
            "a page",
            ServerPlay::status(
                200,
                "content-type: text/html\r\n",
                "<!doctype html><title>Welcome</title>",
            ),
            json!({}),
            CallFailure::Malformed,
        ),
        (
            "an error in the stream",
            ServerPlay::stream(
                "data: {\"error\":{\"message\":\"sk-test-secret broke\",\"code\":503}}\n\n",
            ),
            json!({}),
            CallFailure::Overloaded { retry_after: None },
        ),
        (
            "stalled in the middle",
            ServerPlay::Hang(ServerPlay::streamed(half)),
            short.clone(),
            CallFailure::Stalled,
        ),
        (
            "stalled at once",
            ServerPlay::Hang(Vec::new()),
            short,
            CallFailure::Stalled,
        ),
    ];
    let mut told = Vec::new();
    for (name, play, more, wanted) in cases {
        let error = fault(play, more).await;
        assert_eq!(error.failure, wanted, "{name}: {error:?}");
        told.push(format!(
            "{name}: {}\n  -> {}",
            error.message,
            error.hint.unwrap_or_default()
        ));
    }
    insta::with_settings!({filters => vec![(r"127\.0\.0\.1:\d+", "[server]")]}, {
        insta::assert_snapshot!(told.join("\n"));
    });
}

#[tokio::test]
async fn nobody_listening_and_no_key_are_said_so() {
    let refused = target("openai-completions", "http://127.0.0.1:9/v1", json!({}));
    let error = ask(&refused).await.1.unwrap_err();
    assert_eq!(error.failure, CallFailure::Unreachable);
    assert!(
        error.message.contains("no server at http://127.0.0.1:9/v1"),
        "{error}"
    );
    assert!(error.hint.unwrap().starts_with("is the server running?"));
    let models = models_with(&json!({}), &[]);
    let error = ask(&models.resolve("anthropic/claude-sonnet-4-5").unwrap())
        .await
        .1
        .unwrap_err();
    assert_eq!(error.failure, CallFailure::Unauthorized);
    assert_eq!(
        error.hint.as_deref(),
        Some("set ANTHROPIC_API_KEY, or models.providers.anthropic.apiKey")
    );
}

#[tokio::test]
async fn a_call_may_only_take_so_long() {
    let server = serve(vec![ServerPlay::Hang(ServerPlay::streamed(": ping\n\n"))]).await;
    let slow = target("openai-completions", &server.url, json!({}))
        .with_timeout(Some(Duration::from_millis(60)));
    let error = ask(&slow).await.1.unwrap_err();
    assert_eq!(error.failure, CallFailure::Stalled);
    assert!(error.message.contains("took longer than 0.06 s"), "{error}");
}

#[tokio::test]
async fn dropping_the_future_closes_the_connection() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (spoken, heard) = tokio::sync::oneshot::channel();
    let endpoint = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut block = [0; 8192];
        let _ = socket.read(&mut block).await.unwrap();
        let half =
            ServerPlay::streamed("data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n");
        socket.write_all(&half).await.unwrap();
        // Ends when the other side goes away.
        while socket.read(&mut block).await.unwrap_or(0) > 0 {}
    });
    let call = tokio::spawn(async move {
        let mut spoken = Some(spoken);
        let mut listen = |_| {
            let _ = spoken.take().map(|spoken| spoken.send(()));
        };
        let target = target("openai-completions", &url, json!({}));
        call_model(&target, &ModelHttp::direct(), &request("hi"), &mut listen).await
    });
    heard.await.unwrap();
    call.abort();
    tokio::time::timeout(Duration::from_secs(5), endpoint)
        .await
        .expect("the connection stays open")
        .unwrap();
}
