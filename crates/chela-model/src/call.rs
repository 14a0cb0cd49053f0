//! One call: send, listen, explain what went wrong.

use std::time::{Duration, Instant};

use chela_core::tokens;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::time::timeout;

use crate::complaint::{EndpointComplaint, judge, retry_after};
use crate::fault::CallFault;
use crate::provider::{CallCredentials, KeyPresentation};
use crate::tls_fault::TlsFault;
use crate::wire::{self, AnswerDecoder, DecodedAnswer, StreamFault, StreamFraming};
use crate::{
    CallFailure, EncodedRequest, MessagePart, ModelError, ModelHttp, ModelRequest, ModelResponse,
    ModelTarget, ResponseEvent, Usage,
};

/// Enough of an error to explain it.
const MOST_ERROR_BYTES: usize = 64 << 10;
/// After the last word of an answer, its cost may still follow.
const LINGER: Duration = Duration::from_secs(2);
/// After the end, only the end of the connection's message, so that it can be used again.
const PARTING: Duration = Duration::from_millis(50);
/// An endpoint that only shows that it lives is waited for so many times as long as a silent one.
const PINGS: u32 = 5;

/// Calls a model once, in the mode the request names. Dropping the future ends the call.
pub async fn call_model(
    target: &ModelTarget,
    http: &ModelHttp,
    request: &ModelRequest,
    sink: &mut (dyn FnMut(ResponseEvent) + Send),
) -> Result<ModelResponse, ModelError> {
    let encoded = wire::encode(target, request);
    call_encoded(target, http, request, &encoded, sink).await
}

/// The same with what is sent at hand; `request` is what it was made from.
pub async fn call_encoded(
    target: &ModelTarget,
    http: &ModelHttp,
    request: &ModelRequest,
    encoded: &EncodedRequest,
    sink: &mut (dyn FnMut(ResponseEvent) + Send),
) -> Result<ModelResponse, ModelError> {
    let credentials = match target.provider.credentials().await {
        Ok(credentials) => credentials,
        Err(error) => return Err(CallFault::Key(error).explain(target, str::to_owned)),
    };
    let limits = [target.call_timeout, target.provider.patience.whole];
    let headers = wire::headers(target, request, credentials.key.as_ref());
    tracing::debug!(
        method = "POST",
        host = host_of(encoded.url()),
        model = target.reference(),
        bytes = encoded.bytes.len(),
        tokens = estimate(request, &[]).input,
        "a model is asked"
    );
    let began = Instant::now();
    let attempt = attempt(target, http, encoded, headers, &credentials, sink);
    let result = match limits.into_iter().flatten().min() {
        Some(limit) => timeout(limit, attempt)
            .await
            .unwrap_or(Err(CallFault::TooSlow(limit))),
        None => attempt.await,
    };
    let answer = match result {
        Ok(answer) => answer,
        Err(fault) => {
            let error = fault.explain(target, |text| credentials.scrub(text));
            if error.failure == CallFailure::Unauthorized {
                target.provider.forget_credentials().await;
            }
            return Err(error);
        }
    };
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(
        model = target.reference(),
        ms,
        stop = answer.stop.as_str(),
        "the model has answered"
    );
    let usage = match answer.usage {
        Some(usage) if usage.input > 0 => usage,
        // Some tell only what they wrote.
        Some(usage) => Usage {
            output: usage.output,
            ..estimate(request, &answer.content)
        },
        None => estimate(request, &answer.content),
    };
    Ok(ModelResponse {
        content: answer.content,
        stop: answer.stop,
        usage,
        model: target.reference().to_owned(),
        sent: encoded.clone(),
    })
}

/// Nothing else of an address: there may be a key in it.
fn host_of(url: &str) -> String {
    let parsed = reqwest::Url::parse(url);
    parsed
        .ok()
        .and_then(|url| url.host_str().map(str::to_owned))
        .unwrap_or_default()
}

async fn attempt(
    target: &ModelTarget,
    http: &ModelHttp,
    encoded: &EncodedRequest,
    headers: Vec<(&'static str, String)>,
    credentials: &CallCredentials,
    sink: &mut (dyn FnMut(ResponseEvent) + Send),
) -> Result<DecodedAnswer, CallFault> {
    let needs_key = !target.provider.key_variables.is_empty()
        && !target.provider.is_local()
        && target.provider.auth != KeyPresentation::None;
    if credentials.key.is_none() && credentials.headers.is_empty() && needs_key {
        return Err(CallFault::NoKey);
    }
    let decoder = AnswerDecoder::new(
        target.info.api,
        AnswerDecoder::framing(target.info.api),
        encoded.mode,
        &encoded.bytes,
    );
    let url = encoded.url();
    let client = http.client(url).map_err(CallFault::Setup)?;
    let mut post = client.post(url).body(encoded.bytes.clone());
    for (name, value) in headers {
        post = post.header(name, secret(&value)?);
    }
    for (name, value) in &credentials.headers {
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| CallFault::Setup(format!("`{name}` cannot be a header")))?;
        post = post.header(name, secret(value.expose())?);
    }
    let first = target.provider.patience.first;
    let response = timeout(first, send(post))
        .await
        .map_err(|_| CallFault::Stalled(first))?
        .map_err(no_answer)?;
    let status = response.status();
    tracing::debug!(status = status.as_u16(), "the endpoint answers");
    if status.is_success() {
        listen(target, response, decoder, sink).await
    } else {
        Err(refusal(target, response).await)
    }
}

