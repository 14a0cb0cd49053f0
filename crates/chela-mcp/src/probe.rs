//! What a server says to somebody it does not know.

use std::time::Duration;

use chela_model::{HttpExchange, HttpMethod, ModelHttp};
use serde_json::json;

use crate::challenge::{LoginChallenge, read_challenge};
use crate::era::{MODERN_VERSION, with_meta};
use crate::link::LinkError;
use crate::message::{RequestId, RpcMessage};

const PATIENCE: Duration = Duration::from_secs(30);

/// What a server wants of somebody without a login. Empty where it does not say.
pub(crate) async fn challenge_of(http: &ModelHttp, url: &str) -> Result<LoginChallenge, LinkError> {
    let message = RpcMessage::Request {
        id: RequestId::Number(1),
        method: "server/discover".to_owned(),
        params: with_meta(json!({}), MODERN_VERSION, &json!({})),
    };
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", MODERN_VERSION),
        ("mcp-method", "server/discover"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let opened = http.open(HttpExchange {
        method: HttpMethod::Post,
        url,
        headers: &headers,
        body: message.to_value().to_string().into_bytes(),
    });
    let answer = tokio::time::timeout(PATIENCE, opened).await;
    let answer = answer.map_err(|_| LinkError::Timeout(PATIENCE))?;
    let answer = answer.map_err(|fault| LinkError::Unreached(fault.to_string()))?;
    let header = answer.header("www-authenticate").unwrap_or_default();
    Ok(read_challenge(header, answer.status == 403))
}
