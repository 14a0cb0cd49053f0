//! One call: send, listen, explain what went wrong.

use std::time::Duration;

use chela_core::tokens;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use tokio::time::timeout;

use crate::fault::{Complaint, Fault, judge, retry_after};
use crate::provider::{Auth, Credentials};
use crate::wire::{self, Answer, Decoder, Framing, StreamFault};
use crate::{EncodedRequest, Event, Http, ModelError, Part, Request, Response, Target, Usage};

/// Enough of an error to explain it.
const MOST_ERROR_BYTES: usize = 64 << 10;
/// After the last word of an answer, its cost may still follow.
const LINGER: Duration = Duration::from_secs(2);
/// After the end, only the end of the connection's message, so that it can be used again.
const PARTING: Duration = Duration::from_millis(50);

/// Calls a model once. What is sent is `encoded`; `request` is what it was made from.
pub async fn stream(
    target: &Target,
    http: &Http,
    request: &Request,
    encoded: &EncodedRequest,
    sink: &mut (dyn FnMut(Event) + Send),
) -> Result<Response, ModelError> {
    let credentials = match target.provider.credentials().await {
        Ok(credentials) => credentials,
        Err(error) => return Err(Fault::Key(error).explain(target, str::to_owned)),
    };
    let limits = [target.call_timeout, target.provider.patience.whole];
    let headers = wire::headers(target, request, credentials.key.as_ref());
    let attempt = attempt(target, http, encoded, headers, credentials, sink);
    let result = match limits.into_iter().flatten().min() {
        Some(limit) => timeout(limit, attempt)
            .await
            .unwrap_or(Err(Fault::TooSlow(limit))),
        None => attempt.await,
    };
    let answer = result.map_err(|fault| fault.explain(target, |text| credentials.scrub(text)))?;
    let usage = match answer.usage {
        Some(usage) if usage.input > 0 => usage,
        // Some tell only what they wrote.
        Some(usage) => Usage {
            output: usage.output,
            ..estimate(request, &answer.content)
        },
        None => estimate(request, &answer.content),
    };
    Ok(Response {
        content: answer.content,
        stop: answer.stop,
        usage,
        model: target.reference().to_owned(),
        sent: encoded.clone(),
    })
}

async fn attempt(
    target: &Target,
    http: &Http,
    encoded: &EncodedRequest,
    headers: Vec<(&'static str, String)>,
    credentials: &Credentials,
    sink: &mut (dyn FnMut(Event) + Send),
) -> Result<Answer, Fault> {
    let needs_key = !target.provider.key_variables.is_empty()
        && !target.provider.is_local()
        && target.provider.auth != Auth::None;
    if credentials.key.is_none() && credentials.headers.is_empty() && needs_key {
        return Err(Fault::NoKey);
    }
    let decoder = Decoder::new(
        target.info.api,
        Decoder::framing(target.info.api),
        encoded.mode,
        &encoded.bytes,
    );
    let url = encoded.url();
    let client = http.client(url).map_err(Fault::Setup)?;
    let mut post = client.post(url).body(encoded.bytes.clone());
    for (name, value) in headers {
        post = post.header(name, secret(&value)?);
    }
    for (name, value) in &credentials.headers {
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| Fault::Setup(format!("`{name}` cannot be a header")))?;
        post = post.header(name, secret(value.expose())?);
    }
    let first = target.provider.patience.first;
    let response = timeout(first, send(post))
        .await
        .map_err(|_| Fault::Stalled(first))?
        .map_err(no_answer)?;
    if response.status().is_success() {
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
            again.send().await
        }
        (result, _) => result,
    }
}

/// A header nobody logs.
fn secret(value: &str) -> Result<HeaderValue, Fault> {
    let mut header = HeaderValue::from_str(value).map_err(|_| {
        Fault::Setup("the key or a header has characters that cannot be sent".to_owned())
    })?;
    header.set_sensitive(true);
    Ok(header)
}

/// Reads the answer while it arrives.
async fn listen(
    target: &Target,
    mut response: reqwest::Response,
    mut decoder: Decoder,
    sink: &mut (dyn FnMut(Event) + Send),
) -> Result<Answer, Fault> {
    let patience = target.provider.patience;
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default()
        .to_ascii_lowercase();
    let broken = |fault: StreamFault| {
        let failure = match &fault {
            StreamFault::Cut => crate::Failure::Cut,
            StreamFault::Malformed(_) => crate::Failure::Malformed,
            StreamFault::Said(complaint) => judge(None, complaint, None),
        };
        Fault::Stream { fault, failure }
    };
    let mut begun = false;
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
            Ok(Err(_)) => return Err(broken(StreamFault::Cut)),
            Err(_) => return Err(Fault::Stalled(wait)),
        };
        if !begun && !chunk.trim_ascii().is_empty() {
            begun = true;
            let start = chunk.trim_ascii_start();
            if start.first() == Some(&b'<') || kind.starts_with("text/html") {
                let page = String::from_utf8_lossy(&chunk[..chunk.len().min(MOST_ERROR_BYTES)]);
                return Err(Fault::Page(Complaint::of_body(&page).message));
            }
            // It was asked to stream and does not.
            let is_whole = kind.contains("json") && matches!(start.first(), Some(b'{' | b'['));
            if is_whole && Decoder::framing(target.info.api) == Framing::Sse {
                decoder = decoder.whole();
            }
        }
        decoder.feed(&chunk, sink).map_err(broken)?;
        if decoder.is_closed() && decoder.is_done() && wait == PARTING {
            break;
        }
    }
    decoder.finish(sink).map_err(broken)
}

/// Reads why the endpoint does not answer.
async fn refusal(target: &Target, mut response: reqwest::Response) -> Fault {
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
    let mut complaint = Complaint::of_body(&String::from_utf8_lossy(&body));
    if let Some(place) = moved.filter(|_| (300..400).contains(&status)) {
        complaint.message = format!("the address has moved to {place}");
    }
    Fault::Status {
        status,
        failure: judge(Some(status), &complaint, asked),
        complaint,
    }
}

fn no_answer(error: reqwest::Error) -> Fault {
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let why = cause.to_string();
    if error.is_connect() || error.is_timeout() {
        Fault::NoConnection(why)
    } else {
        Fault::Broken(why)
    }
}

/// The endpoint did not say what it cost.
fn estimate(request: &Request, content: &[Part]) -> Usage {
    let of_parts = |parts: &[Part]| -> usize {
        let count = |part: &Part| match part {
            Part::Text { text } | Part::Reasoning { text, .. } => tokens::count(text),
            Part::ToolCall(call) => {
                let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
                tokens::count(&call.name) + tokens::count(&arguments)
            }
            // What most models make of a picture of usual size.
            Part::Image { .. } => 1_000,
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