/// A connection kept from the last call may have been closed in the meantime: that is found out
/// by using it, and a second one is made.
async fn send(post: reqwest::RequestBuilder) -> reqwest::Result<reqwest::Response> {
    let again = post.try_clone();
    match (post.send().await, again) {
        (Err(error), Some(again)) if error.is_request() && !error.is_connect() => {
            let error = error.without_url();
            tracing::debug!(%error, "a kept connection is gone: another one is made");
            again.send().await
        }
        (result, _) => result,
    }
}

/// A header nobody logs.
fn secret(value: &str) -> Result<HeaderValue, CallFault> {
    let mut header = HeaderValue::from_str(value).map_err(|_| {
        CallFault::Setup("the key or a header has characters that cannot be sent".to_owned())
    })?;
    header.set_sensitive(true);
    Ok(header)
}

/// Reads the answer while it arrives.
async fn listen(
    target: &ModelTarget,
    mut response: reqwest::Response,
    mut decoder: AnswerDecoder,
    sink: &mut (dyn FnMut(ResponseEvent) + Send),
) -> Result<DecodedAnswer, CallFault> {
    let patience = target.provider.patience;
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default()
        .to_ascii_lowercase();
    let broken = |fault: StreamFault| {
        let failure = match &fault {
            StreamFault::Cut => crate::CallFailure::Cut,
            StreamFault::Malformed(_) => crate::CallFailure::Malformed,
            StreamFault::Said(complaint) => judge(None, complaint, None),
        };
        CallFault::Stream { fault, failure }
    };
    let mut begun = false;
    let (mut said, mut said_at) = (Some(0), Instant::now());
    loop {
        let wait = match (decoder.is_closed(), decoder.is_done(), begun) {
            (true, ..) => PARTING,
            (_, true, _) => LINGER,
            (_, _, true) => patience.between,
            (_, _, false) => patience.first,
        };
        let chunk = match timeout(wait, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => break,
            _ if decoder.is_done() => break,
            Ok(Err(error)) => {
                let error = error.without_url();
                tracing::debug!(model = target.reference(), %error, "an answer broke off");
                return Err(broken(StreamFault::Cut));
            }
            Err(_) => return Err(CallFault::Stalled(wait)),
        };
        if !begun && !chunk.trim_ascii().is_empty() {
            begun = true;
            let start = chunk.trim_ascii_start();
            if start.first() == Some(&b'<') || kind.starts_with("text/html") {
                let page = String::from_utf8_lossy(chunk.get(..MOST_ERROR_BYTES).unwrap_or(&chunk));
                return Err(CallFault::Page(EndpointComplaint::of_body(&page).message));
            }
            // It was asked to stream and does not.
            let is_whole = kind.contains("json") && matches!(start.first(), Some(b'{' | b'['));
            if is_whole && AnswerDecoder::framing(target.info.api) == StreamFraming::Sse {
                tracing::debug!(model = target.reference(), "the answer is not streamed");
                decoder = decoder.whole();
            }
        }
        decoder.feed(&chunk, sink).map_err(broken)?;
        let quiet = patience.between * PINGS;
        if decoder.documents().is_none() || decoder.documents() != said {
            (said, said_at) = (decoder.documents(), Instant::now());
        } else if !decoder.is_done() && said_at.elapsed() > quiet {
            return Err(CallFault::Stalled(quiet));
        }
        if decoder.is_closed() && decoder.is_done() && wait == PARTING {
            break;
        }
    }
    decoder.finish(sink).map_err(broken)
}

/// Reads why the endpoint does not answer.
async fn refusal(target: &ModelTarget, mut response: reqwest::Response) -> CallFault {
    let status = response.status().as_u16();
    let asked = retry_after(response.headers());
    let moved = response
        .headers()
        .get("location")
        .and_then(|place| place.to_str().ok())
        .map(str::to_owned);
    let mut body = Vec::new();
    let between = target.provider.patience.between;
    while body.len() < MOST_ERROR_BYTES
        && let Ok(Ok(Some(chunk))) = timeout(between, response.chunk()).await
    {
        body.extend_from_slice(&chunk);
    }
    let mut complaint = EndpointComplaint::of_body(&String::from_utf8_lossy(&body));
    if let Some(place) = moved.filter(|_| (300..400).contains(&status)) {
        complaint.message = format!("the address has moved to {place}");
    }
    CallFault::Status {
        status,
        failure: judge(Some(status), &complaint, asked),
        complaint,
    }
}

fn no_answer(error: reqwest::Error) -> CallFault {
    if let Some(fault) = TlsFault::behind(&error) {
        return CallFault::Tls(fault);
    }
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let why = cause.to_string();
    if error.is_connect() || error.is_timeout() {
        CallFault::NoConnection(why)
    } else {
        CallFault::Broken(why)
    }
}

/// The endpoint did not say what it cost.
fn estimate(request: &ModelRequest, content: &[MessagePart]) -> Usage {
    let of_parts = |parts: &[MessagePart]| -> usize {
        let count = |part: &MessagePart| match part {
            MessagePart::Text { text } | MessagePart::Reasoning { text, .. } => tokens::count(text),
            MessagePart::ToolCall(call) => {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                tokens::count(&call.name) + tokens::count(&arguments)
            }
            // What most models make of a picture of usual size.
            MessagePart::Image { .. } => 1_000,
        };
        parts.iter().map(count).sum()
    };
    let system = tokens::count(&request.system.stable) + tokens::count(&request.system.tail);
    let messages: usize = request
        .messages
        .iter()
        .map(|message| of_parts(message.content()) + 4)
        .sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tokens::count(&tool.description) + tokens::count(&tool.parameters.to_string()))
        .sum();
    Usage {
        input: (system + messages + tools) as u64,
        output: of_parts(content) as u64,
        estimated: true,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests;
